"""Modules that answer with some bits of the accumulator, behind adapters; and cases for them."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.rtl import RtlAdapter
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.answers import Columns
from eightfold.conformance.profile import Profile, ProfileLimits
from eightfold.conformance.units.unit import UnitCases

Changed = TypeVar("Changed", bound=RtlAdapter)

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus")
needs_ghdl = pytest.mark.skipif(shutil.which("ghdl") is None, reason="no GHDL")

KINDS = (
    *("right", "never", "x", "one_bit_x", "surplus", "early", "drops_last", "never_takes"),
    *("finishes", "valid_x", "drops_one", "samples_late"),
)
"""What is odd about the module `odd`, by number."""


class Odd(StreamAdapter):
    """A module that `KINDS` names."""

    sources = ("odd.v",)
    top = "odd"
    reset, reset_active = "rst_n", 0
    in_valid, in_ready, out_valid, out_ready = "in_valid", "in_ready", "out_valid", "out_ready"
    inputs: ClassVar[Mapping[str, Formula]] = {"acc": "accumulator"}
    outputs: ClassVar[Mapping[str, str]] = {"result": "out"}
    patience = 500

    def __init__(self, folder: Path, kind: str = "right") -> None:
        file = folder / "kind.hex"
        file.write_text(f"{KINDS.index(kind):x}\n")
        self.files = [file]


class Pipeline(StreamAdapter):
    """A SystemVerilog module with a falling clock edge, types, includes and parameters."""

    sources = ("pipeline.sv",)
    include_dirs = ("include",)
    top = "pipeline"
    parameters: ClassVar[Mapping[str, str | int]] = {"LATENCY": 3, "NAME": "seven"}
    clock, clock_edge = "clk_n", "falling"
    latency = 3
    inputs: ClassVar[Mapping[str, Formula]] = {
        "a": "accumulator",
        "b": "-shift",
        "pair[15:8]": lambda columns: columns["zero_point"],
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "q"}


class OldStyle(StreamAdapter):
    """A module with a header of old, that computes for some cycles after ``start``."""

    sources = ("pipeline.sv",)
    include_dirs = ("include",)
    top = "old_style"
    reset = "reset"
    in_valid, out_valid = "start", "done"
    one_at_a_time = True
    inputs: ClassVar[Mapping[str, Formula]] = {"a": "accumulator"}
    outputs: ClassVar[Mapping[str, str]] = {"result": "q"}


def changed(adapter: Changed, **fields: object) -> Changed:
    """Return an adapter some of whose fields are others, legal or not."""
    for name, value in fields.items():
        setattr(adapter, name, value)
    return adapter


def columns(count: int) -> dict[str, NDArray[Any]]:
    """Return cases of a requantizer: accumulators 0, 1, 2 ... and a last one of -1."""
    accumulator = np.arange(count, dtype=np.int32)
    accumulator[-1] = -1
    rng = np.random.default_rng(count)
    return {
        "accumulator": accumulator,
        "multiplier": np.full(count, 2**31 - 1, np.int32),
        "shift": rng.integers(-31, 31, count).astype(np.int8),
        "zero_point": rng.integers(-128, 128, count).astype(np.int8),
        "low": np.full(count, -128, np.int8),
        "high": np.full(count, 127, np.int8),
    }


def write_benches(folder: Path, adapter: StreamAdapter, cases: Columns, seed: int = 0) -> None:
    """Write what a simulator of any maker runs by itself."""
    asked = UnitCases(cases, {}, np.full(adapter.check_cases(cases), ""), {})
    for name, text in adapter.bench_files(asked, "nobody's cases", seed).items():
        (folder / name).write_bytes(text)


def run_icarus(folder: Path, *arguments: Path | str, bench: str = "bench.v") -> str:
    """Compile a bench that the kit has written into a folder, run it, return what it prints."""
    standard = "-g2012" if bench.endswith(".sv") else "-g2005"
    compiled = ["iverilog", standard, "-Wall", "-o", "bench.vvp", *map(str, arguments), bench]
    for command in (compiled, ["vvp", "-n", "bench.vvp"]):
        run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return run.stdout


def bytes_of(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the lowest 8 bits of integers, signed."""
    return values.astype(np.int64).astype(np.int8).astype(np.int64)


class Requantize(StreamAdapter):
    """A right requantizer that shifts to the right alone, in Verilog."""

    sources: Sequence[str | Path] = ("requantize.v",)
    top = "requantize"
    reset, reset_active = "rst_n", 0
    in_valid, in_ready, out_valid, out_ready = "in_valid", "in_ready", "out_valid", "out_ready"
    inputs: ClassVar[Mapping[str, Formula]] = {
        "acc": "accumulator",
        "mult": "multiplier",
        "shr": "-shift",
        "zp": "zero_point",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "result"}


class InVhdl(Requantize):
    """The same in VHDL."""

    sources = ("requantize.vhd",)


RIGHT_SHIFTS = Profile(
    name="right shifts",
    claims=("requantizer",),
    limits=ProfileLimits(shift=(-31, 0), clamp=((-128, 127),)),
)
"""What they claim."""

ADDS = """from amaranth import Module
from amaranth.lib.wiring import Component, In, Out

class Adds(Component):
    def __init__(self, more):
        super().__init__({"acc": In(32), "out": Out(8)})
        self.more = more

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.out.eq(self.acc + self.more)
        return m
"""
"""A component in Amaranth: the accumulator, and what it is made with, a clock later."""
