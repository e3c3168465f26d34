"""Every operator in RTL equals golden on random models, with random stalls.

``EIGHTFOLD_MODELS`` sets the number of models per operator (40), ``EIGHTFOLD_SEED`` the seed of the
first (0). Models run side by side in one stream, some at a time. With ``EIGHTFOLD_COVERAGE`` set to
a folder, what has run is sampled for functional coverage, and the hits are written there.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest

from eightfold.compiler import HARDWARE, compile_network
from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.execute import run_graph
from eightfold.model import Graph, load_model
from eightfold.sim.simulator.runner import icarus_available
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.simulate import simulate_network
from tests.coverage.bins import POINTS, Collector
from tests.support.hardware.twins import TWINS
from tests.support.models.operators import OPERATORS, case_rng, random_case
from tests.support.networks.combined import Tensors, combined

pytestmark = pytest.mark.usefixtures("constant_operands")

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
COUNT = int(os.environ.get("EIGHTFOLD_MODELS", "40"))
TOGETHER = 40
"""Models of one run on Verilator, at most."""

ON_ICARUS, MOST_ELEMENTS = 3, 2000
"""Models of one run on Icarus, some thousand cycles per second, and elements of each at most."""

COVERAGE = os.environ.get("EIGHTFOLD_COVERAGE")


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector | None]:
    """Return what samples the operators that ran; the hits are written when all have."""
    if not COVERAGE:
        yield None
        return
    collector = Collector()
    yield collector
    collector.write(Path(COVERAGE))


def models(operator: str, seeds: Sequence[int]) -> list[tuple[Graph, Tensors]]:
    """Return a model of each seed, without those that have to do with float32."""
    found = []
    for seed in seeds:
        model, inputs = random_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        if all(tensor.dtype != np.float32 for tensor in graph.tensors):
            found.append((graph, inputs))
    return found


def small_models(operator: str) -> Iterator[int]:
    """Yield the seeds of models that Icarus computes in seconds."""
    for seed in count(FIRST):
        for graph, _ in models(operator, [seed]):
            if sum(int(np.prod(tensor.shape)) for tensor in graph.tensors) <= MOST_ELEMENTS:
                yield seed


def expect_equal(
    operator: str,
    seeds: Sequence[int],
    config: AcceleratorConfig,
    simulator: Simulator,
    collector: Collector | None,
) -> None:
    """Run the models of ``seeds`` in one simulation, compare every tensor, and sample them."""
    graph, inputs = combined(models(operator, seeds))
    network = compile_network(graph, config, keep=True)
    stall = (0.0, 0.1, 0.4)[(seeds[0] // len(seeds) + len(operator)) % 3]
    (run,) = simulate_network(
        graph, network, [inputs], simulator=simulator, stall=stall, seed=seeds[0]
    )
    expected = run_graph(graph, inputs)
    for each in graph.operators:
        for tensor in each.outputs:
            np.testing.assert_array_equal(
                run.tensors[tensor], expected[tensor], err_msg=f"{each}, tensor {tensor}"
            )
    if collector is not None:
        (segment,) = network.segments
        assert segment.compiled is not None
        results = {t: run.tensors[t] for each in graph.operators for t in each.outputs}
        collector.sample(graph, segment.compiled, inputs, results)


def test_every_operator_runs_and_has_bins() -> None:
    assert set(OPERATORS) >= HARDWARE
    assert set(POINTS) == HARDWARE


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FIRST, FIRST + COUNT, TOGETHER))
@pytest.mark.parametrize("operator", sorted(HARDWARE))
def test_equals_golden_on_small(operator: str, start: int, collector: Collector | None) -> None:
    seeds = range(start, min(start + TOGETHER, FIRST + COUNT))
    expect_equal(operator, seeds, TWINS["small"], "verilator", collector)


@pytest.mark.slow
@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize("operator", sorted(HARDWARE))
def test_equals_golden_on_icarus(operator: str, collector: Collector | None) -> None:
    seeds = list(islice(small_models(operator), ON_ICARUS))
    expect_equal(operator, seeds, PRESETS["nano"], "icarus", collector)
