"""Every operator in RTL equals golden on random models, with random stalls.

``EIGHTFOLD_MODELS`` sets the number of models per operator (24), ``EIGHTFOLD_SEED`` the seed of the
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
from eightfold.conformance.models.operators import OPERATORS, accelerator_case, case_rng
from eightfold.conformance.networks.combined import Tensors, combined
from eightfold.coverage.bins import POINTS, Collector
from eightfold.execute import run_graph
from eightfold.model import Graph, load_model
from eightfold.sim.simulator.runner import icarus_available
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.simulate import simulate_network
from tests.support.hardware.twins import TWINS

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
COUNT = int(os.environ.get("EIGHTFOLD_MODELS", "24"))
TOGETHER = 40
"""Models of one run on Verilator, at most."""

ON_ICARUS, MOST_ELEMENTS = 2, 600
"""Models of an operator on Icarus, and elements of each: some thousand cycles take a second.
"""

GROUP = 8
"""Operators of one run on Icarus, which takes seconds to load the accelerator."""

NAMES = sorted(HARDWARE)

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
        model, inputs = accelerator_case(operator, case_rng(operator, seed))
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
    cases: Sequence[tuple[Graph, Tensors]],
    config: AcceleratorConfig,
    simulator: Simulator,
    seed: int,
    collector: Collector | None,
) -> None:
    """Run models in one simulation, compare every tensor, and sample them; ``seed``: of stalls."""
    graph, inputs = combined(cases)
    network = compile_network(graph, config, keep=True)
    stall = (0.0, 0.1, 0.4)[seed % 3]
    (run,) = simulate_network(graph, network, [inputs], simulator=simulator, stall=stall, seed=seed)
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
@pytest.mark.parametrize("operator", NAMES)
def test_equals_golden_on_small(operator: str, start: int, collector: Collector | None) -> None:
    seeds = range(start, min(start + TOGETHER, FIRST + COUNT))
    seed = start // TOGETHER + NAMES.index(operator)
    expect_equal(models(operator, seeds), TWINS["small"], "verilator", seed, collector)


def groups() -> list:
    """Return the operators, `GROUP` at a time."""
    parts = [NAMES[start : start + GROUP] for start in range(0, len(NAMES), GROUP)]
    return [pytest.param(part, id=f"{part[0]}..{part[-1]}") for part in parts]


@pytest.mark.slow
@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize("operators", groups())
def test_equals_golden_on_icarus(operators: list[str], collector: Collector | None) -> None:
    cases = [
        case
        for operator in operators
        for case in models(operator, list(islice(small_models(operator), ON_ICARUS)))
    ]
    seed = FIRST + NAMES.index(operators[0]) // GROUP
    expect_equal(cases, PRESETS["nano"], "icarus", seed, collector)
