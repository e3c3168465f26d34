"""Adapters of open_units.v, and the contract that each unit keeps.

In the simulator ``pipe`` cases go straight through Icarus, without a bench that drives a clock.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from numpy.typing import NDArray

from eightfold.conformance.adapters import StreamAdapter
from eightfold.conformance.adapters.bits import read_words
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.rtl import driven, shown
from eightfold.conformance.answers import UnitAnswers

BENCH = """
module bench;
  reg [{word}:0] words [0:{last}];
  reg [{word}:0] word;
  integer i;
{wires}
{instance}
  initial begin
    $readmemh("cases.hex", words);
    for (i = 0; i <= {last}; i = i + 1) begin
      word = words[i];
      #1 $display("%h", {answer});
    end
  end
endmodule
"""


UNITS_FILE = Path(__file__).with_name("open_units.v")


class Piped(StreamAdapter):
    """A combinational module of open_units.v."""

    sources = (str(UNITS_FILE),)
    clock, latency = None, 0
    outputs: ClassVar[Mapping[str, str]] = {"result": "q"}

    def __init__(self, top: str, inputs: Mapping[str, Formula], **parameters: int) -> None:
        self.top, self.inputs, self.parameters = top, inputs, parameters  # pyright: ignore

    def answer(
        self,
        cases: Mapping[str, NDArray[Any]],
        *,
        simulator: str,
        seed: int = 0,
        trace: Path | None = None,
    ) -> UnitAnswers:
        if simulator != "pipe":
            return super().answer(cases, simulator=simulator, seed=seed, trace=trace)
        count = self.check_cases(cases)
        elements, widths = self._results
        ports = {port: f"in_{port}" for port in self._input_widths}
        text = BENCH.format(
            word=8 * -(-self._word_bits // 8) - 1,
            last=count - 1,
            wires="\n".join(
                [f"  wire [{width - 1}:0] out_{port};" for port, width in widths.items()]
                + list(driven(self._input_widths, self._sources()))
            ),
            instance=self.instance(ports | {port: f"out_{port}" for port in widths}),
            answer=shown(elements, widths),
        )
        with TemporaryDirectory() as name:
            folder = Path(name)
            self._write(folder / "cases.hex", cases)
            (folder / "bench.v").write_text(text)
            build = ["iverilog", "-g2012", "-s", "bench", "-o", "bench", "bench.v", *self.sources]
            subprocess.run(build, cwd=folder, check=True)
            with (folder / "results.hex").open("wb") as results:
                subprocess.run(["vvp", "-n", "bench"], cwd=folder, check=True, stdout=results)
            places = [element for element, _ in elements]
            values, _ = read_words(folder / "results.hex", places, self.shapes(count))
        return UnitAnswers(results=values)


PRODUCT: dict[str, Formula] = {"acc": "accumulator", "m": "multiplier"}
CLAMP: dict[str, Formula] = {"zp": "zero_point", "low": "low", "high": "high"}
RELU: dict[str, Formula] = {"zp": "zero_point", "relu": "low > -128", "high": "high"}
SIGNED: dict[str, Formula] = {"shift": "shift"}
RIGHT: dict[str, Formula] = {"right": "-shift"}
RIGHT_ALONE: dict[str, Formula] = {"right": "max(-shift, 0)"}
TOTAL: dict[str, Formula] = {"total": "31 - shift"}
INT8 = ((-128, 127),)

OPEN_UNITS: dict[str, tuple[Piped, str, dict[str, Any]]] = {
    "CFU-Playground mnv2_first": (
        Piped("both_shifts", PRODUCT | SIGNED | CLAMP),
        "",
        {},
    ),
    "CFU-Playground hps_accel": (
        Piped("quotient_16", PRODUCT | RIGHT | CLAMP),
        "scaled_16",
        {"shift": (-12, -2)},
    ),
    "CFU-Playground kws_micro_accel": (
        Piped("five_to_nine", PRODUCT | RIGHT),
        "",
        {"shift": (-9, -5), "zero_points": (-128,), "clamp": INT8},
    ),
    "gestureflow_requant_relu": (
        Piped("relu_symmetric", PRODUCT | RIGHT_ALONE),
        "",
        {"shift": (-31, 0), "zero_points": (0,), "clamp": ((0, 127),)},
    ),
    "SIENNA tfliteRequant, double": (Piped("once_or_twice", PRODUCT | SIGNED | CLAMP), "", {}),
    "SIENNA tfliteRequant, single": (
        Piped("once_or_twice", PRODUCT | SIGNED | CLAMP, ONCE=1),
        "one_rounding_half_up",
        {},
    ),
    "mdla7 vf_conv_int8_mac": (
        Piped("nudge_and_shift", PRODUCT | SIGNED | CLAMP),
        "first_nudge_shifted",
        {},
    ),
    "tinyml-accelerator": (
        Piped("second_cut", PRODUCT | RIGHT | CLAMP),
        "second_down",
        {"shift": (-31, 0)},
    ),
    "Versal-BERT requant": (
        Piped("once_symmetric", PRODUCT | TOTAL),
        "one_rounding_half_up",
        {"zero_points": (0,), "clamp": INT8},
    ),
    "ITA ita_requantizer": (
        Piped("short_product", PRODUCT | TOTAL | {"zp": "zero_point"}),
        "one_rounding_half_up",
        {"shift": (-4, 30), "accumulator_bits": 26, "multiplier_bits": 9, "clamp": INT8},
    ),
    "INT8-Tensor-Accelerator-DV requantize": (
        Piped("away_16", PRODUCT | TOTAL | RELU),
        "one_rounding_half_away and relu_at_0",
        {"multiplier_bits": 17},
    ),
    "TinyVAD requantize": (
        Piped("second_up", PRODUCT | RIGHT_ALONE | CLAMP),
        "second_half_up",
        {"shift": (-31, 0)},
    ),
    "face-filter quantize_int8": (
        Piped("no_shift", PRODUCT | {"zp": "zero_point"}),
        "",
        {"shift": (0, 0), "clamp": INT8},
    ),
    "a VHDL post-processing unit": (
        Piped("once_relu", PRODUCT | TOTAL | RELU),
        "one_rounding_half_up and relu_at_0",
        {},
    ),
    "a course's MBQM": (
        Piped("logical_repaired", PRODUCT | SIGNED | {"zp": "zero_point"}),
        "second_logical_repaired",
        {"clamp": INT8},
    ),
    "a course's RoundingDivideByPOT": (
        Piped("odd_one_more", PRODUCT | RIGHT | CLAMP),
        "second_half_away_and_even",
        {"shift": (-31, 0)},
    ),
}
"""By the name of the design: its adapter, its contract, and the contract's limits."""
