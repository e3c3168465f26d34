"""A campaign as JUnit XML, which continuous integration shows: an entry for each case.

A suite of entries is a suite of cases in a column. The cases of a unit that has not run are one
entry together, an error. That there are such, and a broken floor of functional coverage, are
entries of the suite ``campaign``, so that what is not a pass is not shown as one.
"""

from collections import Counter, defaultdict
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import IO

from eightfold.campaign.folder import asked_commands, commits, repeat_command
from eightfold.campaign.records import Case, Unit
from eightfold.campaign.report.verdict import Source, Standing
from eightfold.campaign.store import Results
from eightfold.run.report.junit import Entry, JUnitXml

ELEMENTS = {
    "failed": "failure",
    "error": "error",
    "lost": "error",
    "waiting": "error",
    "refused": "skipped",
}
"""What an entry holds, by the verdict of its case, or because its unit waits."""


def write_junit(file: IO[bytes], source: Source) -> None:
    """Write the cases to an open file, unit by unit: memory does not grow with their number."""
    _Writer(file, source).write()


class _Writer:
    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._xml = JUnitXml(file)
        self._folder, self._results, self._standing, self._facts = source
        started = min((each[0] for each in self._results.sessions()), default=0.0)
        self._started = f"{datetime.fromtimestamp(started, UTC):%Y-%m-%dT%H:%M:%S}"

    def write(self) -> None:
        suites = _suites(self._results)
        shortcomings = _shortcomings(self._standing)
        lacking = Counter(kind for kind, _ in shortcomings.values())
        seconds = sum(spent.seconds for spent in self._results.spent())
        entries = sum(suites.values(), lacking)
        with (
            self._xml.document(),
            self._xml.suite("testsuites", entries, name="eightfold campaign", time=seconds),
        ):
            for (suite, column), kinds in suites.items():
                self._column(suite, column, kinds)
            if shortcomings:
                with self._suite("campaign", lacking):
                    for name, (kind, message) in shortcomings.items():
                        self._xml.case("campaign", Entry(name, kind, message, name, message))

    def _suite(
        self, name: str, kinds: Counter[str], seconds: float = 0.0
    ) -> AbstractContextManager[None]:
        return self._xml.suite("testsuite", kinds, name=name, time=seconds, timestamp=self._started)

    def _column(self, suite: str, column: str, kinds: Counter[str]) -> None:
        seconds = sum(planned.seconds or 0.0 for planned in self._results.units(suite, column))
        with self._suite(f"{suite} {column}", kinds, seconds):
            self._properties()
            for planned in self._results.units(suite, column):
                if planned.state == "waiting":
                    self._waiting(planned.unit)
                cases = self._results.cases(planned.number)
                each = (planned.seconds or 0.0) / max(1, len(cases))
                for case in cases:
                    self._case(planned.unit, case, each)

    def _waiting(self, unit: Unit) -> None:
        message = f"{unit.count} {'cases have' if unit.count > 1 else 'case has'} not run"
        text = f"{message}\n{self._folder.resume_command()}\n"
        entry = Entry(unit.name, "error", message, "waiting", text)
        self._xml.case(_class(unit, unit.operator), entry)

    def _case(self, unit: Unit, case: Case, seconds: float) -> None:
        name = unit.case_name(case.seed)
        kind = ELEMENTS.get(case.verdict, "")
        repeat = repeat_command(self._folder.path, name, unit) if kind else ""
        message = case.message.partition("\n")[0]
        entry = Entry(name, kind, message, case.verdict, f"{case.message}\n{repeat}\n", seconds)
        self._xml.case(_class(unit, case.operator), entry)

    def _properties(self) -> None:
        facts = self._facts
        named: dict[str, object] = {
            "asked": "\n".join(asked_commands(facts["asked"], self._folder.path)),
            **{f"version {name}": value for name, value in facts["versions"].items()},
            "commit": commits(facts),
        }
        self._xml.properties(named)


def _class(unit: Unit, operator: str) -> str:
    return ".".join(filter(None, (unit.suite, unit.column.replace(" ", "-"), operator)))


def _suites(results: Results) -> dict[tuple[str, str], Counter[str]]:
    """Return how many entries of every suite in every column hold which of `ELEMENTS`, or nothing.

    A case has one, and a unit that waits.
    """
    found: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for (suite, _, column, verdict), count in results.counts().items():
        found[suite, column][ELEMENTS.get(verdict, "")] += count if verdict != "waiting" else 0
    for planned in results.units():
        waits = planned.state == "waiting"
        found[planned.unit.suite, planned.unit.column][ELEMENTS["waiting"]] += waits
    return found


def _shortcomings(standing: Standing) -> dict[str, tuple[str, str]]:
    """Return what no case says: that some have not run, or that coverage has holes."""
    found = {}
    if standing.counts["waiting"] or not standing.counts["passed"]:
        found["complete"] = ("error", standing.verdict.sentence)
    if standing.coverage is not None and not standing.coverage.holds:
        found["coverage"] = ("failure", "\n".join(standing.coverage.lines()))
    return found
