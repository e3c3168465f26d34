# amaranth: UnusedElaboratable=no
"""Credits: a free-running pipeline becomes a stream that loses nothing and keeps its pace."""

import random

import pytest
from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.delay import delay
from tests.support.hardware.stream_transfers import put, simulate, transfers

WORD = unsigned(16)


class Delay(wiring.Component):
    """Words through a free-running pipeline of ``latency`` registers and a credit queue."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, latency, depth):
        self.latency, self.depth = latency, depth
        super().__init__({"i": In(stream.Signature(WORD)), "o": Out(stream.Signature(WORD))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = CreditQueue(WORD, self.depth)
        push = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(queue.available),
            queue.take.eq(push),
            queue.push.eq(delay(m, push, "push{}", self.latency, reset=True)),
            queue.push_data.eq(delay(m, self.i.payload, "word{}", self.latency)),
        ]
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0, 0.5), (0.5, 0), (0.3, 0.3), (0, 0.95)])
@pytest.mark.parametrize(("latency", "depth"), [(0, 2), (1, 2), (5, 3), (5, 8), (15, 32)])
@pytest.mark.usual(count=8)
def test_words_come_out_complete_and_in_order(latency, depth, idle, stall, seed):
    sent, received = transfers(Delay(latency, depth), idle=idle, stall=stall, cycles=600, seed=seed)
    assert len(sent) - depth <= len(received) <= len(sent)
    assert [word for _, word in received] == [word for _, word in sent][: len(received)]
    assert len(received) > 20


def test_blocked_output_takes_exactly_depth_words():
    sent, received = transfers(Delay(5, 8), idle=0, stall=1, cycles=100, seed=0)
    assert (len(sent), len(received)) == (8, 0)


@pytest.mark.parametrize("latency", [0, 3, 15])
def test_depth_of_latency_plus_three_gives_a_word_per_cycle(latency):
    depth = latency + CreditQueue.LATENCY + 1
    sent, received = transfers(Delay(latency, depth), idle=0, stall=0, cycles=200, seed=0)
    assert [cycle for cycle, _ in sent] == list(range(200))
    first = latency + CreditQueue.LATENCY
    assert [cycle for cycle, _ in received] == list(range(first, 200))


@pytest.mark.parametrize("latency", [0, 3, 15])
def test_one_place_less_loses_one_cycle_in_a_round(latency):
    depth = latency + CreditQueue.LATENCY
    sent, _ = transfers(Delay(latency, depth), idle=0, stall=0, cycles=10 * (depth + 1), seed=0)
    assert len(sent) == 10 * depth


class Counted:
    """A queue whose user takes credits and pushes words later, and what should be left of both.

    Each cycle is checked: ``available`` is that a credit is left, ``several`` that two are.
    """

    def __init__(self, depth, latency=0):
        self.queue = CreditQueue(WORD, depth)
        self.left = depth
        self.pushes: list[int | None] = [None] * latency
        self.words = 0
        self.received = []

    async def cycle(self, ctx, *, take, ready):
        queue = self.queue
        assert ctx.get(queue.available) == (self.left > 0)
        assert ctx.get(queue.several) == (self.left > 1)
        take = bool(take and self.left)
        self.pushes.append(self.words if take else None)
        self.words += take
        push = self.pushes.pop(0)
        put(ctx, queue, take=take, push=push is not None, push_data=push or 0)
        ctx.set(queue.o.ready, ready)
        _, _, valid, word = await ctx.tick().sample(queue.o.valid, queue.o.payload)
        if valid and ready:
            self.received.append(word)
        self.left += (valid and ready) - take

    def run(self, bench):
        simulate(self.queue, bench)


@pytest.mark.parametrize("depth", [2, 3, 4, 7])
def test_counts_down_to_the_last_credit_and_up_again(depth):
    counted = Counted(depth)
    left = []

    async def bench(ctx):
        for take, ready in [(1, 0)] * depth + [(0, 0)] * 3 + [(0, 1)] * depth + [(1, 1)] * 4:
            await counted.cycle(ctx, take=take, ready=ready)
            left.append(counted.left)

    counted.run(bench)
    assert left[depth + 2] == 0 and max(left[depth + 3 :]) == depth


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3, 5, 8])
@pytest.mark.parametrize("latency", [0, 1, 5])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.2, 0.2), (0, 0.7), (0.7, 0)])
@pytest.mark.usual(count=8)
def test_tells_whether_a_credit_and_whether_several_are_left(depth, latency, idle, stall):
    counted = Counted(depth, latency)
    pauses = random.Random(depth)
    seen = set()

    async def bench(ctx):
        for _ in range(300):
            seen.add(min(counted.left, 2))
            take, ready = pauses.random() >= idle, pauses.random() >= stall
            await counted.cycle(ctx, take=take, ready=ready)

    counted.run(bench)
    assert counted.received == list(range(len(counted.received)))
    assert len(counted.received) > 20
    assert stall <= idle or seen == {0, 1, 2}


def test_rejects_a_depth_of_one():
    with pytest.raises(ValueError, match="depth must be at least 2, not 1"):
        CreditQueue(WORD, 1)
