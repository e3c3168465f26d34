"""What a worker does: one unit, from its record to its outcome."""

import faulthandler
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eightfold.campaign.records import Outcome, Unit
from eightfold.campaign.suite import suite_of
from eightfold.sim.simulator.cache import is_private, private_folder

PREPARED = threading.Event()
"""Set when a worker has its simulators: a new one may be given a unit before."""

_PREPARING_SECONDS = 60.0


def run_unit(record: str, limit: float | None = None, private: str = "") -> tuple[str, Outcome]:
    """Run a unit; return where, and its outcome.

    Parameters
    ----------
    record
        The unit, as `eightfold.campaign.records.Unit.as_record` wrote it.
    limit
        Seconds after which this process ends itself, times the suite's `patience`: only so a kernel
        or a simulator that hangs is got rid of.
    private
        Folder of the run, where `where_it_hung` finds where that was. A worker on another machine
        has one of its own.
    """
    if limit is not None:
        PREPARED.wait(_PREPARING_SECONDS)
    unit = Unit.from_record(record)
    started = time.monotonic()
    suite = suite_of(unit)
    with _limited(unit, None if limit is None else limit * suite.patience, private):
        result = suite.run(unit, None)
    seconds = time.monotonic() - started
    outcome = Outcome(
        cases=tuple(result.cases), hits=result.hits, answers=result.answers, seconds=seconds
    )
    return f"{socket.gethostname()} {os.getpid()}", outcome


@contextmanager
def _limited(unit: Unit, limit: float | None, private: str) -> Iterator[None]:
    if limit is None:
        yield
        return
    folder = private if private and is_private(Path(private)) else private_folder()
    number, name = tempfile.mkstemp(".hung", f"{unit.name}-", folder)
    # A thread of the interpreter's own, which needs no lock: it works in a loop in C as well.
    with open(number, "w") as file:
        faulthandler.dump_traceback_later(limit, exit=True, file=file)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            Path(name).unlink(missing_ok=True)


def where_it_hung(unit: Unit, private: Path) -> str:
    """Return the stacks of the workers that ended themselves because of a unit; empty of others."""
    files = sorted(private.glob(f"{unit.name}-*.hung"))
    return "\n".join(path.read_text("utf-8", "replace") for path in files).strip()
