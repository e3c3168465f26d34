"""A statement in sentences, for a terminal."""

from collections.abc import Iterator

import click

from eightfold.conformance.report.rows import claim_rows
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import Finding, Outcome, Statement, claims_text

FAILED = 5
"""Failed cases of a claim that are printed."""


def statement_lines(statement: Statement) -> Iterator[str]:
    """Return what was found of each claim, what was not asked, and the statement last."""
    for finding in statement.findings:
        yield from _finding_lines(finding, statement.level)
        yield ""
    if claims := [row.claim for row in claim_rows(statement) if row.standing == "not asked"]:
        yield f"Claimed, not asked: {claims_text(claims)}."
    yield statement.line()


def _finding_lines(finding: Finding, level: Level) -> Iterator[str]:
    yield from finding.lines(level)
    if finding.failed:
        yield "The first cases that are not exact:"
        for case in finding.failed[:FAILED]:
            yield f"  {case.name}: {case.outcome.text}{f', {case.message}' * bool(case.message)}"
    yield from finding.power


def print_statement(statement: Statement) -> None:
    """Print `statement_lines`."""
    for line in statement_lines(statement):
        click.echo(line)


def counts_text(finding: Finding) -> str:
    """Return the counts of cases by outcome in words."""
    found = [f"{count} {o.text}" for o in Outcome if (count := finding.counts.get(o, 0))]
    return ", ".join(found) or "no cases"
