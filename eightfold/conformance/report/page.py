"""The page of a statement: the rows of the spec on top, then what was found of each claim."""

from collections.abc import Iterator, Sequence

from eightfold.conformance.profile import Profile
from eightfold.conformance.report.rows import ClaimRow, claim_rows
from eightfold.conformance.vectors.manifest import SPECS
from eightfold.conformance.verdict import LISTED, Outcome, Statement
from eightfold.report.page import Verdict, machine, render

SIGNS = {"conforms": "✓", "deviates": "✗", "not judged": "…", "not claimed": "–"}
"""Of standings, for who sees no colour."""

ORDER = ("deviates", "not judged", "conforms", "not claimed")
"""Of findings: what needs a look first."""

STATES = {"conforms": "passed", "deviates": "failed", "not judged": "incomplete"}
"""Whose colour a standing has; none where it is not claimed."""

SHOWN = 100
"""Failed cases of a claim that the page lists."""


def conformance_page(statement: Statement, facts: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page.

    Raises
    ------
    InputError
        If jinja2 or matplotlib is not installed.
    """
    rows = claim_rows(statement)
    judged = sorted((row for row in rows if row.finding), key=lambda row: ORDER.index(row.standing))
    return render(
        "conformance.html.j2",
        title=f"Conformance of {statement.subject}",
        verdict=_verdict(statement),
        sections=list(_sections(rows)),
        facts=[*_facts(statement), *facts],
        layers=[
            ("Units", [row for row in rows if row.layer == "unit"]),
            ("Networks", [row for row in rows if row.layer == "network"]),
        ],
        operators=[row for row in rows if row.layer == "operator"],
        judged=judged,
        standings=_tally(rows),
        signs=SIGNS,
        states=STATES,
        outcomes=list(Outcome),
        exact=Outcome.EXACT,
        shown=SHOWN,
        listed=LISTED,
    )


def _verdict(statement: Statement) -> Verdict:
    state = "passed" if statement.conforms else "failed" if statement.findings else "incomplete"
    return Verdict(state=state, sentence=f"{statement.line()}.")


def _tally(rows: Sequence[ClaimRow]) -> dict[str, dict[str, int]]:
    """Return how many claims stand how, by their layer."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = found.setdefault(row.layer, dict.fromkeys(SIGNS, 0))
        counts[row.standing] += 1
    return found


def _sections(rows: Sequence[ClaimRow]) -> Iterator[tuple[str, str]]:
    layers = {row.layer for row in rows}
    if "operator" in layers:
        yield "rows", "Rows of the spec"
    yield "parts", "Units and networks"
    for row in rows:
        if row.standing == "deviates":
            yield f"claim-{row.claim}", row.claim
    if any(row.finding for row in rows):
        yield "findings", "All findings"
    yield "facts", "How this was made"


def _facts(statement: Statement) -> Iterator[tuple[str, str]]:
    profile = statement.profile
    yield "Subject", statement.subject
    yield "Spec", SPECS[profile.spec]
    if profile.spec == "tflite":
        yield "Kernels where they differ", profile.reference
    yield "Profile", profile.name
    yield "Limits", _limits(profile)
    yield "Level", statement.level
    yield "Seed", str(statement.seed)
    yield "Conformance kit", statement.kit
    yield "Page made on", machine()


def _limits(profile: Profile) -> str:
    whole = {"accumulator_bits": 32, "multiplier_bits": 32}
    limits = {
        name: value
        for name, value in profile.as_dict()["limits"].items()
        if value not in ("any", whole.get(name))
    }
    return ", ".join(f"{name} {_plain(value)}" for name, value in limits.items()) or "none"


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)
