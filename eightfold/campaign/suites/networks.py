"""Random networks: golden against the reference's kernels, RTL against golden, on every tensor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from eightfold.campaign.records import Case, Unit
from eightfold.campaign.suites.oracles import oracle
from eightfold.campaign.suites.suite import (
    Request,
    Result,
    Suite,
    accelerator_designs,
    compare,
    compared_case,
    error_case,
)
from eightfold.campaign.suites.together import Job, simulate_together
from eightfold.compiler import HARDWARE, compile_network
from eightfold.conformance.networks.random import network_rng, random_network
from eightfold.execute import run_graph
from eightfold.golden.quantization import Reference
from eightfold.model import load_model
from eightfold.reference.deviations import litert_tensors
from eightfold.reference.runtimes import RUNTIMES
from eightfold.sim.simulator.toolchain import Simulator

TOGETHER = {"golden": 20, "verilator": 10, "icarus": 1}
"""Networks of a unit, see `eightfold.campaign.suites.operators.TOGETHER`."""


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some networks each."""
    yield from request.units("networks", "", request.networks, TOGETHER[request.backend])


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Run the networks of a unit."""
    if unit.backend == "golden":
        return Result([golden_case(unit, seed) for seed in unit.seeds], {})
    return Result(_on_rtl(unit, trace), {})


def golden_case(unit: Unit, seed: int) -> Case:
    """Compare golden with the reference's kernels on every tensor of one network."""
    model = None
    try:
        model, inputs = random_network(network_rng(seed))
        graph = load_model(model)
        values = {**inputs, **run_graph(graph, inputs, cast(Reference, unit.reference))}
        if unit.reference == "litert":
            expected = litert_tensors(oracle("litert"), model, graph, inputs, values)
        else:
            expected = oracle(unit.reference).run(model, inputs)
        names = ("golden", RUNTIMES[unit.reference].title)
        found = compare(graph, graph.operators, values, values, expected, names)
        return compared_case(seed, "", model, inputs, found)
    except Exception as error:
        return error_case(seed, "", error, model)


@dataclass(frozen=True)
class Network:
    """A random network for the accelerator, compiled, with two inputs."""

    seed: int
    model: bytes
    job: Job


def make_network(unit: Unit, seed: int) -> Network:
    """Draw a network, and compile it."""
    rng = network_rng(seed)
    model, inputs = random_network(rng, operators=HARDWARE, lengths=(3, 12))
    graph = load_model(model)
    others = {t: rng.integers(-128, 128, x.shape).astype(np.int8) for t, x in inputs.items()}
    reference = cast(Reference, unit.reference)
    network = compile_network(graph, unit.configuration(), reference, keep=True)
    return Network(seed, model, Job(graph=graph, network=network, batch=[inputs, others]))


def _on_rtl(unit: Unit, trace: Path | None) -> list[Case]:
    """Run networks one after the other in one simulation; where that fails, each in its own."""
    cases, made = [], []
    for seed in unit.seeds:
        try:
            made.append(make_network(unit, seed))
        except Exception as error:
            cases.append(error_case(seed, "", error))
    try:
        cases += _simulated(unit, made, trace) if made else []
    except Exception as error:
        if len(made) > 1:
            alone = (replace(unit, first=each.seed, count=1) for each in made)
            cases += [case for one in alone for case in _on_rtl(one, None)]
        else:
            cases.append(error_case(made[0].seed, "", error, made[0].model))
    return sorted(cases, key=lambda case: case.seed)


def _simulated(unit: Unit, made: Sequence[Network], trace: Path | None) -> list[Case]:
    turn = unit.first // TOGETHER[unit.backend]
    found = simulate_together(
        [each.job for each in made],
        cast(Simulator, unit.backend),
        stall=unit.stalls(turn),
        seed=unit.first,
        trace=trace,
    )
    return [_compared(unit, each, runs) for each, runs in zip(made, found, strict=True)]


def _compared(unit: Unit, made: Network, runs: Sequence[dict[int, np.ndarray]]) -> Case:
    graph = made.job.graph
    for given, tensors in zip(made.job.batch, runs, strict=True):
        golden = run_graph(graph, given, cast(Reference, unit.reference))
        found = compare(graph, graph.operators, golden, tensors, golden, ("RTL", "golden"))
        if found is not None:
            return compared_case(made.seed, "", made.model, given, found)
    return Case(seed=made.seed, verdict="passed")


SUITE = Suite(
    name="networks",
    text="random networks of several operators, every tensor",
    backends=("golden", "verilator", "icarus"),
    plan=plan,
    run=run,
    designs=accelerator_designs,
)
