# amaranth: UnusedElaboratable=no
"""The simulated system around the accelerator: what it reports, and that its checks can fail."""

from functools import cache

import numpy as np
import pytest

import eightfold.sim.simulator.system
from eightfold.isa import COUNTERS, Engine, ErrorCode
from eightfold.rtl.verilog import generate
from eightfold.sim.simulator.memory_image import CHANNELS, END, SAMPLE, SIZE
from eightfold.sim.simulator.runner import BenchFailed, Verilog
from eightfold.sim.simulator.system import FOLDER, SOURCES, Run, run_system
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming
from tests.support.hardware.inverting_accelerator import (
    INDEX,
    WRONG_ATTRIBUTES,
    Fault,
    InvertingAccelerator,
)

pytestmark = pytest.mark.slow

CONFIG = AcceleratorConfig(lanes=4, width=4, port=8, scratchpad=4096, weight_buffer=512)
PORT = CONFIG.port


@cache
def accelerator():
    return generate(InvertingAccelerator(CONFIG), "eightfold_accelerator")


@pytest.fixture
def invert(simulator, monkeypatch, tmp_path):
    """Run the accelerator that inverts a beat."""
    source = tmp_path / "accelerator.v"
    source.write_text(accelerator())
    sources = (*(FOLDER / f"{name}.v" for name in SOURCES), source)
    design = Verilog("eightfold_system", sources, (("PORT", PORT), ("BYTES", SIZE)))
    monkeypatch.setattr(eightfold.sim.simulator.system, "system_design", lambda *_: design)
    settings = {"words": np.zeros(0), "model": b"model", "arena_bytes": 99, "limit": 500}

    def run(runs=None, **options):
        return run_system(CONFIG, simulator, **settings, runs=runs or [Run()], **options)

    return run


@pytest.mark.parametrize(("seed", "stall"), [(0, 0.0), (1, 0.5), (2, {"w": 0.9, "r": 0.5})])
@pytest.mark.usual("seed")
def test_returns_what_each_run_left(invert, seed, stall):
    values = np.random.default_rng(seed).integers(0, 256, (3, PORT), dtype=np.uint8)
    runs = [Run(inputs={0: value, 60: b"input"}) for value in values]
    result = invert(runs=runs, seed=seed, stall=stall)
    for run, value in zip(result.runs, values, strict=True):
        assert (run.done, run.error, len(run.arena)) == (True, ErrorCode.NONE, 99)
        np.testing.assert_array_equal(run.tensor(PORT, (PORT,), np.uint8), ~value)
        assert run.tensor(60, (5,), np.uint8).tobytes() == b"input"
        names = ["CYCLES", "READ_BEATS", "WRITE_BEATS"]
        assert [run.counters[name] for name in names[1:]] == [1, 1]
        events = run.events[run.events[:, 0] != SAMPLE]
        assert events[:, :2].tolist() == [[Engine.MOVER.value, INDEX], [END, 0]]
        columns = [2 + [name for name, _ in COUNTERS].index(name) for name in names]
        assert events[:, columns].tolist() == [[run.cycles - 1, 1, 1], [run.cycles, 1, 1]]
        if not stall:
            assert run.cycles == 45


