"""Random models of one operator: golden against the reference's kernels, RTL against golden."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import click
import numpy as np

from eightfold.campaign.coverage import Bin
from eightfold.campaign.records import Case, Unit, error_case
from eightfold.campaign.suite import Hits, Result, Suite, oracle
from eightfold.cases.networks import combined
from eightfold.cases.operators import OPERATORS, accelerator_case, case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network, computed
from eightfold.golden.quantization import Reference
from eightfold.model import Graph
from eightfold.operators import load_model, run_graph, run_operator
from eightfold.run.reference.oracle import OracleRejected, deviates, litert_outputs, with_state
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.run.simulate import simulate_network
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import AcceleratorConfig
from lab.coverage import EXCLUDED, covered, every_bin
from lab.gates import netlist_source
from lab.suites.common import (
    SIMULATED,
    Request,
    accelerator_designs,
    compare,
    compared_case,
    golden_reference,
    planned,
    refused_case,
    undefined,
)

TOGETHER = {"golden": 200, "verilator": 100, "icarus": 8}
"""Models of a unit, so that starting a simulator is a small share; docs/campaigns.md has costs."""

SOON = 10
"""Models of an operator's first unit in RTL: all operators have been seen after a minute."""

MOST_ELEMENTS = 600
"""The most elements of a model on Icarus, a hundred times slower than Verilator."""


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some models of one operator each."""
    for operator in chosen(request.operators, request.backend, request.config):
        for unit in request.units("operators", operator, TOGETHER[request.backend]):
            yield from _soon(unit) if unit.first == request.seed else (unit,)


def chosen(text: str, backend: str, config: str = "base") -> list[str]:
    """Return the operators that ``--operators`` names; all are those that the backend computes, of
    the accelerator with what the configuration has.

    Raises InputError if there is no such operator, or the backend does not compute it.
    """
    here = frozenset(OPERATORS)
    if backend != "golden":
        here = computed(AcceleratorConfig.load(config))
    if text == "all":
        return [name for name in OPERATORS if name in here]
    names = [name.strip().upper() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(OPERATORS)):
        raise InputError(f"--operators: no operator {', '.join(unknown)}; eightfold ops lists them")
    if none := sorted(set(names) - here):
        raise InputError(
            f"--operators: the accelerator does not compute {', '.join(none)}; use --backend golden"
        )
    return list(dict.fromkeys(names))


def _soon(unit: Unit) -> tuple[Unit, ...]:
    """Return an operator's first unit, in RTL with a few of its models ahead of the others."""
    if unit.backend == "golden" or unit.count <= SOON:
        return (unit,)
    rest = replace(unit, first=unit.first + SOON, count=unit.count - SOON)
    return replace(unit, count=SOON), rest


def run(unit: Unit, trace: Path | None = None) -> Result:
    if unit.backend == "golden":
        return Result([golden_case(unit, seed) for seed in unit.seeds], {})
    return _on_rtl(unit, trace)


def golden_case(unit: Unit, seed: int) -> Case:
    """Compare golden with the kernels of the unit's reference on one model."""
    model = None
    try:
        make = random_case if unit.reference == "litert" else accelerator_case
        model, inputs = make(unit.operator, case_rng(unit.operator, seed))
        return _compared(unit, seed, model, inputs)
    except Exception as error:
        return error_case(seed, unit.operator, error, model)


def _compared(unit: Unit, seed: int, model: bytes, inputs: Mapping[int, np.ndarray]) -> Case:
    graph = load_model(model)
    (operator,) = graph.operators
    if reason := undefined(unit, graph):
        return refused_case(seed, unit.operator, reason)
    runtime = oracle(unit.reference)
    try:
        if unit.reference == "litert" and deviates(graph):
            outputs = litert_outputs(runtime, graph, operator, inputs)
            expected = dict(zip(operator.outputs, outputs, strict=True))
        else:
            expected = with_state(graph, runtime.run(model, inputs))
    except OracleRejected as error:
        if unit.reference == "litert":
            raise  # every model is one that it accepts
        return refused_case(seed, unit.operator, str(error))
    inputs = {**graph.initial_state(), **inputs}
    results = run_operator(graph, operator, inputs, cast(Reference, unit.reference))
    got = dict(zip(operator.outputs, results, strict=True))
    names = ("golden", RUNTIMES[unit.reference].title)
    values = {**inputs, **got}
    found = compare(graph, graph.operators, values, got, expected, names)
    return compared_case(seed, unit.operator, model, inputs, found)


