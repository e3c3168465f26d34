"""The page of a campaign: right, small, and in a browser."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.campaign.folder import Folder
from eightfold.campaign.report import facts, write_report
from eightfold.campaign.report.page import SIGNS, duration, moment
from lab.coverage import EXCLUDED
from tests.support.browser import Browser
from tests.support.campaign.folders import NASTY, Plan, broken, make_campaign, mixed, refused
from tests.support.html import Element, broken_links, read_html
from tests.support.models.single import one_operator
from tests.support.networks.layers import Layers


def page_file(folder: Folder) -> Path:
    """Write the page of a campaign beside its folder."""
    path = folder.path.with_suffix(".html")
    write_report(folder, html=path, junit=None, json=None)
    return path


def page(folder: Folder) -> Element:
    """Return the page of a campaign."""
    return read_html(page_file(folder).read_text("utf-8"))


def cells(shown: Element) -> dict[str, dict[str, Element]]:
    """Return the grid's cells by operator and column."""
    found: dict[str, dict[str, Element]] = {}
    for table in shown.by_id("grid").all("table"):
        columns = [heading.text for heading in table.all("thead")[0].all("th")][1:]
        for row in table.all("tbody")[0].all("tr"):
            found[row.all("th")[0].text] = dict(zip(columns, row.all("td"), strict=True))
    return found


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Return a campaign that has ended, with every verdict."""
    return mixed(tmp_path_factory.mktemp("campaigns") / "mixed")


@pytest.fixture(scope="module")
def shown(ended: Folder) -> Element:
    """Return its page."""
    return page(ended)


@pytest.mark.slow
def test_verdict_first(shown: Element) -> None:
    (verdict,) = shown.all("p", "verdict")
    assert verdict.text.startswith("failed 850 of 900 cases of 3 operators in 3 columns have run")
    assert "failed" in verdict.classes


def test_a_cell_has_its_worst_verdict_as_colour_and_sign(shown: Element) -> None:
    found = {
        (operator, column): (cell.text, cell.classes[-1])
        for operator, row in cells(shown).items()
        for column, cell in row.items()
        if "cell" in cell.classes
    }
    assert found == {
        ("ADD", "golden"): ("✗1 of 100", "failed"),
        ("ADD", "verilator base"): ("!1 of 100", "failed"),
        ("ADD", "icarus nano"): ("✓100", "passed"),
        ("CONV_2D", "golden"): ("?50 of 100", "incomplete"),
        ("CONV_2D", "verilator base"): ("✗2 of 100", "failed"),
        ("CONV_2D", "icarus nano"): ("✓100", "passed"),
        ("SOFTMAX", "golden"): ("✓100", "passed"),
        ("SOFTMAX", "verilator base"): ("✓100", "passed"),
        ("SOFTMAX", "icarus nano"): ("✓95 of 100", "passed"),
    }
    assert len(set(SIGNS.values())) == len(SIGNS)


def test_a_cell_leads_to_its_cases_and_they_to_the_failure(shown: Element) -> None:
    (link,) = cells(shown)["CONV_2D"]["verilator base"].all("a")
    row = shown.follow(link)
    assert row.tag == "tr"
    assert [cell.text for cell in row.all("td")][:4] == [
        "verilator base", "✗ 2 ✓ 98", "0..99", "✗ 3 ✗ 60",
    ]  # fmt: skip
    failure = shown.follow(row.all("a")[0])
    assert failure.tag == "article"
    assert failure.all("h3")[0].text == "✗ CONV_2D verilator base, seed 3"


def test_every_link_leads_somewhere(shown: Element) -> None:
    assert len(shown.all("a")) > 20
    assert broken_links(shown) == []


def test_a_failure_has_all_that_is_known_of_it(shown: Element, ended: Folder) -> None:
    failure = shown.by_id("case-operators-CONV_2D-3-verilator-base")
    assert failure.all("pre", "command")[0].text == (
        f"eightfold campaign repeat {ended.path} operators-CONV_2D-3-verilator-base"
    )
    (row,) = failure.all("table", "difference")[0].all("tbody")[0].all("tr")
    texts = [cell.text for cell in row.all("td")]
    assert texts == ["3", "[1, 5, 0, 15]", "-128", "-64", "1 of 192"]
    log = failure.all("pre", "log")[0].text
    assert "SRDHM(-4885, multiplier 1110961517) = -2527" in log
    assert "differ" not in log, "the message is said once"
    assert "padding SAME stride_w 3 stride_h 1" in failure.all("p", "options")[0].text
    tensors = failure.all("table")[1].all("tbody")[0].all("tr")
    assert [[cell.text for cell in row.all("td")] for row in tensors] == [
        ["0", "input 0", "tensor_0", "int8", "2x6x2x2", "0.046501942", "-128"],
        ["1", "input 1, constant", "tensor_1", "int8", "16x3x1x1", "0.0284291748", "0"],
        ["2", "input 2, constant", "tensor_2", "int32", "16", "0.00132201181", "0"],
        ["3", "output 0 differs", "tensor_3", "int8", "2x6x1x16", "0.0817741752", "-128"],
    ]
    assert "inputs.npz" in failure.all("p", "files")[0].text


def test_failures_are_grouped_the_most_frequent_first(shown: Element) -> None:
    (table,) = shown.by_id("figures").all("table")
    rows = [[cell.text for cell in row.all("td")] for row in table.all("tbody")[0].all("tr")]
    assert [row[0] for row in rows] == ["✗ 2", "✗ 1", "! 1"]
    assert rows[0][1:3] == ["CONV_2D", "verilator base"]
    assert rows[0][4] == "✗ 3 ✗ 60"


def test_coverage_has_holes_and_reasons(shown: Element) -> None:
    section = shown.by_id("coverage")
    assert "161 covered, 18 missing, 8 excluded" in section.text
    holes, exclusions, bins = section.all("table")
    assert len(holes.all("span", "hole")) == 18
    assert "CONV_2D activation and saturation RELU, below RELU, within" in holes.text
    reasons = {row.all("td")[-1].text for row in exclusions.all("tbody")[0].all("tr")}
    assert reasons == {r for b, r in EXCLUDED.items() if b.operator in ("ADD", "SOFTMAX")}
    row = shown.follow(cells(shown)["ADD"]["bins covered"].all("a")[0])
    assert row in bins.every()
    assert "✗ 62 of 69" in row.text


def test_sessions_and_what_was_asked(shown: Element, ended: Folder) -> None:
    text = shown.by_id("time").text
    assert "2026-09-21 14:13:20 2026-09-21 14:13:28 8.9 s 2 interrupted" in text
    assert len(shown.by_id("time").all("svg")) == 2
    assert (
        "eightfold campaign run --suite operators --operators ADD,CONV_2D,SOFTMAX --coverage "
        f"--models 100 --seed 0 --out {ended.path}"
    ) in shown.by_id("facts").text


def test_lost_and_refused_are_told(shown: Element) -> None:
    assert "? 50 CONV_2D golden the worker died 3 times" in shown.by_id("lost").text
    assert "– 5 SOFTMAX icarus nano float32" in shown.by_id("refused").text
    (link,) = cells(shown)["CONV_2D"]["golden"].all("a")
    assert "0..49 ? 50..99" in shown.follow(link).text


def test_nothing_is_loaded_or_run(ended: Folder, shown: Element) -> None:
    text = page_file(ended).read_text("utf-8")
    assert not re.search(r"https?://|\bsrc=|@import|url\((?!#)|<script", text)
    assert NASTY.replace("\x00", "�").split("\x1b")[0] in shown.by_id("failures").text


def test_a_campaign_that_waits(tmp_path: Path) -> None:
    plan = Plan(operators=("ADD",), columns=(("golden", ""),), cases=200, ends=0.5)
    shown = page(make_campaign(tmp_path / "a", plan))
    (cell,) = (row["golden"] for row in cells(shown).values())
    assert (cell.text, cell.classes[-1]) == ("…100 of 200", "incomplete")
    assert "0..99 … 100..199" in shown.follow(cell.all("a")[0]).text
    assert "it runs, or was killed" in shown.by_id("time").text
    assert broken_links(shown) == []


def test_a_campaign_that_has_not_begun(tmp_path: Path) -> None:
    shown = page(make_campaign(tmp_path / "a", Plan(operators=("ADD",), ends=0.0, coverage=0.0)))
    assert "incomplete 0 of 300 cases" in shown.all("p", "verdict")[0].text
    assert not shown.all("svg")
    assert broken_links(shown) == []


@pytest.mark.slow
def test_many_cases_and_many_failures_make_a_small_page(tmp_path: Path) -> None:
    chosen = {("ADD", "golden", seed): broken("ADD", seed, f"E{seed}: bad") for seed in range(3000)}
    chosen[("CONV_2D", "golden", 99_999)] = broken("CONV_2D", 99_999, "rare")
    chosen |= {("CONV_2D", "golden", seed): refused("CONV_2D", seed) for seed in range(5000)}
    plan = Plan(
        operators=("ADD", "CONV_2D"),
        columns=(("golden", ""),),
        cases=100_000,
        together=5000,
        chosen=chosen,
    )
    folder = make_campaign(tmp_path / "a", plan)
    text = page_file(folder).read_text("utf-8")
    assert len(text) < 400_000
    shown = read_html(text)
    articles = shown.all("article")
    assert len(articles) == facts.SHOWN_IN_FULL
    assert "CONV_2D golden, seed 99999" in " ".join(each.all("h3")[0].text for each in articles)
    assert f"{facts.SHOWN_IN_FULL} cases in full, some of every kind; 2,801 more" in text
    row = shown.follow(cells(shown)["ADD"]["golden"].all("a")[0])
    assert f"and {3000 - facts.SEEDS_LISTED:,} more" in row.text
    assert "0..99999" in row.text
    assert broken_links(shown) == []


@pytest.mark.slow
def test_a_suite_without_operators(tmp_path: Path) -> None:
    shown = page(make_campaign(tmp_path / "a", Plan(operators=("",), suite="networks")))
    assert cells(shown)["networks"]["golden"].text == "✓100"
    assert "All 300 cases in 3 columns passed" in shown.all("p", "verdict")[0].text
    assert broken_links(shown) == []


def test_durations_have_two_units_at_most() -> None:
    texts = [duration(seconds) for seconds in (None, 0.01234, 9.04, 59.4, 61, 900, 7300, 1e6)]
    expected = ["–", "0.012 s", "9 s", "59 s", "1 min 1 s", "15 min", "2 h 1 min", "277 h 46 min"]
    assert texts == expected
    assert (moment(0.0), moment(None)) == ("1970-01-01 00:00:00", "–")


@pytest.mark.slow
def test_in_a_browser(ended: Folder, browser: Browser, tmp_path: Path) -> None:
    path = page_file(ended)
    browser.expect_sound(path, tmp_path)
    shown = read_html(browser.dom(path))
    assert broken_links(shown) == []
    (link,) = cells(shown)["ADD"]["golden"].all("a")
    (case,) = shown.follow(link).all("a")
    assert "seed 17" in shown.follow(case).text


def tensors(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays as the evidence of a case."""
    np.savez(path, allow_pickle=False, **arrays)


