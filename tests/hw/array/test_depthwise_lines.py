"""The lines: each depthwise vector comes with those of the rows before, whatever the pauses."""

import numpy as np
import pytest
from amaranth.hdl import ResetInserter, Signal

from eightfold.hw.array.depthwise_lines import DepthwiseLines
from eightfold.isa import MIN_LINE
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import put, simulate, simulated

DEPTH = 16


def older_of(width, vectors, line, idle, dense, seed):
    """Return what comes with each depthwise vector; others, and pauses, come at random."""
    dut = DepthwiseLines(AcceleratorConfig(width=width, line_depth=DEPTH))
    rng = np.random.default_rng(seed)
    got = []

    async def bench(ctx):
        waiting = list(vectors)
        place = 0
        kind = "pause"
        while waiting or kind != "pause":
            if kind == "depthwise":
                assert ctx.get(dut.o.depthwise)
                assert ctx.get(dut.o.bytes[0]) == vectors[len(got)][0]
                got.append([[ctx.get(byte) for byte in vector] for vector in dut.older])
            kind = "pause"
            if waiting and rng.random() >= idle:
                kind = "dense" if rng.random() < dense else "depthwise"
            push = kind == "depthwise"
            put(ctx, dut.i, valid=kind != "pause", depthwise=push)
            vector = waiting.pop(0) if push else rng.integers(-128, 128, width)
            for d, byte in enumerate(vector):
                ctx.set(dut.i.bytes[d], int(byte))
            put(ctx, dut.line, push=push, write=place, read=(place - line) % DEPTH)
            place = (place + push) % DEPTH
            await ctx.tick()

    simulate(dut, bench)
    return np.array(got)


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize(("idle", "dense"), [(0, 0), (0.3, 0.3)])
@pytest.mark.parametrize("line", [MIN_LINE, 4, 7, DEPTH - 1, DEPTH])
@pytest.mark.parametrize(("width", "lines"), [(2, 1), (3, 2)])
@pytest.mark.slow
def test_older_vectors_are_one_and_two_lines_back(width, lines, line, idle, dense, seed):
    rng = np.random.default_rng([seed, line, width])
    vectors = rng.integers(-128, 128, (3 * DEPTH + 9, width))
    got = older_of(width, vectors, line, idle, dense, seed)
    assert got.shape == (len(vectors), lines, width)
    for number in range(lines):
        back = (number + 1) * line
        np.testing.assert_array_equal(got[back:, number], vectors[:-back])


def test_what_comes_in_a_reset_is_forgotten():
    dut = DepthwiseLines(AcceleratorConfig(width=2, line_depth=DEPTH))
    reset = Signal()

    async def bench(ctx):
        async def give(byte, there=1, cycles=1):
            for signal in (dut.i.valid, dut.i.depthwise, dut.line.push):
                ctx.set(signal, there)
            for tap in dut.i.bytes:
                ctx.set(tap, byte)
            await ctx.tick().repeat(cycles)

        await give(11)
        await give(0, there=0, cycles=3)
        ctx.set(reset, 1)
        await give(22)
        ctx.set(reset, 0)
        assert not ctx.get(dut.o.valid)
        await give(0, there=0, cycles=3)
        assert [ctx.get(byte) for byte in dut.older[0]] == [11, 11]

    simulate(ResetInserter(reset)(dut), bench)


@simulated(lambda: DepthwiseLines(AcceleratorConfig(width=3, line_depth=DEPTH)))
async def test_line_may_change_from_one_vector_to_the_next(ctx, dut):
    # What comes with each of the first 2 * DEPTH vectors depends on the line of that vector only,
    # for the second row also on the line of the vector one line back.
    width = 2
    lines = [3, 16, 5, 9, 4]
    rng = np.random.default_rng(0)
    vectors = rng.integers(-128, 128, (3 * DEPTH, width))
    first = []
    second = []
    for index, vector in enumerate(vectors):
        line = lines[index % len(lines)]
        put(ctx, dut.i, valid=1, depthwise=1)
        put(ctx, dut.line, push=1, write=index % DEPTH, read=(index - line) % DEPTH)
        ctx.set(dut.i.bytes[1], int(vector[1]))
        await ctx.tick()
        if index >= DEPTH:
            assert ctx.get(dut.older[0][1]) == vectors[index - line][1]
        first.append(ctx.get(dut.older[0][1]))
        if index >= 2 * DEPTH:
            assert ctx.get(dut.older[1][1]) == first[index - line]
        second.append(ctx.get(dut.older[1][1]))
    assert len(set(second[2 * DEPTH :])) > 4
