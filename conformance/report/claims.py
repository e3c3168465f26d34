"""What was found of each claim that the spec knows, asked or not: as rows, sentences and JSON.

`eightfold.conformance.report.schema` declares the fields of the JSON object.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import click

from eightfold.conformance.profile import CLAIMS
from eightfold.conformance.report.schema import (
    ClaimJson,
    CountsJson,
    FindingJson,
    StatementJson,
)
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import (
    CaseOutcome,
    ClaimFinding,
    Layer,
    Standing,
    Statement,
    claims_text,
)

ClaimStanding = Standing | Literal["not asked", "not claimed"]
"""How a claim of the spec stands: as what was found of it; or it is claimed and was not asked, or
not even claimed."""


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """A claim, and how it stands.

    ``number``: its place in the table of its layer, from 1.
    """

    number: int
    claim: str
    layer: Layer
    standing: ClaimStanding
    finding: ClaimFinding | None

    @property
    def cases(self) -> int | None:
        """How many cases were judged, if any."""
        return self.finding.cases if self.finding else None

    @property
    def exact(self) -> int | None:
        """How many of them are exact."""
        return self.finding.counts.get(CaseOutcome.EXACT, 0) if self.finding else None


def claim_rows(statement: Statement) -> list[ClaimRow]:
    """Return all units and operators of the spec in its order, then networks."""
    rows: list[ClaimRow] = []
    for claim, layer in _claims(statement):
        number = sum(row.layer == layer for row in rows) + 1
        finding = statement.of(claim)
        rows.append(
            ClaimRow(
                number=number,
                claim=claim,
                layer=layer,
                standing=_standing(statement, claim, finding),
                finding=finding,
            )
        )
    return rows


def aspect_rows(statement: Statement) -> list[ClaimRow]:
    """Return what was asked of `eightfold.conformance.profile.ASPECTS`, and is no claim."""
    found = [each for each in statement.findings if each.aspect]
    return [
        ClaimRow(
            number=number,
            claim=each.claim,
            layer=each.layer,
            standing=each.standing(statement.level),
            finding=each,
        )
        for number, each in enumerate(found, 1)
    ]


def _claims(statement: Statement) -> Iterator[tuple[str, Layer]]:
    for claim in CLAIMS[statement.profile.spec]:
        yield claim, ClaimFinding(claim=claim, counts={}).layer


def _standing(statement: Statement, claim: str, finding: ClaimFinding | None) -> ClaimStanding:
    if finding is not None:
        return finding.standing(statement.level)
    return "not asked" if claim in statement.profile.claims else "not claimed"


Facts = Sequence[tuple[str, str]]
"""What else is said: pairs of a name and a value."""

FAILED = 5
"""Failed cases of a claim that are printed."""


def statement_lines(statement: Statement, facts: Facts = ()) -> Iterator[str]:
    """Return what was found of each claim, facts, what was not asked, and the statement last."""
    for finding in statement.findings:
        yield from _finding_lines(finding, statement.level)
        yield ""
    yield from (f"{title}: {text}." for title, text in facts)
    if claims := [row.claim for row in claim_rows(statement) if row.standing == "not asked"]:
        yield f"Claimed, not asked: {claims_text(claims)}."
    yield from statement.beside()
    yield statement.line()


def _finding_lines(finding: ClaimFinding, level: Level) -> Iterator[str]:
    yield from finding.lines(level)
    if finding.failed:
        yield "The first cases that are not exact:"
        for case in finding.failed[:FAILED]:
            yield f"  {case.name}: {case.outcome.text}{f', {case.message}' * bool(case.message)}"
    yield from finding.contract
    yield from finding.power


def print_statement(statement: Statement, facts: Facts = ()) -> None:
    """Print `statement_lines`."""
    for line in statement_lines(statement, facts):
        click.echo(line)


def counts_text(finding: ClaimFinding) -> str:
    """Return the counts of cases by outcome in words."""
    found = [f"{count} {o.text}" for o in CaseOutcome if (count := finding.counts.get(o, 0))]
    return ", ".join(found) or "no cases"


SCHEMA_VERSION = 2
"""Counts up when a field goes or changes its meaning, not when one comes."""


def statement_as_json(statement: Statement, facts: Facts = ()) -> StatementJson:
    """Return a statement as what `json.dumps` takes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kit": statement.kit,
        "line": statement.line(),
        "standing": statement.standing,
        "holds": statement.holds,
        "conforms": statement.conforms,
        "subject": statement.subject,
        "profile": statement.profile.as_dict(),
        "level": statement.level,
        "seed": statement.seed,
        "facts": dict(facts),
        "claims": [_claim(row, statement.level) for row in claim_rows(statement)],
        "beside": statement.beside(),
        "aspects": [_claim(row, statement.level) for row in aspect_rows(statement)],
    }


def _claim(row: ClaimRow, level: Level) -> ClaimJson:
    return {
        "claim": row.claim,
        "layer": row.layer,
        "standing": row.standing,
        "finding": _finding(row.finding, level) if row.finding else None,
    }


def _finding(finding: ClaimFinding, level: Level) -> FindingJson:
    return {
        "headline": finding.headline(level),
        "asked": finding.asked,
        "cases": finding.cases,
        "counts": cast(
            CountsJson,
            {outcome.name.lower(): finding.counts.get(outcome, 0) for outcome in CaseOutcome},
        ),
        "extra": finding.extra,
        "mistakes": list(finding.mistakes),
        "rules": list(finding.rules),
        "diagnosis": list(finding.diagnosis),
        "smallest": list(finding.smallest),
        "failed": [
            {
                "name": case.name,
                "outcome": case.outcome.name.lower(),
                "message": case.message,
            }
            for case in finding.failed
        ],
        "contract": list(finding.contract),
        "power": list(finding.power),
        "known": finding.known,
        "unseen": finding.unseen,
        "grade": finding.grade,
        "farthest": finding.farthest,
        "tolerance": finding.tolerance,
    }
