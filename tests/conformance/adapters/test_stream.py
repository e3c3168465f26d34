"""A stranger's module in a simulator: its answers, and what is said when they do not come."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.answers import MISSING, UNKNOWN, UnitAnswers
from eightfold.conformance.judge.units import displacement_sentence
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.units.registry import unit_cases
from eightfold.sim.simulator.build import design_key
from tests.support.conformance import streams
from tests.support.conformance.streams import Odd, OldStyle, Pipeline, bytes_of, changed, columns

ALSO_LONG = [pytest.param("verilator", marks=pytest.mark.long), "icarus"]
"""Of harnesses whose Verilog differs little from that of another test."""

LISTS = Path(streams.__file__).with_name("lists.sv")

COUNT = 1200
"""Cases: more than once through all combinations of pauses."""


def asked(adapter: StreamAdapter, simulator: str) -> UnitAnswers:
    return adapter.answer(columns(COUNT), simulator=simulator, seed=3)


class Keywords(StreamAdapter):
    """A module whose names became keywords."""

    sources = ("names.v",)
    systemverilog = False
    top = "names"
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {"before": "accumulator"}
    outputs: ClassVar[Mapping[str, str]] = {"result": "bit[7:0]"}

    def __init__(self, folder: Path) -> None:
        self.sources = (folder / "names.v",)
        self.sources[0].write_text(
            "module names (input [31:0] before, output [31:0] bit); assign bit = before; "
            "endmodule\n"
        )


MODULES = {
    "valid-ready": Odd,
    "names-of-old": Keywords,
    "latency": lambda _: Pipeline(),
    "one-at-a-time": lambda _: OldStyle(),
}
"""Modules that are right; the harnesses of the last two differ little from those of the first."""


@pytest.mark.parametrize(
    ("module", "simulator"),
    [
        *((module, "icarus") for module in MODULES),
        pytest.param("valid-ready", "verilator", marks=pytest.mark.slow),
        pytest.param("names-of-old", "verilator", marks=pytest.mark.slow),
        pytest.param("latency", "verilator", marks=pytest.mark.long),
        pytest.param("one-at-a-time", "verilator", marks=pytest.mark.long),
    ],
)
@pytest.mark.slow
def test_answers_are_those_of_their_cases(module: str, simulator: str, tmp_path: Path) -> None:
    cases = columns(COUNT)
    answers = asked(MODULES[module](tmp_path), simulator)
    expected = cases["accumulator"].astype(np.int64)
    if module == "latency":
        expected += cases["zero_point"] - cases["shift"].astype(np.int64) + 7
    assert np.array_equal(answers.results["result"], bytes_of(expected))
    assert (answers.extra, answers.note, answers.crashed) == (0, "", False)


@pytest.mark.parametrize(
    ("kind", "answered", "extra", "note"),
    [
        ("never", 0, 0, "no answer within 500 cycles, ever"),
        (
            "never_takes",
            0,
            0,
            "no answer within 500 cycles, ever; in_ready stayed 0: case 0 was never taken",
        ),
        ("drops_last", COUNT - 1, 0, "no answer within 500 cycles, after 1199 of 1200 answers"),
        ("surplus", COUNT, 3, "3 answers came after that of the last case"),
        (
            "early",
            COUNT,
            2,
            "2 answers came before they were asked for, the first in cycle 1: left out",
        ),
    ],
)
@pytest.mark.usual("kind")
def test_what_does_not_come_is_missing_and_what_comes_unasked_is_extra(
    simulator: str, kind: str, answered: int, extra: int, note: str, tmp_path: Path
) -> None:
    answers = asked(Odd(tmp_path, kind), simulator)
    expected = bytes_of(columns(COUNT)["accumulator"])
    expected[answered:] = MISSING
    assert np.array_equal(answers.results["result"], expected)
    assert (answers.extra, answers.note, answers.crashed) == (extra, note, False)


def test_a_result_with_an_unknown_bit_is_unknown(tmp_path: Path) -> None:
    answers = asked(Odd(tmp_path, "x"), "icarus")
    assert (answers.results["result"] == UNKNOWN).all()
    answers = asked(Odd(tmp_path, "one_bit_x"), "icarus")
    accumulator = columns(COUNT)["accumulator"]
    expected = bytes_of(accumulator)
    expected[accumulator % 256 == 5] = UNKNOWN
    assert np.array_equal(answers.results["result"], expected)


def test_a_valid_that_is_unknown_counts_as_0_and_is_told(tmp_path: Path) -> None:
    answers = asked(Odd(tmp_path, "valid_x"), "icarus")
    assert (answers.results["result"] == MISSING).all()
    assert "out_valid was X or Z in" in answers.note


def test_a_simulation_that_the_module_ends_is_a_crash_with_the_answers_before_it(
    simulator: str, tmp_path: Path
) -> None:
    answers = asked(Odd(tmp_path, "finishes"), simulator)
    assert answers.crashed
    assert answers.note == "the simulation ended early: by $finish, or by an error in the module"
    result = answers.results["result"]
    known = result != MISSING
    assert np.array_equal(result[known], bytes_of(columns(COUNT)["accumulator"])[known])
    assert not known[20:].any()


@pytest.mark.slow
def test_a_simulation_that_does_not_end_is_ended(tmp_path: Path) -> None:
    class Patient(Odd):
        patience = 10**9
        cpu_seconds = 2

    answers = asked(Patient(tmp_path, "never"), "icarus")
    assert answers.crashed
    assert "it was ended after 2 s of CPU time" in answers.note


def test_the_same_seed_gives_the_same_answers_and_waves_are_written(tmp_path: Path) -> None:
    trace = tmp_path / "waves.vcd"
    one = Odd(tmp_path).answer(columns(50), simulator="icarus", seed=1, trace=trace)
    assert np.array_equal(one.results["result"], bytes_of(columns(50)["accumulator"]))
    assert "in_valid" in trace.read_text()


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"sources": ["od.v"]}, r"sources: no file 'od.v'; .* has .*odd.v"),
    ({"sources": ["nowhere/odd.v"]}, r"sources: no file .*; there is no folder"),
    ({"sources": []}, "names no sources"),
    ({"top": "even"}, r"top: there is no module 'even' in odd.v; there is odd$"),
    (
        {"clock": "clock"},
        r"clock: odd has no port 'clock'; its inputs are clk, rst_n, acc, in_valid, out_ready",
    ),
    ({"in_ready": "acc"}, r"in_ready: port acc is an input of odd; its outputs are in_ready"),
    ({"in_valid": "acc"}, r"in_valid: acc has more than one bit"),
    ({"out_ready": None}, r'nothing feeds out_ready of odd.*\{"out_ready": 0\}'),
    ({"inputs": {"a c": 0}}, r"inputs: 'a c' is no port"),
    ({"inputs": {"acc[40:8]": 0}}, r"acc\[40:8\]: acc has the bits 31:0"),
    (
        {"inputs": {"acc[31:8]": 0, "acc[8:0]": 0}},
        r"inputs\['acc\[8:0\]'\]: has bits of 'acc\[31:8\]' too",
    ),
    ({"inputs": {"acc": "accumulator / 2"}}, r"use // or >>"),
    ({"outputs": {"results": "out"}}, r"outputs: must have the results of requantizer, res"),
    ({"outputs": {"result": "out[9:2]"}}, r"out\[9:2\]: out has the bits 7:0"),
    ({"latency": 1}, "has latency and out_valid"),
    ({"out_valid": None, "out_ready": None}, "says nothing of when answers come"),
    ({"in_valid": None}, "nobody can say which case"),
    ({"inputs": {"acc": 0, "rst_n": 1}}, "inputs: rst_n is clock or reset"),
    ({"inputs": {"acc": 0, "in_valid": 1}}, "inputs: in_valid is of a handshake"),
    ({"parameters": {"DEEP": 3}}, "DEEP"),
    ({"unit": "requantiser"}, "no unit 'requantiser'; use requantizer"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_does_not_fit_is_said_in_one_line(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        changed(Odd(tmp_path), **changes).designs()
    assert "\n" not in str(caught.value)


def test_a_value_that_the_port_does_not_hold_is_refused(tmp_path: Path) -> None:
    adapter = changed(Odd(tmp_path), inputs={"acc[3:0]": "accumulator"})
    with pytest.raises(
        InputError, match=r"inputs\['acc\[3:0\]'\]: is 16 in case 16, which 4 bits do not"
    ):
        adapter.answer(columns(20), simulator="icarus")
    adapter = changed(Odd(tmp_path), inputs={"acc": "accumulators"})
    with pytest.raises(InputError, match="no column 'accumulators'; there are accumulator, mult"):
        adapter.answer(columns(20), simulator="icarus")


def test_verilog_that_is_wrong_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.v").write_text(
        "module wrong (input a,\n  output b);\n  assign b = ;\nendmodule\n"
    )
    adapter = changed(Odd(tmp_path), sources=[tmp_path / "wrong.v"], top="wrong")
    with pytest.raises(InputError, match=r"wrong.v:3:14: syntax error"):
        adapter.designs()


def test_a_design_is_known_by_its_texts_wherever_they_are(tmp_path: Path) -> None:
    here = Pipeline()
    folders = {"sources": [tmp_path / "pipeline.sv"], "include_dirs": [tmp_path / "include"]}
    for name in ("pipeline.sv", "include/pipeline_types.svh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((here.folder("sources") / name).read_text())
    there = changed(Pipeline(), **folders)
    keys = [design_key(adapter.designs()[0], "icarus") for adapter in (here, there)]
    assert keys[0] == keys[1]
    included = tmp_path / "include/pipeline_types.svh"
    included.write_text(included.read_text() + "\n")
    assert design_key(changed(Pipeline(), **folders).designs()[0], "icarus") != keys[0]


class Ours(StreamAdapter):
    """The unit ``requantizer`` of `eightfold verilog`, by its ports."""

    sources = ("ours.v",)
    top = "eightfold_requantizer"
    reset = "rst"
    in_valid, in_ready = "i__valid", "i__ready"
    out_valid, out_ready = "o__valid", "o__ready"
    inputs: ClassVar[Mapping[str, Formula]] = {
        "i__payload[31:0]": "accumulator",
        "i__payload[68:64]": "max(shift, 0)",
        "i__payload[99:69]": "multiplier",
        "i__payload[106:101]": "max(-shift, 0)",
        "i__payload[117:110]": "zero_point",
        "i__payload[125:118]": "low",
        "i__payload[133:126]": "high",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "o__payload"}


SINGLE: Mapping[str, Formula] = {
    **{port: value for port, value in Ours.inputs.items() if "[68:" not in port},
    "i__payload[100]": 1,
    "i__payload[106:101]": "31 - shift",
    "i__payload[109:107]": 1,
}
"""One rounding of the product, ties up."""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("ours") / "ours.v"
    commands(["verilog", "--unit", "requantizer", "-o", str(file)], standalone_mode=False)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "simulator"),
    [
        ("tflite", "verilator"),
        ("tflite", "icarus"),
        pytest.param("tflite-single", "verilator", marks=pytest.mark.long),
        ("tflite-single", "icarus"),
    ],
)
@pytest.mark.usual(names=["icarus"])
def test_our_requantizer_is_exact_as_a_strangers(profile: str, simulator: str, ours: Path) -> None:
    cases = unit_cases("requantizer", PROFILES[profile], "smoke")
    inputs = SINGLE if profile == "tflite-single" else Ours.inputs
    adapter = changed(Ours(), sources=[ours], inputs=inputs)
    answers = adapter.answer(cases.inputs, simulator=simulator)
    assert np.array_equal(answers.results["result"], cases.results["result"])
    assert (answers.extra, answers.note) == (0, "")


@pytest.mark.parametrize(("stated", "by"), [(2, "before"), (4, "after")])
@pytest.mark.slow
def test_a_wrong_latency_is_seen_in_the_order_of_the_results(stated: int, by: str) -> None:
    expected = Pipeline().answer(columns(200), simulator="icarus")
    answers = changed(Pipeline(), latency=stated).answer(columns(200), simulator="icarus")
    assert (answers.extra, answers.note) == (0, "")
    sentence = displacement_sentence(expected.results, answers.results)
    assert sentence.startswith(f"Each result is right for the case {by} it: the latency is 1 ")


def test_an_answer_that_got_lost_is_seen_in_the_order_of_the_results(tmp_path: Path) -> None:
    answers = asked(Odd(tmp_path, "drops_one"), "icarus")
    assert answers.note == "no answer within 500 cycles, after 1199 of 1200 answers"
    expected = {"result": bytes_of(columns(COUNT)["accumulator"])}
    sentence = displacement_sentence(expected, answers.results)
    assert sentence.startswith("From case 10 on each is right for the case after it")


def test_what_is_not_valid_has_no_meaning(tmp_path: Path) -> None:
    answers = Odd(tmp_path, "samples_late").answer(columns(1), simulator="icarus")
    assert answers.results["result"].tolist() == [~-1 & 0xFF]


class Dot(StreamAdapter):
    """Multiplies lists that are a port each, and takes the first and the last alone too."""

    unit = "dot"
    sources = (LISTS,)
    top = "dot"
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {
        "x": "inputs",
        "w": "weights - weight_zero_point",
        "zx": "input_zero_point",
        "bias": "bias",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "sum"}


class Tables(StreamAdapter):
    """Answers with a list of 256."""

    unit = "tables"
    sources = (LISTS,)
    top = "table_of_sums"
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {"zero": "input_zero_point"}
    outputs: ClassVar[Mapping[str, str]] = {"result": "row"}


@pytest.mark.parametrize("simulator", ALSO_LONG)
@pytest.mark.slow
def test_lists_are_packed_with_their_first_number_lowest(simulator: str) -> None:
    cases = unit_cases("dot", PROFILES["tflite"], "smoke")
    answers = Dot().answer(cases.inputs, simulator=simulator)
    assert np.array_equal(answers.results["result"], cases.results["result"])
    cases = unit_cases("tables", PROFILES["tflite"], "smoke")
    answers = Tables().answer(cases.inputs, simulator=simulator)
    expected = np.arange(256) + cases.inputs["input_zero_point"].astype(np.int64)[:, None]
    assert np.array_equal(answers.results["result"], bytes_of(expected))
