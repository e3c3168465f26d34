"""The bench of every_rule.v."""

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from eightfold.sim.bench.support import rng, start_clock_and_reset

CYCLES = 400


@cocotb.test()
async def netlist_equals_rtl(dut: Any) -> None:
    """Any inputs, changing in each cycle."""
    draw = rng()
    for name in ("a", "b", "enable", "clear"):
        getattr(dut, name).value = 0
    await start_clock_and_reset(dut)
    for _ in range(CYCLES):
        for name in ("a", "b", "enable", "clear"):
            port = getattr(dut, name)
            port.value = int(draw.integers(1 << len(port)))
        await RisingEdge(dut.clk)
    assert not int(dut.differed.value), "the netlist differs from its RTL"
