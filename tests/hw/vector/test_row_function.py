# amaranth: UnusedElaboratable=no
"""A row's function is golden's over its whole range, in the stated time."""

import pytest

from eightfold.hw.vector.row_function import RowFunction
from tests.support.hardware.unit_bench import run_unit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "count", "seed"), [("verilator", 1000, 0), ("icarus", 20, 1)]
)
@pytest.mark.usual(names=["icarus"])
def test_matches_golden(simulator, count, seed):
    run_unit(RowFunction, "row_function", simulator, seed, count=count)
