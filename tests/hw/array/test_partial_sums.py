"""Partial sums: exact with wrap, readable after the stated distance."""

import numpy as np
import pytest

from eightfold.hw.array.partial_sums import PartialSums
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import put, simulate, simulated

BITS = 24


@pytest.mark.parametrize("seed", [0, 1])
def test_adds_with_wrap_at_the_stated_distance(seed):
    rng = np.random.default_rng(seed)
    config = AcceleratorConfig(psum_depth=16)
    dut = PartialSums(config, BITS)
    count = 400
    # Few slots, visited as often as allowed; large values, so that sums pass the int32 limits.
    slots = [int(rng.integers(PartialSums.REVISIT)) for _ in range(count)]
    for n in range(count):
        while slots[n] in slots[max(0, n - PartialSums.REVISIT + 1) : n]:
            slots[n] = (slots[n] + 1) % 16
    limit = 1 << (BITS - 1)
    dots = rng.choice([-limit, limit - 1, -1, 0], count)
    carries = rng.integers(0, 2, count)
    writes = rng.random(count) < 0.9
    clears = rng.random(count) < 0.002
    clears[:16] = True
    stored = np.zeros(16, np.int64)
    expected = []
    for n in range(count):
        total = (0 if clears[n] else stored[slots[n]]) + dots[n] + carries[n]
        expected.append(int(np.int64(total).astype(np.int32)))
        if writes[n]:
            stored[slots[n]] = expected[-1]
    got = []

    async def bench(ctx):
        for cycle in range(count + PartialSums.READ_AHEAD + 1):
            ahead = cycle
            now = cycle - PartialSums.READ_AHEAD
            after = cycle - dut.READ_AHEAD - 1
            if ahead < count:
                ctx.set(dut.read_slot, slots[ahead])
            if 0 <= now < count:
                numbers = {"dot": dots[now], "carry": carries[now], "clear": clears[now]}
                put(ctx, dut, **{name: int(number) for name, number in numbers.items()})
            if after >= 0:
                got.append(ctx.get(dut.acc))
                put(ctx, dut, write=int(writes[after]), write_slot=slots[after])
            await ctx.tick()

    simulate(dut, bench)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("start", [2**31 - 1, -(2**31)])
@simulated(lambda: PartialSums(AcceleratorConfig(psum_depth=16), 32))
async def test_sum_wraps_at_both_int32_limits(ctx, dut, start):
    step = 1 if start > 0 else -1
    seen = []
    for clear, dot in ((1, start), (0, step)):
        put(ctx, dut, clear=clear, dot=dot)
        await ctx.tick()
        ctx.set(dut.write, 1)
        seen.append(ctx.get(dut.acc))
        await ctx.tick()
        ctx.set(dut.write, 0)
        for _ in range(PartialSums.REVISIT - 2):
            await ctx.tick()
    assert seen == [start, -start - 1]
