"""The report on an implementation: sentences on a terminal, JSON, JUnit XML, and a page.

All of them say what was found of each claim that the spec knows, asked or not, of an
`eightfold.conformance.verdict.Statement`. docs/conform-json.md lists the fields of the JSON object.

JUnit XML has a suite for each claim that was asked, and each case an entry: a model by its name, a
case of a unit by its number. Where so many deviate that not all are listed, those that are listed
have one, and no others; and so it is with a unit that is incomplete. The property ``entries`` says
of how many cases there are some. A claim that is not right has an entry of its own too: a failure
if it deviates, an error if it is incomplete. Of an aspect, such as ``CONV_2D.strictness``, which is
no part of conformance, these are skipped, with the same text.
"""

import json as as_text
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypedDict, TypeVar, get_type_hints

from eightfold.common.files import Content, distinct_paths, write_files
from eightfold.conformance.profile import CLAIMS
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.manifest import SPECS
from eightfold.conformance.verdict import (
    LISTED,
    CaseOutcome,
    ClaimFinding,
    Layer,
    Standing,
    Statement,
    claims_text,
)
from eightfold.run.report.junit import Entry, JUnitXml
from eightfold.run.report.page import State, Verdict, machine, render, require_page

R = TypeVar("R")


class FailedJson(TypedDict):
    """A case that is not exact."""

    name: Annotated[
        str, "of a unit the number of the case, of models their folder among the vectors"
    ]
    outcome: Annotated[str, "A field of `counts`"]
    message: Annotated[str, "what is wrong first, or what a runtime said"]


class CountsJson(TypedDict):
    """Numbers of cases, by how they ended."""

    exact: Annotated[int, "equal, bit for bit"]
    off_by_one: Annotated[int, "no result is further than 1 from the right one"]
    wrong: Annotated[int, "some result is"]
    shape: Annotated[int, "A result has another shape or type"]
    accepted: Annotated[int, "models that have to be refused, and were computed"]
    refused: Annotated[int, "models that have to be computed, and were refused"]
    crashed: Annotated[int, "what should have answered ended with an error"]
    timeout: Annotated[int, "it did not end in time"]
    missing: Annotated[int, "A result has not come"]
    unknown_bits: Annotated[int, "some bits are neither 0 nor 1"]


class FindingJson(TypedDict):
    """What was found of a claim that was asked."""

    headline: Annotated[str, "the finding in a sentence"]
    asked: Annotated[
        int,
        "how many cases were asked for; of models to refuse that have not been answered, of "
        "which an operator may have fewer, as many as were planned",
    ]
    cases: Annotated[int, "how many of them were answered, and judged"]
    counts: Annotated[CountsJson, "cases by outcome"]
    extra: Annotated[int, "results that came without being asked for"]
    mistakes: Annotated[
        list[str],
        "names of the mistakes that explain every known result, if some do: each does so "
        "alone, `a and b` are two at once; of `tables`, those of each operator that "
        "deviates",
    ]
    rules: Annotated[list[str], "which [rules](spec.md) it breaks; none of another spec"]
    diagnosis: Annotated[list[str], "what is wrong, in sentences"]
    smallest: Annotated[
        list[str],
        "the smallest failing case: the reference's arithmetic line by line, theirs beside it",
    ]
    failed: Annotated[list[FailedJson], "the cases that are not exact, the first 1,000 of them"]
    contract: Annotated[
        list[str],
        "how far the profile's contract is from the spec, and the smallest case that differs; "
        "empty where the spec is kept",
    ]
    power: Annotated[
        list[str], "sentences on the mistakes that these cases could not have told apart"
    ]
    known: Annotated[
        int, "how many mistakes with a name there are of it; 0 where that is not computed"
    ]
    unseen: Annotated[int, "how many of them these cases could not have told from the reference"]
    grade: Annotated[
        str | None,
        "`exact`; `within T` (no code is further than `tolerance` from the right one, and nothing "
        "else is wrong); or `deviates`; null where not all is answered and no answer is wrong",
    ]
    farthest: Annotated[
        int | None,
        "of models, the largest difference of a code; null if a result is missing, or another one "
        "than a code is wrong",
    ]
    tolerance: Annotated[int | None, "T of an operator, as docs/tolerances.md has it; null without"]


class ClaimJson(TypedDict):
    """A unit or operator of the spec, or networks."""

    claim: Annotated[str, "A unit, an operator by the schema's name, or `networks`"]
    layer: Annotated[str, "`unit`, `operator` or `network`"]
    standing: Annotated[
        str,
        "of a claim that was asked `deviates` (some answer is not right, whatever else is "
        "known), `incomplete` (not all of its cases were answered, or it has none), `no "
        "deviation found` (all are exact, at level `smoke`) or `conforms` (all are exact, "
        "at `standard` or `full`); of others `not asked` (the profile claims it) or `not "
        "claimed`",
    ]
    finding: Annotated[FindingJson | None, "what was found; null if it was not asked"]


