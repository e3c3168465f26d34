"""The page of a run: it shows what the result has, and nothing that was not there."""

import html
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from eightfold import Session
from eightfold.compiler import CompiledNetwork, compile_network
from eightfold.compiler.passes import Prepared
from eightfold.compiler.rewrite.rules import rewrite
from eightfold.estimate.estimate import estimate, estimate_stream
from eightfold.isa import COUNTERS
from eightfold.isa.shares import Work
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model
from eightfold.run.report.clock import Clock
from eightfold.run.report.result import (
    Record,
    RunResult,
    StreamRecord,
    hardware_reports,
    mac_limit,
    verdict,
)
from eightfold.run.report.run_page import run_page
from eightfold.run.report.timeline import axis_of, memory_maps, timeline
from eightfold.run.simulate import command_spans
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE as DIGITS
from tests.eightfold.cli.test_cli import MODEL
from tests.eightfold.run.test_session import small_model
from tests.support.browser import Browser
from tests.support.command import Call, printed, refusal
from tests.support.models.networks import streaming
from tests.support.models.single import one_operator
from tests.support.networks.layers import Layers

NASTY = "<script>alert('&')</script>"

NAMES = [name for name, _ in COUNTERS]


def golden(model: bytes | None = None, *, compare: bool = False) -> RunResult:
    """Return a run on golden with its record, of the digits or another model."""
    with Session(config="nano") as session:
        return session.run(model or DIGITS, record=True, compare=compare)


def simulated(model: bytes | None = None, streams: int = 1) -> RunResult:
    """Return a run as a simulation would leave it: once the whole model, or several times.

    Commands take the cycles that are estimated. Each operator's counters are its index, but for the
    port's: a read each second cycle.
    """
    result = golden(model)
    result.backend = "verilator"
    assert result.record is not None
    graph, network = _compiled(model)
    (segment,) = network.segments
    compiled = segment.compiled
    assert compiled is not None
    done, end = estimate_stream(compiled.config, compiled.issued)
    rows = []
    for index, cycle in sorted(done.items(), key=lambda item: item[1]):
        engine = compiled.issued[index].engine
        assert engine is not None
        rows.append([engine.value, index, *_counts(cycle)])
    rows.append([-1, 0, *_counts(end)])
    events = np.array(rows, np.int64)
    record = StreamRecord(
        compiled=compiled, spans=command_spans(compiled, events), counts=events[:, 2:]
    )
    result.record = Record(
        streams=[record] * streams, tensors=result.record.tensors, names=result.record.names
    )
    found = estimate(network.streams)
    cycles = {index: streams * taken for index, taken in found.cycles.items()}
    work = {
        index: Work(streams * worked.engines, streams * worked.multipliers)
        for index, worked in found.work.items()
    }
    prepared = Prepared(rewrite(graph, without=["all"]), network)
    result.operators = hardware_reports(graph, prepared, PRESETS["nano"], cycles, work)
    for operator in result.operators:
        operator.counters = _named(operator.index, operator.cycles or 0)
    return result


@cache
def _compiled(model: bytes | None) -> tuple[Graph, CompiledNetwork]:
    graph = load_model(model or DIGITS)
    return graph, compile_network(graph, PRESETS["nano"])


