# amaranth: UnusedElaboratable=no
"""Writes over AXI4: complete bursts, at full rate, within the rules of the bus."""

import pytest

from eightfold.hw.memory.writer import MemoryWriter
from eightfold.sim.simulator.runner import BenchFailed, run_bench
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.axi_attributes import spoil

BENCH = "eightfold.sim.benches.memory_writer"


def run(port, simulator, seed, component=MemoryWriter, testcase=None):
    return run_bench(
        lambda: component(AcceleratorConfig(port=port)),
        BENCH,
        simulator,
        parameters={"port": port},
        seed=seed,
        testcase=testcase,
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


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("name", ["id", "cache", "prot", "qos"])
def test_bench_watches_attributes(name):
    testcase = "a_burst_begins_when_its_beats_are_there"
    with pytest.raises(BenchFailed, match=f"aw after 1 words: {name} is not"):
        run(4, "icarus", 4, spoil(MemoryWriter, f"aw{name}"), testcase)
