# amaranth: UnusedElaboratable=no
"""Reads over AXI4: beats to whom they belong, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.reader import MemoryReader
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.memory_reader"


def run(port, clients, outstanding, simulator, seed, testcase=None):
    return run_bench(
        lambda: MemoryReader(AcceleratorConfig(port=port), clients, outstanding),
        BENCH,
        simulator,
        parameters={"port": port, "clients": clients, "outstanding": outstanding},
        seed=seed,
        testcase=testcase,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("port", "seed"), [(16, 0)])
@pytest.mark.usual(names=["icarus"])
def test_serves_four_clients(port, seed, simulator):
    assert run(port, 4, 32, simulator, seed).report["most"] > 16


@pytest.mark.long
@pytest.mark.icarus
@pytest.mark.parametrize(
    ("port", "clients", "outstanding", "seed"), [(4, 5, 16, 1), (32, 1, 16, 2), (64, 2, 32, 3)]
)
def test_serves_clients_at_other_sizes(port, clients, outstanding, seed):
    run(port, clients, outstanding, "icarus", seed)


def test_rejects_no_clients():
    with pytest.raises(ValueError, match="clients"):
        MemoryReader(AcceleratorConfig(), 0)
