"""The MAC array: exact and in order under any stalls, as fast as it says."""

import pytest

from eightfold.hw.array.mac_array import MacArray, latency
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit

pytestmark = pytest.mark.slow


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
    fields = config.as_dict()
    return run_unit(
        lambda: MacArray(config), "mac_array", simulator, seed, config=fields, passes=passes
    )


@pytest.mark.parametrize(
    ("simulator", "lanes", "width", "style", "seed", "passes"),
    [
        ("verilator", 4, 4, "rows", 8, 25),
        ("verilator", 4, 4, "rows", 1, 60),
        ("verilator", 4, 4, "infer", 0, 60),
        ("verilator", 3, 5, "rows", 2, 60),
        ("verilator", 8, 8, "rows", 3, 60),
        ("verilator", 8, 4, "infer", 4, 60),
        ("verilator", 4, 16, "rows", 5, 60),
        # As long as all others, which have their sizes, lanes or width, and their styles.
        ("verilator", 16, 16, "rows", 6, 60),
        ("verilator", 16, 16, "infer", 7, 60),
        *(("verilator", 4, 4, "rows", seed, 300) for seed in range(20, 24)),
        ("icarus", 3, 5, "infer", 12, 25),
        ("icarus", 4, 4, "infer", 10, 25),
        ("icarus", 4, 4, "rows", 11, 25),
        ("icarus", 1, 2, "infer", 13, 25),
        ("icarus", 8, 8, "rows", 14, 25),
    ],
)
@pytest.mark.usual
def test_matches_model_and_keeps_its_promises_of_time(simulator, lanes, width, style, seed, passes):
    config = small_memories(lanes, width, style)
    report = run(config, simulator, seed, passes).report
    assert report == {"cycles_per_pass": lanes, "latency": latency(config)}


@pytest.mark.parametrize(
    ("lanes", "requantizers", "vector_lanes", "seed"), [(4, 1, 1, 0), (5, 2, 2, 1), (4, 3, 1, 2)]
)
@pytest.mark.usual(count=1)
def test_lanes_share_requantizers(lanes, requantizers, vector_lanes, seed):
    config = small_memories(lanes, 4, "infer")
    config = config.replace(requantizers=requantizers, vector_lanes=vector_lanes)
    report = run(config, "verilator", seed, 25).report
    assert report == {"cycles_per_pass": lanes, "latency": latency(config)}


def test_latency_does_not_depend_on_the_multiplier_style():
    infer, rows = (AcceleratorConfig(multiplier=style) for style in ("infer", "rows"))
    assert latency(infer) == latency(rows) == 28
