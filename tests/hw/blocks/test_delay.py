# amaranth: UnusedElaboratable=no
"""Chains of registers: as many cycles as asked for, with and without reset, named as asked for."""

import pytest
from amaranth.hdl import Module, ResetInserter, Signal

from eightfold.hw.blocks.delay import delay, delays
from tests.support.hardware.stream_transfers import simulate


@pytest.mark.parametrize("cycles", [0, 1, 4])
@pytest.mark.parametrize("reset", [False, True])
def test_what_goes_in_comes_out_cycles_later_unless_it_was_reset(cycles, reset):
    m = Module()
    value = Signal(8)
    out = Signal(8)
    clear = Signal()
    m.d.sync += Signal().eq(1)  # a clock, also without registers
    m.d.comb += out.eq(delay(m, value, "stage{}", cycles, reset=reset))
    seen = []

    async def bench(ctx):
        for cycle in range(20):
            ctx.set(value, cycle + 1)
            ctx.set(clear, cycle == 10)
            seen.append(ctx.get(out))
            await ctx.tick()

    simulate(ResetInserter(clear)(m), bench)
    expected = [0] * cycles + list(range(1, 21 - cycles))
    if reset:
        expected[11 : 11 + cycles] = [0] * cycles
    assert seen == expected


def names_of(name):
    stages = delays(Module(), Signal(4), name, 3)[1:]
    return [stage.name for stage in stages if isinstance(stage, Signal)]


def test_registers_have_the_name_and_the_cycle_where_it_is_asked_for():
    assert names_of("push{}") == ["push1", "push2", "push3"]
    assert names_of("word") == ["word"] * 3
