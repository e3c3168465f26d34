"""JUnit XML, piece by piece: suites and their entries, without what XML cannot hold."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Entry(NamedTuple):
    """What is said of a case; ``kind``: ``failure``, ``error`` or ``skipped``, without it a pass.

    ``of``: the type of a failure or error; ``text``: what stands in it.
    """

    name: str
    kind: str = ""
    message: str = ""
    of: str = ""
    text: str = ""
    seconds: float = 0.0


class JUnitXml:
    """Writes to an open file: `document` first, each `suite` in it, each `case` in that."""

    def __init__(self, file: IO[bytes]) -> None:
        self._xml = XMLGenerator(file, "utf-8", short_empty_elements=True)

    @contextmanager
    def document(self) -> Iterator[None]:
        """Begin the file, and end it."""
        self._xml.startDocument()
        yield
        self._xml.endDocument()

    @contextmanager
    def suite(self, tag: str, kinds: Counter[str], **attributes: object) -> Iterator[None]:
        """Begin a suite, or all of them, and end it; ``kinds``: of its entries, see `case`."""
        counts = {
            "tests": kinds.total(),
            "failures": kinds["failure"],
            "errors": kinds["error"],
            "skipped": kinds["skipped"],
        }
        with self.element(tag, **attributes, **counts):
            self.text("\n")
            yield
        self.text("\n")

    @contextmanager
    def element(self, tag: str, **attributes: object) -> Iterator[None]:
        """Begin an element, and end it; floats have six digits behind the point."""
        texts = {name: _attribute(value) for name, value in attributes.items()}
        self._xml.startElement(tag, AttributesImpl(texts))
        yield
        self._xml.endElement(tag)

    def text(self, text: str) -> None:
        """Write text into the element that is open."""
        self._xml.characters(_allowed(text))

    def case(self, place: str, entry: Entry) -> None:
        """Write an entry."""
        with self.element("testcase", classname=place, name=entry.name, time=entry.seconds):
            if entry.kind:
                with self.element(entry.kind, message=entry.message, type=entry.of):
                    self.text(entry.text)
        self.text("\n")

    def properties(self, values: dict[str, object]) -> None:
        """Write the properties of a suite."""
        with self.element("properties"):
            for name, value in values.items():
                with self.element("property", name=name, value=value):
                    pass
        self.text("\n")


def _attribute(value: object) -> str:
    return _allowed(f"{value:.6f}" if isinstance(value, float) else str(value))


def _allowed(text: str) -> str:
    """Return a text with a sign in place of each character that XML cannot hold."""
    return text if text.isprintable() else _FORBIDDEN.sub("\ufffd", text)