class StatementJson(TypedDict):
    """What was found of an implementation."""

    schema_version: Annotated[int, "version of this format"]
    kit: Annotated[str, "version of the conformance kit, which drew the cases"]
    line: Annotated[str, "the conformance statement"]
    standing: Annotated[
        str,
        "the worst `standing` of all claims that were asked, the worst first: `deviates`, "
        "`incomplete`, `no deviation found`, `conforms`",
    ]
    holds: Annotated[
        bool, "whether all that was asked is answered and right; the exit status is 0 if so"
    ]
    conforms: Annotated[
        bool, "whether all that was asked conforms: it holds, and the level is `standard` or `full`"
    ]
    subject: Annotated[str, "what was judged: the name of a folder of results, or of an adapter"]
    profile: Annotated[dict[str, Any], "what is claimed: the fields of a profile"]
    level: Annotated[str, "`smoke`, `standard` or `full`"]
    seed: Annotated[int, "what the cases were drawn by"]
    facts: Annotated[
        dict[str, Any], "what else is known of how the statement was made: texts by name"
    ]
    claims: Annotated[list[ClaimJson], "every unit and operator of the spec, and networks"]
    beside: Annotated[list[str], "A sentence for each aspect that was asked, such as `strictness`"]
    aspects: Annotated[
        list[ClaimJson],
        "what was asked beside: `CONV_2D.beyond-spec`, `CONV_2D.strictness`; no part of "
        "`standing`, `holds` and `conforms`",
    ]


ClaimStanding = Standing | Literal["not asked", "not claimed"]
"""How a claim of the spec stands: as what was found of it; or it is claimed and was not asked, or
not even claimed."""


@dataclass(frozen=True)
class ClaimRow:
    number: int
    """Its place in the table of its layer, from 1."""
    claim: str
    layer: Layer
    standing: ClaimStanding
    finding: ClaimFinding | None


def claim_rows(statement: Statement) -> list[ClaimRow]:
    """Return all units and operators of the spec in its order, then networks."""
    rows: list[ClaimRow] = []
    for claim in CLAIMS[statement.profile.spec]:
        layer = ClaimFinding(claim=claim, counts={}).layer
        number = sum(row.layer == layer for row in rows) + 1
        if finding := statement.of(claim):
            standing = finding.standing(statement.level)
        else:
            standing = "not asked" if claim in statement.profile.claims else "not claimed"
        rows.append(ClaimRow(number, claim, layer, standing, finding))
    return rows


def aspect_rows(statement: Statement) -> list[ClaimRow]:
    """Return what was asked of `eightfold.conformance.profile.ASPECTS`, and is no claim."""
    found = [each for each in statement.findings if each.aspect]
    return [
        ClaimRow(number, each.claim, each.layer, each.standing(statement.level), each)
        for number, each in enumerate(found, 1)
    ]


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


SCHEMA_VERSION = 2
"""Counts up when a field goes or changes its meaning, not when one comes."""


def statement_as_json(statement: Statement, facts: Facts = ()) -> StatementJson:
    """Return a statement as what `json.dumps` takes."""
    level = statement.level
    return _record(
        StatementJson,
        statement,
        schema_version=SCHEMA_VERSION,
        line=statement.line(),
        profile=statement.profile.as_dict(),
        facts=dict(facts),
        claims=[_claim_json(row, level) for row in claim_rows(statement)],
        beside=statement.beside(),
        aspects=[_claim_json(row, level) for row in aspect_rows(statement)],
    )


def _claim_json(row: ClaimRow, level: Level) -> ClaimJson:
    finding = _finding_json(row.finding, level) if row.finding else None
    return _record(ClaimJson, row, finding=finding)


def _finding_json(finding: ClaimFinding, level: Level) -> FindingJson:
    outcomes = [(case, case.outcome.name.lower()) for case in finding.failed]
    return _record(
        FindingJson,
        finding,
        headline=finding.headline(level),
        counts={each.name.lower(): finding.counts.get(each, 0) for each in CaseOutcome},
        failed=[_record(FailedJson, case, outcome=name) for case, name in outcomes],
    )


def _record(kind: Callable[..., R], source: object, **own: Any) -> R:
    """Return a record of its ``own`` values, and for all other fields the source's of the name."""
    values = ((n, own[n] if n in own else getattr(source, n)) for n in get_type_hints(kind))
    return kind(**{n: list(each) if isinstance(each, tuple) else each for n, each in values})


ERRORS = {CaseOutcome.CRASHED, CaseOutcome.TIMEOUT, CaseOutcome.MISSING}
"""Outcomes that are errors, not failures: there is nothing to compare."""

LISTED_IN_ENTRY = 50
"""Failed cases that the entry of a unit lists."""


