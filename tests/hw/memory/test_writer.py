# amaranth: UnusedElaboratable=no
"""Writes over AXI4: complete bursts, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.writer import MemoryWriter
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.memory_writer"


def run(port, simulator, seed, testcase=None):
    return run_bench(
        lambda: MemoryWriter(AcceleratorConfig(port=port)),
        BENCH,
        simulator,
        parameters={"port": port},
        seed=seed,
        testcase=testcase,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("port", "seed"), [(16, 0), (4, 1), (32, 2), (64, 3)])
@pytest.mark.usual(names=["icarus-16"])
def test_writes_what_its_client_says(port, seed, simulator):
    run(port, simulator, seed)
