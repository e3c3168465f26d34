"""What fetches ahead and yields to the mover's reads, for the benches of the streams."""

from typing import Any

from eightfold.hw.memory.linear_fetch import YIELDING
from eightfold.sim.bench.memory_port import MemoryPort
from eightfold.sim.bench.support import clock_cycles

CYCLES = 500
"""Cycles in which all is requested that will be while the output waits."""


async def expect_little_ahead(dut: Any, memory: MemoryPort) -> None:
    """While the output waits less is requested with ``yields`` than without, and the rest later.

    Ends with ``yields`` set; commands for more than is fetched ahead have been sent, with it set.
    """
    await clock_cycles(dut, CYCLES)
    requested = memory.requested
    dut.yields.value = 0
    await clock_cycles(dut, CYCLES)
    assert YIELDING < requested < memory.requested
    dut.yields.value = 1
