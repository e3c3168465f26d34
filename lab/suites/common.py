"""What the suites of the laboratory share: their options, their units, and how tensors compare.

Among the configurations that are asked for are odd ones: legal, and nobody would choose them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from eightfold.campaign.records import Case, Computing, Evidence, Unit, error_case
from eightfold.campaign.suite import Result, oracle
from eightfold.common.errors import InputError
from eightfold.common.program import CONFIG_HELP
from eightfold.model import Graph
from eightfold.model.graph import Arrays, Operator
from eightfold.operators import explain_element, load_model, run_graph
from eightfold.run.reference.oracle import OracleRejected, differ, litert_tensors, with_state
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.sim.simulator.build import Design
from eightfold.sim.simulator.system import system_design
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.gates import accelerator_source, levels_of
from lab.netlist_option import HELP

ODD = "odd"
"""The configuration that stands for odd ones by turns; theirs are called ``odd:3x5``."""

ODD_CONFIGS = {
    f"{ODD}:{config.lanes}x{config.width}": config
    for config in (
        PRESETS["nano"].replace(lanes=3, width=5, vector_lanes=8, psum_depth=16, line_depth=64),
        PRESETS["nano"].replace(
            lanes=1, width=2, port=32, vector_lanes=1, tables=4, parameter_banks=4
        ),
        PRESETS["nano"].replace(
            lanes=7, width=3, port=8, vector_lanes=2, output_depth=32, scratchpad=1 << 14
        ),
    )
}
"""Few, as each is a simulator that is built: lanes that are no power of two, a port narrower or
wider than both, a vector engine as wide as the scratchpad or of one lane."""

LANES = (1, 2, 3, 5, 7, 8, 12, 17, 33, 64)
"""Lanes and widths that are drawn; a width has two multiplications at least."""


def random_config(rng: np.random.Generator) -> AcceleratorConfig:
    """Return any legal configuration: odd numbers of lanes, a width, memories apart from it."""

    def power(low: int, high: int) -> int:
        """Return a power of two of a range whose ends are such."""
        return 1 << int(rng.integers(low.bit_length() - 1, high.bit_length()))

    lanes, width = (int(rng.choice(LANES)) for _ in range(2))
    port = power(4, 64)
    config = AcceleratorConfig(
        lanes=lanes,
        width=max(width, 2),
        port=port,
        psum_depth=power(16, 1024),
        parameter_banks=power(4, 64),
        output_depth=power(32, 128),
        scratchpad=power(1 << 14, 1 << 18),
        weight_buffer=power(max(512, 32 * port), 1 << 14),
        line_depth=power(16, 1024),
        vector_lanes=1,
        tables=power(2, 16),
        command_queue=power(64, 256),
    )
    return config.replace(vector_lanes=power(1, config.vector))


SEEDS = click.IntRange(0, (1 << 62) - 1)
"""A database has integers of 64 bits, and more cases follow the first one."""

SEED = click.Option(["--seed"], type=SEEDS, default=0, show_default=True, help="Of the first case.")
BACKEND = click.Option(
    ["--backend"],
    type=click.Choice(["golden", "verilator", "icarus"]),
    default="golden",
    show_default=True,
    help="golden is compared with the reference's kernels, RTL in a simulator with golden.",
)
CONFIG = click.Option(
    ["--config"],
    default="base",
    show_default=True,
    help=f"{CONFIG_HELP}; {ODD}: a few that nobody would choose, by turns.",
)
NETLIST = click.Option(["--netlist"], default="", metavar="NAME", help=HELP)
REFERENCE = click.Option(
    ["--reference"],
    type=click.Choice(["litert", "tflm"]),
    default="litert",
    show_default=True,
    help="Whose kernels to equal, and to compare with, where LiteRT and TFLite Micro differ.",
)
STALL = click.Option(
    ["--stall"],
    type=click.FloatRange(0, 1, max_open=True),
    help="Probability that a channel of the memory pauses; 0, 0.1 and 0.4 by turns without it.",
)
SIMULATED = (SEED, BACKEND, CONFIG, NETLIST, REFERENCE, STALL)
"""Options of suites that golden or a simulator computes."""

FILES = click.Option(
    ["--files"],
    multiple=True,
    metavar="PATH",
    help="A file or folder of hw/, all of it by default; FILE:N is number N of a file. May be "
    "given several times.",
)


@dataclass(frozen=True, kw_only=True)
class Request(Computing):
    """What a suite is asked for: values of its options, and how many cases."""

    cases: int = 0
    seed: int = 0
    operators: str = "all"
    files: Sequence[str] = ()

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> "Request":
        """Return the request of what `eightfold.campaign.suite.Suite.plan` is given."""
        given = {"backend": "golden", **asked}
        if given.get("netlist") and given["backend"] == "golden":
            raise InputError("--netlist is simulated; use --backend verilator")
        if config := given.get("config"):
            settings = "" if config == ODD else settings_of(AcceleratorConfig.load(config))
            given |= {"config": Path(config).stem, "settings": settings}
        return cls(**given)

    def units(self, suite: str, operator: str, together: int) -> Iterator[Unit]:
        """Yield the units of all cases, ``together`` at a time."""
        computing = {each.name: getattr(self, each.name) for each in fields(Computing)}
        if self.backend == "golden":
            computing |= {"config": "", "settings": "", "stall": None, "coverage": False}
        for netlist in levels_of(self.netlist):
            yield from self._units(suite, operator, together, computing | {"netlist": netlist})

    def _units(
        self, suite: str, operator: str, together: int, computing: dict[str, Any]
    ) -> Iterator[Unit]:
        first = self.seed
        stop = self.seed + self.cases
        odd = computing["config"] == ODD
        while first < stop:
            # Of an odd configuration a seed is enough to know which.
            count = min(together - first % together if odd else together, stop - first)
            if odd:
                name = list(ODD_CONFIGS)[first // together % len(ODD_CONFIGS)]
                computing |= {"config": name, "settings": settings_of(ODD_CONFIGS[name])}
            yield Unit(suite=suite, operator=operator, first=first, count=count, **computing)
            first += count


def planned(plan: Callable[[Request], Iterable[Unit]]) -> Callable[..., Iterable[Unit]]:
    """Return the `plan` of a suite that is asked by a `Request`."""
    return lambda asked: plan(Request.of(asked))


def plan_in_units(suite: str, together: int | Mapping[str, int]) -> Callable[..., Iterable[Unit]]:
    """Return the `plan` of a suite with so many cases in a unit, by backend if that matters."""

    def plan(request: Request) -> Iterable[Unit]:
        count = together if isinstance(together, int) else together[request.backend]
        return request.units(suite, "", count)

    return planned(plan)


def run_without_waves(case: Callable[[Unit, int], Case]) -> Callable[..., Result]:
    """Return the `run` of a suite that simulates nothing itself."""

    def run(unit: Unit, trace: Path | None = None) -> Result:
        if trace is not None:
            raise InputError(f"{unit.suite} have no waves; repeat the case without --trace")
        return Result([case(unit, seed) for seed in unit.seeds])

    return run


def run_each(case: Callable[[Unit, int, Path | None], Case]) -> Callable[..., Result]:
    """Return the `run` of a suite whose cases run one after the other."""

    def run(unit: Unit, trace: Path | None = None) -> Result:
        return Result([case(unit, seed, trace) for seed in unit.seeds])

    return run


def settings_of(config: AcceleratorConfig) -> str:
    """Return a configuration's fields as a unit has them."""
    return json.dumps(config.as_dict(), sort_keys=True)


