"""The matrix engine: what its commands leave is what the model says, under any stalls."""

import pytest

from eightfold.hw.array.mac_array import latency
from eightfold.hw.matrix.engine import MatrixEngine
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit

pytestmark = pytest.mark.slow


def small_memories(lanes, width):
    """Return a configuration whose slots, banks, lines and queues fill up and wrap around."""
    return AcceleratorConfig(
        lanes=lanes,
        width=width,
        port=4,
        psum_depth=16,
        parameter_banks=4,
        output_depth=64 if width == 16 else 32,
        line_depth=32,
        scratchpad=8192,
        weight_buffer=512,
        vector_lanes=2,
    )


def run(config, simulator, seed, rounds, testcase=None):
    more = {"config": config.as_dict(), "rounds": rounds}
    return run_unit(
        lambda: MatrixEngine(config), "matrix_engine", simulator, seed, testcase, **more
    )


@pytest.mark.parametrize(
    ("simulator", "lanes", "width", "seed", "rounds"),
    [
        ("verilator", 4, 4, 3, 4),
        ("verilator", 4, 4, 0, 12),
        ("verilator", 6, 5, 1, 12),
        ("verilator", 8, 8, 2, 12),
        ("verilator", 16, 16, 4, 12),  # pairs of pixels
        ("icarus", 6, 5, 10, 2),
    ],
)
@pytest.mark.usual
def test_commands_leave_what_the_model_does(simulator, lanes, width, seed, rounds):
    run(small_memories(lanes, width), simulator, seed, rounds)


@pytest.mark.usual
def test_vectors_keep_their_distance_from_results():
    config = small_memories(8, 8).replace(output_depth=64)
    report = run(
        config, "verilator", 0, rounds=0, testcase="vectors_keep_their_distance_from_results"
    ).report
    # Read backwards, the first of 100 vectors waits for the last result, `eightfold.estimate`.
    assert report["backwards, from done to done"] == 100 + 14 + latency(config)
    assert report["forwards, from done to done"] <= 104
    # A wait for results is of `drain`, between two commands as behind the last one.
    assert report["backwards, drain"] == report["forwards, drain"] + latency(config)


# Whole networks take the cycles of the estimate, which counts on this pace.
@pytest.mark.long
def test_keeps_its_pace_with_16_lanes():
    config = small_memories(16, 16).replace(psum_depth=128, scratchpad=16384)
    report = run(config, "verilator", 20, rounds=4).report
    # Two commands of 2000 and 652 vectors; 4 cycles between them, 41 from the last read.
    assert (report["dense"], report["depthwise"]) == (4045, 1349)
