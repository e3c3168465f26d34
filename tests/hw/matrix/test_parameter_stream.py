# amaranth: UnusedElaboratable=no
"""PARAMETERS: every channel of every bank, fetched ahead, and nothing outside the model."""

import pytest

from eightfold.hw.matrix.parameter_stream import ParameterStream
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit


# Ports join records or cut them.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("lanes", "port", "seed"), [(5, 16, 0), (4, 4, 1), (1, 8, 2), (16, 32, 3), (7, 64, 4)]
)
@pytest.mark.usual(names=["icarus-5", "icarus-4", "icarus-7"])
def test_streams_the_records_in_memory(lanes, port, seed, simulator):
    config = AcceleratorConfig(lanes=lanes, width=4, port=port, vector_lanes=1)
    fields = config.as_dict()
    run_unit(lambda: ParameterStream(config), "parameter_stream", simulator, seed, config=fields)