def golden_reference(unit: Unit) -> str | None:
    """Return the runtime that golden is compared with; RTL is compared with golden."""
    return unit.reference if unit.backend == "golden" else None


def accelerator_designs(unit: Unit) -> Sequence[Design]:
    """Return what is simulated of a unit that is the accelerator's, unless golden computes it."""
    if unit.backend == "golden":
        return ()
    config = unit.configuration()
    return (system_design(config, accelerator_source(config, unit.netlist)),)


Found = tuple[str, Evidence] | None
"""What differs, in a line and in full; None if nothing does."""


def golden_case(
    unit: Unit,
    seed: int,
    model: bytes,
    inputs: Arrays,
    further: Callable[[Graph, Arrays], Found] = lambda graph, values: None,
) -> Case:
    """Compare golden with the kernels of the unit's reference on every tensor of a model.

    ``further``: finds what else is wrong with a graph of which golden's tensors are right.
    """
    reference = unit.reference
    try:
        graph = load_model(model)
        if reason := undefined(unit, graph):
            return refused_case(seed, unit.operator, reason)
        expected: Arrays = {}
        if reference == "tflm":  # at first: what it refuses golden refuses too
            expected = with_state(graph, oracle(reference).run(model, inputs))
        values = {**inputs, **run_graph(graph, inputs, reference)}
        if reference == "litert":
            expected = litert_tensors(oracle(reference), model, graph, inputs, values)
        names = ("golden", RUNTIMES[reference].title)
        found = compare(graph, graph.operators, values, values, expected, names)
        return compared_case(seed, unit.operator, model, inputs, found or further(graph, values))
    except OracleRejected as error:
        if reference == "litert":  # every model is one that it accepts
            return error_case(seed, unit.operator, error, model)
        return refused_case(seed, unit.operator, str(error))
    except Exception as error:
        return error_case(seed, unit.operator, error, model)


