"""Counters: each is exact at any read, whatever the reads do to the turns of the others."""

import random

import pytest

from eightfold.hw.control.counters import Counters
from eightfold.isa import COUNTERS
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import put, simulate

COUNT = len(COUNTERS)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("density", "gap"), [(1.0, 2), (0.5, 4), (0.05, 30)])
@pytest.mark.parametrize("counters", [True, False])
def test_a_read_counts_every_event_before_it(counters, density, gap, seed):
    """Reads every second cycle are the most that there can be: turns come latest then."""
    rng = random.Random(seed)
    dut = Counters(AcceleratorConfig(counters=counters))
    totals = [0] * COUNT

    async def bench(ctx):
        for cycle in range(1500):
            # What counts in this cycle is known from the one before.
            counted = ctx.get(dut.count)
            clear, running = rng.random() < 0.003, rng.random() < 0.95
            events = sum((rng.random() < density) << k for k in range(COUNT))
            read = cycle % 2 == 0 and rng.random() < 2 / gap
            number = rng.randrange(1 << len(dut.number))
            put(ctx, dut, clear=clear, running=running, events=events, read=read, number=number)
            before = list(totals)
            for k in range(COUNT):
                totals[k] = 0 if clear else totals[k] + (counted >> k & 1)
            await ctx.tick()
            if read:
                shown = before if counters else [totals[0], *[0] * (COUNT - 1)]
                assert ctx.get(dut.value) == (shown[number] if number < COUNT else 0)

    simulate(dut, bench)
