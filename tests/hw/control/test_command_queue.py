# amaranth: UnusedElaboratable=no
"""Command queues: whole commands in order, tokens before the start, and what is under way."""

import random
from itertools import accumulate

import pytest
from amaranth.hdl import Value

from eightfold.hw.control.command_queue import CommandQueue
from eightfold.isa import GATHER, MATRIX, MOVE, PARAMETERS
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulate, simulated

CONFIG = AcceleratorConfig(lanes=4, width=4, port=4, vector_lanes=2, scratchpad=4096)


class Driver:
    """One cycle after the other: words in, grants, commands out, and their ends.

    ``commands`` are lists of words.
    """

    def __init__(self, ctx, dut, rng, commands):
        self.ctx, self.dut, self.rng, self.commands = ctx, dut, rng, commands
        self.words = [word for command in commands for word in command]
        self.ends = list(accumulate(len(command) for command in commands))
        self.sent = 0
        self.granted = []
        self.taken = []
        self.done = []

    async def cycle(self, *, idle, stall, grant, finish):
        ctx, dut, rng = self.ctx, self.dut, self.rng
        if not self.offering():
            ctx.set(dut.words.valid, self.sent < len(self.words) and rng.random() >= idle)
        if self.offering():
            ctx.set(dut.words.payload, self.words[self.sent])
            ctx.set(dut.last, self.sent + 1 in self.ends)
        ctx.set(dut.engine.ready, rng.random() >= stall)
        done = len(self.done) < len(self.taken) and rng.random() < finish
        ctx.set(dut.done, done)
        ctx.set(dut.grant, ctx.get(dut.request) and rng.random() < grant)
        self.check(done)
        moves = self.offering() and ctx.get(dut.words.ready)
        if ctx.get(dut.grant):
            self.granted.append(ctx.get(dut.wait))
        if ctx.get(dut.engine.valid) and ctx.get(dut.engine.ready):
            payload = ctx.get(Value.cast(dut.engine.payload))
            words = range(len(self.commands[len(self.taken)]))
            self.taken.append([payload >> 32 * word & 0xFFFF_FFFF for word in words])
        if done:
            self.done.append((ctx.get(dut.give), ctx.get(dut.index)))
        self.sent += moves
        await ctx.tick()
        if moves:
            ctx.set(dut.words.valid, 0)

    def offering(self):
        return bool(self.ctx.get(self.dut.words.valid))

    def check(self, done):
        ctx, dut = self.ctx, self.dut
        assert ctx.get(dut.busy) == (len(self.granted) > len(self.done))
        assert not (ctx.get(dut.busy) and ctx.get(dut.waiting))
        assert ctx.get(dut.idle) == (self.sent == [0, *self.ends][len(self.done)])
        assert len(self.granted) - len(self.done) <= dut.FLIGHT
        if not done:
            assert not ctx.get(dut.give)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kinds", [[MOVE, GATHER], [MATRIX]], ids=["mover", "matrix"])
@pytest.mark.parametrize(
    "pace",
    [
        {"idle": 0, "stall": 0, "grant": 1, "finish": 1},
        {"idle": 0, "stall": 0.5, "grant": 0.1, "finish": 0.05},
        {"idle": 0.7, "stall": 0.9, "grant": 0.9, "finish": 0.5},
    ],
    ids=["fast", "late_tokens", "slow_words"],
)
@pytest.mark.usual(count=5)
def test_commands_come_whole_and_in_order(kinds, pace, seed):
    rng = random.Random(seed)
    dut = CommandQueue(CONFIG, *kinds)
    count = 15
    commands = []
    for kind in rng.choices(kinds, k=count):
        words = [rng.getrandbits(32) for _ in range(kind.words)]
        commands.append([words[0] & ~0xFF | kind.opcode.value, *words[1:]])
    headers = [command[0] for command in commands]

    async def bench(ctx):
        driver = Driver(ctx, dut, rng, commands)
        for _ in range(4000):
            await driver.cycle(**pace)
            if len(driver.done) == count:
                break
        ctx.set(dut.done, 0)
        assert ctx.get(dut.idle)
        assert driver.taken == commands
        assert driver.granted == [value >> 8 & 7 for value in headers]
        assert driver.done == [(value >> 12 & 7, value >> 16) for value in headers]

    simulate(dut, bench)


@simulated(lambda: CommandQueue(CONFIG, PARAMETERS))
async def test_holds_the_configured_words_and_one_command(ctx, dut):
    accepted = 0
    ctx.set(dut.words.valid, 1)
    for _ in range(200):
        ctx.set(dut.last, accepted % PARAMETERS.words == PARAMETERS.words - 1)
        accepted += ctx.get(dut.words.ready)
        await ctx.tick()
        if not ctx.get(dut.words.ready):
            ctx.set(dut.words.valid, 0)
            await ctx.tick().repeat(3)
            ctx.set(dut.words.valid, 1)
    assert accepted == CONFIG.command_queue + PARAMETERS.words


@simulated(lambda: CommandQueue(CONFIG, PARAMETERS))
async def test_a_command_is_offered_some_cycles_after_its_last_word(ctx, dut):
    latency = 0
    ctx.set(dut.words.valid, 1)
    for word in range(PARAMETERS.words):
        ctx.set(dut.words.payload, word)
        ctx.set(dut.last, word == PARAMETERS.words - 1)
        await ctx.tick()
    ctx.set(dut.words.valid, 0)
    while not ctx.get(dut.engine.valid):
        ctx.set(dut.grant, ctx.get(dut.request))
        await ctx.tick()
        latency += 1
    assert latency == 3
