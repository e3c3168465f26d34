# amaranth: UnusedElaboratable=no
"""Credits: a free-running pipeline becomes a stream that loses nothing and keeps its pace."""

import pytest
from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.delay import delay
from tests.support.hardware.stream_transfers import transfers

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


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0, 0.5), (0.5, 0), (0.3, 0.3), (0, 0.95)])
@pytest.mark.parametrize(("latency", "depth"), [(0, 2), (1, 2), (5, 3), (5, 8), (15, 32)])
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


def test_rejects_a_depth_of_one():
    with pytest.raises(ValueError, match="depth must be at least 2, not 1"):
        CreditQueue(WORD, 1)
