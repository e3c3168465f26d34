"""Units in VHDL and Amaranth, ports that are arrays, and several lanes at once."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.profile import Profile
from eightfold.conformance.results.unit_results import read_words
from eightfold.conformance.units.registry import UNIT_KINDS, unit_cases
from tests.support.conformance.streams import (
    ADDS,
    RIGHT_SHIFTS,
    InVhdl,
    Requantize,
    bytes_of,
    changed,
    columns,
    needs_ghdl,
    needs_icarus,
    run_icarus,
    write_benches,
)


@pytest.mark.parametrize("simulator", ["ghdl", "nvc"])
@pytest.mark.slow
def test_a_unit_in_vhdl_is_asked_by_cocotb_with_waves(simulator: str, tmp_path: Path) -> None:
    if shutil.which(simulator) is None:
        pytest.skip(f"no {simulator}")
    cases = unit_cases("requantizer", RIGHT_SHIFTS).take(np.arange(0, 1500, 3))
    waves = tmp_path / "waves.vcd"
    answers = InVhdl().answer(cases.inputs, simulator=simulator, seed=2, trace=waves)
    np.testing.assert_array_equal(answers.results["result"], cases.results["result"])
    assert (answers.extra, answers.note) == (0, "")
    assert {"in_valid", "in_ready", "out_valid", "out_ready"} <= set(waves.read_text().split())


@needs_ghdl
def test_a_simulator_of_another_language_is_refused() -> None:
    assert InVhdl().simulator_of("ghdl") == "ghdl"
    with pytest.raises(InputError, match="--backend icarus: InVhdl is for ghdl or nvc"):
        InVhdl().simulator_of("icarus")
    with pytest.raises(InputError, match="--backend ghdl: Requantize is for verilator or icarus"):
        Requantize().simulator_of("ghdl")
    with pytest.raises(InputError, match="sources: VHDL and Verilog"):
        changed(InVhdl(), sources=["requantize.vhd", "requantize.v"]).designs()
    with pytest.raises(InputError, match="no entity 'other' in requantize.vhd; there is requant"):
        changed(InVhdl(), top="other").designs()


@needs_icarus
def test_a_component_in_amaranth_is_converted(tmp_path: Path) -> None:
    class Adds(StreamAdapter):
        component = str(tmp_path / "adds.py:Adds")
        arguments: ClassVar[Mapping[str, Any]] = {"more": 5}
        reset = "rst"
        latency = 1
        inputs: ClassVar[Mapping[str, Formula]] = {"acc": "accumulator"}
        outputs: ClassVar[Mapping[str, str]] = {"result": "out"}

    (tmp_path / "adds.py").write_text(ADDS)
    cases = columns(100)
    answers = Adds().answer(cases, simulator="icarus")
    expected = bytes_of(cases["accumulator"].astype(np.int64) + 5)
    np.testing.assert_array_equal(answers.results["result"], expected)
    assert tmp_path / "adds.py" in list(Adds().made_of())
    with pytest.raises(
        InputError,
        match=r"component: cannot be made: .*TypeError: missing a required argument: 'more'",
    ):
        changed(Adds(), arguments={"fewer": 1}).designs()
    with pytest.raises(InputError, match="Module is no amaranth.lib.wiring.Component"):
        changed(Adds(), component=str(tmp_path / "adds.py:Module")).designs()


class Lanes(StreamAdapter):
    """Three lanes that add a number that they share."""

    top = "lanes"
    lanes = 3
    reset = None
    in_valid, out_valid, out_ready = "valid", "done", "take"
    inputs: ClassVar[Mapping[str, Formula]] = {
        "acc[32*{lane}+31:32*{lane}]": "accumulator",
        "z{lane}": "zero_point",
        "low": "low",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "q[8*{lane}+7:8*{lane}]"}

    def __init__(self, folder: Path) -> None:
        self.sources = (folder / "lanes.v",)
        self.sources[0].write_text(
            """module lanes (input clk, valid, take, input [95:0] acc, input [7:0] z0, z1, z2, low,
              output reg done, output reg [23:0] q);
              initial done = 0;
              always @(posedge clk) begin
                if (valid) begin
                  done <= 1;
                  q <= {acc[71:64] + z2 + low, acc[39:32] + z1 + low, acc[7:0] + z0 + low};
                end else if (take) done <= 0;
              end
            endmodule"""
        )


@needs_icarus
def test_lanes_are_asked_at_once_by_cocotb_and_by_files(tmp_path: Path) -> None:
    cases = columns(301)  # no multiple of three
    expected = bytes_of(cases["accumulator"].astype(np.int64) + cases["zero_point"] - 128)
    adapter = changed(Lanes(tmp_path), one_at_a_time=True)
    answers = adapter.answer(cases, simulator="icarus")
    np.testing.assert_array_equal(answers.results["result"], expected)
    assert (answers.extra, answers.note) == (0, "")
    write_benches(tmp_path, adapter, cases)
    run_icarus(tmp_path, "lanes.v")
    found, _ = read_words(tmp_path / "results.hex", UNIT_KINDS["requantizer"].results, 301)
    np.testing.assert_array_equal(found.results["result"], expected)
    assert found.extra == 0


@needs_icarus
def test_what_lanes_share_is_the_same_in_their_cases(tmp_path: Path) -> None:
    adapter = changed(Lanes(tmp_path), inputs={**Lanes.inputs, "low": "accumulator & 255"})
    with pytest.raises(InputError, match=r"'low'\]: all lanes share it, and cases 0 and 1, which"):
        adapter.answer(columns(9), simulator="icarus")
    with pytest.raises(InputError, match="is the same for 3 lanes; say where each"):
        changed(Lanes(tmp_path), outputs={"result": "q[7:0]"}).designs()


class Arrays(StreamAdapter):
    """A dot product whose lists are unpacked arrays, one of them declared downwards."""

    unit = "dot"
    top = "arrays"
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {
        "x": lambda c: c["inputs"].astype(np.int64) - c["input_zero_point"][:, None],
        "w": lambda c: c["weights"].astype(np.int64) - c["weight_zero_point"][:, None],
        "bias": "bias",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "sum"}

    def __init__(self, folder: Path) -> None:
        self.sources = (folder / "arrays.sv",)
        self.sources[0].write_text(
            """module arrays (input logic signed [8:0] x [0:63], w [63:0],
              input logic signed [31:0] bias, output logic signed [31:0] sum [1]);
              always_comb begin
                sum[0] = bias;
                for (int i = 0; i < 64; i++) sum[0] += 32'(x[i]) * 32'(w[i]);
              end
            endmodule"""
        )


@pytest.mark.slow
def test_ports_may_be_unpacked_arrays(tmp_path: Path) -> None:
    cases = unit_cases("dot", Profile(name="dot")).take(np.arange(0, 1600, 9))
    answers = Arrays(tmp_path).answer(cases.inputs, simulator="verilator")
    np.testing.assert_array_equal(answers.results["result"], cases.results["result"])


def test_a_bench_with_arrays_is_in_systemverilog_alone(tmp_path: Path) -> None:
    cases = unit_cases("dot", Profile(name="dot")).take(np.arange(4))
    found = Arrays(tmp_path).bench_files(cases, "nobody's cases", 0)
    assert sorted(found) == ["bench.sv", "stimulus.hex"]
    assert "wire signed [8:0] array_w [63:0];" in found["bench.sv"].decode()
