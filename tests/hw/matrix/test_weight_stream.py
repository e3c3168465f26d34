# amaranth: UnusedElaboratable=no
"""WEIGHTS: every word of every buffer, fetched ahead, and nothing outside the model."""

import pytest

from eightfold.hw.matrix.weight_stream import WeightStream
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit


# Some join words, or cut them; the last ones have large buffers.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("lanes", "width", "port", "seed"),
    [
        *[(5, 3, 16, 0), (4, 4, 4, 1), (3, 16, 4, 2), (8, 8, 32, 3), (1, 2, 64, 4)],
        *[(16, 16, 16, 5), (64, 64, 16, 6), (64, 2, 4, 7)],
    ],
)
@pytest.mark.usual(names=["icarus-5", "icarus-3", "icarus-64-2"])
def test_streams_the_buffers_in_memory(lanes, width, port, seed, simulator):
    config = AcceleratorConfig(
        lanes=lanes, width=width, port=port, weight_buffer=max(512, 64 * port), vector_lanes=1
    )
    fields = config.as_dict()
    run_unit(lambda: WeightStream(config), "weight_stream", simulator, seed, config=fields)
