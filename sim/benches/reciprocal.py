"""Bench of the reciprocal against `golden.fixed_point_math.reciprocal`.

Parameter: ``count``, the number of random values.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from golden.fixed_point_math import reciprocal
from hw.reciprocal import Reciprocal
from sim.benches.support import parameters, rng, start_clock_and_reset

INTEGER_BITS = 12


def values(generator: np.random.Generator, count: int) -> list[int]:
    """Return every power of two and its neighbours, both ends, and random values of all sizes."""
    powers = [(1 << bit) + d for bit in range(31) for d in (-1, 0, 1)]
    some = generator.integers(1, 1 << 31, count) >> generator.integers(0, 31, count)
    return [x for x in [*powers, (1 << 31) - 1, *some.tolist()] if x > 0]


@cocotb.test()
async def is_the_reciprocal_of_golden(dut: Any) -> None:
    """Value by value: inverse, leading zeros, and the stated number of cycles."""
    dut.start.value = 0
    await start_clock_and_reset(dut)
    edge = RisingEdge(dut.clk)
    for x in values(rng(), parameters()["count"]):
        dut.start.value = 1
        dut.x.value = x
        await edge
        dut.start.value = 0
        dut.x.value = 0
        cycles = 0
        while not int(dut.done.value):
            await edge
            cycles += 1
            assert cycles < 200, f"no reciprocal of {x}"
        inverse, over = reciprocal(x, INTEGER_BITS)
        got = int(dut.inverse.value), INTEGER_BITS - int(dut.zeros.value)
        assert got == (int(inverse), int(over)), f"reciprocal of {x}: {got}"
        assert cycles == Reciprocal.LATENCY + 12 - int(over), f"{cycles} cycles for {x}"