NANS = np.array([np.nan, 1.0, np.nan], np.float32)


@pytest.mark.parametrize(
    ("one", "other", "where", "expected", "got"),
    [
        (np.zeros((2, 3), np.int8), np.array([[0, 0, 0], [5, 0, -7]], np.int8), (1, 0), "0", "5"),
        (NANS, np.array([np.nan, 1.0, 2.0], np.float32), (2,), "nan", "2.0"),
        (np.array(3, np.int8), np.array(4, np.int8), (), "3", "4"),
        (np.zeros(4, np.int8), np.zeros((2, 2), np.int8), None, "int8 4", "int8 2x2"),
        (np.zeros(4, np.int8), np.zeros(4, np.int16), None, "int8 4", "int16 4"),
    ],
    ids=["the first element", "no number", "a scalar", "shape", "type"],
)
def test_the_difference_of_two_tensors(
    one: np.ndarray, other: np.ndarray, where: Any, expected: str, got: str
) -> None:
    (found,) = facts.differences({4: one}, {4: other, 5: other})
    assert (found.tensor, found.where, found.expected, found.got) == (4, where, expected, got)
    if where is not None:
        assert (found.elements, found.of) == (1 + (where == (1, 0)), one.size)
    assert facts.differences({4: one}, {4: one.copy()}) == []


