"""The page of a statement: what is wrong and what is incomplete, then all claims, then the rest."""

from collections.abc import Iterator, Sequence

from eightfold.conformance.report.claims import ClaimRow, ClaimStanding, aspect_rows, claim_rows
from eightfold.conformance.vectors.manifest import SPECS
from eightfold.conformance.verdict import CaseOutcome, Statement, claims_text
from eightfold.run.report.page import State, Verdict, machine, render

SIGNS = {"deviates": "✗", "incomplete": "…", "no deviation found": "○", "conforms": "✓"}
"""The sign of each standing, for who sees no colour."""

STATES: dict[str, State] = {
    "deviates": "failed",
    "incomplete": "incomplete",
    "no deviation found": "open",
    "conforms": "passed",
}
"""Whose colour a standing has."""

UNASKED: dict[ClaimStanding, str] = {
    "not asked": "Claimed, not asked",
    "not claimed": "Not claimed",
}
"""What is said of claims without a finding."""

SHOWN = 100
"""Failed cases of a claim that the page lists."""


def conformance_page(statement: Statement, facts: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page. Raises InputError if jinja2 or matplotlib is not installed."""
    rows = claim_rows(statement)
    asked = [row for row in rows if row.finding]
    unanswered = [
        row for row in asked if row.finding and row.finding.asked == row.finding.waiting > 0
    ]
    layers = {
        "Units": [row for row in asked if row.layer == "unit"],
        "Rows of the spec": [row for row in asked if row.layer == "operator"],
        "Networks": [row for row in asked if row.layer == "network"],
    }
    return render(
        "conformance.html.j2",
        title=f"Conformance of {statement.subject}",
        verdict=Verdict(
            state=STATES[statement.standing],
            word=statement.standing,
            sentence=f"{statement.line()}.",
        ),
        sections=list(_sections(asked, statement.beside())),
        facts=[*_facts(statement), *facts],
        asked=asked,
        findings=[row for row in asked if row not in unanswered],
        unanswered=unanswered,
        layers={name: of_layer for name, of_layer in layers.items() if of_layer},
        unasked={
            what: claims_text(claims)
            for standing, what in UNASKED.items()
            if (claims := [row.claim for row in rows if row.standing == standing])
        },
        beside=statement.beside(),
        aspects=[row for row in aspect_rows(statement) if row.finding and row.finding.asked],
        signs=SIGNS,
        states=STATES,
        outcomes=list(CaseOutcome),
        exact=CaseOutcome.EXACT,
        shown=SHOWN,
    )


def _sections(rows: Sequence[ClaimRow], beside: Sequence[str]) -> Iterator[tuple[str, str]]:
    right = [row.finding.right for row in rows if row.finding]
    if not all(right):
        yield "findings", "Findings"
    for row in rows:
        if row.standing == "deviates":
            yield f"claim-{row.claim}", row.claim
    yield "claims", "Claims"
    if any(right):
        yield "exact", "What is exact"
    if beside:
        yield "beside", "Beside the statement"
    yield "facts", "How this was made"


def _facts(statement: Statement) -> Iterator[tuple[str, str]]:
    profile = statement.profile
    yield "Subject", statement.subject
    yield "Spec", SPECS[profile.spec]
    if profile.spec == "tflite":
        yield "Kernels where they differ", profile.reference
    yield "Profile", profile.name
    yield "Limits", profile.limits_text or "none"
    yield "Contract", profile.contract_text or "the spec"
    for each in profile.contract:
        if each.reason:
            yield f"Why {each.rule}", each.reason
    yield "Level", statement.level
    yield "Seed", str(statement.seed)
    yield "Conformance kit", statement.kit
    yield "Page made on", machine()
