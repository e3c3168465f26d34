"""Benches that are files: in three languages they ask the same, and the files tell what cocotb
does."""

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.answers import Columns
from eightfold.conformance.liars import ControlLiar, LyingSequence, LyingStream
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.results.folders import judge_folders
from eightfold.conformance.results.unit_results import read_words
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.vectors.unit_files import write_unit
from eightfold.conformance.verdict import Statement
from eightfold.sim.simulator.toolchain import tool_environment, verilator_root
from tests.support.conformance.streams import (
    KINDS,
    RIGHT_SHIFTS,
    InVhdl,
    Odd,
    Requantize,
    changed,
    columns,
    needs_ghdl,
    needs_icarus,
    run_icarus,
    write_benches,
)


def last(said: str) -> str:
    """Return the last line about answers."""
    return next(line for line in reversed(said.splitlines()) if "answers" in line)


def words(folder: Path, *command: str) -> str:
    """Run a command in a folder, and return the last line that it says."""
    run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return last(run.stdout)


def icarus(folder: Path, *sources: Path | str, bench: str = "bench.v") -> str:
    return last(run_icarus(folder, "-s", "eightfold_bench", *sources, bench=bench))


def ghdl(folder: Path, source: Path) -> str:
    command = ["ghdl", "-a", "--std=08", str(source), "bench.vhd"]
    subprocess.run(command, check=True, cwd=folder)
    return words(folder, "ghdl", "--elab-run", "--std=08", "eightfold_bench")


def verilator(folder: Path, source: Path) -> str:
    tool = str(verilator_root() / "bin" / "verilator_bin")
    options = ["--binary", "--timing", "-Wno-fatal", "-Wno-lint", "--Mdir", "built"]
    options += ["--top-module", "eightfold_bench", "-CFLAGS", "-std=c++20 -fcoroutines"]
    command = [tool, *options, "bench.sv", str(source)]
    environment = os.environ | tool_environment()
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True)
    return words(folder, "built/Veightfold_bench")


def judged(folder: Path) -> Statement:
    return judge_folders(folder, folder).statement


ROUTES = [
    pytest.param(Requantize, icarus, marks=needs_icarus),
    pytest.param(Requantize, partial(icarus, bench="bench.sv"), marks=needs_icarus, id="icarus-sv"),
    pytest.param(InVhdl, ghdl, marks=needs_ghdl),
    pytest.param(Requantize, verilator, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kind", "simulate"), ROUTES[:3])
@pytest.mark.slow
def test_a_right_unit_conforms_by_the_files(
    kind: type[StreamAdapter], simulate: Callable[[Path, Path], str], tmp_path: Path
) -> None:
    adapter = kind()
    write_unit(tmp_path, "requantizer", RIGHT_SHIFTS, seed=3, benches=adapter.bench_files)
    simulate(tmp_path, adapter.path("sources", adapter.sources[0]))
    assert judged(tmp_path).holds


def right_shifts(count: int) -> Columns:
    cases = columns(count)
    return {**cases, "shift": -np.abs(cases["shift"])}


@pytest.mark.parametrize(("kind", "simulate"), ROUTES)
@pytest.mark.usual(names=["icarus", "ghdl", "nvc"])
def test_pauses_are_the_same_in_each_language(
    kind: type[StreamAdapter], simulate: Callable[[Path, Path], str], tmp_path: Path
) -> None:
    adapter = kind()
    write_benches(tmp_path, adapter, right_shifts(700), seed=3)
    said = simulate(tmp_path, adapter.path("sources", adapter.sources[0]))
    # Another sequence of pauses takes another number of cycles.
    assert said == "700 of 700 answers, 0 early, 0 late, 1215 cycles"


@needs_icarus
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usual(count=6)
@pytest.mark.slow
def test_files_tell_what_cocotb_does(kind: str, tmp_path: Path) -> None:
    cases = columns(400)
    adapter = Odd(tmp_path, kind)
    source = adapter.path("sources", adapter.sources[0])
    write_benches(tmp_path, adapter, cases)
    said = "" if kind == "finishes" else icarus(tmp_path, source)
    if kind == "finishes":
        with pytest.raises(StopIteration):
            icarus(tmp_path, source)
    found, _ = read_words(tmp_path / "results.hex", UNIT_KINDS["requantizer"].results, 400)
    wanted = adapter.answer(cases, simulator="icarus", seed=0)
    np.testing.assert_array_equal(found.results["result"], wanted.results["result"])
    assert found.extra == wanted.extra, said
    assert ("unknown_valid" in found.note) == ("X or Z" in wanted.note)


@needs_icarus
@pytest.mark.parametrize("kind", [LyingStream, LyingSequence])
@pytest.mark.slow
@pytest.mark.usual(names=["Sequence"])
def test_each_fault_of_control_is_caught_by_the_files(
    kind: type[ControlLiar], tmp_path: Path
) -> None:
    for fault in kind.faults:
        liar = kind(tmp_path, fault)
        write_unit(tmp_path, liar.unit, PROFILES["tflite"], benches=liar.bench_files)
        if fault == "right":  # the others are the same build
            macros = [f"-D{name}={value}" for name, value in liar.defines.items()]
            icarus(tmp_path, *macros, *(liar.path("sources", each) for each in liar.sources))
        words(tmp_path, "vvp", "-n", "bench.vvp")
        (finding,) = judged(tmp_path).findings
        assert finding.right == (fault == "right"), fault


def test_what_files_cannot_hold_is_refused(tmp_path: Path) -> None:
    text = Path(Requantize().path("sources", "requantize.v")).read_text()
    (tmp_path / "wide.v").write_text(text.replace("reg signed [7:0] result", "reg [8:0] result"))
    adapter = changed(Requantize(), sources=[tmp_path / "wide.v"])
    with pytest.raises(InputError, match=r"has 9 bits, and files 8; say which, .*result\[7:0\]"):
        write_benches(tmp_path, adapter, right_shifts(4))
