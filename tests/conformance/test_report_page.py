"""The page of a statement: right, and in a browser."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from eightfold.conformance.report import SHOWN, write_reports
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import Statement
from tests.support.browser import Browser
from tests.support.conformance.statements import NASTY, statement
from tests.support.html import Element, broken_links, read_html


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


def test_figures_count(shown: Element) -> None:
    cards = [each.text for each in shown.by_id("figures").all("div", "card")]
    assert cards == [
        "✗ deviates2 of 8claims that were asked",
        "… incomplete3 of 8claims that were asked",
        "○ no deviation found3 of 8claims that were asked",
        "cases4,260119 not exact",
    ]


def test_what_was_not_answered_is_counted(shown: Element) -> None:
    assert shown.by_id("claim-MAX_POOL_2D").all("p", "outcomes")[0].text == "2 exact 4 not answered"
    assert shown.by_id("claim-LOGISTIC").text == "LOGISTIC, 6 cases"


def test_what_the_cases_could_not_have_told_is_counted(shown: Element) -> None:
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
