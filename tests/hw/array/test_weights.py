"""The weight loader: order, early completion, and no pause between buffers."""

import pytest

from eightfold.hw.array.weights import WeightLoader
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulated

CONFIG = AcceleratorConfig(lanes=3, width=2)


async def offer(ctx, dut, byte, last=0):
    """Offer one word for a cycle; return whether it was taken, and the write before the edge."""
    ctx.set(dut.words.valid, 1)
    ctx.set(dut.words.payload, {"taps": [byte, -byte], "last": last})
    taken, lanes = ctx.get(dut.words.ready), ctx.get(dut.write.lanes)
    tap = ctx.get(dut.write.taps[1].byte)
    await ctx.tick()
    ctx.set(dut.words.valid, 0)
    return taken, lanes, tap


@simulated(lambda: WeightLoader(CONFIG))
async def test_words_go_to_the_lanes_in_order_two_cycles_later(ctx, dut):
    seen = [await offer(ctx, dut, byte) for byte in (1, 2, 3, 4, 5)]
    assert [lanes for _, lanes, _ in seen] == [0, 0, 0b001, 0b010, 0b100]
    assert [tap for _, lanes, tap in seen if lanes] == [-1, -2, -3]
    # The buffer is full; one more word waits in the register, the next is not taken.
    assert [taken for taken, _, _ in seen] == [1, 1, 1, 1, 0]
    assert ctx.get(dut.supply.one) and not ctx.get(dut.supply.two)


@simulated(lambda: WeightLoader(CONFIG))
async def test_stream_never_pauses_when_the_buffer_is_swapped_as_soon_as_it_is_full(ctx, dut):
    for byte in range(30):
        ctx.set(dut.words.valid, 1)
        # What is decided in a cycle happens in the next one.
        one, two = ctx.get(dut.supply.one), ctx.get(dut.supply.two)
        taken, lanes, _ = await offer(ctx, dut, byte)
        ctx.set(dut.take, two if ctx.get(dut.take) else one)
        assert taken
        assert lanes == (0 if byte < 2 else 1 << (byte - 2) % 3)


@pytest.mark.parametrize("words", [1, 2, 3])
@simulated(lambda: WeightLoader(CONFIG))
async def test_last_completes_the_buffer_early(ctx, dut, words):
    for buffer in range(2):
        for index in range(words):
            assert not ctx.get(dut.supply.one)
            await offer(ctx, dut, 10 * buffer + index, last=int(index == words - 1))
        assert ctx.get(dut.supply.one)
        await ctx.tick()
        assert ctx.get(dut.supply.one)
        assert ctx.get(dut.write.lanes) == 1 << (words - 1)
        ctx.set(dut.take, 1)
        await ctx.tick()
        ctx.set(dut.take, 0)
        assert not ctx.get(dut.supply.one)
