"""The report on an implementation: rows, sentences, JUnit XML, JSON, and its page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eightfold.conformance.profile import CLAIMS, OPERATORS, PROFILES, Profile, ProfileLimits
from eightfold.conformance.report import (
    SCHEMA_VERSION,
    SHOWN,
    StatementJson,
    claim_rows,
    statement_as_json,
    statement_lines,
    write_reports,
)
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import (
    LISTED,
    STANDINGS,
    CaseOutcome,
    ClaimFinding,
    FailedCase,
    Statement,
)
from tests.support.browser import Browser
from tests.support.documented import check_fields
from tests.support.html import Element, broken_links, read_html

RIGHT = ClaimFinding(claim="ADD", counts={CaseOutcome.EXACT: 6}, known=73, unseen=35)
WRONG = ClaimFinding(claim="SUB", counts={CaseOutcome.EXACT: 3, CaseOutcome.WRONG: 1})
WAITING = ClaimFinding(claim="MUL", counts={}, waiting=6)

NASTY = "<script>alert(1)</script> & \x00\x1b[31m 'é' `x >>> 1`"
"""What a runtime may say."""


def statement() -> Statement:
    """Return a statement: claims that are right, deviate, are incomplete in every way, were not
    asked, and are not claimed."""
    profile = Profile(
        name="mine",
        claims=("requantizer", "dot", "tables", *OPERATORS[:12]),
        limits=ProfileLimits(shift=(-20, 0), zero_points=(0,)),
    )
    requantizer = ClaimFinding(
        claim="requantizer",
        counts={CaseOutcome.EXACT: 2526, CaseOutcome.OFF_BY_ONE: 116},
        extra=2,
        mistakes=("second_half_up",),
        diagnosis=("second_half_up: It adds half and shifts, `(y + half) >>> e`.",),
        failed=tuple(
            FailedCase(name=str(n), outcome=CaseOutcome.OFF_BY_ONE, message="127 instead of 126")
            for n in range(116)
        ),
        smallest=("case 7: acc 1", "  SRDHM(1, multiplier 5) = 1", "  theirs: 10, expected 11"),
        power=("1 of 61 mistakes cannot be seen in these cases: left_missing.",),
        known=61,
        unseen=1,
    )
    add = ClaimFinding(
        claim="ADD",
        counts={
            CaseOutcome.EXACT: 3,
            CaseOutcome.TIMEOUT: 1,
            CaseOutcome.ACCEPTED: 1,
            CaseOutcome.WRONG: 1,
        },
        diagnosis=("No mistake with a name explains all.",),
        failed=(
            FailedCase(name="ADD/0001", outcome=CaseOutcome.TIMEOUT, message=NASTY),
            FailedCase(name="ADD/0004", outcome=CaseOutcome.ACCEPTED),
            FailedCase(name="ADD/0005", outcome=CaseOutcome.WRONG, message="a" * 400),
        ),
    )
    findings = (
        requantizer,
        ClaimFinding(claim="dot", counts={CaseOutcome.EXACT: 1600}),
        add,
        ClaimFinding(claim="CONV_2D", counts={CaseOutcome.EXACT: 6}, known=73, unseen=35),
        ClaimFinding(claim="LOGISTIC", counts={}, waiting=6),
        ClaimFinding(claim="MAX_POOL_2D", counts={CaseOutcome.EXACT: 2}, waiting=4),
        ClaimFinding(claim="MUL", counts={}, diagnosis=("Its limits leave no model of MUL.",)),
        ClaimFinding(claim="networks", counts={CaseOutcome.EXACT: 4}),
    )
    return Statement(subject="my core", profile=profile, level="smoke", seed=5, findings=findings)


CASES = {
    "ADD": [f"ADD/{n:04}" for n in range(6)],
    "CONV_2D": [f"CONV_2D/{n:04}" for n in range(6)],
    "MAX_POOL_2D": ["MAX_POOL_2D/0001", "MAX_POOL_2D/0004"],
}
"""Names of the cases of models that were answered."""


def test_every_claim_of_the_spec_has_a_row() -> None:
    rows = claim_rows(statement())
    operators = [row for row in rows if row.layer == "operator"]
    assert [row.claim for row in operators] == list(OPERATORS)
    assert [row.number for row in operators] == list(range(1, 39))
    standings = {row.claim: row.standing for row in rows}
    found = {how: [c for c, stands in standings.items() if stands == how] for how in STANDINGS}
    assert found == {
        "deviates": ["requantizer", "ADD"],
        "incomplete": ["LOGISTIC", "MAX_POOL_2D", "MUL"],
        "no deviation found": ["dot", "CONV_2D", "networks"],
        "conforms": [],
    }
    assert standings["tables"] == standings["RESHAPE"] == "not asked"
    assert standings["fake_quantize"] == standings["QUANTIZE"] == "not claimed"


@pytest.mark.parametrize("level", ["standard", "full"])
def test_the_word_conforms_needs_more_than_smoke(level: Level) -> None:
    rows = claim_rows(replace(statement(), level=level))
    conforming = [row.claim for row in rows if row.standing == "conforms"]
    assert conforming == ["dot", "CONV_2D", "networks"]
    text = "\n".join(statement_lines(replace(statement(), level=level)))
    assert "CONV_2D: conforms, all 6 cases are exact." in text
    assert "conforms" not in "\n".join(statement_lines(statement()))


@pytest.mark.parametrize(
    ("farthest", "tolerance", "more", "grade"),
    [
        (1, 1, {}, "within T"),
        (2, 1, {}, "deviates"),
        (None, 1, {}, "deviates"),
        (1, None, {}, "deviates"),
        (1, 1, {"waiting": 1}, "deviates"),
        (1, 1, {"extra": 1}, "deviates"),
        (0, 0, {"counts": {CaseOutcome.EXACT: 4}}, "exact"),
        (0, 0, {"counts": {CaseOutcome.EXACT: 4}, "waiting": 1}, None),
    ],
)
def test_the_grade_is_beside_the_verdict(
    farthest: int | None, tolerance: int | None, more: dict, grade: str | None
) -> None:
    finding = replace(WRONG, farthest=farthest, tolerance=tolerance, **more)
    assert finding.grade == grade
    within = finding.grade == "within T"
    assert ("within T = 1, never further than 1" in finding.headline("standard")) is within
    line = replace(statement(), findings=(finding,)).line()
    assert line.endswith("deviates: SUB (within T = 1)") is within
    assert not within or finding.standing("standard") == "deviates"


def test_tpu_mlir_has_units_alone() -> None:
    finding = ClaimFinding(claim="requantizer", counts={CaseOutcome.EXACT: 1})
    of_tpu = Statement(
        subject="a", profile=PROFILES["tpu-mlir"], level="full", seed=0, findings=(finding,)
    )
    assert [row.claim for row in claim_rows(of_tpu)] == [*CLAIMS["tpu-mlir"]]
    assert list(statement_lines(of_tpu))[-2:] == [
        f"Claimed, not asked: {', '.join(CLAIMS['tpu-mlir'][1:])}.",
        "Eightfold conformance 2.0, TPU-MLIR int8, no limits, requantizer, unit level, full",
    ]


def test_sentences_end_with_the_statement() -> None:
    lines = list(statement_lines(statement()))
    assert lines[0].startswith("requantizer: deviates, 116 off by one of 2642 cases; 2 more")
    assert "  0: off by one, 127 instead of 126" in lines
    assert "1 of 61 mistakes cannot be seen in these cases: left_missing." in lines
    for line in (
        "dot: no deviation found in 1600 cases.",
        "CONV_2D: no deviation found in 6 cases, which could not have told 35 of 73 mistakes.",
        "LOGISTIC: incomplete, 0 of 6 cases were answered.",
        "MAX_POOL_2D: incomplete, 2 of 6 cases were answered, all of them exact.",
        "MUL: incomplete, it has no cases.",
    ):
        assert line in lines
    assert lines[-2] == "Claimed, not asked: tables, 7 operators."


HEAD = "Eightfold conformance 2.0, TFLite int8 (litert), limits (shift [-20, 0], zero_points [0])"


@pytest.mark.parametrize(
    ("level", "line"),
    [
        (
            "smoke",
            f"{HEAD}, network level, smoke; dot, networks, CONV_2D: no deviation found in 1610 "
            "cases, which could not have told 35 of 73 mistakes; deviates: requantizer, ADD; "
            "incomplete: LOGISTIC, MAX_POOL_2D, MUL, 2 of 12 cases were answered",
        ),
        (
            "full",
            f"{HEAD}, 1 of 38 rows, dot, network level, full; deviates: requantizer, ADD; "
            "incomplete: LOGISTIC, MAX_POOL_2D, MUL, 2 of 12 cases were answered",
        ),
    ],
)
def test_the_line_has_its_limits_and_every_claim_that_was_asked(level: Level, line: str) -> None:
    assert replace(statement(), level=level).line() == line


@pytest.mark.parametrize(
    ("findings", "level", "standing", "holds"),
    [
        ([RIGHT], "smoke", "no deviation found", True),
        ([RIGHT], "standard", "conforms", True),
        ([RIGHT, WAITING], "standard", "incomplete", False),
        ([RIGHT, WRONG, WAITING], "smoke", "deviates", False),
        ([replace(WRONG, waiting=7)], "full", "deviates", False),
        ([replace(RIGHT, extra=1)], "full", "deviates", False),
        ([], "full", "incomplete", False),
    ],
)
def test_the_worst_claim_is_the_standing(
    findings: list[ClaimFinding], level: Level, standing: str, holds: bool
) -> None:
    found = replace(statement(), findings=tuple(findings), level=level)
    assert (found.standing, found.holds) == (standing, holds)
    assert found.conforms == (standing == "conforms")


def test_a_known_failure_deviates_though_cases_wait() -> None:
    found = replace(WRONG, waiting=7)
    assert (
        found.headline("full") == "SUB: deviates, 1 wrong of 4 cases; 4 of 11 cases were answered."
    )


def junit(tmp_path: Path, of: Statement, cases: dict | None = None) -> ElementTree.Element:
    """Return the root of the XML."""
    write_reports(of, cases, junit=tmp_path / "a.xml")
    return ElementTree.parse(tmp_path / "a.xml").getroot()


def test_junit_has_a_suite_per_claim_and_an_entry_per_model(tmp_path: Path) -> None:
    root = junit(tmp_path, statement(), CASES)
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == [finding.claim for finding in statement().findings]
    counted = {
        name: tuple(int(suite.get(key, "")) for key in ("tests", "failures", "errors"))
        for name, suite in suites.items()
    }
    assert counted == {
        "requantizer": (2643, 117, 0),
        "dot": (1600, 0, 0),
        "ADD": (7, 3, 1),
        "CONV_2D": (6, 0, 0),
        "LOGISTIC": (1, 0, 1),
        "MAX_POOL_2D": (3, 0, 1),
        "MUL": (1, 0, 1),
        "networks": (4, 0, 0),
    }
    for key, total in (("tests", 4265), ("failures", 120), ("errors", 4)):
        assert root.get(key) == str(total)
    cases = {case.get("name"): case for case in suites["ADD"].iter("testcase")}
    assert list(cases) == [*CASES["ADD"], "ADD"]
    assert [child.tag for child in cases["ADD/0001"]] == ["error"]
    assert cases["ADD/0001"][0].get("type") == "timeout"
    assert cases["ADD/0004"][0].get("message") == "accepted though illegal"
    assert not list(cases["ADD/0000"])
    *failed, unit = suites["requantizer"].iter("failure")
    assert len(failed) == 116
    assert unit.get("type") == "second_half_up"
    assert "theirs: 10, expected 11" in (unit.text or "")
    (waiting,) = suites["LOGISTIC"].iter("error")
    assert waiting.get("type") == "incomplete"
    assert waiting.get("message") == "LOGISTIC: incomplete, 0 of 6 cases were answered."
    power = properties(suites["requantizer"])["power"]
    assert power and "left_missing" in power
    assert properties(suites["requantizer"])["entries"] == "all 2642 cases"


def properties(suite: ElementTree.Element) -> dict[str | None, str | None]:
    """Return what a suite says of itself."""
    return {each.get("name"): each.get("value") for each in suite.iter("property")}


@pytest.mark.parametrize(
    ("level", "standing"), [("smoke", "no deviation found"), ("full", "conforms")]
)
def test_machines_can_tell_that_nothing_was_found_from_that_it_conforms(
    level: Level, standing: str, tmp_path: Path
) -> None:
    good = replace(statement(), findings=(RIGHT,), level=level)
    (suite,) = junit(tmp_path, good)
    assert properties(suite)["standing"] == standing
    table = statement_as_json(good)
    assert (table["standing"], table["holds"]) == (standing, True)
    assert table["conforms"] == (standing == "conforms")
    (claim,) = [each for each in table["claims"] if each["finding"]]
    assert claim["standing"] == standing


def test_junit_says_that_not_every_case_has_an_entry(tmp_path: Path) -> None:
    failed = tuple(FailedCase(name=str(n), outcome=CaseOutcome.WRONG) for n in range(LISTED))
    finding = ClaimFinding(claim="dot", counts={CaseOutcome.WRONG: LISTED + 9}, failed=failed)
    (suite,) = junit(tmp_path, replace(statement(), findings=(finding,)))
    said = properties(suite)["entries"]
    assert said == f"{LISTED} of {LISTED + 9} cases, the first of those that deviate"
    assert suite.get("tests") == str(LISTED + 1)


def test_json_has_all(tmp_path: Path) -> None:
    write_reports(statement(), json=tmp_path / "a.json", facts=[("Simulator", "icarus")])
    table = json.loads((tmp_path / "a.json").read_text())
    assert table == statement_as_json(statement(), [("Simulator", "icarus")]) | {
        "profile": json.loads(json.dumps(statement().profile.as_dict()))
    }
    assert table["schema_version"] == SCHEMA_VERSION and table["conforms"] is False
    claims = {each["claim"]: each for each in table["claims"]}
    finding = claims["requantizer"]["finding"]
    assert finding["counts"]["off_by_one"] == 116 and finding["counts"]["wrong"] == 0
    assert len(finding["failed"]) == 116 and finding["mistakes"] == ["second_half_up"]
    tables = {"claim": "tables", "layer": "unit", "standing": "not asked", "finding": None}
    assert claims["tables"] == tables
    waiting = claims["MAX_POOL_2D"]["finding"]
    assert (waiting["asked"], waiting["cases"]) == (6, 2)


def test_every_field_is_declared() -> None:
    check_fields(statement_as_json(statement()), StatementJson)


def page_file(folder: Path, of: Statement) -> Path:
    """Write the page of a statement."""
    write_reports(of, html=folder / "page.html", facts=[("Simulator", "icarus 12")])
    return folder / "page.html"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Element:
    folder = tmp_path_factory.mktemp("page")
    return read_html(page_file(folder, statement()).read_text("utf-8"))


def test_the_statement_comes_first(shown: Element) -> None:
    (verdict,) = shown.all("p", "verdict")
    assert verdict.text == f"deviates {statement().line()}."
    assert "failed" in verdict.classes
    assert [link.text for link in shown.all("nav")[0].all("a")] == [
        "Findings", "requantizer", "ADD", "Claims", "What is exact", "How this was made",
    ]  # fmt: skip


def test_findings_come_before_the_table_and_that_before_what_is_exact(shown: Element) -> None:
    sections = [each.attributes.get("id") for each in shown.all("section")]
    assert sections == ["figures", "findings", "claims", "exact", "facts"]
    articles = [each.all("h3")[0].text for each in shown.by_id("findings").all("article")]
    assert articles == [
        "requantizer deviates unit",
        "ADD deviates operator",
        "Not answered at all incomplete",
        "MAX_POOL_2D incomplete operator",
        "MUL incomplete operator",
    ]
    exact = [each.attributes["id"] for each in shown.by_id("exact").all("article")]
    assert exact == ["claim-dot", "claim-CONV_2D", "claim-networks"]


def test_claims_that_were_asked_have_a_row_and_others_a_line(shown: Element) -> None:
    rows = [
        [cell.text for cell in (*row.all("td"), *row.all("th"))]
        for table in shown.by_id("claims").all("table")
        for row in table.all("tbody")[0].all("tr")
    ]
    assert rows == [
        ["1", "✗ deviates", "2,526 of 2,642", "requantizer"],
        ["2", "○ no deviation found", "1,600 of 1,600", "dot"],
        ["1", "✗ deviates", "3 of 6", "ADD"],
        ["4", "○ no deviation found", "6 of 6", "CONV_2D"],
        ["8", "… incomplete", "0 of 6", "LOGISTIC"],
        ["9", "… incomplete", "2 of 6", "MAX_POOL_2D"],
        ["10", "… incomplete", "0 of 0", "MUL"],
        ["1", "○ no deviation found", "4 of 4", "networks"],
    ]
    assert [each.text for each in shown.by_id("claims").all("p")] == [
        "Claimed, not asked: tables, 7 operators.",
        "Not claimed: fake_quantize, sequence, 26 operators.",
    ]


def test_what_is_on_cards_and_in_findings_is_counted(shown: Element) -> None:
    cards = [each.text for each in shown.by_id("figures").all("div", "card")]
    assert cards == [
        "✗ deviates2 of 8claims that were asked",
        "… incomplete3 of 8claims that were asked",
        "○ no deviation found3 of 8claims that were asked",
        "cases4,260119 not exact",
    ]
    assert shown.by_id("claim-MAX_POOL_2D").all("p", "outcomes")[0].text == "2 exact 4 not answered"
    assert shown.by_id("claim-LOGISTIC").text == "LOGISTIC, 6 cases"
    (summary,) = shown.by_id("claim-requantizer").all("summary")[1:]
    assert summary.text == (
        "What these cases could not have told apart: 1 of 61 mistakes from the reference"
    )


def test_a_row_leads_to_its_finding(shown: Element) -> None:
    links = {link.text: link for link in shown.by_id("claims").all("a")}
    article = shown.follow(links["requantizer"])
    assert article.tag == "article"
    assert article.all("p", "outcomes")[0].text == "2,526 exact 116 off by one 2 came unasked"
    assert article.all("code")[0].text == "(y + half) >>> e"
    assert "theirs: 10, expected 11" in article.all("pre")[0].text
    assert len(article.all("table")[0].all("tbody")[0].all("tr")) == SHOWN
    assert f"The first {SHOWN} cases that are not exact" in article.text
    assert "left_missing" in article.all("ul")[0].text


def test_facts_say_how_it_was_made(shown: Element) -> None:
    facts = shown.by_id("facts").text
    for text in ("Seed5", "shift [-20, 0], zero_points [0]", "icarus 12", "Conformance kit2.0"):
        assert text.replace(" ", "") in facts.replace(" ", "")


def test_links_lead_somewhere_and_nothing_is_loaded(shown: Element, tmp_path: Path) -> None:
    assert len(shown.all("a")) > 8
    assert broken_links(shown) == []
    text = page_file(tmp_path, statement()).read_text("utf-8")
    assert not re.search(r"https?://|\bsrc=|@import|url\((?!#)|<script", text)
    assert "<script>alert(1)</script>" in NASTY


def test_a_statement_without_findings_is_incomplete(tmp_path: Path) -> None:
    empty = read_html(page_file(tmp_path, replace(statement(), findings=())).read_text("utf-8"))
    (verdict,) = empty.all("p", "verdict")
    assert "incomplete" in verdict.classes
    assert broken_links(empty) == []


@pytest.mark.parametrize(
    ("level", "state", "word"),
    [("smoke", "open", "no deviation found"), ("full", "passed", "conforms")],
)
def test_what_is_exact_is_passed_where_the_level_can_show_it(
    level: Level, state: str, word: str, tmp_path: Path
) -> None:
    good = replace(statement(), findings=statement().findings[1:2], level=level)
    page = read_html(page_file(tmp_path, good).read_text("utf-8"))
    (verdict,) = page.all("p", "verdict")
    assert verdict.text.startswith(f"{word} Eightfold") and state in verdict.classes
    assert [each.attributes["id"] for each in page.all("section")] == [
        "figures", "claims", "exact", "facts",
    ]  # fmt: skip


@pytest.mark.slow
def test_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    browser.expect_sound(page_file(tmp_path, statement()), tmp_path, (400, 800, 1600))
