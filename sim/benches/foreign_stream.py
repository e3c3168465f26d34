"""Runs the harness of `eightfold.conformance.adapters.stream` around somebody's module.

Parameters: ``total``, ``count``, ``patience``, ``linger`` and ``pauses`` of the harness, and
``reset_cycles``. The bench starts clocks and waits: the harness does the rest, and this reports its
counts.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from eightfold.sim.bench.support import parameters, report, seed

COUNTS = (
    *("accepted", "answered", "early", "first_early", "late"),
    *("unknown_valid", "unknown_ready", "broken"),
)


async def start(dut: Any, reset_cycles: int) -> None:
    """Start the clock, and the strobe around its edges; return after the reset."""
    dut.reset.value = 1
    dut.run.value = 0
    dut.load.value = 0
    Clock(dut.strobe, 10, unit="ns", impl="gpi", period_high=2).start(start_high=False)
    dut.clk.value = 0
    await Timer(4, unit="ns")
    Clock(dut.clk, 10, unit="ns", impl="gpi").start(start_high=False)
    for _ in range(reset_cycles):
        await FallingEdge(dut.strobe)
    dut.reset.value = 0
    dut.load.value = 1
    await FallingEdge(dut.strobe)


@cocotb.test()
async def cases(dut: Any) -> None:
    """Send all cases, and take the answers."""
    job = parameters()
    for name in ("total", "count", "patience", "linger", "pauses"):
        getattr(dut, name).value = job[name]
    dut.seed.value = (seed() * 0x9E3779B1 + 1) & 0xFFFF_FFFF
    await start(dut, job["reset_cycles"])
    dut.run.value = 1
    await RisingEdge(dut.done)
    report({name: int(getattr(dut, name).value) for name in COUNTS})
    assert not dut.broken.value, "the cases ended early"
