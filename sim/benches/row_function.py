"""Bench of a row's function against golden.

Parameter: ``count``, the number of random sums of each function.
"""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout

from eightfold.hw.vector.row_function import RowFunction
from eightfold.isa import Row
from eightfold.sim.bench.support import CLOCK_NS, cycle, parameters, rng, start_clock_and_reset
from eightfold.sim.stimuli.rows import LOWEST, row_fields, row_sums


def stated_cycles(function: Row, x: int) -> int:
    """Return the cycles from ``start`` to ``done``."""
    zeros = 1 if x >> 31 else 32 - max(x.bit_length(), 1)
    return RowFunction.latency(function) + zeros


@cocotb.test()
async def is_the_function_of_golden(dut: Any) -> None:
    """Sum by sum, functions mixed: fields, number of cycles, and that the fields stay."""
    dut.start.value = 0
    generator = rng()
    count = parameters()["count"]
    work = [(f, x) for f in LOWEST for x in row_sums(generator, f, count).tolist()]
    generator.shuffle(work)
    await start_clock_and_reset(dut)
    for function, x in work:
        dut.start.value = 1
        dut.function_.value = function.value
        dut.x.value = x
        await RisingEdge(dut.clk)
        begin = cycle()
        dut.start.value, dut.function_.value, dut.x.value = 0, 0, 0
        await with_timeout(RisingEdge(dut.done), 1000 * CLOCK_NS, "ns")
        cycles = cycle() - begin + 1
        await FallingEdge(dut.done)
        await ClockCycles(dut.clk, int(generator.integers(1, 4)))
        expected = {name: int(value) for name, value in row_fields(function, x).items()}
        got = {name: _number(dut, name) for name in expected}
        assert got == expected, f"{function.name} of {x}: {got}, not {expected}"
        assert cycles == stated_cycles(function, x), f"{cycles} cycles for {function.name} of {x}"


def _number(dut: Any, field: str) -> int:
    value = dut[field].value
    return value.to_signed() if field == "bias" else value.to_unsigned()
