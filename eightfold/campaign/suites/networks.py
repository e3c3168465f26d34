"""Random networks: golden against the reference's kernels, RTL against golden, on every tensor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from eightfold.campaign.records import Case, Unit
from eightfold.campaign.shrink import Budget
from eightfold.campaign.suites.odd_machine import differs_on_machine
from eightfold.campaign.suites.operators import MOST_ELEMENTS
from eightfold.campaign.suites.oracles import oracle
from eightfold.campaign.suites.smaller import smaller_network
from eightfold.campaign.suites.suite import (
    Request,
    Result,
    Suite,
    Tensors,
    accelerator_designs,
    compare,
    compared_case,
    error_case,
    golden_reference,
)
from eightfold.campaign.suites.together import Job, simulate_together
from eightfold.cases.draws import Case as Drawn
from eightfold.cases.networks import DRAWN, network_rng, random_network
from eightfold.cases.odd import MAX_ELEMENTS, odd_network
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, compile_network
from eightfold.execute import run_graph
from eightfold.golden.quantization import Reference
from eightfold.model import load_model
from eightfold.model.part import part_of
from eightfold.run.reference.deviations import litert_tensors
from eightfold.run.reference.oracle import OracleRejected
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.sim.simulator.toolchain import Simulator
from lab.hostile.subject import fitting_inputs

TOGETHER = {"golden": 20, "verilator": 10, "icarus": 1}
"""Networks of a unit, see `eightfold.campaign.suites.operators.TOGETHER`."""

ODD = 4
"""One of so many networks is an odd one."""


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some networks each."""
    yield from request.units("networks", "", request.networks, TOGETHER[request.backend])


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Run the networks of a unit; those that fail are shrunk."""
    budget = Budget()
    if unit.backend == "golden":
        return Result([golden_case(unit, seed, budget) for seed in unit.seeds], {})
    return Result(_on_rtl(unit, trace, budget), {})


def is_odd(seed: int) -> bool:
    """Return whether the network of a seed is one of `eightfold.cases.odd`."""
    return seed % ODD == ODD - 1


def golden_case(unit: Unit, seed: int, budget: Budget) -> Case:
    """Compare golden with the reference's kernels on every tensor of one network.

    An odd one also runs as commands on the accelerator's model in numpy, in an odd configuration.
    """
    model = None
    try:
        model, inputs = _drawn(unit, seed)
        case = _in_golden(unit, seed, model, inputs)
        judge = partial(_in_golden, unit, seed)
        return smaller_network(case, model, inputs, judge, budget, unit.reference)
    except Exception as error:
        return error_case(seed, "", error, model)


def _drawn(unit: Unit, seed: int) -> Drawn:
    operators = DRAWN - RUNTIMES[unit.reference].lacks
    draw = odd_network if is_odd(seed) else random_network
    return draw(network_rng(seed), operators=operators)


def _in_golden(unit: Unit, seed: int, model: bytes, inputs: Mapping[int, np.ndarray]) -> Case:
    try:
        graph = load_model(model)
        if unit.reference == "tflm" and any(len(tensor.shape) > 5 for tensor in graph.tensors):
            reason = "TFLite Micro's kernels are undefined beyond 5 dimensions"
            return Case(seed=seed, verdict="refused", message=reason)
        values = {**inputs, **run_graph(graph, inputs, cast(Reference, unit.reference))}
        if unit.reference == "litert":
            expected = litert_tensors(oracle("litert"), model, graph, inputs, values)
        else:
            expected = oracle(unit.reference).run(model, inputs)
        names = ("golden", RUNTIMES[unit.reference].title)
        found = compare(graph, graph.operators, values, values, expected, names)
        if found is None and is_odd(seed):
            found = differs_on_machine(graph, values, seed, cast(Reference, unit.reference))
        return compared_case(seed, "", model, inputs, found)
    except OracleRejected as error:
        if unit.reference == "litert":  # every network is one that it accepts
            return error_case(seed, "", error, model)
        return Case(seed=seed, verdict="refused", message=str(error))
    except Exception as error:
        return error_case(seed, "", error, model)


@dataclass(frozen=True)
class Network:
    """A random network for the accelerator, compiled, and its inputs, of which RTL runs each."""

    seed: int
    model: bytes
    job: Job


def make_network(unit: Unit, seed: int) -> Network:
    """Draw a network, and compile it; with two inputs."""
    rng = network_rng(seed)
    model, inputs = random_network(rng, operators=_for_accelerator(unit), lengths=(3, 12))
    return _compiled(unit, seed, model, [inputs, _others(rng, inputs)])


def make_odd_network(unit: Unit, seed: int) -> Network:
    """Draw an odd network, and compile what the unit's accelerator takes of it; with two inputs.

    Raises
    ------
    InputError
        If it takes no operator of it.
    """
    rng = network_rng(seed)
    most = MOST_ELEMENTS if unit.backend == "icarus" else MAX_ELEMENTS
    model, inputs = odd_network(rng, operators=_for_accelerator(unit), max_elements=most)
    reference = cast(Reference, unit.reference)
    values = inputs | run_graph(load_model(model), inputs, reference)
    while True:
        graph = load_model(model)
        network = compile_network(graph, unit.configuration(), reference, fallback=True)
        taken = [o.index for o in graph.operators if o.index not in network.reasons]
        if not taken:
            raise InputError(f"no operator runs here: {'; '.join(network.reasons.values())}")
        if not network.reasons:
            inputs = fitting_inputs(graph, values)
            return _compiled(unit, seed, model, [inputs, _others(rng, inputs)])
        model = part_of(model, taken)


def _for_accelerator(unit: Unit) -> frozenset[str]:
    return HARDWARE - RUNTIMES[unit.reference].lacks


def _others(rng: np.random.Generator, inputs: Tensors) -> Tensors:
    """Return other codes for the inputs that are codes."""
    return {
        tensor: rng.integers(-128, 128, array.shape).astype(np.int8)
        if array.dtype == np.int8
        else array
        for tensor, array in inputs.items()
    }


def _compiled(unit: Unit, seed: int, model: bytes, batch: Sequence[Tensors]) -> Network:
    graph = load_model(model)
    reference = cast(Reference, unit.reference)
    network = compile_network(graph, unit.configuration(), reference, keep=True)
    return Network(seed, model, Job(graph=graph, network=network, batch=batch))


def _on_rtl(unit: Unit, trace: Path | None, budget: Budget) -> list[Case]:
    """Run networks one after the other in one simulation; where that fails, each in its own."""
    cases, made = [], []
    for seed in unit.seeds:
        try:
            made.append((make_odd_network if is_odd(seed) else make_network)(unit, seed))
        except InputError as error:
            cases.append(Case(seed=seed, verdict="refused", message=str(error)))
        except Exception as error:
            cases.append(error_case(seed, "", error))
    try:
        found = _simulated(unit, made, trace) if made else []
    except Exception as error:
        if len(made) > 1:
            alone = (replace(unit, first=each.seed, count=1) for each in made)
            return _sorted(cases + [case for one in alone for case in _on_rtl(one, None, budget)])
        found = [error_case(made[0].seed, "", error, made[0].model)]
    return _sorted(
        cases + [_smaller(unit, each, case, budget) for each, case in zip(made, found, strict=True)]
    )


def _sorted(cases: list[Case]) -> list[Case]:
    return sorted(cases, key=lambda case: case.seed)


def _smaller(unit: Unit, made: Network, case: Case, budget: Budget) -> Case:
    """Return the case with the fewest operators that fail in a simulation of their own."""

    def judge(model: bytes, inputs: Tensors) -> Case:
        try:
            part = _compiled(unit, made.seed, model, [inputs])
            return _simulated(unit, [part], None)[0]
        except Exception as error:
            return error_case(made.seed, "", error, model)

    inputs = made.job.batch[0]
    if case.evidence and case.evidence.inputs:
        inputs = case.evidence.inputs
    return smaller_network(case, made.model, inputs, judge, budget, unit.reference)


def _simulated(unit: Unit, made: Sequence[Network], trace: Path | None) -> list[Case]:
    turn = unit.first // TOGETHER[unit.backend]
    found = simulate_together(
        [each.job for each in made],
        cast(Simulator, unit.backend),
        stall=unit.stalls(turn),
        seed=unit.first,
        netlist=unit.netlist,
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
    text="random networks of several operators, every tensor; each fourth is an odd one",
    backends=("golden", "verilator", "icarus"),
    plan=plan,
    run=run,
    runtime=golden_reference,
    designs=accelerator_designs,
    netlists=True,
)
