"""A statement as JUnit XML: a suite for each claim that was asked.

Each case has an entry: a model by its name, a case of a unit by its number. Where so many deviate
that not all are listed, those that are listed have one, and no others; and so it is with a unit
that is incomplete. The property ``entries`` says of how many cases there are some. A claim that is
not right has an entry of its own too: a failure if it deviates, an error if it is incomplete. Of an
aspect, such as ``CONV_2D.strictness``, which is no part of conformance, these are skipped, with the
same text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

from eightfold.conformance.report.claims import counts_text
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import LISTED, CaseOutcome, ClaimFinding, FailedCase, Statement
from eightfold.run.report.junit import JUnitXml

ERRORS = {CaseOutcome.CRASHED, CaseOutcome.TIMEOUT, CaseOutcome.MISSING}
"""Outcomes that are errors, not failures: there is nothing to compare."""

SHOWN = 50
"""Failed cases that the entry of a unit lists."""


@dataclass(frozen=True)
class _Entry:
    name: str
    kind: str = ""
    """``failure`` or ``error``; nothing of one that passed."""
    message: str = ""
    of: str = ""
    text: str = ""


def write_junit(file: IO[bytes], statement: Statement, cases: Mapping[str, Sequence[str]]) -> None:
    """Write a statement to an open file. ``cases``: names of all cases of a claim, where they have
    names."""
    xml = JUnitXml(file)
    suites = {
        finding.claim: [
            replace(entry, kind="skipped") if entry.kind and finding.aspect else entry
            for entry in _entries(finding, statement.level, cases.get(finding.claim, ()))
        ]
        for finding in statement.findings
    }
    everything = [entry for entries in suites.values() for entry in entries]
    with (
        xml.document(),
        xml.element("testsuites", name=statement.line(), time=0.0, **_totals(everything)),
    ):
        xml.text("\n")
        for finding in statement.findings:
            _suite(xml, statement, finding, suites[finding.claim])


def _suite(
    xml: JUnitXml, statement: Statement, finding: ClaimFinding, entries: Sequence[_Entry]
) -> None:
    with xml.element("testsuite", name=finding.claim, time=0.0, **_totals(entries)):
        xml.text("\n")
        xml.properties(
            {
                "subject": statement.subject,
                "profile": statement.profile.name,
                "level": statement.level,
                "standing": finding.standing(statement.level),
                "seed": statement.seed,
                "kit": statement.kit,
                "rules": " ".join(finding.rules),
                "power": "\n".join(finding.power),
                "entries": _entries_text(finding, len(entries) - (not finding.right)),
            }
        )
        for entry in entries:
            xml.case(f"conformance.{finding.layer}.{finding.claim}", **vars(entry))
    xml.text("\n")


def _entries_text(finding: ClaimFinding, count: int) -> str:
    """Return of how many cases there are entries."""
    if count == finding.cases:
        return f"all {count} cases"
    return f"{count} of {finding.cases} cases, the first of those that deviate"


def _entries(finding: ClaimFinding, level: Level, names: Sequence[str]) -> Iterator[_Entry]:
    failed = {case.name: case for case in finding.failed}
    if not names:
        whole = finding.cases if not finding.waiting and len(failed) < LISTED else 0
        names = [*map(str, range(whole))] or [*failed]
    for name in names:
        if name in failed:
            yield _case(failed[name])
        elif len(failed) < LISTED:  # else it may be one that is not listed
            yield _Entry(name)
    if not finding.right:
        yield _whole(finding, level)


def _whole(finding: ClaimFinding, level: Level) -> _Entry:
    """Return the entry of a claim: what was found of it."""
    standing = finding.standing(level)
    found = [
        *finding.lines(level),
        *(f"{case.name}: {case.outcome.text}, {case.message}" for case in finding.failed[:SHOWN]),
    ]
    kind, of = "error", standing
    if standing == "deviates":
        kind = "failure"
        of = finding.mistakes[0] if finding.mistakes else counts_text(finding)
    return _Entry(finding.claim, kind, finding.headline(level), of, "\n".join([*found, ""]))


def _case(case: FailedCase) -> _Entry:
    kind = "error" if case.outcome in ERRORS else "failure"
    message = case.message or case.outcome.text
    return _Entry(case.name, kind, message, case.outcome.text, f"{message}\n")


def _totals(entries: Sequence[_Entry]) -> dict[str, int]:
    kinds = [entry.kind for entry in entries]
    return {
        "tests": len(kinds),
        "failures": kinds.count("failure"),
        "errors": kinds.count("error"),
        "skipped": kinds.count("skipped"),
    }
