"""Every operator in RTL equals golden on random models, with random stalls.

``EIGHTFOLD_MODELS`` sets the number of models per operator (40), ``EIGHTFOLD_SEED`` the seed of the
first (0). Models run side by side in one stream, some at a time.
"""

import os

import numpy as np
import pytest

from eightfold.compiler import HARDWARE, compile_network
from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.execute import run_graph
from eightfold.model import Graph, load_model
from sim.network import simulate_network
from sim.runner import icarus_available
from sim.toolchain import Simulator
from tests.eightfold.combined import Tensors, combined
from tests.golden.random_models import OPERATORS, case_rng, random_case

pytestmark = pytest.mark.usefixtures("constant_operands")

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
COUNT = int(os.environ.get("EIGHTFOLD_MODELS", "40"))
TOGETHER = 40
"""Models of one run on Verilator, at most."""

ON_ICARUS = 3
"""Models of one run on Icarus."""


def models(operator: str, seeds: range) -> list[tuple[Graph, Tensors]]:
    """Return a model of each seed, without those that have to do with float32."""
    found = []
    for seed in seeds:
        model, inputs = random_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        if all(tensor.dtype != np.float32 for tensor in graph.tensors):
            found.append((graph, inputs))
    return found


def expect_equal(
    operator: str, seeds: range, config: AcceleratorConfig, simulator: Simulator
) -> None:
    """Run the models of ``seeds`` in one simulation, and compare every tensor."""
    graph, inputs = combined(models(operator, seeds))
    network = compile_network(graph, config, keep=True)
    stall = (0.0, 0.1, 0.4)[(seeds.start // len(seeds) + len(operator)) % 3]
    (run,) = simulate_network(
        graph, network, [inputs], simulator=simulator, stall=stall, seed=seeds.start
    )
    expected = run_graph(graph, inputs)
    for each in graph.operators:
        for tensor in each.outputs:
            np.testing.assert_array_equal(
                run.tensors[tensor], expected[tensor], err_msg=f"{each}, tensor {tensor}"
            )


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FIRST, FIRST + COUNT, TOGETHER))
@pytest.mark.parametrize("operator", sorted(HARDWARE & set(OPERATORS)))
def test_equals_golden_on_small(operator: str, start: int) -> None:
    seeds = range(start, min(start + TOGETHER, FIRST + COUNT))
    expect_equal(operator, seeds, PRESETS["small"], "verilator")


@pytest.mark.slow
@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize("operator", sorted(HARDWARE & set(OPERATORS)))
def test_equals_golden_on_icarus(operator: str) -> None:
    expect_equal(operator, range(FIRST, FIRST + ON_ICARUS), PRESETS["nano"], "icarus")