@dataclass(frozen=True)
class Drawn:
    """A model that was drawn for the accelerator; ``model`` are the bytes of ``graph``."""

    seed: int
    model: bytes
    graph: Graph


D = TypeVar("D", bound=Drawn)


def together_or_alone(
    simulate: Callable[[Unit, Sequence[D], Path | None], list[Case]],
    unit: Unit,
    drawn: Sequence[D],
    trace: Path | None,
) -> list[Case]:
    """Return the cases of one simulation of all models; where that fails, of one for each."""
    try:
        return simulate(unit, drawn, trace) if drawn else []
    except Exception as error:
        if len(drawn) == 1:
            return [error_case(drawn[0].seed, unit.operator, error, drawn[0].model)]
    alone = [(replace(unit, first=each.seed, count=1), [each]) for each in drawn]
    return [case for one in alone for case in together_or_alone(simulate, *one, None)]


def compared_case(seed: int, operator: str, model: bytes, inputs: Arrays, found: Found) -> Case:
    if found is None:
        return Case(seed=seed, operator=operator, verdict="passed")
    message, evidence = found
    return Case(
        seed=seed,
        operator=operator,
        verdict="failed",
        message=message,
        evidence=replace(evidence, model=model, inputs=inputs),
    )


def refused_case(seed: int, operator: str, reason: str) -> Case:
    return Case(seed=seed, operator=operator, verdict="refused", message=reason)


def undefined(unit: Unit, graph: Graph) -> str:
    """Return why the kernels of a unit's reference say nothing of a graph; empty if they do."""
    if unit.reference == "tflm" and any(len(tensor.shape) > 5 for tensor in graph.tensors):
        return "TFLite Micro's kernels are undefined beyond 5 dimensions"
    return ""


def first_difference(got: np.ndarray, expected: np.ndarray) -> tuple[int, ...] | None:
    """Return the index of the first element that differs; NaN equals NaN."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"{got.dtype} {got.shape} in place of {expected.dtype} {expected.shape}")
    places = np.argwhere(differ(got, expected))
    return tuple(int(i) for i in places[0]) if len(places) else None


def against_golden(graph: Graph, got: Arrays, golden: Arrays) -> Found:
    """Compare what RTL has computed of a graph with golden's tensors, as `compare` does."""
    return compare(graph, graph.operators, golden, got, golden, ("RTL", "golden"))


def compare(
    graph: Graph,
    operators: Iterable[Operator],
    values: Arrays,
    got: Arrays,
    expected: Arrays,
    names: tuple[str, str],
) -> Found:
    """Compare the results of operators in their order.

    ``values``: inputs, and golden's tensors: what the arithmetic of an element is explained with.
    ``got``, ``expected``: tensors by index, whose authors are ``names``. Returns what
    differs first.
    """
    for operator in operators:
        for output, index in enumerate(operator.outputs):
            place = f"{operator}, {graph.tensors[index]}"
            missing = [
                name for name, of in zip(names, (got, expected), strict=True) if index not in of
            ]
            if missing:
                return f"{place}: {missing[0]} has no such tensor", Evidence()
            one, other = got[index], expected[index]
            arrays = Evidence(got={index: one}, expected={index: other})
            try:
                first = first_difference(one, other)
            except ValueError as error:
                return f"{place}: {error}", arrays
            if first is None:
                continue
            count = np.count_nonzero(one != other)
            text = (
                f"{place}: {count} of {one.size} differ, first at {list(first)}: "
                f"{names[0]} {one[first]}, {names[1]} {other[first]}"
            )
            steps = explain_element(graph, operator, values, output, first)
            return text, replace(arrays, log="\n".join([text, "", *steps]))
    return None
