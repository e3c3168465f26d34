# amaranth: UnusedElaboratable=no
"""The sequencer: order, tokens, every error, soft reset."""

from typing import Any

import pytest

from eightfold.hw.control.control import Control
from eightfold.target.config import AcceleratorConfig
from tests.support.hardware.unit_bench import run_unit

ORDER = "commands_start_in_order_and_with_their_tokens/pace=20/stall=0.3"

SMALL: dict[str, Any] = {"lanes": 4, "width": 4, "scratchpad": 4096, "vector_lanes": 2}
SMALL |= {"weight_buffer": 512}


# Ports of the memory are also swept by configurations that run networks.
@pytest.mark.parametrize(
    ("simulator", "port", "seed", "commands", "testcase"),
    [
        ("verilator", 4, 3, 20, None),
        ("verilator", 4, 0, 60, None),
        ("verilator", 8, 1, 60, None),
        ("icarus", 4, 2, 60, [ORDER, "the_stream_is_a_word_per_cycle"]),
    ],
)
@pytest.mark.usual
@pytest.mark.slow
def test_runs_streams_and_reports_errors(simulator, port, seed, commands, testcase):
    sizes = SMALL | {"port": port}
    more = {"config": sizes, "commands": commands}
    config = AcceleratorConfig(**sizes)
    run_unit(lambda: Control(config), "sequencer", simulator, seed, testcase, **more)
