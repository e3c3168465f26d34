"""The accelerator in RTL equals golden on every tensor of random networks, with random stalls.

``EIGHTFOLD_NETWORKS`` sets their number (100), ``EIGHTFOLD_SEED`` the seed of the first (0).
"""

import os
from collections.abc import Sequence

import numpy as np
import pytest

from eightfold.campaign.suites.together import Job, simulate_together
from eightfold.compiler import HARDWARE, compile_network
from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.conformance.networks.random import network_rng, random_network
from eightfold.execute import run_graph
from eightfold.model import load_model
from eightfold.sim.simulator.runner import icarus_available
from eightfold.sim.simulator.toolchain import Simulator
from tests.support.hardware.small_program import CONFIG as TIGHT
from tests.support.hardware.twins import TWINS

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
COUNT = int(os.environ.get("EIGHTFOLD_NETWORKS", "100"))


def network_job(seed: int, config: AcceleratorConfig) -> Job:
    """Return one network, with two inputs."""
    rng = network_rng(seed)
    model, inputs = random_network(rng, operators=HARDWARE, lengths=(3, 12))
    graph = load_model(model)
    others = {t: rng.integers(-128, 128, x.shape).astype(np.int8) for t, x in inputs.items()}
    network = compile_network(graph, config, keep=True)
    return Job(graph=graph, network=network, batch=[inputs, others])


def expect_equal(seeds: Sequence[int], config: AcceleratorConfig, simulator: Simulator) -> None:
    """Run the networks of ``seeds`` in one simulation, twice each, and compare every tensor."""
    jobs = [network_job(seed, config) for seed in seeds]
    stall = (0.0, 0.1, 0.4)[seeds[0] // len(seeds) % 3]
    found = simulate_together(jobs, simulator, stall=stall, seed=seeds[0])
    for seed, job, runs in zip(seeds, jobs, found, strict=True):
        for given, tensors in zip(job.batch, runs, strict=True):
            expected = run_graph(job.graph, given)
            for operator in job.graph.operators:
                for tensor in operator.outputs:
                    np.testing.assert_array_equal(
                        tensors[tensor],
                        expected[tensor],
                        err_msg=f"seed {seed}, {operator}, tensor {tensor}",
                    )


def in_turns(count: int, together: int) -> list[range]:
    """Return ``count`` seeds in ranges of ``together``, those of one simulation."""
    stop = FIRST + count
    return [range(s, min(s + together, stop)) for s in range(FIRST, stop, together)]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_turns(COUNT, 10), ids=str)
def test_equals_golden_on_small(seeds: range) -> None:
    expect_equal(seeds, TWINS["small"], "verilator")


@pytest.mark.slow
@pytest.mark.parametrize("seeds", in_turns(max(1, COUNT // 10), 4), ids=str)
def test_equals_golden_where_little_fits(seeds: range) -> None:
    expect_equal(seeds, TIGHT, "verilator")


@pytest.mark.slow
@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(1, COUNT // 50)))
def test_equals_golden_on_icarus(seed: int) -> None:
    expect_equal([seed], PRESETS["nano"], "icarus")
