# amaranth: UnusedElaboratable=no
"""Tokens: nine counters that never lose one, and grants of all or nothing."""

import random

import pytest

from eightfold.hw.control.tokens import ENGINES, TokenCounter, Tokens
from tests.support.hardware.stream_transfers import put, simulated


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("generosity", [0.1, 0.4, 0.8])
@pytest.mark.usual(count=4)
@simulated(Tokens)
async def test_grants_are_those_of_nine_counters(ctx, dut, seed, generosity):
    rng = random.Random(seed)
    counts = {(i, j): 0 for i in range(ENGINES) for j in range(ENGINES)}
    granted = 0
    for _ in range(600):
        give = [
            sum((rng.random() < generosity) << j for j in range(ENGINES)) for _ in range(ENGINES)
        ]
        wait = [rng.randrange(1 << ENGINES) for _ in range(ENGINES)]
        request = rng.randrange(1 << ENGINES)
        for engine in range(ENGINES):
            ctx.set(dut.give[engine], give[engine])
            ctx.set(dut.wait[engine], wait[engine])
        ctx.set(dut.request, request)
        grant = ctx.get(dut.grant)
        for j in range(ENGINES):
            needed = [(i, j) for i in range(ENGINES) if wait[j] >> i & 1]
            may = request >> j & 1 and all(counts[pair] for pair in needed)
            assert grant >> j & 1 == bool(may)
            if may:
                granted += 1
                for pair in needed:
                    counts[pair] -= 1
        for i, j in counts:
            counts[i, j] += give[i] >> j & 1
        await ctx.tick()
    assert granted > 50


@simulated(TokenCounter)
async def test_a_full_counter_stays_full(ctx, dut):
    highest = 4095  # as docs/isa.md says
    ctx.set(dut.give, 1)
    await ctx.tick().repeat(highest + 5)
    put(ctx, dut, give=0, take=1)
    for _ in range(highest):
        assert ctx.get(dut.available)
        await ctx.tick()
    assert not ctx.get(dut.available)
