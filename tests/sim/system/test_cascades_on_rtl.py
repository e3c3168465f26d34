"""Chains in strips on the accelerator in RTL, every tensor, with random stalls."""

from random import Random

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, CompiledNetwork, best_cascades, compile_network
from eightfold.compiler.network import Strategy
from eightfold.estimate import estimate_network
from eightfold.model import Graph
from eightfold.operators import load_model, run_graph
from eightfold.run.simulate import NetworkRun, simulate_network
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import PRESETS, AcceleratorConfig
from examples.mobilenet import mobilenet_model
from tests.support.figures import expect_honest_work
from tests.support.hardware.small_program import CONFIG as TIGHT
from tests.support.networks.cascades import CHOICES, AtRandom, Forced, block_model
from tests.support.networks.machine_run import random_values

NANO = PRESETS["nano"]


def expect_golden_on_rtl(
    graph: Graph,
    config: AcceleratorConfig,
    simulator: Simulator,
    cascades: Strategy,
    inputs: dict[int, np.ndarray],
    **options: float,
) -> tuple[CompiledNetwork, NetworkRun]:
    """Run with cascades, every tensor kept, and compare; return the network and its run."""
    network = compile_network(graph, config, keep=True, cascades=cascades)
    stall = options.get("stall", 0.0)
    (run,) = simulate_network(graph, network, [inputs], simulator=simulator, stall=stall, seed=1)
    cycles = {index: counters["CYCLES"] for index, counters in run.counters.items()}
    expect_honest_work(graph, network, cycles, run.work, run.cycles)
    expected = run_graph(graph, inputs)
    for operator in graph.operators:
        for tensor in operator.outputs:
            np.testing.assert_array_equal(
                run.tensors[tensor], expected[tensor], err_msg=f"{tensor}"
            )
    return network, run


@pytest.mark.slow
@pytest.mark.parametrize("words", CHOICES)
@pytest.mark.parametrize("height", [1, 2, 5])
@pytest.mark.usual(names=["2-kept"])
@pytest.mark.long
def test_a_chain_in_strips_equals_golden(height: int, words: str) -> None:
    graph = load_model(block_model())
    forced = Forced(height, words, outside=True)
    expect_golden_on_rtl(graph, NANO, "verilator", forced, random_values(graph), stall=0.3)
    assert forced.made


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 4])
@pytest.mark.usual
def test_random_networks_in_random_strips_equal_golden(seed: int) -> None:
    model, inputs = random_network(network_rng(seed), operators=HARDWARE)
    strategy = AtRandom(1, random=Random(seed))
    expect_golden_on_rtl(load_model(model), TIGHT, "verilator", strategy, inputs, stall=0.3)


@pytest.mark.long
def test_a_network_larger_than_the_scratchpad_equals_golden() -> None:
    graph = load_model(mobilenet_model(0.35, 64))
    network, run = expect_golden_on_rtl(
        graph, NANO, "verilator", best_cascades, random_values(graph)
    )
    assert network.segments[0].compiled
    assert network.segments[0].compiled.decision
    estimated = estimate_network(network.streams)
    assert abs(sum(estimated.values()) / run.cycles - 1) < 0.05
    for index, counted in run.counters.items():
        if counted["CYCLES"] > 0.01 * run.cycles:
            assert abs(estimated[index] / counted["CYCLES"] - 1) < 0.15, graph.operators[index]
