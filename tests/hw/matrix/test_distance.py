"""Distance: a vector passes in the cycle in which few enough results before it are left."""

import random

import pytest
from amaranth.hdl import Shape

from eightfold.hw.array.mac_array import latency
from eightfold.hw.matrix.distance import MatrixDistance
from eightfold.hw.matrix.operands import MatrixOperands
from eightfold.hw.matrix.walk import DISTANCE
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.stream_transfers import put, simulated

CONFIG = AcceleratorConfig.load("nano")
WAYS = MatrixOperands.DEPTH + latency(CONFIG) + CONFIG.output_depth
"""Results that can be on their way."""

MOST = 1 << Shape.cast(DISTANCE).width


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("flow", "written"), [(1.0, 0.4), (0.6, 0.2), (0.3, 0.1)])
@simulated(lambda: MatrixDistance(CONFIG))
async def test_vectors_keep_their_distance(ctx, dut, flow, written, seed):
    rng = random.Random(seed)
    before = own = 0  # results that are not written: of earlier commands, of this one
    waited = 0
    for _ in range(30):
        distance = rng.choice([0, 1, rng.randrange(2, WAYS), rng.randrange(MOST)])
        vectors = rng.randrange(1, 20)
        before, own = before + own, 0
        number = -2  # two cycles lie between the vectors of two commands
        ctx.set(dut.distance, distance)
        while number < vectors:
            fire, last = rng.random() < 0.8, rng.random() < 0.8
            valid = number >= 0 and rng.random() < flow
            ready = before + own < WAYS and rng.random() < flow
            writes = before + own > 0 and rng.random() < written
            passes = before == 0 or distance == 0 or number + before < distance
            put(ctx, dut, alone=before == 0, written=writes)
            ctx.set(dut.i.valid, valid)
            put(ctx, dut.i.payload.control, fire=fire, last=last)
            ctx.set(dut.i.payload.final, number == vectors - 1)
            ctx.set(dut.o.ready, ready)
            assert ctx.get(dut.o.valid) == (valid and passes)
            assert ctx.get(dut.waits) == (valid and not passes)
            assert not valid or ctx.get(dut.i.ready) == (ready and passes)
            waited += valid and not passes
            moves = valid and ready and passes
            await ctx.tick()
            own += moves and fire and last
            if writes and before:
                before -= 1
            elif writes:
                own -= 1
            number += moves if number >= 0 else 1
    assert waited > 20