def _counts(cycle: int) -> list[int]:
    """Return counters after a cycle: one cycle in four goes to each state of an engine."""
    return [cycle if name == "CYCLES" else cycle // 4 for name in NAMES]


def _named(index: int, cycles: int) -> dict[str, int]:
    beats = {"READ_BEATS": cycles // 2, "WRITE_BEATS": cycles // 4}
    return {name: beats.get(name, index) for name in NAMES if name != "CYCLES"}


def tables(page: str) -> dict[str, list[list[str]]]:
    """Return the cells of each section's tables, by the section's id."""
    found = {}
    for name, body in re.findall(r'<section id="(\w+)">(.*?)</section>', page, re.DOTALL):
        rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
        cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
        found[name] = [[text_of(cell) for cell in row] for row in cells]
    return found


def text_of(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", part)).split())


@pytest.fixture(scope="module")
def result() -> RunResult:
    return simulated()


@pytest.fixture(scope="module")
def page(result: RunResult) -> str:
    return run_page(result)


@pytest.mark.slow
def test_the_verdict_is_that_of_the_command_line(result: RunResult, page: str) -> None:
    shown = re.search(r'<p class="verdict (\w+)">(.*?)</p>', page)
    assert shown
    assert shown[1] == "incomplete"
    assert text_of(shown[2]) == f"incomplete {verdict(result)}."


def test_operators_are_shown_with_cycles_and_limits(result: RunResult, page: str) -> None:
    head, *rows, total = tables(page)["operators"]
    assert head[4:11] == [
        *("MACs", "MACs done", "cycles", "engines worked", "utilisation"),
        *("multipliers’ limit", "port’s limit"),
    ]
    for operator, row in zip(result.operators, rows, strict=True):
        limit = mac_limit(operator.macs, result.macs_per_cycle)
        assert row[:2] == [str(operator.index), operator.name]
        assert row[3:11] == [
            "hardware",
            *[f"{operator.macs:,}" if operator.macs else "–"] * 2,
            f"{operator.cycles:,}",
            f"{operator.engine_cycles:,}",
            "–" if operator.utilisation is None else f"{operator.utilisation:.1%}",
            f"{limit:,}" if limit else "–",
            f"{(operator.cycles or 0) // 2:,}",
        ]
        assert len(row) == len(total) == 12
    assert total[6] == f"{result.cycles:,}"


def test_what_was_not_compared_has_no_columns_of_a_comparison() -> None:
    for compare in (False, True):
        found = tables(run_page(golden(compare=compare)))
        assert ("elements that differ" in found["operators"][0]) is compare
        assert found["tensors"][0][5:] == (["comparison", "first difference"] if compare else [])
        for name in ("operators", "tensors"):
            assert len({*map(len, found[name])}) == 1


@pytest.mark.parametrize("backend", ["golden", pytest.param("verilator", marks=pytest.mark.slow)])
def test_operators_of_a_network_with_state_keep_their_numbers(backend: str) -> None:
    with Session(backend, "nano") as session:
        result = session.run(streaming(), record=True)
    assert [operator.index for operator in result.operators] != [*range(len(result.operators))]
    names = {operator.index: operator.name for operator in result.operators}
    page = run_page(result)
    for *_, computed in (row[:5] for row in tables(page)["tensors"][1:]):
        number, name = computed.split()
        assert names[int(number)] == name
    if backend != "golden":
        assert all(f"{number} {name}" in page for number, name in names.items())


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.slow
def test_frames_are_shown_and_judged_all_together(wrong: bool) -> None:
    with Session() as session:
        last = session.run_frames(MODEL, 3, seed=5, compare=True, record=True)[-1]
    if wrong:
        last.frames[1] = replace(last.frames[1], mismatches=2, first_mismatch="at <here>")
    page = run_page(last)
    row = ["1", *(["2 differ", "at <here>"] if wrong else ["equal", ""])]
    assert tables(page)["frames"][2] == row
    assert ("frames that differ: 1. What" if wrong else "3 frames; none differs. What") in page
    assert f'<p class="verdict {"failed" if wrong else "passed"}">' in page
    assert "--seed 5 --frames 3" in page
    assert "seed 5 + n in frame n" in page


def test_the_batch_is_told() -> None:
    builder = ModelBuilder()
    x = builder.input((1, 4), scale=0.5, open_batch=True)
    builder.output(builder.tensor((1, 4), scale=0.5))
    builder.operator("RELU", [x], [x + 1])
    with Session(batch=3) as session:
        result = session.run(builder.build(), record=True)
    assert result.as_json()["batch"] == 3
    assert " --batch 3" in run_page(result)


def test_a_limit_beyond_the_cycles_is_shown_as_it_is() -> None:
    overlapped = simulated()
    operator = overlapped.operators[0]
    limit = mac_limit(operator.macs, overlapped.macs_per_cycle)
    operator.cycles = limit // 2
    operator.counters["READ_BEATS"] = limit // 2
    _, row, *_ = tables(run_page(overlapped))["operators"]
    assert row[11] == f"{limit / (limit // 2):.1%}"


def test_a_run_without_its_undisturbed_pass_says_that_it_has_no_cycles(page: str) -> None:
    untimed = simulated()
    assert untimed.record is not None
    untimed.record = replace(untimed.record, streams=())
    untimed.untimed = "compare"
    for operator in untimed.operators:
        operator.cycles = operator.engine_cycles = operator.utilisation = None
    text = run_page(untimed)
    assert "the pass without it was left out" in text and "left out" not in page
    assert "cycles" not in tables(text)["operators"][0]
    assert "18 of 18" in text and "none in hardware" not in text


def test_times_are_told_with_the_clock_and_where_it_comes_from() -> None:
    timed = simulated()
    timed.clock = Clock(50, "given with --clock")
    assert timed.cycles is not None
    milliseconds = timed.cycles / 50_000
    sentence = f"{timed.cycles:,} cycles take {milliseconds:.4g} ms at 50 MHz (given with --clock)"
    assert sentence in run_page(timed)
    timed.clock = None
    assert "nano has no measured clock; --clock MHZ gives times." in run_page(timed)


def test_every_counter_is_explained_with_its_values(result: RunResult, page: str) -> None:
    rows = tables(page)["counters"]
    explained = rows[1 : 1 + len(COUNTERS)]
    assert [(row[0], row[3]) for row in explained] == list(COUNTERS)
    assert result.record is not None
    totals = result.record.streams[0].counts[-1].tolist()
    assert [row[1] for row in explained] == [f"{total:,}" for total in totals]
    per_operator = rows[2 + len(COUNTERS) :]
    for operator, row in zip(result.operators, per_operator, strict=True):
        assert row[0] == f"{operator.index} {operator.name}"
        values = [operator.cycles, *operator.counters.values()]
        assert row[1:] == [f"{value:,}" for value in values]


def test_the_timeline_has_every_command(result: RunResult) -> None:
    assert result.record is not None
    drawn = timeline(result.record.streams, result.operators)
    lanes = {lane.name: lane for lane in drawn.lanes}
    (stream,) = result.record.streams
    covered = []
    for name in ("Mover", "Matrix engine", "Vector engine"):
        for bar in lanes[name].bars:
            first, last = re.findall(r"commands? (\d+)(?: to (\d+))?", bar.title)[0]
            covered += range(int(first), int(last or first) + 1)
            assert drawn.axis.x(0) <= bar.x <= bar.x + bar.width <= drawn.axis.x(10**9)
    assert {index for index, _, _ in stream.spans.tolist()} <= set(covered)
    titles = [bar.title for bar in lanes["Operator"].bars]
    assert titles[0] == f"0 CONV_2D: cycles 0 to {result.operators[0].cycles:,}"
    assert titles[-1].endswith(f" to {result.cycles:,}")
    assert len(lanes["Matrix cycles"].areas) == 7


def test_streams_follow_each_other() -> None:
    one, two = simulated(), simulated(streams=2)
    assert one.record
    assert two.record
    axis = axis_of(two.record.streams)
    assert axis.total == 2 * axis_of(one.record.streams).total
    assert timeline(two.record.streams, two.operators).cuts == [axis.x(axis.total // 2)]
    assert "A broken line is where operators in golden come" in run_page(two)


def test_memory_shows_where_every_tensor_lies(result: RunResult, page: str) -> None:
    assert result.record is not None
    (stream,) = result.record.streams
    titles = set(re.findall(r"<title>(tensor .*?|room.*?)</title>", page))
    assert len(titles) == len(stream.compiled.placements)
    for place in stream.compiled.placements:
        bytes_ = f": {place.size:,} bytes from {place.offset:,}, "
        commands = f", commands {place.first} to {place.last}"
        assert [t for t in titles if bytes_ in t and t.endswith(commands)], place
    assert "<h3>Arena: 64 of 64 bytes in use</h3>" in page


def test_names_in_one_place_are_written_below_each_other(result: RunResult) -> None:
    assert result.record is not None
    (stream,) = result.record.streams
    place = stream.compiled.placements[1]
    doubled = replace(stream.compiled, placements=(place, replace(place, tensor=6)))
    memory, _ = memory_maps([replace(stream, compiled=doubled)], result.record.names)
    labels = [(region.text, region.below) for region in memory.regions]
    assert labels == [("3 stem", 12), ("6 reduce", 24)]


def test_golden_shows_no_hardware() -> None:
    result = golden(compare=True)
    page = run_page(result)
    assert set(tables(page)) == {"summary", "operators", "tensors", "facts"}
    assert "There is no hardware in this run" in page
    assert "cycles</th>" not in page
    assert '<p class="verdict passed">' in page
    rows = tables(page)["tensors"][1:]
    assert {row[5] for row in rows} == {"equal"}
    assert len(rows) == len(result.operators)


def test_a_difference_is_shown_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eightfold.run.session.model_bytes", lambda model: small_model(bias=80))
    with Session() as session:
        result = session.run(small_model(), seed=1, compare=True, record=True)
    page = run_page(result)
    assert '<p class="verdict failed">' in page
    shown = tables(page)
    (row,) = shown["tensors"][1:]
    assert shown["differences"][1:] == [row]
    assert row[5] == "1 differ"
    got, expected = re.fullmatch(r"\[0, 0\]: (-?\d+), expected (-?\d+)", row[6]).groups()  # pyright: ignore
    assert got == str(result.tensors[result.record.tensors[0].index][0, 0])  # pyright: ignore
    assert got != expected


@pytest.mark.slow
def test_what_is_left_to_golden_says_why(result: RunResult) -> None:
    changed = simulated()
    changed.operators[3].where, changed.operators[3].reason = "golden", "its <zero> is too large"
    changed.operators[3].cycles = None
    page = run_page(changed)
    assert tables(page)["golden"][1:] == [["3", "QUANTIZE", "its <zero> is too large"]]
    assert tables(page)["operators"][4][3:6] == ["golden", "–", "–"]
    assert "Left to golden" not in run_page(result)


def test_nothing_on_the_accelerator_says_why_too() -> None:
    result = golden()
    result.backend = "verilator"
    for operator in result.operators:
        operator.reason = "its operand is not constant"
    page = run_page(result)
    assert "No operator ran in the hardware: all were left to" in page
    assert len(tables(page)["golden"]) == 1 + len(result.operators)
    assert "timeline" not in tables(page)


@pytest.mark.parametrize("make", [golden, simulated])
def test_names_are_escaped_and_nothing_is_loaded(make) -> None:
    points = {"scales": (0.5, 1 / 256), "zero_points": (0, -128)}
    result = make(one_operator("LOGISTIC", [(1, 4)], (1, 4), **points, result_name=NASTY))
    result.model = f"{NASTY}.tflite"
    page = run_page(result)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"https?://|\bsrc=|@import|url\((?!#)", page)


def test_a_page_is_the_same_for_the_same_run(result: RunResult, page: str) -> None:
    assert run_page(result) == page


def test_the_command_line_writes_it(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "deep" / "page.html"
    out = printed(call, "run", MODEL, "--html", path)
    assert "18 operators in golden" in out
    command = f"eightfold run {MODEL} --backend golden --config base --reference litert --seed 0"
    assert f"<dt>Command</dt><dd>{command}</dd>" in path.read_text("utf-8")


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path, call: Call) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "page.html"
    err = refusal(call, "run", MODEL, "--html", path)
    assert re.fullmatch(f"eightfold: {path}: cannot be written: [A-Z][a-z ]+\n", err)


def test_what_a_page_needs_is_named_before_the_run(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eightfold.common.extras.find_spec", lambda module: None)
    needed = ["jinja2; extra == 'report'"]
    monkeypatch.setattr("eightfold.common.extras.requires", lambda name: needed)
    err = refusal(call, "run", MODEL, "--html", tmp_path / "page.html")
    assert err == (
        "eightfold: an HTML page needs jinja2, which is not installed: "
        "pip install 'eightfold[report]'\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("make", [golden, simulated])
@pytest.mark.usual("make")
def test_the_browser_shows_it_without_complaint(
    browser: Browser, tmp_path: Path, make, width: int
) -> None:
    path = tmp_path / "run.html"
    path.write_text(run_page(make()), "utf-8")
    browser.expect_sound(path, tmp_path, [width])
    broken = "[...document.querySelectorAll('a')].filter(a => !document.querySelector(a.hash))"
    assert browser.evaluate(path, f"{broken}.length", width=width) == 0
    drawn = "[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width)"
    sizes = browser.evaluate(path, drawn, width=width)
    assert len(sizes) == (4 if make is simulated else 0)
    assert all(size > 1000 for size in sizes)  # legible: it scrolls in its box


@pytest.mark.slow
def test_long_networks_remain_small(browser: Browser, tmp_path: Path) -> None:
    layers = Layers((1, 16))
    for _ in range(300):
        layers.then("RELU")
    path = tmp_path / "long.html"
    path.write_text(run_page(simulated(layers.model())), "utf-8")
    assert path.stat().st_size < 1 << 20
    height = browser.evaluate(path, "document.documentElement.scrollHeight", width=1600)
    assert height < 8000
