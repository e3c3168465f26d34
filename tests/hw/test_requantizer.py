"""The requantizer: equal to golden everywhere, a result per cycle."""

import pytest

from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.hw.requantizer import Requantizer
from eightfold.isa import REQUANTIZE_LAYOUT
from eightfold.sim.benches.requantizer import RequantizerBank
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit


@pytest.mark.slow
@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_random_quadruples_and_all_corners_match_golden(count):
    lanes = 8
    more = {"lanes": lanes, "random": count, "corners": 1}
    result = run_unit(lambda: RequantizerBank(lanes), "requantizer", "verilator", 0, **more)
    assert result.report["random"] == count
    assert result.report["corners"] > 500_000
    assert result.report["latency"] == Requantizer.LATENCY


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulator", "seed", "random", "corners"),
    [("verilator", 3, 2000, 400), ("verilator", 1, 10_000, 40), ("icarus", 2, 300, 2000)],
)
@pytest.mark.usual
def test_requantizer_matches_golden_under_stalls(simulator, seed, random, corners):
    run_requantizer(simulator, seed, random, corners)


def run_requantizer(simulator, seed, random, corners, testcase=None):
    more = {"lanes": 1, "random": random, "corners": corners}
    config = AcceleratorConfig()
    return run_unit(lambda: Requantizer(config), "requantizer", simulator, seed, testcase, **more)


def test_every_field_has_a_cycle():
    assert list(RequantizePipeline.FIELD_CYCLE) == [name for name, _ in REQUANTIZE_LAYOUT]
