"""The accelerator in RTL equals golden on every tensor of random networks, with random stalls.

``EIGHTFOLD_NETWORKS`` sets their number (100), ``EIGHTFOLD_SEED`` the seed of the first (0).
"""

import os

import numpy as np
import pytest

from eightfold.compiler import HARDWARE, compile_network
from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.execute import run_graph
from eightfold.model import load_model
from eightfold.sim.simulator.runner import icarus_available
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.simulate import simulate_network
from tests.support.networks.random import network_rng, random_network

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
COUNT = int(os.environ.get("EIGHTFOLD_NETWORKS", "100"))


def expect_equal(seed: int, config: AcceleratorConfig, simulator: Simulator) -> None:
    """Run one network twice in one simulation, with inputs of its own each time."""
    rng = network_rng(seed)
    model, inputs = random_network(rng, operators=HARDWARE, lengths=(3, 12))
    graph = load_model(model)
    others = {t: rng.integers(-128, 128, x.shape).astype(np.int8) for t, x in inputs.items()}
    network = compile_network(graph, config, keep=True)
    stall = (0.0, 0.1, 0.4)[seed % 3]
    runs = simulate_network(
        graph, network, [inputs, others], simulator=simulator, stall=stall, seed=seed
    )
    for given, run in zip((inputs, others), runs, strict=True):
        expected = run_graph(graph, given)
        for operator in graph.operators:
            for tensor in operator.outputs:
                np.testing.assert_array_equal(
                    run.tensors[tensor], expected[tensor], err_msg=f"{operator}, tensor {tensor}"
                )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_equals_golden_on_small(seed: int) -> None:
    expect_equal(seed, PRESETS["small"], "verilator")


TIGHT = PRESETS["small"].replace(scratchpad=4096, psum_depth=16, line_depth=16, weight_buffer=512)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(1, COUNT // 10)))
def test_equals_golden_where_little_fits(seed: int) -> None:
    expect_equal(seed, TIGHT, "verilator")


@pytest.mark.slow
@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(1, COUNT // 50)))
def test_equals_golden_on_icarus(seed: int) -> None:
    expect_equal(seed, PRESETS["nano"], "icarus")
