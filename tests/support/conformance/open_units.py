"""Adapters of open_units.v, and the contract that each unit keeps.

In the simulator ``files`` cases go to Icarus as files, by the bench that the kit writes.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.adapters import StreamAdapter
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.answers import UnitAnswers
from tests.support.conformance.streams import write_benches

UNITS_FILE = Path(__file__).with_name("open_units.v")


class Filed(StreamAdapter):
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
        if simulator != "files":
            return super().answer(cases, simulator=simulator, seed=seed, trace=trace)
        with TemporaryDirectory() as name:
            write_benches(Path(name), self, cases, seed)
            build = ["iverilog", "-g2005", "-o", "bench", "bench.v", *self.sources]
            for command in (build, ["vvp", "-n", "bench"]):
                subprocess.run(command, cwd=name, check=True, stdout=subprocess.DEVNULL)
            lines = Path(name, "results.hex").read_text().splitlines()
        words = [int(line, 16) for line in lines if not line.startswith("//")]
        return UnitAnswers(
            results={"result": np.array(words, np.uint8).view(np.int8).astype(np.int64)}
        )


PRODUCT: dict[str, Formula] = {"acc": "accumulator", "m": "multiplier"}
CLAMP: dict[str, Formula] = {"zp": "zero_point", "low": "low", "high": "high"}
RELU: dict[str, Formula] = {"zp": "zero_point", "relu": "low > -128", "high": "high"}
SIGNED: dict[str, Formula] = {"shift": "shift"}
RIGHT: dict[str, Formula] = {"right": "-shift"}
RIGHT_ALONE: dict[str, Formula] = {"right": "max(-shift, 0)"}
TOTAL: dict[str, Formula] = {"total": "31 - shift"}
INT8 = ((-128, 127),)

OPEN_UNITS: dict[str, tuple[Filed, str, dict[str, Any]]] = {
    "CFU-Playground mnv2_first": (Filed("both_shifts", PRODUCT | SIGNED | CLAMP), "", {}),
    "CFU-Playground hps_accel": (
        Filed("quotient_16", PRODUCT | RIGHT | CLAMP),
        "scaled_16",
        {"shift": (-12, -2)},
    ),
    "CFU-Playground kws_micro_accel": (
        Filed("five_to_nine", PRODUCT | RIGHT),
        "",
        {"shift": (-9, -5), "zero_points": (-128,), "clamp": INT8},
    ),
    "gestureflow_requant_relu": (
        Filed("relu_symmetric", PRODUCT | RIGHT_ALONE),
        "",
        {"shift": (-31, 0), "zero_points": (0,), "clamp": ((0, 127),)},
    ),
    "SIENNA tfliteRequant, double": (Filed("once_or_twice", PRODUCT | SIGNED | CLAMP), "", {}),
    "SIENNA tfliteRequant, single": (
        Filed("once_or_twice", PRODUCT | SIGNED | CLAMP, ONCE=1),
        "one_rounding_half_up",
        {},
    ),
    "mdla7 vf_conv_int8_mac": (
        Filed("nudge_and_shift", PRODUCT | SIGNED | CLAMP),
        "first_nudge_shifted",
        {},
    ),
    "tinyml-accelerator": (
        Filed("second_cut", PRODUCT | RIGHT | CLAMP),
        "second_down",
        {"shift": (-31, 0)},
    ),
    "Versal-BERT requant": (
        Filed("once_symmetric", PRODUCT | TOTAL),
        "one_rounding_half_up",
        {"zero_points": (0,), "clamp": INT8},
    ),
    "ITA ita_requantizer": (
        Filed("short_product", PRODUCT | TOTAL | {"zp": "zero_point"}),
        "one_rounding_half_up",
        {"shift": (-4, 30), "accumulator_bits": 26, "multiplier_bits": 9, "clamp": INT8},
    ),
    "INT8-Tensor-Accelerator-DV requantize": (
        Filed("away_16", PRODUCT | TOTAL | RELU),
        "one_rounding_half_away and relu_at_0",
        {"multiplier_bits": 17},
    ),
    "TinyVAD requantize": (
        Filed("second_up", PRODUCT | RIGHT_ALONE | CLAMP),
        "second_half_up",
        {"shift": (-31, 0)},
    ),
    "face-filter quantize_int8": (
        Filed("no_shift", PRODUCT | {"zp": "zero_point"}),
        "",
        {"shift": (0, 0), "clamp": INT8},
    ),
    "a VHDL post-processing unit": (
        Filed("once_relu", PRODUCT | TOTAL | RELU),
        "one_rounding_half_up and relu_at_0",
        {},
    ),
    "a course's MBQM": (
        Filed("logical_repaired", PRODUCT | SIGNED | {"zp": "zero_point"}),
        "second_logical_repaired",
        {"clamp": INT8},
    ),
    "a course's RoundingDivideByPOT": (
        Filed("odd_one_more", PRODUCT | RIGHT | CLAMP),
        "second_half_away_and_even",
        {"shift": (-31, 0)},
    ),
}
"""By the name of the design: its adapter, its contract, and the contract's limits."""
