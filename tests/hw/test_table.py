# amaranth: UnusedElaboratable=no
"""Tables: every entry on every port, loads in order with lookups, and every mutant is caught."""

import pytest
from amaranth.hdl import Signal, Value

from eightfold.config import AcceleratorConfig
from eightfold.hw.table import ByteTable, Table
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench

BENCH = "eightfold.sim.benches.table"

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def run_table(table, ports, simulator, seed, testcase=None, vectors=500):
    return run_bench(
        lambda: table(AcceleratorConfig(), ports),
        BENCH,
        simulator,
        parameters={"ports": ports, "bits": table.ENTRY.width, "vectors": vectors},
        seed=seed,
        testcase=testcase,
    )


@pytest.mark.parametrize(("table", "ports", "seed"), [(Table, 5, 0), (ByteTable, 16, 1)])
def test_matches_the_loaded_entries_under_stalls_on_verilator(table, ports, seed):
    assert run_table(table, ports, "verilator", seed).report["latency"] == Table.LATENCY


@needs_icarus
@pytest.mark.parametrize(
    ("table", "ports", "seed"), [(Table, 1, 2), (Table, 4, 3), (ByteTable, 1, 4), (ByteTable, 3, 5)]
)
def test_matches_the_loaded_entries_under_stalls_on_icarus(table, ports, seed):
    run_table(table, ports, "icarus", seed)


class ReadsDuringLoads(Table):
    """Looks up in the cycle of a load, where the address is the load's."""

    def accept(self, proceed, found):
        return proceed | ~found


class LosesStalled(Table):
    """Goes on reading while a vector waits."""

    def accept(self, proceed, found):
        return ~self.load.valid


class IgnoresOneCopy(Table):
    """Leaves every copy of the RAM but the first empty."""

    def _copy(self, m, first, read):
        entries = super()._copy(m, first, read)
        return entries if first == 0 else [Signal.like(entry) for entry in entries]


MUTANTS = (ReadsDuringLoads, LosesStalled, IgnoresOneCopy)


@needs_icarus
@pytest.mark.parametrize("mutant", MUTANTS)
def test_bench_catches(mutant):
    with pytest.raises(BenchFailed, match="differs: got|moved while stalled|no transfer"):
        run_table(mutant, 3, "icarus", 6)


def test_ports_default_to_the_configuration_width():
    table = Table(AcceleratorConfig(width=7))
    assert table.ports == 7
    assert Value.cast(table.o.payload).shape().width == 7 * 32
    assert Value.cast(ByteTable(AcceleratorConfig(width=7)).o.payload).shape().width == 7 * 8


def test_rejects_no_ports():
    with pytest.raises(ValueError, match="ports must be at least 1, not 0"):
        Table(AcceleratorConfig(), 0)
