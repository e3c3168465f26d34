"""Random models of one operator: golden against the reference's kernels, RTL against golden."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np

from eightfold.campaign.records import Case, Unit, error_case
from eightfold.campaign.suite import Hits, Result, Suite
from eightfold.cases.networks import combined
from eightfold.cases.operators import OPERATORS, accelerator_case, case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network, computed
from eightfold.model import Graph
from eightfold.operators import load_model, run_graph
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.run.simulate import simulate_network
from eightfold.target.config import AcceleratorConfig
from lab.coverage import EXCLUDED, covered, every_bin
from lab.gates import netlist_source
from lab.suites import common
from lab.suites.common import Drawn, Request

TOGETHER = {"golden": 200, "verilator": 100, "icarus": 8}
"""Models of a unit, so that starting a simulator is a small share; docs/campaigns.md has costs."""

SOON = 10
"""Models of an operator's first unit in RTL: all operators have been seen after a minute."""

MOST_ELEMENTS = 600
"""The most elements of a model on Icarus, a hundred times slower than Verilator."""

TRIES = 10
"""How many models are drawn for Icarus until one is small enough."""


def plan(request: Request) -> Iterator[Unit]:
    """Yield units of some models of one operator each."""
    found = chosen(request.operators, request.backend, request.config)
    if request.operators == "all" and request.backend == "golden":
        lacks = RUNTIMES[request.reference].lacks
        found = [operator for operator in found if operator not in lacks]
    for operator in found:
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
        return Result([_in_golden(unit, seed) for seed in unit.seeds])
    return _on_rtl(unit, trace)


def _in_golden(unit: Unit, seed: int) -> Case:
    try:
        make = random_case if unit.reference == "litert" else accelerator_case
        model, inputs = make(unit.operator, case_rng(unit.operator, seed))
    except Exception as error:
        return error_case(seed, unit.operator, error)
    return common.golden_case(unit, seed, model, inputs)


@dataclass(frozen=True)
class Part(Drawn):
    """A model of one operator."""

    operator: str
    inputs: dict[int, np.ndarray]


def parts(unit: Unit) -> tuple[list[Part], list[Case]]:
    """Return the models of a unit that the accelerator takes, and the cases of the others."""
    taken, refused = [], []
    for seed in unit.seeds:
        try:
            model, inputs, graph = _drawn(unit, seed)
        except Exception as error:
            refused.append(error_case(seed, unit.operator, error))
            continue
        if reason := _not_for_rtl(unit, graph):
            refused.append(common.refused_case(seed, unit.operator, reason))
        else:
            taken.append(Part(seed, model, graph, unit.operator, inputs))
    return taken, refused


def _drawn(unit: Unit, seed: int) -> tuple[bytes, dict[int, np.ndarray], Graph]:
    """Return a model with its inputs; of those that are too large for Icarus the next one."""
    rng = case_rng(unit.operator, seed)
    tries = 0
    while True:
        model, inputs = accelerator_case(unit.operator, rng)
        graph = load_model(model)
        tries += 1
        if tries == TRIES or not _too_large(unit, graph):
            return model, inputs, graph


def _too_large(unit: Unit, graph: Graph) -> bool:
    elements = sum(int(np.prod(tensor.shape)) for tensor in graph.tensors)
    return unit.backend == "icarus" and elements > MOST_ELEMENTS


def _not_for_rtl(unit: Unit, graph: Graph) -> str:
    if any(tensor.dtype == np.float32 for tensor in graph.tensors):
        return "float32 is computed by golden, not by the accelerator"
    if _too_large(unit, graph):
        return f"more than {MOST_ELEMENTS} elements, which take Icarus too long"
    return common.undefined(unit, graph)


def _on_rtl(unit: Unit, trace: Path | None) -> Result:
    """Run models side by side in one stream; where that fails, each alone to find which."""
    taken, cases = parts(unit)
    hits: dict[tuple[str, str, str], int] = {}

    def simulate(one: Unit, some: Sequence[Part], trace: Path | None) -> list[Case]:
        found, seen = simulate_parts(one, some, trace)
        if len(some) == len(taken):
            hits.update(seen)
        return found

    cases += common.together_or_alone(simulate, unit, taken, trace)
    return Result(sorted(cases, key=lambda case: case.seed), hits)


def simulate_parts(
    unit: Unit, taken: Sequence[Part], trace: Path | None = None
) -> tuple[list[Case], Hits]:
    """Run models in one simulation; return their cases, and what they have covered."""
    graph, inputs = combined([(part.graph, part.inputs) for part in taken])
    network = compile_network(graph, unit.configuration(), unit.reference, keep=True)
    turn = taken[0].seed // TOGETHER[unit.backend] + OPERATORS.index(taken[0].operator)
    (ran,) = simulate_network(
        graph,
        network,
        [inputs],
        simulator=unit.simulator,
        reference=unit.reference,
        stall=unit.stalls(turn),
        seed=turn,
        source=netlist_source(unit.netlist),
        trace=trace,
    )
    golden = run_graph(graph, inputs, unit.reference)
    cases = []
    base = 0
    for part in taken:
        mine = range(base, base + len(part.graph.tensors))
        got, expected = (
            {tensor - base: values[tensor] for tensor in mine if tensor in values}
            for values in (ran.tensors, golden)
        )
        base = mine.stop
        found = common.against_golden(part.graph, got, expected)
        cases.append(common.compared_case(part.seed, part.operator, part.model, part.inputs, found))
    if not unit.coverage:
        return cases, {}
    (stream,) = network.streams
    results = {tensor: ran.tensors[tensor] for each in graph.operators for tensor in each.outputs}
    hits = covered(graph, stream, inputs, results)
    return cases, {(b.operator, b.point, b.name): count for b, count in hits.items()}


SUITE = Suite(
    name="operators",
    text="random models of one operator each",
    run=run,
    plan=common.planned(plan),
    options=(
        click.Option(
            ["--operators"],
            default="all",
            show_default=True,
            metavar="NAMES",
            help="CONV_2D,ADD for example.",
        ),
        *common.SIMULATED,
        click.Option(
            ["--coverage"],
            is_flag=True,
            help="Sample functional coverage; the campaign has to reach it all.",
        ),
    ),
    cases=200,
    backends=("golden", "verilator", "icarus"),
    runtime=common.golden_reference,
    designs=common.accelerator_designs,
    bins=lambda: dict.fromkeys(every_bin(), "") | EXCLUDED,
)
