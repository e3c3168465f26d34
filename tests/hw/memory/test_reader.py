# amaranth: UnusedElaboratable=no
"""Reads over AXI4: beats to whom they belong, at full rate, within the rules of the bus."""

from functools import partial

import pytest

from eightfold.hw.memory.reader import MemoryReader
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("port", "clients", "outstanding", "seed"),
    [(16, 4, 32, 0), (4, 5, 16, 1), (32, 1, 16, 2), (64, 2, 32, 3)],
)
@pytest.mark.usual(names=["icarus-16"])
def test_serves_clients(port, clients, outstanding, seed, simulator):
    config = AcceleratorConfig(port=port)
    more = {"port": port, "clients": clients, "outstanding": outstanding}
    make = partial(MemoryReader, config, clients, outstanding)
    run = run_unit(make, "memory_reader", simulator, seed, **more)
    assert run.report["most"] > 16 or clients != 4


def test_rejects_no_clients():
    with pytest.raises(ValueError, match="clients"):
        MemoryReader(AcceleratorConfig(), 0)