def test_an_empty_folder_and_none(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        found = facts.read_failure(folder, "differs")
        assert (found.files, found.log, found.note, found.tensors) == ([], "", "", [])


@pytest.mark.parametrize("name", ["expected.npz", "got.npz", "model.tflite"])
def test_a_damaged_file_is_noted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 damaged")
    (tmp_path / "log.txt").write_text("differs\n\nstep\n")
    found = facts.read_failure(tmp_path, "differs")
    assert name in found.note
    assert found.log == "step"


def test_the_log_is_cut_and_says_the_message_once(tmp_path: Path) -> None:
    lines = [f"step {number}" for number in range(facts.LOG_LINES + 30)]
    (tmp_path / "log.txt").write_text("\n".join(["differs", "", "differs", "", *lines]) + "\n")
    found = facts.read_failure(tmp_path, "differs")
    assert found.log.splitlines() == lines[: facts.LOG_LINES]
    assert found.left == 30


def chain(length: int) -> bytes:
    """Return a network of RELUs, one after the other."""
    layers = Layers((4,))
    for number in range(length):
        layers.then("RELU", zero_point=number)
    return layers.model()


def test_of_a_network_the_first_operator_that_differs(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(chain(50))
    wrong = np.ones(4, np.int8)
    tensors(tmp_path / "expected.npz", tensor_20=0 * wrong, tensor_21=0 * wrong)
    tensors(tmp_path / "got.npz", tensor_20=wrong, tensor_21=wrong)
    found = facts.read_failure(tmp_path, "")
    assert [operator.index for operator in found.operators] == [19]
    assert found.operator_count == 50
    kept = [(t.index, t.role, t.zero_point, t.differs) for t in found.tensors]
    assert kept == [(19, "input 0", "18", False), (20, "output 0", "19", True)]


def test_of_many_operands_the_first(tmp_path: Path) -> None:
    model = one_operator(
        "CONCATENATION", [(1, 2)] * 40, (40, 2), scales=(0.5,) * 40, zero_points=(0,) * 40,
        options={"axis": 0},
    )  # fmt: skip
    (tmp_path / "model.tflite").write_bytes(model)
    found = facts.read_failure(tmp_path, "")
    assert len(found.tensors) == facts.TENSORS_SHOWN
    assert found.tensor_count == 41
    assert found.operators[0].options["axis"] == "0"
