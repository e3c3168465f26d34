# amaranth: UnusedElaboratable=no
"""Scratchpad: any vector at any address, reads in order with writes."""

import pytest

from eightfold.hw.blocks.delay import delay
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit

NARROW = AcceleratorConfig(lanes=4, width=4, port=4, scratchpad=4096, vector_lanes=2)
WIDE = AcceleratorConfig(lanes=5, width=16, port=8, scratchpad=8192, vector_lanes=2)


def run_scratchpad(config, simulator, seed, ports=3, make=Scratchpad, cycles=400):
    return run_unit(
        lambda: make(config, ports, ports),
        "scratchpad",
        simulator,
        seed,
        vector=config.vector,
        scratchpad=config.scratchpad,
        ports=ports,
        cycles=cycles,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("config", "ports"), [(WIDE, 2), (NARROW, 1), (NARROW, 3), (WIDE, 3)])
@pytest.mark.usual(names=["icarus-config2"])
def test_matches_a_byte_array(config, ports, simulator):
    run_scratchpad(config, simulator, ports, ports)


class WritesLate(Scratchpad):
    """Meets the RAM one cycle after the reads of the same cycle."""

    def _write(self, m):
        rows, mask, word, offset = super()._write(m)
        late = [delay(m, row, f"late{j}1", reset=True) for j, row in enumerate(rows)]
        return (
            late,
            delay(m, mask, "late_mask1", reset=True),
            delay(m, word, "late_word1", reset=True),
            offset,
        )


@pytest.mark.slow
@pytest.mark.icarus
def test_bench_catches_writes_that_are_late():
    with pytest.raises(BenchFailed, match="differs: got"):
        run_scratchpad(NARROW, "icarus", 4, make=WritesLate, cycles=100)


@pytest.mark.parametrize(("readers", "writers"), [(0, 1), (1, 0)])
def test_rejects_no_ports(readers, writers):
    with pytest.raises(ValueError, match="readers and writers must be at least 1"):
        Scratchpad(NARROW, readers, writers)
