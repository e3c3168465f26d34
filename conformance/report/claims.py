"""What was found of each claim that the spec knows, asked or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from eightfold.conformance.profile import CLAIMS
from eightfold.conformance.verdict import Finding, Layer, Outcome, Standing, Statement

Place = Standing | Literal["not asked", "not claimed"]
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
    standing: Place
    finding: Finding | None

    @property
    def cases(self) -> int | None:
        """How many cases were judged, if any."""
        return self.finding.cases if self.finding else None

    @property
    def exact(self) -> int | None:
        """How many of them are exact."""
        return self.finding.counts.get(Outcome.EXACT, 0) if self.finding else None


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


def _claims(statement: Statement) -> Iterator[tuple[str, Layer]]:
    for claim in CLAIMS[statement.profile.spec]:
        yield claim, Finding(claim=claim, counts={}).layer


def _standing(statement: Statement, claim: str, finding: Finding | None) -> Place:
    if finding is not None:
        return finding.standing(statement.level)
    return "not asked" if claim in statement.profile.claims else "not claimed"
