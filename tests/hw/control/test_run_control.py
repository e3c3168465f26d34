# amaranth: UnusedElaboratable=no
"""Start and end of a run: when it is over, what memory is given to answer, and what an error does.

The component alone, with a memory that keeps just what `RunControl` asks of it.
"""

import random

import pytest

from eightfold.hw.control.run_control import FaultCollector, RunControl
from eightfold.isa import ErrorCode
from tests.support.hardware.stream_transfers import simulate, simulated

SETTLE = 4
"""Cycles from ``stop`` in which memory may still seem idle: what its ports and the registers behind
them rely on, so it is a number of its own here."""

ENDS = ("finished", "fault", "soft_reset")


class Bench:
    """Sets inputs, and looks at outputs after each cycle.

    ``cycle`` is the number of the cycle to come, 0 that of the first one.
    """

    def __init__(self, ctx, dut):
        self.ctx, self.dut, self.cycle = ctx, dut, 0
        ctx.set(dut.memory_idle, 1)

    async def tick(self, count=1):
        for _ in range(count):
            await self.ctx.tick()
            self.cycle += 1

    def get(self, name):
        return self.ctx.get(getattr(self.dut, name))

    def status(self):
        status = self.dut.status
        return {n: self.ctx.get(getattr(status, n)) for n in ("busy", "done", "error", "interrupt")}

    def error(self):
        error = self.dut.error
        return tuple(self.ctx.get(getattr(error, name)) for name in ("code", "engine", "index"))

    async def pulse(self, name, code=ErrorCode.ADDRESS, engine=1, index=7):
        """Let an input, or a fault, be 1 for a cycle."""
        fault = self.dut.fault
        signal = fault.valid if name == "fault" else getattr(self.dut, name)
        if name == "fault":
            values = (code.value, engine, index)
            for field, value in zip(("code", "engine", "index"), values, strict=True):
                self.ctx.set(getattr(fault.error, field), value)
        self.ctx.set(signal, 1)
        await self.tick()
        self.ctx.set(signal, 0)

    async def begin(self):
        await self.pulse("start")
        assert self.get("begin") and self.get("running") and self.status()["busy"]
        assert not self.get("stop") and not self.get("reset")
        await self.tick()
        assert not self.get("begin")

    async def over(self):
        """Wait until all is held in reset; return the cycles."""
        for waited in range(50):
            if self.get("reset"):
                return waited
            await self.tick()
        raise AssertionError("not over")


@pytest.mark.parametrize("end", ENDS)
@simulated(RunControl)
async def test_memory_has_its_cycles_to_tell_what_is_under_way(ctx, dut, end):
    """It may seem idle, have something to answer at the last moment, and then take its time."""
    b = Bench(ctx, dut)
    for wait in (0, 1, 5, 30):
        await b.begin()
        await b.tick(3)
        await b.pulse(end)
        assert b.get("stop") and not b.get("reset"), "stops in the next cycle"
        for _ in range(SETTLE):
            assert not b.get("reset")
            await b.tick()
        b.ctx.set(b.dut.memory_idle, 0)
        for _ in range(wait):
            await b.tick()
            assert b.get("stop") and not b.get("reset") and b.status()["busy"]
        b.ctx.set(b.dut.memory_idle, 1)
        await b.tick()
        assert b.get("reset") and b.get("stop") and not b.status()["busy"]
        assert b.status()["done"] == (end == "finished")
        await b.pulse("soft_reset")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("answered", [0, 2, SETTLE, SETTLE + 3])
@simulated(RunControl)
async def test_a_run_is_over_when_memory_has_settled_and_is_idle(ctx, dut, end, answered):
    """``done`` comes `SETTLE` + 1 cycles after ``finished``, or when memory is idle."""
    b = Bench(ctx, dut)
    await b.begin()
    b.ctx.set(b.dut.memory_idle, 0)
    await b.pulse(end)
    begun = b.cycle
    while not b.get("reset"):
        b.ctx.set(b.dut.memory_idle, b.cycle - begun >= answered)
        await b.tick()
        assert b.cycle - begun < 50
    assert b.cycle - begun == max(SETTLE, answered) + 1


