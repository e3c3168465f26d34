# amaranth: UnusedElaboratable=no
"""Loops: every iteration's addresses, one per cycle, under pauses on both sides."""

import random
from itertools import product

import pytest

from eightfold.hw.blocks.loops import Address, Loops
from tests.support.hardware.stream_transfers import simulate


def expected(nest, addresses, count_bits):
    """Return (addresses..., ends) of every iteration of one nest of loops."""
    counts = [count or 1 << count_bits for count in nest["counts"]]
    for outer_first in product(*(range(count) for count in reversed(counts))):
        index = outer_first[::-1]
        ends = sum((i == n - 1) << k for k, (i, n) in enumerate(zip(index, counts, strict=True)))
        values = [
            sum(
                (
                    index[loop] * stride
                    for loop, stride in zip(loops, nest[name]["strides"], strict=True)
                ),
                nest[name]["start"],
            )
            % (1 << bits)
            for name, (bits, loops) in addresses.items()
        ]
        yield (*values, ends)


def iterations(dut, addresses, nests, *, idle, stall, seed):
    """Run nests of loops with random pauses; return (cycle, iteration) of every transfer."""
    pauses = random.Random(seed)
    received = []
    total = sum(1 for nest in nests for _ in expected(nest, addresses, dut.count_bits))

    async def bench(ctx):
        waiting = list(nests)
        offered = None
        cycle = 0
        held = None
        while len(received) < total and cycle < 20000:
            if offered is None and waiting and pauses.random() >= idle:
                offered = waiting.pop(0)
                ctx.set(dut.i.payload, offered)
            ctx.set(dut.i.valid, offered is not None)
            ready = pauses.random() >= stall
            ctx.set(dut.o.ready, ready)
            _, _, taken, valid, out = await ctx.tick().sample(
                dut.i.ready, dut.o.valid, dut.o.payload
            )
            if offered is not None and taken:
                offered = None
            if valid:
                word = (*(out[name] for name in addresses), out.ends)
                assert out.last == (out.ends == (1 << dut.levels) - 1)
                assert held is None or held == word, "payload moved while stalled"
                held = None if ready else word
                if ready:
                    received.append((cycle, word))
            cycle += 1

    simulate(dut, bench)
    return received


def random_nest(generator, levels, addresses, most):
    return {"counts": [generator.randint(1, most) for _ in range(levels)]} | {
        name: {
            "start": generator.getrandbits(bits),
            "strides": [
                generator.choice([0, generator.randint(-3, 3), generator.randrange(-half, half)])
                for _ in loops
            ],
        }
        for name, (bits, loops) in addresses.items()
        for half in [1 << bits - 1]
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.97, 0.5), (0, 0.8)])
@pytest.mark.parametrize("levels", [1, 2, 4, 5])
@pytest.mark.usual(count=10)
def test_iterations_match_python_loops(levels, idle, stall, seed):
    generator = random.Random(seed)
    some = sorted(generator.sample(range(levels), generator.randint(0, levels)))
    addresses = {"source": Address(32, range(levels)), "target": Address(9, some)}
    nests = [random_nest(generator, levels, addresses, 4) for _ in range(6)]
    received = iterations(
        Loops(levels, addresses), addresses, nests, idle=idle, stall=stall, seed=seed
    )
    want = [word for nest in nests for word in expected(nest, addresses, 16)]
    assert [word for _, word in received] == want
    if not idle and not stall:
        assert [cycle for cycle, _ in received] == list(range(1, len(want) + 1))


def test_a_count_of_zero_is_the_largest():
    addresses = {"a": Address(8, range(2))}
    nest = {"counts": [0, 3], "a": {"start": 250, "strides": [7, -1]}}
    received = iterations(Loops(2, addresses, 3), addresses, [nest], idle=0, stall=0, seed=0)
    assert len(received) == 24
    assert [word for _, word in received] == list(expected(nest, addresses, 3))


def test_counts_to_the_top_of_their_range():
    nest = {"counts": [4095], "a": {"start": 0, "strides": [1]}}
    addresses = {"a": Address(17, [0])}
    received = iterations(Loops(1, addresses, 12), addresses, [nest], idle=0, stall=0, seed=0)
    assert received[-1] == (4095, (4094, 1))
    assert len(received) == 4095


def test_rejects_no_levels():
    with pytest.raises(ValueError, match="levels must be at least 1, not 0"):
        Loops(0, {"a": Address(8, [])})
