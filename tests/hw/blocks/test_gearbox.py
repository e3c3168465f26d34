# amaranth: UnusedElaboratable=no
"""Words cut and joined: every byte in order, leftovers skipped on demand, no cycle lost."""

import random

import pytest

from eightfold.hw.blocks.gearbox import Gearbox
from tests.support.hardware.stream_transfers import simulate

SIZES = [(1, 1), (4, 4), (4, 2), (16, 2), (32, 16), (2, 4), (4, 16), (1, 8)]


def run(i_bytes, o_bytes, words, drops, idle, stall, seed):
    """Send words with pauses; return the words that leave, and in which cycles.

    ``drops`` tells for each word that leaves, by number, whether the rest is skipped.
    """
    dut = Gearbox(i_bytes, o_bytes)
    pauses = random.Random(seed)
    out = []
    cycles = []
    queue = list(words)

    async def bench(ctx):
        offered = False
        for cycle in range(20 * len(words) + 50):
            offered = bool(queue) and (offered or pauses.random() >= idle)
            ready = pauses.random() >= stall
            ctx.set(dut.i.valid, offered)
            ctx.set(dut.i.payload, int.from_bytes(queue[0], "little") if offered else 0)
            ctx.set(dut.o.ready, ready)
            ctx.set(dut.drop, len(out) in drops)
            _, _, accepted, valid, word = await ctx.tick().sample(
                dut.i.ready, dut.o.valid, dut.o.payload
            )
            if valid and ready:
                out.append(word.to_bytes(o_bytes, "little"))
                cycles.append(cycle)
            if offered and accepted:
                queue.pop(0)
                offered = False

    simulate(dut, bench)
    return out, cycles


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.4, 0.4)])
@pytest.mark.parametrize(("i_bytes", "o_bytes"), SIZES)
def test_every_byte_in_order(i_bytes, o_bytes, idle, stall, seed):
    numbers = random.Random(seed)
    words = [numbers.randbytes(i_bytes) for _ in range(32)]
    out, cycles = run(i_bytes, o_bytes, words, (), idle, stall, seed)
    assert b"".join(out) == b"".join(words)
    if not idle:
        pace = max(1, o_bytes // i_bytes)
        assert cycles[-1] - cycles[0] == (len(out) - 1) * pace


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("i_bytes", "o_bytes"), [(4, 4), (4, 2), (16, 2), (64, 4)])
def test_a_drop_skips_the_rest_of_the_input_word(i_bytes, o_bytes, seed):
    numbers = random.Random(seed)
    words = [numbers.randbytes(i_bytes) for _ in range(32)]
    drops = set()
    expected = []
    for word in words:
        used = numbers.randint(1, i_bytes // o_bytes)
        expected += [word[at * o_bytes : (at + 1) * o_bytes] for at in range(used)]
        if used < i_bytes // o_bytes or numbers.random() < 0.5:
            drops.add(len(expected) - 1)
    out, _ = run(i_bytes, o_bytes, words, drops, 0.2, 0.3, seed)
    assert out == expected


@pytest.mark.parametrize(("i_bytes", "o_bytes"), [(3, 4), (4, 0)])
def test_rejects_other_sizes(i_bytes, o_bytes):
    with pytest.raises(ValueError, match="_bytes must be a power of two, not"):
        Gearbox(i_bytes, o_bytes)
