# amaranth: UnusedElaboratable=no
"""Writes over AXI4: complete bursts, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.writer import MemoryWriter
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit


@pytest.mark.slow
@pytest.mark.parametrize(("port", "seed"), [(16, 0), (4, 1), (32, 2), (64, 3)])
@pytest.mark.usual(names=["icarus-16"])
def test_writes_what_its_client_says(port, seed, simulator):
    config = AcceleratorConfig(port=port)
    run_unit(lambda: MemoryWriter(config), "memory_writer", simulator, seed, port=port)
