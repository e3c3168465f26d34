# amaranth: UnusedElaboratable=no
"""PARAMETERS: every channel of every bank, fetched ahead, and nothing outside the model."""

import pytest

from eightfold.hw.matrix.parameter_stream import ParameterStream
from eightfold.sim.simulator.runner import run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.parameter_stream"


def run(lanes, port, simulator, seed):
    config = AcceleratorConfig(lanes=lanes, width=4, port=port, vector_lanes=1)
    return run_bench(
        lambda: ParameterStream(config),
        BENCH,
        simulator,
        parameters={"config": config.as_dict()},
        seed=seed,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "port", "seed"), [(5, 16, 0)])
@pytest.mark.usual(names=["icarus"])
def test_streams_the_records_in_memory(lanes, port, seed, simulator):
    run(lanes, port, simulator, seed)


@pytest.mark.icarus
@pytest.mark.parametrize(
    ("lanes", "port", "seed"),
    [
        pytest.param(4, 4, 1, marks=pytest.mark.slow),  # records are joined
        pytest.param(7, 64, 4, marks=pytest.mark.slow),  # and cut
        pytest.param(1, 8, 2, marks=pytest.mark.long),
        pytest.param(16, 32, 3, marks=pytest.mark.long),
    ],
)
@pytest.mark.usual(names=["4-4-1"])
def test_streams_records_through_other_ports(lanes, port, seed):
    run(lanes, port, "icarus", seed)
