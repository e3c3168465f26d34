# amaranth: UnusedElaboratable=no
"""The sequencer: order, tokens, every error, soft reset."""

from typing import Any

import pytest

from eightfold.hw.control.control import Control
from eightfold.sim.simulator.runner import icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.sequencer"

ORDER = "commands_start_in_order_and_with_their_tokens/pace=20/stall=0.3"

SMALL: dict[str, Any] = {
    "lanes": 4,
    "width": 4,
    "scratchpad": 4096,
    "weight_buffer": 512,
    "vector_lanes": 2,
}

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def run_sequencer(simulator, seed, port=4, testcase=None):
    sizes: dict[str, Any] = SMALL | {"port": port}
    return run_bench(
        lambda: Control(AcceleratorConfig(**sizes)),
        BENCH,
        simulator,
        parameters={"config": sizes, "commands": 60},
        seed=seed,
        testcase=testcase,
    )


# Ports of the memory are also swept by configurations that run networks.
@pytest.mark.parametrize(
    ("port", "seed"),
    [
        pytest.param(4, 0, marks=pytest.mark.slow),
        pytest.param(8, 1, marks=pytest.mark.long),
    ],
)
def test_runs_streams_and_reports_errors(port, seed):
    run_sequencer("verilator", seed, port)


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize("seed", [2])
def test_runs_streams_on_icarus(seed):
    run_sequencer("icarus", seed, testcase=[ORDER, "the_stream_is_a_word_per_cycle"])
