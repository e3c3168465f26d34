# amaranth: UnusedElaboratable=no
"""The command stream is asked for at its start, and exhausted not before its words have come."""

from eightfold.hw.control.command_fetch import CommandFetch
from eightfold.target.config import PRESETS
from tests.support.hardware.stream_transfers import put, simulated

ADDRESS, BYTES = 4096, 60


@simulated(lambda: CommandFetch(PRESETS["nano"]))
async def test_memory_is_asked_after_a_start_alone(ctx, dut):
    asked = []

    async def cycles(count):
        for _ in range(count):
            assert not ctx.get(dut.exhausted)
            if ctx.get(dut.memory.request.valid):
                request = ctx.get(dut.memory.request.payload)
                asked.append((request.address, request.beats))
            await ctx.tick()

    put(ctx, dut, address=ADDRESS, length=BYTES)
    ctx.set(dut.memory.request.ready, 1)
    await cycles(40)
    assert not asked
    ctx.set(dut.start, 1)
    await cycles(1)
    ctx.set(dut.start, 0)
    await cycles(40)
    assert asked == [(ADDRESS, BYTES // PRESETS["nano"].port)]
