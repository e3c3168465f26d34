"""The MAC array: exact and in order under any stalls, as fast as it says."""

import pytest

from eightfold.hw.array.mac_array import MacArray, latency
from eightfold.sim.simulator.runner import icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig

pytestmark = pytest.mark.slow

BENCH = "eightfold.sim.benches.mac_array"

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def small_memories(lanes, width, style):
    """Return a configuration whose slots, banks and result queue fill up and wrap around."""
    return AcceleratorConfig(
        lanes=lanes,
        width=width,
        psum_depth=32,
        parameter_banks=8,
        output_depth=64 if width == 16 else 32,
        line_depth=16,
        multiplier=style,
    )


def run(config, simulator, seed, passes):
    return run_bench(
        lambda: MacArray(config),
        BENCH,
        simulator,
        parameters={"config": config.as_dict(), "passes": passes},
        seed=seed,
    )


@pytest.mark.parametrize(
    ("lanes", "width", "style", "seed"),
    [
        (4, 4, "rows", 1),
        pytest.param(4, 4, "infer", 0, marks=pytest.mark.long),
        pytest.param(3, 5, "rows", 2, marks=pytest.mark.long),
        pytest.param(8, 8, "rows", 3, marks=pytest.mark.long),
        pytest.param(8, 4, "infer", 4, marks=pytest.mark.long),
        pytest.param(4, 16, "rows", 5, marks=pytest.mark.long),
        # As long as all others, which have their sizes, lanes or width, and their styles.
        pytest.param(16, 16, "rows", 6, marks=pytest.mark.long),
        pytest.param(16, 16, "infer", 7, marks=pytest.mark.long),
    ],
)
def test_matches_model_and_keeps_its_promises_of_time_on_verilator(lanes, width, style, seed):
    config = small_memories(lanes, width, style)
    report = run(config, "verilator", seed, passes=60).report
    assert report == {"cycles_per_pass": lanes, "latency": latency(config)}


@needs_icarus
@pytest.mark.parametrize(
    ("lanes", "width", "style", "seed"),
    [
        (3, 5, "infer", 12),
        pytest.param(4, 4, "infer", 10, marks=pytest.mark.long),
        pytest.param(4, 4, "rows", 11, marks=pytest.mark.long),
        pytest.param(1, 2, "infer", 13, marks=pytest.mark.long),
        pytest.param(8, 8, "rows", 14, marks=pytest.mark.long),
    ],
)
def test_matches_model_and_keeps_its_promises_of_time_on_icarus(lanes, width, style, seed):
    config = small_memories(lanes, width, style)
    report = run(config, "icarus", seed, passes=25).report
    assert report == {"cycles_per_pass": lanes, "latency": latency(config)}


@pytest.mark.parametrize(
    "seed", [20, *(pytest.param(seed, marks=pytest.mark.long) for seed in (21, 22, 23))]
)
def test_matches_model_for_more_seeds(seed):
    run(small_memories(4, 4, "rows"), "verilator", seed, passes=300)


def test_latency_does_not_depend_on_the_multiplier_style():
    infer, rows = (AcceleratorConfig(multiplier=style) for style in ("infer", "rows"))
    assert latency(infer) == latency(rows) == 30
