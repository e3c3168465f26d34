# amaranth: UnusedElaboratable=no
"""Fifo: what it holds beyond what the proofs of its order say."""

import random

import pytest
from amaranth.hdl import unsigned

from eightfold.hw.blocks.fifo import Fifo
from tests.support.hardware.stream_transfers import put, simulate


def test_refuses_a_depth_of_no_words():
    with pytest.raises(ValueError, match="^depth must be at least 1, not 0$"):
        Fifo(unsigned(8), 0)


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 16, 17])
def test_holds_as_many_words_as_its_depth(depth):
    dut, rng, held = Fifo(unsigned(8), depth), random.Random(depth), []

    async def bench(ctx):
        for cycle in range(30 * depth):
            fills = cycle // (2 * depth) % 2 == 0
            writes, reads = (rng.random() < (0.9 if wants else 0.3) for wants in (fills, not fills))
            word = rng.randrange(256)
            assert ctx.get(dut.w_rdy) == (len(held) < depth)
            assert ctx.get(dut.r_rdy) == bool(held)
            assert not held or ctx.get(dut.r_data) == held[0]
            put(ctx, dut, w_en=writes, w_data=word, r_en=reads)
            accepts = writes and len(held) < depth
            del held[: reads and bool(held)]
            held.extend([word] * accepts)
            await ctx.tick()

    simulate(dut, bench)
