# amaranth: UnusedElaboratable=no
"""Reads over AXI4: beats to whom they belong, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.reader import MemoryReader
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig


@pytest.mark.slow
@pytest.mark.parametrize(
    ("port", "clients", "outstanding", "seed"),
    [(16, 4, 32, 0), (4, 5, 16, 1), (32, 1, 16, 2), (64, 2, 32, 3)],
)
@pytest.mark.usual(names=["icarus-16"])
def test_serves_clients(port, clients, outstanding, seed, simulator):
    run = run_bench(
        lambda: MemoryReader(AcceleratorConfig(port=port), clients, outstanding),
        "eightfold.sim.benches.memory_reader",
        simulator,
        parameters={"port": port, "clients": clients, "outstanding": outstanding},
        seed=seed,
    )
    assert run.report["most"] > 16 or clients != 4


def test_rejects_no_clients():
    with pytest.raises(ValueError, match="clients"):
        MemoryReader(AcceleratorConfig(), 0)
