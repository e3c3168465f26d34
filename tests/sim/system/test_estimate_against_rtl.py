"""The estimate of cycles agrees with the RTL: 2 % in total, 10 % on what takes more than 1 %.

On every preset, the MLPerf Tiny networks too where they are there.
"""

import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import HARDWARE, compile_network
from eightfold.estimate.estimate import estimate
from eightfold.model import Graph
from eightfold.model.inputs import random_inputs
from eightfold.operators import load_model
from eightfold.run.simulate import simulate_network
from eightfold.target.config import PRESETS
from eightfold.target.memory import PROFILES, MemoryTiming
from examples.digits.network import MODEL_FILE as DIGITS
from tests.support.figures import expect_honest_work, issued_vectors
from tests.support.hardware.twins import TWINS
from tests.support.models.mlperf_tiny import NETWORKS, mlperf_tiny

IN_TOTAL = 0.02

OF_AN_OPERATOR = 0.1

BEATS = "READ_BEATS", "WRITE_BEATS"

pytestmark = pytest.mark.slow


def expect_the_rtls_cycles(graph: Graph, preset: str, memory: str = "ideal") -> None:
    """Compare the estimate with a simulation."""
    timing = MemoryTiming.load(memory)
    network = compile_network(graph, TWINS[preset], fallback=True)
    found = estimate(network.streams, timing)
    estimated = found.cycles
    inputs = random_inputs(graph, 0)
    (run,) = simulate_network(graph, network, [inputs], simulator="verilator", memory=timing)
    simulated = {index: counters["CYCLES"] for index, counters in run.counters.items()}
    expect_honest_work(graph, network, simulated, run.work, run.cycles)
    expect_honest_work(graph, network, estimated, found.work, found.total)
    issues = sum(counters["MATRIX_ISSUE"] for counters in run.counters.values())
    assert issues == issued_vectors(network)
    if not timing.shared:
        beats = [sum(item[way] for item in run.counters.values()) for way in BEATS]
        assert found.bus == pytest.approx(max(beats), rel=IN_TOTAL)
    assert set(estimated) == set(simulated)
    wrong = {
        str(graph.operators[index]): (estimated[index], cycles)
        for index, cycles in simulated.items()
        if cycles > run.cycles / 100
        and abs(estimated[index] - cycles) > max(OF_AN_OPERATOR * cycles, timing.shared * UNKNOWN)
    }
    assert wrong == {}
    assert sum(estimated.values()) == pytest.approx(run.cycles, rel=IN_TOTAL)


# 256 or 1024 products are to be compiled: minutes, for the formulas of the other presets.
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.usual(names=["nano", "small"])
def test_agrees_on_digits(preset: str) -> None:
    expect_the_rtls_cycles(load_model(DIGITS), preset)


MEMORIES = [
    *PROFILES,
    "latency=60,shared=1,bytes_per_cycle=3,burst=64,turnaround=9,row_miss=11,refresh=40",
]
"""The last one is worse in every respect than any that is sold."""

UNKNOWN = 50
"""Cycles that depend on where in memory the regions lie, and when a refresh is due."""


@pytest.mark.parametrize("preset", ["nano", "small"])
@pytest.mark.parametrize("memory", MEMORIES[1:])
@pytest.mark.usual("preset")
def test_agrees_on_digits_with_a_slow_memory(preset: str, memory: str) -> None:
    expect_the_rtls_cycles(load_model(DIGITS), preset, memory)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usual
def test_agrees_on_a_random_network(seed: int) -> None:
    model, _ = random_network(network_rng(seed), operators=HARDWARE)
    expect_the_rtls_cycles(load_model(model), "small")


@pytest.mark.parametrize(
    ("preset", "memory"),
    [*((preset, "ideal") for preset in PRESETS), *(("base", memory) for memory in MEMORIES[1:])],
)
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.usual(names=["kws_ref_model-small"])
def test_agrees_on_an_mlperf_tiny_network(name: str, preset: str, memory: str) -> None:
    expect_the_rtls_cycles(load_model(mlperf_tiny(name)), preset, memory)
