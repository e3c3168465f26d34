"""Every operator in RTL equals golden on random models, with random stalls.

``eightfold campaign run operators --backend verilator`` asks for more models, and for others.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice

import pytest

from eightfold.campaign.records import Unit
from eightfold.cases.operators import OPERATORS
from eightfold.compiler import HARDWARE
from eightfold.sim.simulator.toolchain import Simulator
from lab.coverage import POINTS
from lab.suites.operators import Part, parts, simulate_parts
from tests.support.campaign.units import units_of
from tests.support.hardware.twins import TWINS

MODELS = 2
"""Models of an operator."""

GROUP = 8
"""Operators of one run: seconds pass before it begins."""

NAMES = sorted(HARDWARE)
GROUPS = [NAMES[start : start + GROUP] for start in range(0, len(NAMES), GROUP)]


def test_every_operator_runs_and_has_bins() -> None:
    assert set(OPERATORS) >= HARDWARE
    assert set(POINTS) == HARDWARE


def unit_of(operator: str, simulator: Simulator) -> Unit:
    """Return the unit that draws models of an operator for a simulator."""
    config = {"icarus": "nano", "verilator": "small"}[simulator]
    (unit,) = units_of("operators", TWINS[config], config, backend=simulator, operators=operator)
    return unit


def models(unit: Unit) -> Iterator[Part]:
    """Yield models of an operator, for Icarus such that it simulates in seconds."""
    for seed in count():
        yield from parts(replace(unit, first=seed))[0]


@pytest.mark.slow
@pytest.mark.parametrize("operators", GROUPS, ids=lambda each: f"{each[0]}..{each[-1]}")
@pytest.mark.usual(names=["verilator", "icarus-ABS"])
def test_equals_golden(operators: list[str], simulator: Simulator) -> None:
    units = [unit_of(name, simulator) for name in operators]
    cases, _ = simulate_parts(
        units[0], [part for each in units for part in islice(models(each), MODELS)]
    )
    wrong = [f"{case.operator}, seed {case.seed}: {case.message}" for case in cases if case.message]
    assert not wrong
