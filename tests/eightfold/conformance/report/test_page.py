"""The page of a statement: right, and in a browser."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from eightfold.conformance.report import write_reports
from eightfold.conformance.report.page import SHOWN
from eightfold.conformance.verdict import Statement
from tests.support.browser import Browser
from tests.support.conformance.statements import NASTY, statement
from tests.support.html import Element, broken_links, read_html

WIDTHS = (400, 800, 1600)


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
    assert verdict.text == f"failed {statement().line()}."
    assert "failed" in verdict.classes


def test_the_rows_of_the_spec_are_on_top(shown: Element) -> None:
    sections = [each.attributes.get("id") for each in shown.all("section")]
    assert sections == ["figures", "rows", "parts", "findings", "facts"]
    rows = [
        [cell.text for cell in (*row.all("td"), *row.all("th"))]
        for table in shown.by_id("rows").all("table")
        for row in table.all("tbody")[0].all("tr")
    ]
    assert len(rows) == 38
    assert rows[0] == ["1", "✗ deviates", "3 of 6", "ADD"]
    assert rows[3] == ["4", "✓ conforms", "6 of 6", "CONV_2D"]
    assert rows[11] == ["12", "… not judged", "", "RESIZE_BILINEAR"]
    assert rows[37] == ["38", "– not claimed", "", "QUANTIZE"]


def test_units_and_networks_have_tables(shown: Element) -> None:
    units, networks = shown.by_id("parts").all("table")
    assert "requantizer ✗ deviates 2,526 of 2,642" in units.text
    assert "fake_quantize – not claimed" in units.text
    assert "networks ✓ conforms 4 of 4" in networks.text


def test_figures_count(shown: Element) -> None:
    cards = [each.text for each in shown.by_id("figures").all("div", "card")]
    assert cards == [
        "Rows that conform1 of 381 deviates, 10 not judged, 26 not claimed",
        "Units that conform1 of 41 deviates, 1 not judged, 1 not claimed",
        "Networks1 of 1all conform",
        "Cases4,258119 not exact",
    ]


def test_a_row_leads_to_its_finding(shown: Element) -> None:
    links = {link.text: link for link in shown.by_id("parts").all("a")}
    article = shown.follow(links["requantizer"])
    assert article.tag == "article"
    assert article.all("p", "outcomes")[0].text == "2,526 exact 116 off by one 2 came unasked"
    assert article.all("code")[0].text == "(y + half) >>> e"
    assert "theirs: 10, expected 11" in article.all("pre")[0].text
    assert len(article.all("table")[0].all("tbody")[0].all("tr")) == SHOWN
    assert f"The first {SHOWN} cases that are not exact" in article.text
    assert "left_missing" in article.all("ul")[0].text


def test_what_deviates_comes_before_what_conforms(shown: Element) -> None:
    found = [each.attributes["id"] for each in shown.by_id("findings").all("article")]
    assert found == [
        f"claim-{name}" for name in ("requantizer", "ADD", "MUL", "dot", "CONV_2D", "networks")
    ]


def test_facts_say_how_it_was_made(shown: Element) -> None:
    facts = shown.by_id("facts").text
    for text in ("Seed5", "shift [-20, 0], zero_points [0]", "icarus 12", "Conformance kit1.0"):
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


def test_all_that_conforms_is_passed(tmp_path: Path) -> None:
    good = replace(statement(), findings=statement().findings[1:2])
    (verdict,) = read_html(page_file(tmp_path, good).read_text("utf-8")).all("p", "verdict")
    assert "passed" in verdict.classes


@pytest.mark.slow
def test_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    path = page_file(tmp_path, statement())
    size = "[document.documentElement.clientWidth, document.documentElement.scrollWidth]"
    for width in WIDTHS:
        assert browser.console(path, width=width) == []
        assert browser.evaluate(path, size, width=width) == [width, width]
    for dark in (False, True):
        picture = tmp_path / f"{dark}.png"
        browser.screenshot(path, picture, dark=dark)
        assert picture.stat().st_size > 10_000
