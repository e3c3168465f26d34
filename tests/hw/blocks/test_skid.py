# amaranth: UnusedElaboratable=no
"""A register in a stream: nothing is lost, nothing paused, ``ready`` depends on nothing."""

import pytest
from amaranth.hdl import unsigned

from eightfold.hw.blocks.skid import Bypass, Skid, Stage
from tests.support.hardware.stream_transfers import transfers

WORD = unsigned(16)


@pytest.mark.parametrize("register", [Skid, Bypass])
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0, 0.5), (0.5, 0), (0.3, 0.3), (0, 0.95)])
def test_words_come_out_complete_and_in_order(register, idle, stall, seed):
    sent, received = transfers(register(WORD), idle=idle, stall=stall, cycles=500, seed=seed)
    assert [word for _, word in received] == [word for _, word in sent][: len(received)]
    assert len(sent) - 2 <= len(received) and len(received) > 15


@pytest.mark.parametrize(("register", "latency"), [(Skid, 1), (Bypass, 0)])
def test_a_word_per_cycle_at_the_stated_latency(register, latency):
    sent, received = transfers(register(WORD), idle=0, stall=0, cycles=100, seed=0)
    assert [cycle for cycle, _ in sent] == list(range(100))
    assert [cycle for cycle, _ in received] == list(range(latency, 100))


@pytest.mark.parametrize(("register", "words"), [(Skid, 2), (Bypass, 1)])
def test_a_blocked_output_takes_as_many_words_as_there_are_registers(register, words):
    sent, received = transfers(register(WORD), idle=0, stall=1, cycles=20, seed=0)
    assert (len(sent), len(received)) == (words, 0)


def test_a_ready_that_depends_on_the_output_is_noticed():
    with pytest.raises(AssertionError, match="ready is combinational"):
        transfers(Stage(WORD), idle=0, stall=0.5, cycles=50, seed=0)
