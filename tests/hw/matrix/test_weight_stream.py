# amaranth: UnusedElaboratable=no
"""WEIGHTS: every word of every buffer, fetched ahead, and nothing outside the model."""

import pytest

from eightfold.hw.matrix.weight_stream import WeightStream
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.weight_stream"


def run(lanes, width, port, simulator, seed):
    config = AcceleratorConfig(
        lanes=lanes, width=width, port=port, weight_buffer=max(512, 64 * port), vector_lanes=1
    )
    return run_bench(
        lambda: WeightStream(config),
        BENCH,
        simulator,
        parameters={"config": config.as_dict()},
        seed=seed,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "width", "port", "seed"), [(5, 3, 16, 0)])
@pytest.mark.usual(names=["icarus"])
def test_streams_the_buffers_in_memory(lanes, width, port, seed, simulator):
    run(lanes, width, port, simulator, seed)


@pytest.mark.icarus
@pytest.mark.parametrize(
    ("lanes", "width", "port", "seed"),
    [
        pytest.param(3, 16, 4, 2, marks=pytest.mark.slow),  # words are joined
        pytest.param(4, 4, 4, 1, marks=pytest.mark.long),
        pytest.param(8, 8, 32, 3, marks=pytest.mark.long),
        pytest.param(1, 2, 64, 4, marks=pytest.mark.long),
    ],
)
def test_streams_buffers_of_other_sizes(lanes, width, port, seed):
    run(lanes, width, port, "icarus", seed)


@pytest.mark.icarus
@pytest.mark.parametrize(
    ("lanes", "width", "port", "seed"),
    [
        pytest.param(16, 16, 16, 5, marks=pytest.mark.long),
        pytest.param(64, 64, 16, 6, marks=pytest.mark.long),
        pytest.param(64, 2, 4, 7, marks=pytest.mark.slow),
    ],
)
def test_streams_large_buffers(lanes, width, port, seed):
    run(lanes, width, port, "icarus", seed)
