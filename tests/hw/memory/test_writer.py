# amaranth: UnusedElaboratable=no
"""Writes over AXI4: complete bursts, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.writer import MemoryWriter
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig


@pytest.mark.slow
@pytest.mark.parametrize(("port", "seed"), [(16, 0), (4, 1), (32, 2), (64, 3)])
@pytest.mark.usual(names=["icarus-16"])
def test_writes_what_its_client_says(port, seed, simulator):
    config = AcceleratorConfig(port=port)
    bench, parameters = "eightfold.sim.benches.memory_writer", {"port": port}
    run_bench(lambda: MemoryWriter(config), bench, simulator, parameters=parameters, seed=seed)
