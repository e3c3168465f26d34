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
from eightfold.campaign.suites import SUITES

PREPARED = threading.Event()
"""Set when a worker has its simulators: a new one may be given a unit before."""

_PREPARING_SECONDS = 60.0


def run_unit(record: str, limit: float | None = None) -> tuple[str, Outcome]:
    """Run a unit; return where, and its outcome.

    Parameters
    ----------
    record
        The unit, as `eightfold.campaign.records.Unit.as_record` wrote it.
    limit
        Seconds after which this process ends itself, times the suite's `patience`: only so a kernel
        or a simulator that hangs is got rid of. Where it hung is in a file of the folder for
        temporary files.
    """
    if limit is not None:
        PREPARED.wait(_PREPARING_SECONDS)
    unit = Unit.from_record(record)
    started = time.monotonic()
    suite = SUITES[unit.suite]
    with _limited(unit, None if limit is None else limit * suite.patience):
        result = suite.run(unit, None)
    seconds = time.monotonic() - started
    outcome = Outcome(
        cases=tuple(result.cases), hits=result.hits, answers=result.answers, seconds=seconds
    )
    return f"{socket.gethostname()} {os.getpid()}", outcome


@contextmanager
def _limited(unit: Unit, limit: float | None) -> Iterator[None]:
    if limit is None:
        yield
        return
    # A thread of the interpreter's own, which needs no lock: it works in a loop in C as well.
    path = Path(tempfile.gettempdir()) / f"eightfold-hung-{unit.name}.txt"
    with path.open("w") as file:
        faulthandler.dump_traceback_later(limit, exit=True, file=file)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
    path.unlink()
