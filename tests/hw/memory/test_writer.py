# amaranth: UnusedElaboratable=no
"""Writes over AXI4: complete bursts, at full rate, within the rules of the bus."""

import pytest

from eightfold.config import AcceleratorConfig
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.sim.simulator.runner import BenchFailed, run_bench

BENCH = "eightfold.sim.benches.memory_writer"


def run(port, simulator, seed, component=MemoryWriter):
    return run_bench(
        lambda: component(AcceleratorConfig(port=port)),
        BENCH,
        simulator,
        parameters={"port": port},
        seed=seed,
    )


@pytest.mark.parametrize(("port", "seed"), [(16, 0)])
def test_writes_what_its_client_says(port, seed, simulator):
    run(port, simulator, seed)


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize(("port", "seed"), [(4, 1), (32, 2), (64, 3)])
def test_writes_with_other_ports(port, seed):
    run(port, "icarus", seed)


class BeginsEarly(MemoryWriter):
    """Offers a burst with one beat of it missing."""

    def _complete(self, stored):
        return stored + 1 >= self.client.request.payload.beats


class IgnoresErrors(MemoryWriter):
    """Takes an error answer for a good one."""

    def _failed(self):
        return self.axi.bresp == 1


class MarksEveryBurstFull(MemoryWriter):
    """Sets ``wlast`` at the sixteenth beat only."""

    def _is_last(self, position, length):
        return position == 15


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("mutant", [BeginsEarly, IgnoresErrors, MarksEveryBurstFull])
def test_bench_catches(mutant):
    with pytest.raises(BenchFailed, match="assert|wrong place|no transfer|than were written"):
        run(4, "icarus", 4, mutant)
