"""A component under a testbench in Amaranth's simulator."""

from collections.abc import Callable, Coroutine
from typing import Any

from amaranth.sim import Simulator


def simulate(dut: Any, bench: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    """Run a testbench on a component with a clock to its end."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
