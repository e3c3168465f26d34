# amaranth: UnusedElaboratable=no
"""Credits: a free-running pipeline becomes a stream that loses nothing and keeps its pace."""

import random

import pytest
from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from eightfold.hw.blocks.credit import CreditQueue

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
        push, word = self.i.valid & self.i.ready, self.i.payload
        m.d.comb += [self.i.ready.eq(queue.available), queue.take.eq(push)]
        for stage in range(self.latency):
            push_stage, word_stage = Signal(name=f"push{stage}"), Signal(16, name=f"word{stage}")
            m.d.sync += [push_stage.eq(push), word_stage.eq(word)]
            push, word = push_stage, word_stage
        m.d.comb += [queue.push.eq(push), queue.push_data.eq(word)]
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m


def transfers(latency, depth, *, idle, stall, cycles, seed):
    """Run with random pauses; return (cycle, word) of every transfer in and out."""
    dut, pauses = Delay(latency, depth), random.Random(seed)
    sent, received = [], []

    async def bench(ctx):
        held, word = None, None
        for cycle in range(cycles):
            # A word that was offered stays until it is taken.
            if word is None and pauses.random() >= idle:
                word = pauses.getrandbits(16)
            ctx.set(dut.i.valid, word is not None)
            ctx.set(dut.i.payload, word or 0)
            ready = pauses.random() >= stall
            ctx.set(dut.o.ready, ready)
            _, _, accepted, valid, out = await ctx.tick().sample(
                dut.i.ready, dut.o.valid, dut.o.payload
            )
            if word is not None and accepted:
                sent.append((cycle, word))
                word = None
            assert held is None or (valid and out == held), "payload moved while stalled"
            held = out if valid and not ready else None
            if valid and ready:
                received.append((cycle, out))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return sent, received


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0, 0.5), (0.5, 0), (0.3, 0.3), (0, 0.95)])
@pytest.mark.parametrize(("latency", "depth"), [(0, 2), (1, 2), (5, 3), (5, 8), (15, 32)])
def test_words_come_out_complete_and_in_order(latency, depth, idle, stall, seed):
    sent, received = transfers(latency, depth, idle=idle, stall=stall, cycles=600, seed=seed)
    assert len(sent) - depth <= len(received) <= len(sent)
    assert [word for _, word in received] == [word for _, word in sent][: len(received)]
    assert len(received) > 20


def test_blocked_output_takes_exactly_depth_words():
    sent, received = transfers(5, 8, idle=0, stall=1, cycles=100, seed=0)
    assert (len(sent), len(received)) == (8, 0)


@pytest.mark.parametrize("latency", [0, 3, 15])
def test_depth_of_latency_plus_three_gives_a_word_per_cycle(latency):
    depth = latency + CreditQueue.LATENCY + 1
    sent, received = transfers(latency, depth, idle=0, stall=0, cycles=200, seed=0)
    assert [cycle for cycle, _ in sent] == list(range(200))
    first = latency + CreditQueue.LATENCY
    assert [cycle for cycle, _ in received] == list(range(first, 200))


@pytest.mark.parametrize("latency", [0, 3, 15])
def test_one_place_less_loses_one_cycle_in_a_round(latency):
    depth = latency + CreditQueue.LATENCY
    sent, _ = transfers(latency, depth, idle=0, stall=0, cycles=10 * (depth + 1), seed=0)
    assert len(sent) == 10 * depth


def test_rejects_a_depth_of_one():
    with pytest.raises(ValueError, match="depth must be at least 2, not 1"):
        CreditQueue(WORD, 1)
