"""The plan for a memory takes no more cycles with it than the plan for another memory."""

import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import estimate
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import PROFILES, MemoryTiming
from examples.digits.network import MODEL_FILE
from examples.mobilenet import blocks_model
from tests.support.models.mlperf_tiny import mlperf_tiny

pytestmark = pytest.mark.slow


def _worse(graph: Graph, config: str, *more: MemoryTiming) -> list[str]:
    """Return the memories whose plan is not the best of all."""
    memories = {name: PROFILES[name] for name in PROFILES} | {str(each): each for each in more}
    plans = {
        name: prepare(graph, AcceleratorConfig.load(config), fallback=True, memory=memory).network
        for name, memory in memories.items()
    }
    return [
        f"{name}: {own}, for {other} {estimate(plan.streams, memory).total}"
        for name, memory in memories.items()
        for own in [estimate(plans[name].streams, memory).total]
        for other, plan in plans.items()
        if other in PROFILES and estimate(plan.streams, memory).total < own
    ]


def test_of_the_digits_network() -> None:
    """At `base` the plan for the slowest memory was better than all others with every memory."""
    assert not _worse(load_model(MODEL_FILE), "base", MemoryTiming(latency=60))


@pytest.mark.parametrize("seed", [1, 2])
def test_of_random_networks(seed: int) -> None:
    assert not _worse(load_model(random_network(network_rng(seed))[0]), "nano")


@pytest.mark.long
def test_of_cascades() -> None:
    assert not _worse(load_model(blocks_model(4, 32)), "small")


@pytest.mark.parametrize("name", ["kws_ref_model", "vww_96_int8"])
@pytest.mark.usual(names=["kws"])
def test_of_published_models(name: str) -> None:
    assert not _worse(load_model(mlperf_tiny(name)), "base")
