"""A component of the hardware with its bench of `eightfold.sim.benches`."""

from collections.abc import Callable, Sequence
from typing import Any

from eightfold.sim.simulator.runner import BenchResult, run_bench
from eightfold.sim.simulator.toolchain import Simulator


def run_unit(
    make: Callable[[], Any],
    bench: str,
    simulator: Simulator,
    seed: int,
    testcase: str | Sequence[str] | None = None,
    **parameters: Any,
) -> BenchResult:
    """Run the bench of a name, which takes parameters, on the component that is made."""
    name = f"eightfold.sim.benches.{bench}"
    return run_bench(make, name, simulator, parameters=parameters, seed=seed, testcase=testcase)
