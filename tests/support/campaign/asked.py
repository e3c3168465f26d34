"""What ``campaign.json`` says was asked in a run of ``eightfold conform run``."""

from collections.abc import Sequence
from typing import Any

from eightfold.campaign.records import Unit
from eightfold.conformance.suite import Task


def asked_of(units: Sequence[Unit]) -> dict[str, Any]:
    """Return what the units of a run were asked, all of it."""
    task = Task.from_unit(units[0])
    return {
        "adapter": task.adapter,
        "profile": task.profile,
        "level": task.level,
        "seed": task.seed,
        "claims": list(dict.fromkeys(unit.operator for unit in units)),
        "backend": units[0].backend,
    }
