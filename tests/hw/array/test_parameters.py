"""Parameter banks: a ring that never overwrites what is in use, and fields read on their own."""

import pytest
from amaranth.hdl import Value

from eightfold.hw.array.parameters import ParameterLoader, ParameterMemory
from eightfold.isa import REQUANTIZE_LAYOUT
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulate, simulated


@pytest.mark.parametrize("banks", [4, 8])
def test_loader_fills_all_banks_but_the_one_in_use_and_then_waits(banks):
    lanes = 3
    config = AcceleratorConfig(lanes=lanes, vector_lanes=1, parameter_banks=banks)
    ring = config.matrix_banks
    dut = ParameterLoader(config)
    writes = []

    async def cycle(ctx):
        """Offer a word for a cycle; return whether it was taken."""
        ctx.set(dut.words.valid, 1)
        taken = ctx.get(dut.words.ready)
        await ctx.tick()
        if ctx.get(dut.write.lanes):
            writes.append((ctx.get(dut.write.bank), ctx.get(dut.write.lanes)))
        return taken

    async def bench(ctx):
        taken = [await cycle(ctx) for _ in range(lanes * ring)]
        assert taken == [1] * lanes * (ring - 1) + [0] * lanes
        order = [(bank, 1 << lane) for bank in range(ring) for lane in range(lanes)]
        assert writes == order[: lanes * (ring - 1)]
        assert ctx.get(dut.supply.one)
        # Taking a bank frees none: vectors before it may still be on their way.
        ctx.set(dut.take, 1)
        assert not await cycle(ctx)
        ctx.set(dut.take, 0)
        assert not await cycle(ctx)
        assert ctx.get(dut.supply.one)
        ctx.set(dut.retire, 1)
        assert not await cycle(ctx)
        ctx.set(dut.retire, 0)
        assert [await cycle(ctx) for _ in range(lanes + 1)] == [1] * lanes + [0]
        assert writes == order

    simulate(dut, bench)


@simulated(lambda: ParameterLoader(AcceleratorConfig(lanes=3, parameter_banks=4)))
async def test_last_completes_a_bank_early(ctx, dut):
    ctx.set(dut.words.valid, 1)
    ctx.set(dut.words.payload.last, 1)
    await ctx.tick()
    assert not ctx.get(dut.supply.one)
    await ctx.tick()
    assert ctx.get(dut.supply.one)
    assert (ctx.get(dut.write.bank), ctx.get(dut.write.lanes)) == (1, 1)


@simulated(lambda: ParameterMemory(AcceleratorConfig(parameter_banks=16)))
async def test_each_field_is_read_from_a_bank_of_its_own(ctx, dut):
    names = [name for name, _ in REQUANTIZE_LAYOUT]
    ctx.set(dut.write, 1)
    for bank in range(16):
        ctx.set(dut.bank, bank)
        for index, name in enumerate(names):
            ctx.set(Value.cast(dut.requantize[name]), (bank + index) & 1)
        await ctx.tick()
    ctx.set(dut.write, 0)
    for index, name in enumerate(names):
        ctx.set(dut.banks[name], (3 * index) % 16)
    await ctx.tick()
    for index, name in enumerate(names):
        assert ctx.get(Value.cast(dut.parameters[name])) == (3 * index % 16 + index) & 1