@simulated(RunControl)
async def test_an_error_stops_the_run_and_is_kept_until_a_soft_reset(ctx, dut):
    b = Bench(ctx, dut)
    await b.begin()
    await b.pulse("fault", ErrorCode.ADDRESS, 2, 0x1234)
    assert b.status() == {"busy": 1, "done": 0, "error": 1, "interrupt": 1}
    assert not b.get("running")
    await b.pulse("fault", ErrorCode.TIMEOUT, 1, 1)
    await b.over()
    assert b.status() == {"busy": 0, "done": 0, "error": 1, "interrupt": 1}
    assert b.error() == (ErrorCode.ADDRESS.value, 2, 0x1234)
    await b.pulse("start")
    await b.tick(2)
    assert b.get("reset") and not b.get("running")
    await b.pulse("soft_reset")
    assert not any(b.status().values()) and b.error() == (0, 0, 0)
    await b.begin()


@pytest.mark.parametrize("after", range(SETTLE + 1))
@simulated(RunControl)
async def test_an_error_behind_the_last_command_counts_until_done(ctx, dut, after):
    """An answer that is an error may come with the command's end, and takes longer to be told."""
    b = Bench(ctx, dut)
    await b.begin()
    await b.pulse("finished")
    await b.tick(after)
    assert not b.status()["done"]
    await b.pulse("fault", ErrorCode.AXI_WRITE, 0, 3)
    await b.over()
    assert b.status() == {"busy": 0, "done": 0, "error": 1, "interrupt": 1}
    assert b.error() == (ErrorCode.AXI_WRITE.value, 0, 3)


@pytest.mark.parametrize("after", range(SETTLE + 1))
@simulated(RunControl)
async def test_a_soft_reset_behind_the_last_command_leaves_no_done(ctx, dut, after):
    b = Bench(ctx, dut)
    await b.begin()
    await b.pulse("finished")
    await b.tick(after)
    await b.pulse("soft_reset")
    await b.over()
    await b.tick(2)
    assert not any(b.status().values()) and not b.get("running")


@simulated(RunControl)
async def test_faults_of_no_run_are_nobodys(ctx, dut):
    b = Bench(ctx, dut)
    await b.pulse("fault")
    assert not any(b.status().values())
    await b.begin()
    await b.pulse("soft_reset")
    await b.pulse("fault")
    await b.over()
    assert not any(b.status().values()) and b.error() == (0, 0, 0)
    await b.begin()
    b.ctx.set(b.dut.soft_reset, 1)
    await b.pulse("fault")  # in the soft reset's cycle
    b.ctx.set(b.dut.soft_reset, 0)
    await b.over()
    assert not any(b.status().values()) and b.error() == (0, 0, 0)


@simulated(RunControl)
async def test_a_doorbell_in_a_run_or_with_a_soft_reset_is_ignored(ctx, dut):
    b = Bench(ctx, dut)
    b.ctx.set(b.dut.soft_reset, 1)
    await b.pulse("start")
    b.ctx.set(b.dut.soft_reset, 0)
    assert not b.get("begin") and not b.status()["busy"]
    await b.begin()
    for _ in range(3):
        await b.pulse("start")
        assert not b.get("begin")
    await b.pulse("finished")
    await b.pulse("start")
    await b.over()
    assert b.status()["done"] and not b.get("running")


@simulated(RunControl)
async def test_the_interrupt_is_pending_until_it_is_cleared(ctx, dut):
    b = Bench(ctx, dut)
    for clear in ("clear_interrupt", "soft_reset"):
        await b.begin()
        await b.pulse("finished")
        await b.over()
        assert b.status()["interrupt"] and not b.get("interrupt")
        b.ctx.set(b.dut.interrupt_enable, 1)
        assert b.get("interrupt")
        await b.tick(3)
        assert b.get("interrupt")
        await b.pulse(clear)
        assert not b.get("interrupt") and not b.status()["interrupt"]
        b.ctx.set(b.dut.interrupt_enable, 0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_first_fault_in_the_list_is_told_after_the_latency(count):
    dut = FaultCollector(count)
    draws = random.Random(count)

    async def testbench(ctx):
        told: list[int | None] = [None] * FaultCollector.LATENCY
        for _ in range(60):
            valid = [draws.random() < 0.4 for _ in range(count)]
            values = [draws.getrandbits(16) for _ in range(count)]
            for number in range(count):
                ctx.set(dut.faults[number].valid, valid[number])
                ctx.set(dut.faults[number].error.index, values[number])
            told.append(next((value for v, value in zip(valid, values, strict=True) if v), None))
            expected = told.pop(0)
            assert ctx.get(dut.o.valid) == (expected is not None)
            assert expected in (None, ctx.get(dut.o.error.index))
            await ctx.tick()

    simulate(dut, testbench)
