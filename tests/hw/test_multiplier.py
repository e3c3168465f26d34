import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from hw.multiplier import LATENCY, TERMS, Multiplier

STYLES = ["infer", "rows"]


def products(style, operands, weights):
    """Return what the multiplier makes of one pair per cycle, as Python ints."""
    m = Module()
    m.domains.sync = ClockDomain()  # even where the multiplier is combinational
    m.submodules.multiplier = multiplier = Multiplier(style)
    *terms, last = (multiplier.terms[i] << i for i in range(TERMS[style][0]))
    total = sum(terms) + (-last if terms else last)
    got = []

    async def bench(ctx):
        for cycle in range(len(operands) + LATENCY[style]):
            if cycle < len(operands):
                ctx.set(multiplier.operand, int(operands[cycle]))
                ctx.set(multiplier.weight, int(weights[cycle]))
            if cycle >= LATENCY[style]:
                got.append(ctx.get(total))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return got


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "operands",
    [
        pytest.param([-128, -127, -86, -64, -1, 0, 1, 85, 126, 127], id="some operands"),
        pytest.param(range(-128, 128), id="all operands", marks=pytest.mark.slow),
    ],
)
def test_product_with_every_weight_is_exact_at_the_stated_latency(operands, style):
    operands, weights = np.meshgrid(operands, np.arange(-128, 128))
    operands, weights = operands.ravel(), weights.ravel()
    got = products(style, operands, weights)
    np.testing.assert_array_equal(got, operands * weights)
