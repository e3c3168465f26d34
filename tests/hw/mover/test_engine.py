# amaranth: UnusedElaboratable=no
"""Mover: every pair of spaces, alignment, stride and index against numpy; faults write nothing."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

import eightfold.hw.mover.engine
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.mover.engine import BEATS, Mover
from eightfold.hw.mover.writer import Writer
from eightfold.hw.ports import BURST, scratchpad_read, scratchpad_write
from eightfold.isa import Opcode, Space
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.target.config import AcceleratorConfig
from lab.formal.proof import Break
from tests.support.hardware.broken import broken
from tests.support.hardware.stream_transfers import simulated
from tests.support.hardware.unit_bench import run_unit

pytestmark = pytest.mark.slow

NANO = AcceleratorConfig(lanes=4, width=4, port=4, scratchpad=4096, vector_lanes=2)
NARROW_PORT = NANO.replace(lanes=8, width=8, tables=8)
BASE = NANO.replace(lanes=16, width=16, port=16, scratchpad=8192)
WIDE = NANO.replace(lanes=32, port=8, scratchpad=16384)


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


def run_mover(config, simulator, seed, testcase=None, moves=22, bench="mover"):
    names = ("port", "vector", "scratchpad", "tables")
    more = {name: getattr(config, name) for name in names} | {"moves": moves}
    return run_unit(lambda: MoverOnScratchpad(config), bench, simulator, seed, testcase, **more)


@pytest.mark.parametrize("first", [1, BURST])
@simulated(lambda: Mover(NANO))
async def test_no_more_beats_are_asked_for_than_have_a_place(ctx, dut, first):
    """Of a long run whose first burst has `first` beats, from a memory that does not answer."""
    source = NANO.port * (BURST - first)
    run = NANO.port * 2 * BEATS
    for region in (dut.model, dut.arena):
        ctx.set(region, {"base": 0, "size": source + run})
    move = {"source_space": Space.MODEL.value, "target_space": Space.SCRATCHPAD.value}
    move |= {"source": source, "target": 0, "run": run, "opcode": Opcode.MOVE.value}
    for name, value in (move | {f"count{i}": 1 for i in range(4)}).items():
        ctx.set(dut.engine.command.payload.move[name], value)
    ctx.set(dut.read.request.ready, 1)
    ctx.set(dut.engine.command.valid, 1)
    await ctx.tick().until(dut.engine.command.ready)
    ctx.set(dut.engine.command.valid, 0)
    beats = []
    for _ in range(3 * BEATS):
        if ctx.get(dut.read.request.valid):
            beats.append(ctx.get(dut.read.request.payload.beats))
        await ctx.tick()
    assert beats[0] == first and BEATS - BURST <= sum(beats) <= BEATS


# The digits run with ports and scratchpads of these sizes too.
@pytest.mark.parametrize(
    ("simulator", "config", "seed", "moves"),
    [
        ("verilator", NANO, 4, 11),
        ("verilator", NANO, 0, 22),
        ("verilator", NARROW_PORT, 1, 22),
        ("verilator", BASE, 2, 22),
        ("icarus", NARROW_PORT, 3, 11),
    ],
)
@pytest.mark.usual
def test_matches_numpy(simulator, config, seed, moves):
    assert run_mover(config, simulator, seed, moves=moves).report["idle"] <= 2


@pytest.mark.parametrize(
    ("simulator", "config", "seed", "moves"),
    [
        ("verilator", NANO, 11, 11),
        ("verilator", NANO, 5, 22),
        ("verilator", NARROW_PORT, 6, 22),
        ("verilator", BASE, 7, 22),
        ("verilator", WIDE, 8, 22),
        ("icarus", NARROW_PORT, 9, 11),
        ("icarus", BASE, 10, 11),
    ],
)
@pytest.mark.usual
def test_gathers_as_numpy_does(simulator, config, seed, moves):
    run_mover(config, simulator, seed, bench="mover_gather", moves=moves)


@pytest.mark.icarus
def test_bench_catches_a_last_unit_that_is_written_too_early(monkeypatch):
    early = broken(Writer, Break("& ~(unit.last & pending)", ""))
    monkeypatch.setattr(eightfold.hw.mover.engine, "Writer", early)
    testcase = "commands_that_overlap/latency=30/stall=0.5/busy=0.8"
    with pytest.raises(BenchFailed, match="done="):
        run_mover(NANO, "icarus", 4, testcase)
