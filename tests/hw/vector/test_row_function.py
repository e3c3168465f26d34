# amaranth: UnusedElaboratable=no
"""A row's function is golden's over its whole range, in the stated time."""

import pytest

from eightfold.hw.vector.row_function import RowFunction
from eightfold.sim.simulator.runner import icarus_available, run_bench

BENCH = "eightfold.sim.benches.row_function"
needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_matches_golden_on_verilator(seed):
    run_bench(RowFunction, BENCH, "verilator", parameters={"count": 1000}, seed=seed)


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("seed", [1])
def test_matches_golden_on_icarus(seed):
    run_bench(RowFunction, BENCH, "icarus", parameters={"count": 20}, seed=seed)
