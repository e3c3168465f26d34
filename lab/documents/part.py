"""A generated part of a document, and how numbers are written there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eightfold.common.markers import replace_between


@dataclass(frozen=True)
class Part:
    """A generated part of a document: ``rewrite`` returns the document's text with it made anew.

    ``slow`` ones take minutes; tests compare them with what makes them only in parts.
    """

    name: str
    document: Path
    rewrite: Callable[[str], str]
    slow: bool = False


def table_part(
    marker: str, document: Path, table: Callable[[], str], *, slow: bool = False
) -> Part:
    """Return the part that is a table between the markers of this name.

    Its ``rewrite`` raises ValueError if the markers are missing.
    """

    def rewrite(text: str) -> str:
        return replace_between(text, marker, table())

    return Part(f"{document.stem}:{marker}", document, rewrite, slow)


def number(value: int) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def percent(part: int, whole: int) -> str:
    """Return ``part`` of ``whole`` in percent, ``-`` of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