def _write_junit(file: IO[bytes], statement: Statement, cases: Mapping[str, Sequence[str]]) -> None:
    """Write a statement to an open file. ``cases``: names of all cases of a claim, where they have
    names."""
    xml = JUnitXml(file)
    suites = {
        finding.claim: [
            entry._replace(kind="skipped") if entry.kind and finding.aspect else entry
            for entry in _entries(finding, statement.level, cases.get(finding.claim, ()))
        ]
        for finding in statement.findings
    }
    kinds = Counter(entry.kind for entries in suites.values() for entry in entries)
    with xml.document(), xml.suite("testsuites", kinds, name=statement.line(), time=0.0):
        for finding in statement.findings:
            _suite(xml, statement, finding, suites[finding.claim])


def _suite(
    xml: JUnitXml, statement: Statement, finding: ClaimFinding, entries: Sequence[Entry]
) -> None:
    kinds = Counter(entry.kind for entry in entries)
    count = len(entries) - (not finding.right)
    some = f"{count} of {finding.cases} cases, the first of those that deviate"
    with xml.suite("testsuite", kinds, name=finding.claim, time=0.0):
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
                "entries": f"all {count} cases" if count == finding.cases else some,
            }
        )
        for entry in entries:
            xml.case(f"conformance.{finding.layer}.{finding.claim}", entry)


def _entries(finding: ClaimFinding, level: Level, names: Sequence[str]) -> Iterator[Entry]:
    failed = {case.name: case for case in finding.failed}
    if not names:
        whole = finding.cases if not finding.waiting and len(failed) < LISTED else 0
        names = [*map(str, range(whole))] or [*failed]
    for name in names:
        if case := failed.get(name):
            kind = "error" if case.outcome in ERRORS else "failure"
            message = case.message or case.outcome.text
            yield Entry(name, kind, message, case.outcome.text, f"{message}\n")
        elif len(failed) < LISTED:  # else it may be one that is not listed
            yield Entry(name)
    if not finding.right:
        yield _claim_entry(finding, level)


def _claim_entry(finding: ClaimFinding, level: Level) -> Entry:
    standing = finding.standing(level)
    failed = finding.failed[:LISTED_IN_ENTRY]
    cases = (f"{case.name}: {case.outcome.text}, {case.message}" for case in failed)
    kind, of = "error", standing
    if standing == "deviates":
        kind = "failure"
        of = finding.mistakes[0] if finding.mistakes else finding.outcomes() or "no cases"
    return Entry(
        finding.claim,
        kind,
        finding.headline(level),
        of,
        "\n".join([*finding.lines(level), *cases, ""]),
    )


SIGNS = {"deviates": "✗", "incomplete": "…", "no deviation found": "○", "conforms": "✓"}
"""The sign of each standing, for who sees no colour."""

STATES: dict[str, State] = {
    "deviates": "failed",
    "incomplete": "incomplete",
    "no deviation found": "open",
    "conforms": "passed",
}
"""Whose colour a standing has."""

UNASKED = {"not asked": "Claimed, not asked", "not claimed": "Not claimed"}
"""What is said of claims without a finding, by how they stand."""

SHOWN = 100
"""Failed cases of a claim that the page lists."""


def conformance_page(statement: Statement, facts: Facts = ()) -> str:
    """Return the page. Raises InputError if jinja2 or matplotlib is not installed."""
    rows = claim_rows(statement)
    asked = [row for row in rows if row.finding]
    unanswered = [
        row for row in asked if row.finding and row.finding.asked == row.finding.waiting > 0
    ]
    titles = {"unit": "Units", "operator": "Rows of the spec", "network": "Networks"}
    layers = {text: [row for row in asked if row.layer == layer] for layer, text in titles.items()}
    standing = statement.standing
    return render(
        "conformance.html.j2",
        title=f"Conformance of {statement.subject}",
        verdict=Verdict(state=STATES[standing], word=standing, sentence=f"{statement.line()}."),
        facts=[*_page_facts(statement), *facts],
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


def _page_facts(statement: Statement) -> Iterator[tuple[str, str]]:
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


def require_reports(**files: Path | None) -> None:
    """Raise InputError if two reports are to be one file, or a page is asked for, and what it needs
    is not installed."""
    distinct_paths({}, {f"--{name}": path for name, path in files.items()})
    if files["html"] is not None:
        require_page()


def write_reports(
    statement: Statement,
    cases: Mapping[str, Sequence[str]] | None = None,
    *,
    html: Path | None = None,
    junit: Path | None = None,
    json: Path | None = None,
    facts: Facts = (),
) -> None:
    """Write a report in the forms whose files are named: all of them, or none.

    ``cases``: names of all cases of a claim, those that are exact too, where cases have names:
    entries of JUnit XML. ``facts``: what else the page and JSON say of how the statement was made:
    pairs of a name and a value.

    Raises InputError if a file cannot be written, or what a page needs is not installed.
    """
    contents: dict[Path, Content] = {}
    if html is not None:
        contents[html] = conformance_page(statement, facts)
    if junit is not None:
        contents[junit] = partial(_write_junit, statement=statement, cases=cases or {})
    if json is not None:
        contents[json] = as_text.dumps(statement_as_json(statement, facts), indent=1) + "\n"
    write_files(contents)
