"""Before a trace is recorded it is said how large it will be, and that it takes a simulator."""

import logging
from pathlib import Path
from typing import Any, NoReturn

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import NETWORKS
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import estimate
from eightfold.operators import load_model
from eightfold.run import simulate
from eightfold.run.session import Session
from eightfold.sim.simulator import build, waves
from eightfold.sim.simulator.build import Verilog, build_model
from eightfold.sim.simulator.waves import size_note, trace_size
from eightfold.target.config import PRESETS

DIGITS = NETWORKS / "digits.tflite"

MEASURED = [
    ("vcd", "verilator", "nano", 10_267, 80_373_162),
    ("vcd", "verilator", "small", 5_206, 64_428_022),
    ("vcd", "verilator", "base", 3_460, 55_584_557),
    ("vcd", "icarus", "nano", 10_267, 138_301_688),
    ("fst", "verilator", "nano", 10_267, 6_112_786),
    ("fst", "verilator", "small", 5_206, 5_943_361),
    ("fst", "verilator", "base", 3_460, 5_565_568),
    ("fst", "icarus", "nano", 10_267, 6_685_104),
]
"""Format, simulator, configuration, cycles and bytes of `eightfold run digits --trace`."""


@pytest.mark.parametrize(("form", "simulator", "config", "cycles", "size"), MEASURED)
def test_a_size_is_near_to_what_was_measured(
    form: Any, simulator: Any, config: str, cycles: int, size: int
) -> None:
    found = trace_size(form, simulator, PRESETS[config].macs_per_cycle, cycles)
    assert 0.95 < found / size < 1.05


@pytest.mark.parametrize("form", ["vcd", "fst"])
def test_a_larger_accelerator_has_larger_waves(form: Any) -> None:
    sizes = [trace_size(form, "verilator", macs, 1) for macs in (1, 16, 64, 128, 256, 1024, 4096)]
    assert sizes == sorted(set(sizes))
    assert sizes[0] > 0


@pytest.mark.parametrize("missing", ["", "Verilator needs liblz4-dev for FST"])
def test_a_vcd_is_told_how_small_an_fst_is(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr(waves, "missing_for_fst", lambda simulator: missing)
    note = size_note(Path("a.vcd"), "verilator", 256, 1_000_000)
    assert note.startswith("a.vcd: will have about 16.2 GB, for 1,000,000 cycles; a.fst has about ")
    assert note.endswith(f" ({missing})") == bool(missing)
    if not missing:
        note = size_note(Path("a.fst"), "verilator", 16, 100_000)
        assert note == "a.fst: will have about 61 MB, for 100,000 cycles"


@pytest.mark.slow
def test_a_run_says_how_large_its_trace_will_be_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def stop(*_: Any, **__: Any) -> NoReturn:
        raise InputError("here it would be built")

    monkeypatch.setattr(simulate, "simulate_network", stop)
    trace = tmp_path / "a.vcd"
    with Session("verilator", "nano", trace=trace) as session, pytest.raises(InputError):
        session.run(DIGITS)
    cycles = estimate(prepare(load_model(DIGITS), PRESETS["nano"]).network.streams).total
    note = size_note(trace, "verilator", 16, cycles)
    assert [record.getMessage() for record in caplog.records] == [f"eightfold: {note}"]
    assert f"{cycles:,} cycles" in note


def test_a_simulator_for_waves_is_not_built_in_silence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    source = tmp_path / "top.v"
    source.write_text("module top(input clk);\nendmodule\n")
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "check_simulator", lambda simulator: None)
    monkeypatch.setattr(build, "simulator_version", lambda simulator: "1")
    monkeypatch.setattr(build, "_compile", lambda *_: None)
    design = Verilog("top", (source,))
    with caplog.at_level(logging.WARNING):
        build_model(design, "icarus")
        assert caplog.records == []
        build_model(design, "icarus", waves="vcd")
        build_model(design, "icarus", waves="vcd")  # kept
    (record,) = caplog.records
    assert "top is compiled for Icarus a second time" in record.getMessage()
