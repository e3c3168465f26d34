"""Units of campaigns as tests: all cases must pass, or be refused for a reason."""

import pytest

from eightfold.campaign.records import GOOD, Unit
from eightfold.campaign.suites import SUITES, Request
from eightfold.campaign.suites.suite import settings_of
from eightfold.cases.operators import OPERATORS
from eightfold.target.config import PRESETS, AcceleratorConfig


def request(
    backend: str,
    config: AcceleratorConfig = PRESETS["base"],
    name: str = "base",
    operators: tuple[str, ...] = OPERATORS,
    models: int = 1,
    networks: int = 1,
) -> Request:
    """Return a request of cases from seed 0."""
    return Request(
        operators=operators,
        backend=backend,
        config=name,
        settings=settings_of(config),
        models=models,
        networks=networks,
        runs=1,
        seed=0,
    )


def units(suite: str, asked: Request) -> list:
    """Return the units of a suite as parameters of a test."""
    return [pytest.param(unit, id=unit.name) for unit in SUITES[suite].plan(asked)]


def expect_passed(unit: Unit) -> None:
    """Run a unit; fail with its first case that is wrong, and the command that repeats it."""
    for case in SUITES[unit.suite].run(unit, None).cases:
        if case.verdict not in GOOD:
            log = case.evidence.log if case.evidence else ""
            pytest.fail(f"{case.message}\n{log}\nrepeat: {unit.command(case.seed)}", pytrace=False)
