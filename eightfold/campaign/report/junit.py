"""A campaign as JUnit XML, which continuous integration shows: an entry for each case.

A suite of entries is a suite of cases in a column. Cases that have not run have no entry; that, and
a broken floor of functional coverage, is an entry of the suite ``campaign``, so that what is not a
pass is not shown as one.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from eightfold.campaign.folder import Folder, repeat_command
from eightfold.campaign.records import Case, Unit
from eightfold.campaign.report.asked import asked_commands
from eightfold.campaign.report.verdict import Standing
from eightfold.campaign.results import Results

ELEMENTS = {"failed": "failure", "error": "error", "lost": "error", "refused": "skipped"}
"""What an entry holds, by the verdict of its case."""

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(
    file: IO[bytes],
    folder: Folder,
    results: Results,
    standing: Standing,
    facts: Mapping[str, Any],
) -> None:
    """Write the cases to an open file, unit by unit: memory does not grow with their number.

    ``facts``: of `Folder.facts`.
    """
    _Writer(file, folder, results, standing, facts).write()


class _Writer:
    def __init__(
        self,
        file: IO[bytes],
        folder: Folder,
        results: Results,
        standing: Standing,
        facts: Mapping[str, Any],
    ) -> None:
        self._xml = XMLGenerator(file, "utf-8", short_empty_elements=True)
        self._folder = folder
        self._results = results
        self._standing = standing
        self._facts = facts
        self._started = _moment(min((s[0] for s in results.sessions()), default=0.0))

    def write(self) -> None:
        suites, shortcomings = _suites(self._results), _shortcomings(self._standing)
        totals = _totals(self._standing.counts)
        totals["tests"] += len(shortcomings)
        totals["failures"] += sum(kind == "failure" for kind, _ in shortcomings.values())
        totals["errors"] += sum(kind == "error" for kind, _ in shortcomings.values())
        seconds = sum(spent.seconds for spent in self._results.spent())
        self._xml.startDocument()
        with self._element("testsuites", name="eightfold campaign", time=seconds, **totals):
            self._text("\n")
            for (suite, column), counts in suites.items():
                self._suite(suite, column, counts)
            if shortcomings:
                self._campaign(shortcomings)
        self._text("\n")
        self._xml.endDocument()

    def _suite(self, suite: str, column: str, counts: Mapping[str, int]) -> None:
        seconds = sum(planned.seconds or 0.0 for planned in self._results.units(suite, column))
        name = f"{suite} {column}"
        with self._element(
            "testsuite", name=name, time=seconds, timestamp=self._started, **_totals(counts)
        ):
            self._text("\n")
            self._properties()
            for planned in self._results.units(suite, column):
                cases = self._results.cases(planned.number)
                each = (planned.seconds or 0.0) / max(1, len(cases))
                for case in cases:
                    self._case(planned.unit, case, each)
        self._text("\n")

    def _case(self, unit: Unit, case: Case, seconds: float) -> None:
        name = unit.case_name(case.seed)
        place = (unit.suite, unit.column.replace(" ", "-"), case.operator)
        with self._element(
            "testcase",
            classname=".".join(filter(None, place)),
            name=name,
            time=seconds,
        ):
            if case.verdict in ELEMENTS:
                message = case.message.partition("\n")[0]
                repeat = repeat_command(self._folder.path, name)
                with self._element(ELEMENTS[case.verdict], message=message, type=case.verdict):
                    self._text(f"{case.message}\n{repeat}\n")
        self._text("\n")

    def _campaign(self, shortcomings: Mapping[str, tuple[str, str]]) -> None:
        kinds = [kind for kind, _ in shortcomings.values()]
        with self._element(
            "testsuite",
            name="campaign",
            tests=len(kinds),
            failures=kinds.count("failure"),
            errors=kinds.count("error"),
            skipped=0,
            time=0.0,
            timestamp=self._started,
        ):
            for name, (kind, message) in shortcomings.items():
                with (
                    self._element("testcase", classname="campaign", name=name, time=0.0),
                    self._element(kind, message=message, type=name),
                ):
                    self._text(message)
        self._text("\n")

    def _properties(self) -> None:
        facts = self._facts
        named = {
            "asked": "\n".join(asked_commands(facts["asked"], self._folder.path)),
            **{f"version {name}": value for name, value in facts["versions"].items()},
            "commit": facts["commit"],
        }
        with self._element("properties"):
            for name, value in named.items():
                with self._element("property", name=name, value=value):
                    pass
        self._text("\n")

    @contextmanager
    def _element(self, tag: str, **attributes: object) -> Iterator[None]:
        texts = {name: _attribute(value) for name, value in attributes.items()}
        self._xml.startElement(tag, AttributesImpl(texts))
        yield
        self._xml.endElement(tag)

    def _text(self, text: str) -> None:
        self._xml.characters(_allowed(text))


def _suites(results: Results) -> dict[tuple[str, str], dict[str, int]]:
    """Return cases by verdict of every suite in every column."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for (suite, _, column, verdict), count in results.counts().items():
        counts = found.setdefault((suite, column), {})
        counts[verdict] = counts.get(verdict, 0) + count
    return found


def _totals(counts: Mapping[str, int]) -> dict[str, int]:
    held = {"failure": 0, "error": 0, "skipped": 0}
    for verdict, element in ELEMENTS.items():
        held[element] += counts.get(verdict, 0)
    return {
        "tests": sum(count for verdict, count in counts.items() if verdict != "waiting"),
        "failures": held["failure"],
        "errors": held["error"],
        "skipped": held["skipped"],
    }


def _shortcomings(standing: Standing) -> dict[str, tuple[str, str]]:
    """Return what no case says: that some have not run, or that coverage has holes."""
    found = {}
    if standing.counts["waiting"] or not standing.counts["passed"]:
        found["complete"] = ("error", standing.verdict.sentence)
    if standing.coverage is not None and not standing.coverage.holds:
        found["coverage"] = ("failure", "\n".join(standing.coverage.lines()))
    return found


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _attribute(value: object) -> str:
    return _allowed(f"{value:.6f}" if isinstance(value, float) else str(value))


def _allowed(text: str) -> str:
    """Return a text with a sign in place of each character that XML cannot hold."""
    return text if text.isprintable() else _FORBIDDEN.sub("\ufffd", text)
