"""Sums of products of several widths are exact integers, in both styles, at the stated latency."""

import numpy as np
import pytest
from amaranth.hdl import Module

from eightfold.hw.array import dot_product
from eightfold.hw.array.dot_product import DotProduct
from eightfold.hw.array.multiplier import WeightEncoder, tap_styles
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import simulate


def dot_products(config, operands, weights, latency):
    """Return the sums, one row of operands and weights per cycle."""
    m = Module()
    m.submodules.dut = dut = DotProduct(config)
    encoders = [WeightEncoder(style) for style in tap_styles(config)]
    for d, encoder in enumerate(encoders):
        m.submodules[f"encoder{d}"] = encoder
        m.d.comb += dut.weights[d].eq(encoder.weight)
    got = []

    async def bench(ctx):
        for cycle in range(len(operands) + latency):
            row = min(cycle, len(operands) - 1)
            for d in range(config.width):
                ctx.set(dut.operands[d], int(operands[row, d]))
                ctx.set(encoders[d].byte, int(weights[row, d]))
            if cycle >= latency:
                got.append(ctx.get(dut.sum) + ctx.get(dut.carry))
            await ctx.tick()

    simulate(m, bench)
    return got


WIDTHS = [(2, 3), (3, 3), (5, 4), (8, 4), (16, 4)]
WIDTHS += [pytest.param(64, 5, marks=pytest.mark.slow)]


@pytest.mark.slow
@pytest.mark.parametrize(("style", "blocks"), [("infer", 0), ("rows", 0), ("rows", 1)])
@pytest.mark.parametrize(("width", "latency"), WIDTHS)
@pytest.mark.parametrize("seed", [0])
@pytest.mark.usual(count=8)
def test_sum_is_exact_at_the_same_latency_for_all_styles(style, blocks, width, latency, seed):
    blocks *= width // 4
    config = AcceleratorConfig(lanes=1, width=width, multiplier=style, dsp_taps=blocks)
    rng = np.random.default_rng(seed)
    operands = rng.integers(-128, 128, (60, width))
    weights = rng.integers(-128, 128, (60, width))
    extremes = [(a, b) for a in (-128, -1, 0, 127) for b in (-128, -1, 0, 127)]
    for row, (a, b) in enumerate(extremes):
        operands[row], weights[row] = a, b
    assert dot_product.latency(config) == latency
    got = dot_products(config, operands, weights, latency)
    np.testing.assert_array_equal(got, (operands * weights).sum(axis=1))
