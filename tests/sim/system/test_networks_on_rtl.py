"""Networks in RTL, also in strips, with state and rewritten: every tensor, with random stalls."""

import json
from random import Random

import numpy as np
import pytest

from eightfold.campaign.records import Unit
from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, CompiledNetwork, best_cascades, compile_network
from eightfold.compiler.network import Strategy
from eightfold.compiler.rewrite.rules import rewrite
from eightfold.estimate import estimate_network
from eightfold.model import Graph
from eightfold.operators import load_model, run_graph
from eightfold.run.report.result import REWRITTEN
from eightfold.run.session import Session
from eightfold.run.simulate import NetworkRun, simulate_network
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import PRESETS, AcceleratorConfig
from examples.mobilenet import mobilenet_model
from tests.support.campaign.units import expect_passed, unit_parameters
from tests.support.figures import expect_honest_work
from tests.support.hardware.small_program import CONFIG as TIGHT
from tests.support.hardware.twins import TWINS
from tests.support.models.networks import streaming
from tests.support.networks.cascades import CHOICES, AtRandom, Forced, block_model
from tests.support.networks.layers import Written
from tests.support.networks.machine_run import random_values
from tests.support.networks.redundant import redundant_model
from tests.support.networks.sparse import sparse_model

pytestmark = pytest.mark.slow

ON_RTL = [
    *unit_parameters("networks", TWINS["small"], "small", backend="verilator", cases=100),
    *unit_parameters("networks", TIGHT, "tight", backend="verilator", cases=10),
]
ON_ICARUS = unit_parameters("networks", backend="icarus", config="nano", cases=2)


@pytest.mark.parametrize("unit", ON_RTL)
@pytest.mark.usual
def test_equals_golden(unit: Unit) -> None:
    expect_passed(unit)


@pytest.mark.icarus
@pytest.mark.parametrize("unit", ON_ICARUS)
@pytest.mark.usual(names=["1..1"])
def test_equals_golden_on_icarus(unit: Unit) -> None:
    expect_passed(unit)


def test_frames_equal_litert() -> None:
    with Session("verilator", "nano") as session, Session() as golden:
        frames = session.run_frames(streaming(), 3, compare=True)
        frames += session.run_frames(streaming(), 2, seed=3, compare=True)
        expected = golden.run_frames(streaming(), 5)
    for got, wanted in zip(frames, expected, strict=True):
        assert (got.mismatches, got.unread) == (0, [])
        np.testing.assert_array_equal(got.outputs[10], wanted.outputs[10])


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


@pytest.mark.parametrize("words", CHOICES)
@pytest.mark.parametrize("height", [1, 2, 5])
@pytest.mark.usual(names=["2-kept"])
@pytest.mark.long
def test_a_chain_in_strips_equals_golden(height: int, words: str) -> None:
    graph = load_model(block_model())
    forced = Forced(height, words, outside=True)
    expect_golden_on_rtl(graph, NANO, "verilator", forced, random_values(graph), stall=0.3)
    assert forced.made


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


MODELS = {
    **{f"sparse {seed}": sparse_model(seed) for seed in (2, 7, 8)},
    **{f"redundant {seed}": redundant_model(seed) for seed in (1, 4, 10)},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usual(names=["redundant 1"])
def test_a_rewritten_network_equals_litert(name: str) -> None:
    model = MODELS[name]
    graph = load_model(model)
    rewritten = rewrite(graph)
    assert rewritten.applied
    with Session("verilator", "nano", stall=0.1) as session:
        result = session.run(model, compare=True, all_tensors=True)
    assert result.mismatches == 0 and not result.unread
    assert set(result.tensors) >= {t for operator in graph.operators for t in operator.outputs}
    assert result.rewrites == rewritten.summary()
    for operator in result.operators:
        gone = operator.index in rewritten.gone()
        assert operator.where == (REWRITTEN if gone else "hardware")
        assert (operator.cycles is None) == gone
    report = json.loads(json.dumps(result.as_json()))
    assert any(operator["rewritten"] for operator in report["operators"])


def test_cycles_are_fewer_and_outputs_the_same() -> None:
    model = MODELS["sparse 7"]
    results = []
    for without in ([], ["all"]):
        with Session("verilator", "nano", no_rewrite=without) as session:
            results.append(session.run(model))
    first, second = results
    assert (first.cycles or 0) < (second.cycles or 0)
    assert not second.rewrites
    for tensor, values in second.outputs.items():
        np.testing.assert_array_equal(first.outputs[tensor], values)


def test_what_is_left_to_golden_reads_what_was_rewritten() -> None:
    net = Written(0.05, 3)
    seven = net.codes([7])
    product = net.add("MUL", [net.given(1, 4, 4, 3), seven])
    real = net.add("DEQUANTIZE", [net.add("SUB", [product, seven])])
    model = net.model(net.add("QUANTIZE", [real]))
    with Session("verilator", "nano", fallback="golden", fast=True) as session:
        result = session.run(model, compare=True)
    assert result.mismatches == 0
    assert [o.where for o in result.operators] == [REWRITTEN, "hardware", "golden", "golden"]
