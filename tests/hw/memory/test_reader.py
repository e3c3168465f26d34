# amaranth: UnusedElaboratable=no
"""Reads over AXI4: beats to whom they belong, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.reader import MemoryReader
from eightfold.sim.simulator.runner import BenchFailed, run_bench
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.axi_attributes import spoil

BENCH = "eightfold.sim.benches.memory_reader"


def run(port, clients, outstanding, simulator, seed, component=MemoryReader, testcase=None):
    return run_bench(
        lambda: component(AcceleratorConfig(port=port), clients, outstanding),
        BENCH,
        simulator,
        parameters={"port": port, "clients": clients, "outstanding": outstanding},
        seed=seed,
        testcase=testcase,
    )


@pytest.mark.parametrize(("port", "seed"), [(16, 0)])
def test_serves_four_clients(port, seed, simulator):
    assert run(port, 4, 32, simulator, seed).report["most"] > 16


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize(
    ("port", "clients", "outstanding", "seed"), [(4, 5, 16, 1), (32, 1, 16, 2), (64, 2, 32, 3)]
)
def test_serves_clients_at_other_sizes(port, clients, outstanding, seed):
    run(port, clients, outstanding, "icarus", seed)


class IgnoresErrors(MemoryReader):
    """Takes an error answer for a good one."""

    def _failed(self):
        return self.axi.rresp == 1


class IgnoresStop(MemoryReader):
    """Takes requests whatever happens."""

    def _may_take(self):
        return 1


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("mutant", [IgnoresErrors, IgnoresStop])
def test_bench_catches(mutant):
    with pytest.raises(BenchFailed, match="assert"):
        run(4, 2, 16, "icarus", 4, mutant)


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("name", ["id", "size", "burst", "lock"])
def test_bench_watches_attributes(name):
    with pytest.raises(BenchFailed, match=f"ar after 1 words: {name}"):
        run(4, 2, 16, "icarus", 4, spoil(MemoryReader, f"ar{name}"), "a_request_per_cycle")


def test_rejects_no_clients():
    with pytest.raises(ValueError, match="clients"):
        MemoryReader(AcceleratorConfig(), 0)