def test_runs_may_have_models_of_their_own(invert):
    """Memory that is not what a run should find is found changed behind it."""
    runs = [Run(), Run(model=b"another, and longer"), Run(model=b""), Run()]
    assert all(run.done for run in invert(runs=runs).runs)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"read_error": ("arena", 0, 1)}, ErrorCode.AXI_READ),
        ({"write_error": ("arena", PORT, 2 * PORT)}, ErrorCode.AXI_WRITE),
    ],
)
@pytest.mark.usual("code")
def test_answers_errors_and_goes_on_after_a_soft_reset(invert, error, code):
    first, second = invert(runs=[Run(**error), Run()]).runs
    assert (first.done, first.error, first.engine, first.index) == (False, code, 0, INDEX)
    assert second.done


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault.HANGS, "no interrupt in 500 cycles: .*'busy': 1"),
        (Fault.WRITES_BEFORE, "run 0: 8 bytes changed outside of the arena, the first at"),
        (Fault.MOVES_ADDRESS, "violations of AXI"),
        (Fault.MISCOUNTS, "traced .*'READ_BEATS': 1, .* counted .*'READ_BEATS': 0"),
        (Fault.KEEPS_INTERRUPT, "interrupt pending after its clear"),
        (Fault.KEEPS_ERROR, "after a soft reset: {'code': 4"),
    ],
)
@pytest.mark.usual("fault")
def test_reports_a_fault(invert, fault, message):
    error = ("arena", 0, 1) if fault is Fault.KEEPS_ERROR else None
    run = Run(registers={"COMMAND_LENGTH": fault.value}, read_error=error)
    with pytest.raises(BenchFailed, match=message):
        invert([run] * 5, stall={"aw": 0.9})  # so that one of five addresses has to wait


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault.NONE, (0, 0, 0)),
        (Fault.READS_BEFORE, (1, 0, 0)),
        (Fault.LEAVES_READ, (0, 1, 0)),
        (Fault.HIDES_ERROR, (0, 0, 1)),
    ],
)
@pytest.mark.usual("fault")
def test_tells_what_memory_answered_without_a_word(invert, fault, found):
    error = ("arena", 0, 1) if fault is Fault.HIDES_ERROR else None
    run = Run(
        registers={"COMMAND_LENGTH": fault.value},
        read_error=error,
        timing=MemoryTiming(latency=100),
    )
    (result,) = invert([run]).runs
    assert result.done
    assert (result.reads_outside, result.unanswered, result.bus_errors) == found


@pytest.mark.usual(names=["verilator"])
def test_resets_a_run_whose_patience_is_over(invert):
    hangs = Run(registers={"COMMAND_LENGTH": Fault.HANGS.value}, patience=200)
    first, second = invert([hangs, Run(patience=200)]).runs
    assert (first.ended, first.done, second.ended, second.done) == (False, False, True, True)


@pytest.mark.usual(names=["icarus"])
def test_a_run_has_stalls_of_its_own(invert):
    """They depend on nothing but the run, so that it can be repeated alone."""
    stalled = {"stall": 0.7, "timing": MemoryTiming(latency=30)}
    runs = [Run(**stalled, seed=1), Run(**stalled, seed=2), Run(), Run(**stalled, seed=1), Run()]
    cycles = [result.cycles for result in invert(runs).runs]
    (alone,) = invert([Run(**stalled, seed=1)], seed=5).runs
    assert cycles == [alone.cycles, cycles[1], 45, alone.cycles, 45]
    assert len(set(cycles)) == 3


def test_writes_registers_while_it_runs(invert):
    """The accelerator of this test takes them at once."""
    (changed, _) = invert([Run(writes=[(0, "COMMAND_LENGTH", 1)], patience=200), Run()]).runs
    assert not changed.ended


@pytest.mark.icarus
@pytest.mark.parametrize("simulator", ["icarus"])
@pytest.mark.parametrize("name", WRONG_ATTRIBUTES)
@pytest.mark.usual(count=4)
def test_reports_an_attribute_that_is_not_the_promised_one(invert, name):
    with pytest.raises(BenchFailed, match="1 violations of AXI"):
        invert([Run(registers={"COMMAND_LENGTH": WRONG_ATTRIBUTES[name]})])


def test_counts_writes_outside_of_a_smaller_arena(invert):
    with pytest.raises(BenchFailed, match="1 beats written outside of the arena"):
        invert([Run(registers={"ARENA_SIZE": 2 * PORT - 1})])


def test_rejects_an_unknown_channel(invert):
    with pytest.raises(ValueError, match=f"no channel x; use {', '.join(CHANNELS)}"):
        invert(stall={"x": 0.5})
