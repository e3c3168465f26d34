"""What a worker has, simulators that were built once elsewhere, and does: one unit at a time.

Its simulators need no compiler there. A unit goes from its record to its outcome.
"""

import faulthandler
import io
import os
import socket
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from distributed import Worker, WorkerPlugin

from eightfold.campaign.records import Result, Unit
from eightfold.campaign.suite import campaign_sources, loaded_runtime, suite_of
from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress
from eightfold.sim.simulator.build import Model, build_model, design_key, give_model
from eightfold.sim.simulator.cache import cached, is_private, is_sound, private_folder


@dataclass
class Builds(WorkerPlugin):
    """The simulators of a campaign; a worker puts them into its cache when it starts.

    ``models`` are those built here by their `eightfold.sim.simulator.build.design_key`, and
    ``archives`` their folders, packed. ``runtimes`` are the packages of references by their names,
    as they were loaded here.
    """

    name = "eightfold-builds"
    source: str
    models: dict[str, Model] = field(default_factory=dict)
    archives: dict[str, bytes] = field(default_factory=dict)
    runtimes: dict[str, str] = field(default_factory=dict)

    def setup(self, worker: Worker) -> None:
        """Unpack what is not there.

        Raises `InputError` if the worker has another version of Eightfold or of a runtime, whose
        results would not be comparable.
        """
        if self.source != campaign_sources():
            raise InputError(
                f"worker {worker.address}: has other sources of Eightfold than this campaign; "
                "install the same version there"
            )
        for reference, wanted in self.runtimes.items():
            if (found := loaded_runtime(reference)) != wanted:
                raise InputError(
                    f"worker {worker.address}: has {found}, and this campaign {wanted}; "
                    "install the same version there"
                )
        for key, model in self.models.items():
            if not is_sound(model.directory):  # another machine, or another cache
                unpack = partial(_unpack, self.archives[key])
                model = replace(model, directory=cached("sent", key, unpack))
            give_model(key, model)
        PREPARED.set()


def build(units: Iterable[Unit], on_progress: OnProgress | None = None) -> Builds:
    """Build whatever the units simulate, and return it packed.

    Raises `InputError` if a simulator, or what it needs, is missing here.
    """
    chosen = {(u.suite, u.backend, u.config, u.settings, u.netlist, u.reference): u for u in units}
    found = Builds(campaign_sources())
    for unit in chosen.values():
        if reference := suite_of(unit).runtime(unit):
            found.runtimes[reference] = loaded_runtime(reference)
        for design in suite_of(unit).designs(unit):
            key = design_key(design, unit.simulator)
            if key not in found.models:
                found.models[key] = build_model(design, unit.simulator, on_progress=on_progress)
                found.archives[key] = _pack(found.models[key].directory)
    return found


def _pack(folder: Path) -> bytes:
    """Return a build as bytes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return file.getvalue()


def _unpack(archive: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        # Python 3.11 has filters from 3.11.4 on; Debian 12 has 3.11.2.
        files.extraction_filter = getattr(tarfile, "data_filter", None)
        files.extractall(folder)


PREPARED = threading.Event()
"""Set when a worker has its simulators: a new one may be given a unit before."""

_PREPARING_SECONDS = 60.0


def run_unit(record: str, limit: float | None = None, private: str = "") -> tuple[str, Result]:
    """Run a unit, by its record; return where, and its outcome.

    ``limit``: seconds after which this process ends itself, times the suite's `patience`: only so a
    kernel or a simulator that hangs is got rid of. ``private``: folder of the run, where
    `where_it_hung` finds where that was; a worker on another machine has one of its own.
    """
    if limit is not None:
        PREPARED.wait(_PREPARING_SECONDS)
    unit = Unit.from_record(record)
    started = time.monotonic()
    suite = suite_of(unit)
    with _limited(unit, None if limit is None else limit * suite.patience, private):
        result = suite.run(unit, None)
    result = replace(result, seconds=time.monotonic() - started)
    return f"{socket.gethostname()} {os.getpid()}", result


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
