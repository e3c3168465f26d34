"""Products of a weight and an operand: every pair, in both styles, with the stated latency."""

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from eightfold.hw.array.multiplier import LATENCY, TERMS, Multiplier, WeightEncoder
from tests.support.hardware.stream_transfers import simulate

STYLES = ["infer", "rows"]


def products(style, operands, weights):
    """Return what the encoder and the multiplier make of one pair per cycle, as Python ints."""
    m = Module()
    m.domains.sync = ClockDomain()  # even where the multiplier is combinational
    m.submodules.encoder = encoder = WeightEncoder(style)
    m.submodules.multiplier = multiplier = Multiplier(style)
    m.d.comb += multiplier.weight.eq(encoder.weight)
    terms = [multiplier.terms[i] for i in range(TERMS[style][0])]
    total = sum((term.value + term.carry) << (2 * i) for i, term in enumerate(terms))
    got = []

    async def bench(ctx):
        for cycle in range(len(operands) + LATENCY[style]):
            if cycle < len(operands):
                ctx.set(multiplier.operand, int(operands[cycle]))
                ctx.set(encoder.byte, int(weights[cycle]))
            if cycle >= LATENCY[style]:
                got.append(ctx.get(total))
            await ctx.tick()

    simulate(m, bench)
    return got


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "operands",
    [
        pytest.param([-128, -127, -86, -64, -1, 0, 1, 85, 126, 127], id="some operands"),
        pytest.param(range(-128, 128), id="all operands", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usual(names=["some"])
def test_product_with_every_weight_is_exact_at_the_stated_latency(operands, style):
    operands, weights = np.meshgrid(operands, np.arange(-128, 128))
    operands, weights = operands.ravel(), weights.ravel()
    got = products(style, operands, weights)
    np.testing.assert_array_equal(got, operands * weights)


def test_digits_cover_every_weight_and_only_the_top_one_needs_five_values():
    encoder = WeightEncoder("rows")
    seen = set()

    async def bench(ctx):
        for byte in range(-128, 128):
            ctx.set(encoder.byte, byte)
            low = [-1 if ctx.get(d) == 3 else ctx.get(d) for d in encoder.weight.low]
            top = ctx.get(encoder.weight.top)
            assert low[0] + 4 * low[1] + 16 * low[2] + 64 * top == byte
            seen.add(top)

    simulator = Simulator(encoder)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == {-2, -1, 0, 1, 2}
