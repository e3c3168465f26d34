"""Simulators for workers: built once here, sent along, found there without a compiler."""

import hashlib
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import cast

from distributed import Worker, WorkerPlugin

from eightfold.campaign.records import Unit
from eightfold.campaign.suites import suite_of
from eightfold.campaign.work import PREPARED
from eightfold.errors import InputError
from eightfold.files import IMPORT_ROOT
from eightfold.sim.simulator.build import Model, build_model, design_key, give_model
from eightfold.sim.simulator.cache import cached, is_sound
from eightfold.sim.simulator.progress import OnProgress
from eightfold.sim.simulator.toolchain import Simulator


@cache
def source_key() -> str:
    """Return a hash of Eightfold's own sources: what a worker must have the same."""
    digest = hashlib.sha256()
    package = IMPORT_ROOT / "eightfold"
    folders = [package, *(package / name for name in ("golden", "hw", "sim"))]
    files = {
        path for folder in folders for kind in ("py", "v") for path in folder.rglob(f"*.{kind}")
    }
    for path in sorted(files):
        digest.update(f"{path.relative_to(package)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass
class Builds(WorkerPlugin):
    """The simulators of a campaign; a worker puts them into its cache when it starts.

    ``models`` are those built here by their `eightfold.sim.simulator.build.design_key`, and
    ``archives`` their folders, packed.
    """

    name = "eightfold-builds"
    source: str
    models: dict[str, Model] = field(default_factory=dict)
    archives: dict[str, bytes] = field(default_factory=dict)

    def setup(self, worker: Worker) -> None:
        """Unpack what is not there.

        Raises
        ------
        InputError
            If the worker has another version of Eightfold, whose results would not be comparable.
        """
        if self.source != source_key():
            raise InputError(
                f"worker {worker.address}: has other sources of Eightfold than this campaign; "
                "install the same version there"
            )
        for key, model in self.models.items():
            if not is_sound(model.directory):  # another machine, or another cache

                def unpack(folder: Path, archive: bytes = self.archives[key]) -> None:
                    _unpack(archive, folder)

                model = replace(model, directory=cached("sent", key, unpack))
            give_model(key, model)
        PREPARED.set()


def build(units: Iterable[Unit], on_progress: OnProgress | None = None) -> Builds:
    """Build whatever the units simulate, and return it packed.

    Raises
    ------
    InputError
        If a simulator, or what it needs, is missing here.
    """
    chosen = {(u.suite, u.backend, u.config, u.settings, u.netlist): u for u in units}
    found = Builds(source_key(), {}, {})
    for unit in chosen.values():
        simulator = cast(Simulator, unit.backend)  # where there are designs
        for design in suite_of(unit).designs(unit):
            key = design_key(design, simulator)
            if key not in found.models:
                found.models[key] = build_model(design, simulator, on_progress=on_progress)
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
        files.extractall(folder, filter="data")
