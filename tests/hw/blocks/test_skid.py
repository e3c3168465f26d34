# amaranth: UnusedElaboratable=no
"""A register in a stream: nothing is lost, nothing paused, ``ready`` depends on nothing."""

import random

import pytest
from amaranth.hdl import unsigned
from amaranth.sim import Simulator

from eightfold.hw.blocks.skid import Bypass, Skid


def transfers(register, idle, stall, cycles, seed):
    """Run with random pauses; return (cycle, word) of every transfer in and out."""
    dut, pauses = register(unsigned(16)), random.Random(seed)
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


@pytest.mark.parametrize("register", [Skid, Bypass])
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0, 0.5), (0.5, 0), (0.3, 0.3), (0, 0.95)])
def test_words_come_out_complete_and_in_order(register, idle, stall, seed):
    sent, received = transfers(register, idle, stall, 500, seed)
    assert [word for _, word in received] == [word for _, word in sent][: len(received)]
    assert len(sent) - 2 <= len(received) and len(received) > 15


@pytest.mark.parametrize(("register", "latency"), [(Skid, 1), (Bypass, 0)])
def test_a_word_per_cycle_at_the_stated_latency(register, latency):
    sent, received = transfers(register, 0, 0, 100, 0)
    assert [cycle for cycle, _ in sent] == list(range(100))
    assert [cycle for cycle, _ in received] == list(range(latency, 100))


@pytest.mark.parametrize(("register", "words"), [(Skid, 2), (Bypass, 1)])
def test_a_blocked_output_takes_as_many_words_as_there_are_registers(register, words):
    sent, received = transfers(register, 0, 1, 20, 0)
    assert (len(sent), len(received)) == (words, 0)
