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
from lab.coverage.bins import POINTS
from lab.suites.operators import Part, parts, simulate_parts
from tests.support.campaign.units import expect_passed, unit_parameters, units_of
from tests.support.hardware.twins import TWINS

ON_ICARUS = 2
"""Models of an operator on Icarus."""

GROUP = 8
"""Operators of one run on Icarus, which takes seconds to load the accelerator."""

NAMES = sorted(HARDWARE)


def test_every_operator_runs_and_has_bins() -> None:
    assert set(OPERATORS) >= HARDWARE
    assert set(POINTS) == HARDWARE


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", unit_parameters("operators", TWINS["small"], "small", backend="verilator", cases=8)
)
def test_equals_golden_on_small(unit: Unit) -> None:
    expect_passed(unit)


def on_icarus(operator: str) -> Unit:
    """Return the unit that draws models of an operator for Icarus."""
    (unit,) = units_of("operators", backend="icarus", config="nano", operators=operator)
    return unit


def small_models(operator: str) -> Iterator[Part]:
    """Yield models of an operator that Icarus simulates in seconds."""
    unit = on_icarus(operator)
    for seed in count():
        yield from parts(replace(unit, first=seed))[0]


def groups() -> list:
    """Return the operators, `GROUP` at a time; Icarus has a few of them, and all if long."""
    found = [NAMES[start : start + GROUP] for start in range(0, len(NAMES), GROUP)]
    return [
        pytest.param(
            each, id=f"{each[0]}..{each[-1]}", marks=[pytest.mark.long] if number % 12 else []
        )
        for number, each in enumerate(found)
    ]


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("operators", groups())
def test_equals_golden_on_icarus(operators: list[str]) -> None:
    models = [part for name in operators for part in islice(small_models(name), ON_ICARUS)]
    cases, _ = simulate_parts(on_icarus(operators[0]), models)
    wrong = [f"{case.operator}, seed {case.seed}: {case.message}" for case in cases if case.message]
    assert not wrong
