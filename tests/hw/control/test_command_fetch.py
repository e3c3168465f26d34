# amaranth: UnusedElaboratable=no
"""The command stream is asked for at its start, and never without one."""

from eightfold.hw.control.command_fetch import CommandFetch
from eightfold.target.config import PRESETS
from tests.support.hardware.stream_transfers import simulate

ADDRESS, BYTES = 4096, 60


def test_memory_is_asked_after_a_start_alone():
    dut = CommandFetch(PRESETS["nano"])
    asked = []

    async def cycles(ctx, count):
        for _ in range(count):
            if ctx.get(dut.memory.request.valid):
                request = ctx.get(dut.memory.request.payload)
                asked.append((request.address, request.beats))
            await ctx.tick()

    async def bench(ctx):
        ctx.set(dut.address, ADDRESS)
        ctx.set(dut.length, BYTES)
        ctx.set(dut.memory.request.ready, 1)
        await cycles(ctx, 40)
        assert not asked
        ctx.set(dut.start, 1)
        await cycles(ctx, 1)
        ctx.set(dut.start, 0)
        await cycles(ctx, 40)
        assert asked == [(ADDRESS, BYTES // PRESETS["nano"].port)]

    simulate(dut, bench)
