"""Simulators for workers: built once here, sent along, found there without a compiler."""

import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from distributed import Worker, WorkerPlugin

from eightfold.campaign.records import Unit
from eightfold.campaign.suite import campaign_sources, loaded_runtime, suite_of
from eightfold.campaign.work import PREPARED
from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress
from eightfold.sim.simulator.build import Model, build_model, design_key, give_model
from eightfold.sim.simulator.cache import cached, is_sound
from eightfold.sim.simulator.toolchain import Simulator


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

        Raises
        ------
        InputError
            If the worker has another version of Eightfold or of a runtime, whose results would not
            be comparable.
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
    chosen = {(u.suite, u.backend, u.config, u.settings, u.netlist, u.reference): u for u in units}
    found = Builds(campaign_sources())
    for unit in chosen.values():
        if reference := suite_of(unit).runtime(unit):
            found.runtimes[reference] = loaded_runtime(reference)
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
