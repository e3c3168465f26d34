"""A statement as one JSON object; ``docs/conform-json.md`` says of each field what it is."""

from collections.abc import Sequence
from typing import Any

from eightfold.conformance.report.rows import ClaimRow, claim_rows
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import Finding, Outcome, Statement

SCHEMA_VERSION = 2
"""Counts up when a field goes or changes its meaning, not when one comes."""


def statement_as_json(
    statement: Statement, facts: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
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
    }


def _claim(row: ClaimRow, level: Level) -> dict[str, Any]:
    return {
        "claim": row.claim,
        "layer": row.layer,
        "standing": row.standing,
        "finding": _finding(row.finding, level) if row.finding else None,
    }


def _finding(finding: Finding, level: Level) -> dict[str, Any]:
    return {
        "headline": finding.headline(level),
        "asked": finding.asked,
        "cases": finding.cases,
        "counts": {outcome.name.lower(): finding.counts.get(outcome, 0) for outcome in Outcome},
        "extra": finding.extra,
        "mistakes": list(finding.mistakes),
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
        "power": list(finding.power),
        "known": finding.known,
        "unseen": finding.unseen,
    }
