# amaranth: UnusedElaboratable=no
"""Mover: every pair of spaces, alignment, stride and index against numpy; faults write nothing."""

import sys
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

import eightfold.hw.mover.engine
import eightfold.hw.mover.writer
from eightfold.hw.blocks.skid import Bypass
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.mover.engine import Mover
from eightfold.hw.mover.indices import DIGIT, Indices
from eightfold.hw.mover.runs import Runs
from eightfold.hw.mover.units import Units
from eightfold.hw.mover.writer import Writer
from eightfold.hw.ports import scratchpad_read, scratchpad_write
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench
from eightfold.sim.stimuli import gather
from eightfold.sim.stimuli.move import FAULTS
from eightfold.target.config import AcceleratorConfig

pytestmark = pytest.mark.slow

MOVE, GATHER = "eightfold.sim.benches.mover", "eightfold.sim.benches.mover_gather"
NANO = AcceleratorConfig(lanes=4, width=4, port=4, scratchpad=4096, vector_lanes=2)
NARROW_PORT = NANO.replace(lanes=8, width=8, tables=8)
BASE = NANO.replace(lanes=16, width=16, port=16, scratchpad=8192)
WIDE = NANO.replace(lanes=32, port=8, scratchpad=16384)

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


class MoverOnScratchpad(wiring.Component):
    """A mover on a scratchpad, whose first ports are open to the bench."""

    engine: Any
    read: Any
    write: Any
    tables: Any
    reader: Any
    writer: Any
    model: Signal
    arena: Signal
    moving: Signal
    reads: Signal

    def __init__(self, config):
        self.config = config
        mover = Mover(config)
        outside = {
            name: mover.signature.members[name]
            for name in ("engine", "model", "arena", "read", "write", "tables", "moving", "reads")
        }
        super().__init__(
            outside
            | {"reader": In(scratchpad_read(config)), "writer": In(scratchpad_write(config))}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.mover = mover = Mover(self.config)
        m.submodules.scratchpad = scratchpad = Scratchpad(self.config, 3, 2)
        for name in ("engine", "read", "write", "tables"):
            wiring.connect(m, getattr(mover, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [mover.model.eq(self.model), mover.arena.eq(self.arena)]
        m.d.comb += [self.moving.eq(mover.moving), self.reads.eq(mover.reads)]
        wiring.connect(m, wiring.flipped(self.reader), scratchpad.readers[0])
        wiring.connect(m, wiring.flipped(self.writer), scratchpad.writers[0])
        wiring.connect(m, mover.index_read, scratchpad.readers[1])
        wiring.connect(m, mover.scratch_read, scratchpad.readers[2])
        wiring.connect(m, mover.scratch_write, scratchpad.writers[1])
        return m


def run_mover(config, simulator, seed, testcase=None, moves=22, bench=MOVE):
    return run_bench(
        lambda: MoverOnScratchpad(config),
        bench,
        simulator,
        parameters={
            "port": config.port,
            "vector": config.vector,
            "scratchpad": config.scratchpad,
            "tables": config.tables,
            "moves": moves,
        },
        seed=seed,
        testcase=testcase,
    )


def at_other_sizes(config, seed):
    """Return a case for `make test-long`: the digits run with such ports and scratchpads too."""
    return pytest.param(config, seed, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("config", "seed"), [(NANO, 0), at_other_sizes(NARROW_PORT, 1), at_other_sizes(BASE, 2)]
)
def test_matches_numpy_on_verilator(config, seed):
    assert run_mover(config, "verilator", seed).report["idle"] <= 2


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize(("config", "seed"), [(NARROW_PORT, 3)])
def test_matches_numpy_on_icarus(config, seed):
    run_mover(config, "icarus", seed, moves=11)


@pytest.mark.parametrize(
    ("config", "seed"),
    [(NANO, 5), at_other_sizes(NARROW_PORT, 6), at_other_sizes(BASE, 7), at_other_sizes(WIDE, 8)],
)
def test_gathers_as_numpy_does_on_verilator(config, seed):
    run_mover(config, "verilator", seed, bench=GATHER)


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize(("config", "seed"), [(NARROW_PORT, 9), at_other_sizes(BASE, 10)])
def test_gathers_as_numpy_does_on_icarus(config, seed):
    run_mover(config, "icarus", seed, bench=GATHER, moves=11)


class NoRoom(Mover):
    """Asks for beats that have no place."""

    def _burst_fits(self, m, beats):
        fits = super()._burst_fits(m, beats)
        return Signal.like(fits, init=1)


class NoAnswers(Writer):
    """Is done before memory has answered."""

    def _owes(self, requests):
        return Const(0)


class NoWait(Writer):
    """Writes a command's last unit while the one before is not done."""

    def _may_write(self, last, pending):
        return Const(1)


class ForgetsWhatWaits(Bypass):
    """Lets a command be done while its last write waits."""

    def _waits(self, full):
        return Const(0)


class LongBursts(Units):
    """Never looks where a burst begins."""

    def _beat(self, run):
        return Const(0, 4)


class SaysNothing(Units):
    """Does not say that it reads memory."""

    def _reads(self, cuts):
        return Const(0)


class SaysLittle(Units):
    """Says that it reads only while it asks."""

    def _reads(self, cuts):
        return self.read.valid


class NoChecks(Runs):
    """Writes wherever it is told to."""

    def _place(self, m, kept, run, placed):
        # The limits are wide open.
        free = Signal.like(kept)
        m.d.comb += [free.eq(kept), free.limits[1].eq((1 << 32) - 1)]
        super()._place(m, free, run, placed)


class NoLimit(Indices):
    """Takes every index that is not negative and has no high bits."""

    def _refuses(self, n, beyond, limit):
        return beyond


class NoSign(Indices):
    """Looks at the low bits of an index only."""

    def _refuses(self, n, beyond, limit):
        return n >= limit


class OneWindow(Indices):
    """Reads one window per command."""

    def _same(self, window, before):
        return Const(1)


class NoHighDigit(Indices):
    """Multiplies the low half of an index only."""

    def _multiply(self, m, n, step):
        return super()._multiply(m, n & ((1 << DIGIT) - 1), step)


def fault(kind):
    """Return the test of a fault of a GATHER."""
    number = list(gather.FAULTS).index(kind)
    return f"a_fault_stops_the_writing/kind={number}/stall=0.0"


OVERLAPPING = "commands_that_overlap/latency=30/stall=0.5/busy=0.8"
IN_TURN = "commands_one_after_the_other/latency=20/stall=0.0/busy=0.0"
HELD_UP = "commands_one_after_the_other/latency=4/stall=0.6/busy=0.9"
OUTSIDE = f"a_fault_stops_the_writing/kind={FAULTS.index('target_ends')}/stall=0.0"
READING = "rate/case=0"
MUTANTS = (
    ("Mover", NoRoom, MOVE, OVERLAPPING, "differs: got|done="),
    ("Writer", NoAnswers, MOVE, IN_TURN, "differs: got"),
    ("Writer", NoWait, MOVE, OVERLAPPING, "done="),
    ("Bypass", ForgetsWhatWaits, MOVE, HELD_UP, "differs: got"),
    ("Units", LongBursts, MOVE, IN_TURN, "read crosses|write crosses"),
    ("Units", SaysNothing, MOVE, IN_TURN, "asks memory without saying so"),
    ("Units", SaysLittle, MOVE, READING, "says in between"),
    ("Runs", NoChecks, MOVE, OUTSIDE, "no fault|outside"),
    ("Indices", NoLimit, GATHER, fault("n_limit"), "no fault|ADDRESS"),
    ("Indices", NoSign, GATHER, fault("n_high"), "no fault|differs: got|ADDRESS"),
    ("Indices", OneWindow, GATHER, OVERLAPPING, "differs: got|fault="),
    ("Indices", NoHighDigit, GATHER, OVERLAPPING, "differs: got|fault="),
)


@needs_icarus
@pytest.mark.parametrize(("part", "mutant", "bench", "testcase", "message"), MUTANTS)
def test_bench_catches(part, mutant, bench, testcase, message, monkeypatch):
    module = sys.modules[__name__] if part == "Mover" else eightfold.hw.mover.engine
    module = eightfold.hw.mover.writer if part == "Bypass" else module
    monkeypatch.setattr(module, part, mutant)
    with pytest.raises(BenchFailed, match=message) as raised:
        run_mover(NANO, "icarus", 4, testcase, bench=bench)
    text = str(raised.value)
    assert "differs: got" not in text or " copies " in text or "no command writes it" in text
