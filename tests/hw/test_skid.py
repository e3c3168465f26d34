# amaranth: UnusedElaboratable=no
"""A register in a stream: nothing is lost, nothing paused, ``ready`` depends on nothing."""

import random

import pytest
from amaranth.hdl import unsigned
from amaranth.sim import Simulator

from hw.skid import Skid


def transfers(idle, stall, cycles, seed):
    """Run with random pauses; return (cycle, word) of every transfer in and out."""
    dut, pauses = Skid(unsigned(16)), random.Random(seed)
    sent, received = [], []

    async def bench(ctx):
        held, word = None, None
        for cycle in range(cycles):
            if word is None and pauses.random() >= idle:
                word = pauses.getrandbits(16)
            ctx.set(dut.i.valid, word is not None)
            ctx.set(dut.i.payload, word or 0)
            ready = pauses.random() >= stall
            before = ctx.get(dut.i.ready)
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.i.ready) == before, "ready is combinational"
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
def test_words_come_out_complete_and_in_order(idle, stall, seed):
    sent, received = transfers(idle, stall, 500, seed)
    assert [word for _, word in received] == [word for _, word in sent][: len(received)]
    assert len(sent) - 2 <= len(received) and len(received) > 15


def test_a_word_per_cycle_one_cycle_later():
    sent, received = transfers(0, 0, 100, 0)
    assert [cycle for cycle, _ in sent] == list(range(100))
    assert [cycle for cycle, _ in received] == list(range(1, 100))


def test_a_blocked_output_takes_two_words():
    sent, received = transfers(0, 1, 20, 0)
    assert (len(sent), len(received)) == (2, 0)
