# amaranth: UnusedElaboratable=no
"""A register in a stream: nothing is lost, nothing paused, ``ready`` depends on nothing."""

import pytest
from amaranth.hdl import ResetInserter, Signal, unsigned

from eightfold.hw.blocks.skid import Bypass, Skid, Stage
from tests.support.hardware.stream_transfers import put, simulate, transfers

WORD = unsigned(16)


REGISTERS = [Skid, Stage, Bypass]


def pass_words(register, **options):
    """Send words; ``ready`` of a stage alone follows that behind it."""
    return transfers(register(WORD), seed=0, follows=register is Stage, **options)


@pytest.mark.slow
@pytest.mark.parametrize("register", REGISTERS)
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0, 0.5), (0.5, 0), (0.3, 0.3), (0, 0.95)])
def test_words_come_out_complete_and_in_order(register, idle, stall):
    sent, received = pass_words(register, idle=idle, stall=stall, cycles=500)
    assert [word for _, word in received] == [word for _, word in sent][: len(received)]
    assert len(sent) - 2 <= len(received) and len(received) > 15


@pytest.mark.parametrize(("register", "latency"), [(Skid, 1), (Stage, 1), (Bypass, 0)])
def test_a_word_per_cycle_at_the_stated_latency(register, latency):
    sent, received = pass_words(register, idle=0, stall=0, cycles=100)
    assert [cycle for cycle, _ in sent] == list(range(100))
    assert [cycle for cycle, _ in received] == list(range(latency, 100))


@pytest.mark.parametrize(("register", "words"), [(Skid, 2), (Stage, 1), (Bypass, 1)])
def test_a_blocked_output_takes_as_many_words_as_there_are_registers(register, words):
    sent, received = pass_words(register, idle=0, stall=1, cycles=20)
    assert (len(sent), len(received)) == (words, 0)


@pytest.mark.parametrize("register", REGISTERS)
def test_a_lone_word_leaves_once(register):
    dut = register(WORD)
    left = []

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        for cycle in range(8):
            put(ctx, dut.i, valid=cycle == 2, payload=100 + cycle)  # moves on behind the word
            _, _, valid, word = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            left.extend([word] * valid)

    simulate(dut, bench)
    assert left == [102]


@pytest.mark.parametrize("register", REGISTERS)
def test_a_reset_forgets_the_words(register):
    dut, reset = register(WORD), Signal()

    async def bench(ctx):
        ctx.set(dut.i.valid, 1)
        await ctx.tick().repeat(4)
        assert ctx.get(dut.o.valid) and not ctx.get(dut.i.ready)
        ctx.set(dut.i.valid, 0)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        assert ctx.get(dut.i.ready) and not ctx.get(dut.o.valid)
        ctx.set(dut.o.ready, 1)
        assert not (await ctx.tick().sample(dut.o.valid))[-1]
        assert not ctx.get(dut.o.valid)

    simulate(ResetInserter(reset)(dut), bench)


def test_a_ready_that_depends_on_the_output_is_noticed():
    with pytest.raises(AssertionError, match="ready is combinational"):
        transfers(Stage(WORD), idle=0, stall=0.5, cycles=50, seed=0)
