"""Units of campaigns as tests: all cases must pass, or be refused for a reason."""

from dataclasses import replace
from typing import Any

import pytest

from eightfold.campaign.campaign import planned
from eightfold.campaign.records import GOOD, Case, Evidence, Unit
from eightfold.campaign.suite import suites
from lab.suites.common import settings_of


def units_of(suite: str, accelerator: Any = None, name: Any = "", **options: Any) -> list[Unit]:
    """Return the units of a suite that is asked for one case, or with other options.

    An accelerator, whose configuration is called ``name``, need not be one that has a file.
    """
    units = planned({suite: {"cases": 1, "config": "base", **options}})
    if accelerator is None:
        return units
    settings = settings_of(accelerator)
    return [replace(unit, config=name, settings=settings) for unit in units]


def unit_parameters(suite: str, *accelerator: Any, **options: Any) -> list:
    """Return `units_of` as parameters of a test."""
    return [pytest.param(unit, id=unit.name) for unit in units_of(suite, *accelerator, **options)]


def evidence_of(case: Case) -> Evidence:
    """Return what is kept of a case, which must be something."""
    assert case.evidence is not None
    return case.evidence


def expect_passed(unit: Unit) -> None:
    """Run a unit; fail with its first case that is wrong."""
    for case in suites()[unit.suite].run(unit, None).cases:
        if case.verdict not in GOOD:
            log = case.evidence.log if case.evidence else ""
            pytest.fail(f"{unit.case_name(case.seed)}: {case.message}\n{log}", pytrace=False)
