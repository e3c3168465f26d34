"""Runs of ``eightfold conform run`` without its command: what was asked, and the answers."""

from collections.abc import Iterable, Sequence
from typing import Any

from eightfold.campaign.folder import Folder
from eightfold.campaign.records import Unit
from eightfold.campaign.worker import run_unit
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


def answer(folder: Folder, places: Iterable[int] | None = None) -> Folder:
    """Run the units that wait, or those at some places among them, in a session without workers."""
    with folder.store(writable=True) as store:
        session = store.begin_session(1)
        waiting = store.waiting()
        for number, unit in waiting if places is None else [waiting[place] for place in places]:
            where, outcome = run_unit(unit.as_record())
            if outcome.answers:
                folder.keep_answers(unit, outcome.answers)
            store.keep(number, outcome, where)
        store.end_session(session, "complete")
    return folder