@dataclass(frozen=True)
class Part:
    """A model for the accelerator; ``model`` are the bytes of ``graph``."""

    operator: str
    seed: int
    model: bytes
    graph: Graph
    inputs: dict[int, np.ndarray]


def parts(unit: Unit) -> tuple[list[Part], list[Case]]:
    """Return the models of a unit that the accelerator takes, and the cases of the others."""
    taken, refused = [], []
    for seed in unit.seeds:
        try:
            model, inputs = accelerator_case(unit.operator, case_rng(unit.operator, seed))
            graph = load_model(model)
        except Exception as error:
            refused.append(error_case(seed, unit.operator, error))
            continue
        if reason := _not_for_rtl(unit, graph):
            refused.append(refused_case(seed, unit.operator, reason))
        else:
            taken.append(Part(unit.operator, seed, model, graph, inputs))
    return taken, refused


def _not_for_rtl(unit: Unit, graph: Graph) -> str:
    if any(tensor.dtype == np.float32 for tensor in graph.tensors):
        return "float32 is computed by golden, not by the accelerator"
    elements = sum(int(np.prod(tensor.shape)) for tensor in graph.tensors)
    if unit.backend == "icarus" and elements > MOST_ELEMENTS:
        return f"more than {MOST_ELEMENTS} elements, which take Icarus too long"
    return undefined(unit, graph)


def _on_rtl(unit: Unit, trace: Path | None) -> Result:
    """Run models side by side in one stream; where that fails, each alone to find which."""
    taken, cases = parts(unit)
    hits = {}
    if taken:
        try:
            found, hits = simulate_parts(unit, taken, trace)
        except Exception as error:
            if len(taken) == 1:
                found = [error_case(taken[0].seed, unit.operator, error, taken[0].model)]
            else:
                found = [case for part in taken for case in _alone(unit, part)]
        cases += found
    return Result(sorted(cases, key=lambda case: case.seed), hits)


def _alone(unit: Unit, part: Part) -> Sequence[Case]:
    return _on_rtl(replace(unit, first=part.seed, count=1), None).cases


def simulate_parts(
    unit: Unit, taken: Sequence[Part], trace: Path | None = None
) -> tuple[list[Case], Hits]:
    """Run models in one simulation; return their cases, and what they have covered."""
    graph, inputs = combined([(part.graph, part.inputs) for part in taken])
    reference = cast(Reference, unit.reference)
    network = compile_network(graph, unit.configuration(), reference, keep=True)
    turn = taken[0].seed // TOGETHER[unit.backend] + OPERATORS.index(taken[0].operator)
    (ran,) = simulate_network(
        graph,
        network,
        [inputs],
        simulator=cast(Simulator, unit.backend),
        reference=unit.reference,
        stall=unit.stalls(turn),
        seed=turn,
        source=netlist_source(unit.netlist),
        trace=trace,
    )
    golden = run_graph(graph, inputs, reference)
    cases = []
    base = 0
    for part in taken:
        mine = range(base, base + len(part.graph.tensors))
        got, expected = (
            {tensor - base: values[tensor] for tensor in mine if tensor in values}
            for values in (ran.tensors, golden)
        )
        base = mine.stop
        found = compare(
            part.graph, part.graph.operators, expected, got, expected, ("RTL", "golden")
        )
        cases.append(compared_case(part.seed, part.operator, part.model, part.inputs, found))
    if not unit.coverage:
        return cases, {}
    (stream,) = network.streams
    results = {tensor: ran.tensors[tensor] for each in graph.operators for tensor in each.outputs}
    hits = covered(graph, stream, inputs, results)
    return cases, {(b.operator, b.point, b.name): count for b, count in hits.items()}


def _bins() -> dict[Bin, str]:
    """Return every bin of functional coverage; those that no model can hit with the reason."""
    return dict.fromkeys(every_bin(), "") | EXCLUDED


SUITE = Suite(
    name="operators",
    text="random models of one operator each",
    run=run,
    plan=planned(plan),
    options=(
        click.Option(
            ["--operators"],
            default="all",
            show_default=True,
            metavar="NAMES",
            help="CONV_2D,ADD for example.",
        ),
        *SIMULATED,
        click.Option(
            ["--coverage"],
            is_flag=True,
            help="Sample functional coverage; the campaign has to reach it all.",
        ),
    ),
    cases=200,
    backends=("golden", "verilator", "icarus"),
    runtime=golden_reference,
    designs=accelerator_designs,
    bins=_bins,
)
