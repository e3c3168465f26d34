"""A campaign from its request to its end: what the command line calls, in Python."""

import shlex
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from eightfold.campaign.engine import Engine
from eightfold.campaign.farm import Farm, connect
from eightfold.campaign.folder import Folder
from eightfold.campaign.identity import check_identity, facts_of, joined_facts, renewed_facts
from eightfold.campaign.records import Case, Unit
from eightfold.campaign.store import Store
from eightfold.campaign.suite import adapter_of, suite_of, suites
from eightfold.campaign.worker import Builds, build
from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress


def planned(asked: Mapping[str, Mapping[str, Any]]) -> list[Unit]:
    """Return the units of what each of some suites is asked for, see `Suite.plan`.

    Raises `InputError` if a suite does not run on the backend, or has no cases of what is asked
    for.
    """
    units = []
    for name, options in asked.items():
        suite = suites()[name]
        backend = options.get("backend")
        if suite.backends and backend is not None and backend not in suite.backends:
            raise InputError(
                f"suite {name} does not run on {backend}; "
                f"use --backend {' or '.join(suite.backends)}"
            )
        found = list(suite.plan(options)) if suite.plan else []
        if not found:
            raise InputError(f"suite {name}: no cases; ask for others, or leave it out")
        units += found
    return units


def begin(folder: Folder, asked: Mapping[str, Any], units: Sequence[Unit]) -> None:
    """Make the folder of a campaign, nothing of which has run; units run `interleaved`."""
    folder.create(asked, lambda store: store.plan(interleaved(units)), facts_of(units))


def interleaved(units: Iterable[Unit]) -> list[Unit]:
    """Return units in an order in which each operator, file or claim comes soon.

    The first unit of each, then the second of each, and so on; a campaign that is stopped early
    has seen them all.
    """
    groups: dict[tuple[str, str, str], list[Unit]] = {}
    for unit in units:
        groups.setdefault((unit.suite, unit.operator, unit.column), []).append(unit)
    return [unit for turn in zip_longest(*groups.values()) for unit in turn if unit is not None]


def failed_again(folder: Folder) -> int:
    """Let the units of a campaign wait in which a case has failed; return how many there are.

    They run by what is installed now, which ``campaign.json`` notes. Raises `InputError` if they
    are of somebody's implementation, and that has changed.
    """
    with folder.alone(), folder.store(writable=True) as store:
        known = renewed_facts(folder, (each.unit for each in store.units()))
        if again := store.failed_wait_again():
            folder.note_again(known)
    return again


def check_adapter(folder: Folder, named: str | None, units: Iterable[Unit] | None = None) -> None:
    """Raise `InputError` unless the user has named the code through which cases are asked.

    A folder may come from a stranger: whatever it says, no file runs that its reader has not named.
    Adapters of the kit's own need not be.

    ``named``: the adapter, as ``eightfold conform run`` takes it; ``units``: those that are to run;
    all, if none are given.
    """
    if units is None:
        with folder.store() as store:
            units = [planned.unit for planned in store.units()]
    for adapter in dict.fromkeys(map(adapter_of, units)):
        if named is None and adapter:
            raise InputError(
                f"{folder.path}: its cases are asked through {adapter}, which is code; if you "
                f"trust it, add --adapter {shlex.quote(adapter)}"
            )
        if named is not None and _whole_path(named) != adapter:
            raise InputError(
                f"--adapter {named}: the cases are asked through {adapter or 'no file'}; to ask "
                "through another begin another run"
            )


def _whole_path(adapter: str) -> str:
    file, _, name = adapter.rpartition(":")
    return f"{Path(file).resolve()}:{name}"


def builds_of(folder: Folder, on_progress: OnProgress | None = None) -> Builds:
    """Build the simulators of what waits in a campaign.

    Raises `InputError` if it would run by something else than it began with; and as `build`.
    """
    with folder.store() as store:
        waiting = [unit for _, unit in store.waiting()]
    if waiting:
        check_identity(folder, waiting)
    return build(waiting, on_progress)


def go_on(
    folder: Folder, farm: Farm, builds: Builds, *, budget: float | None = None, **options: Any
) -> str:
    """Run what waits in a campaign; return why it ended, as `Engine.run` does.

    ``folder``, ``farm``, ``builds``: which campaign, where, and the simulators that it takes;
    ``budget``: seconds after which no more units begin; ``options``: ``limit``, ``stop_after`` and
    ``on_progress`` of the `Engine`.
    """
    deadline = None if budget is None else time.monotonic() + budget
    with folder.alone(), folder.store(writable=True) as store:
        if not (left := store.left()):
            return "complete"
        with (
            tempfile.TemporaryDirectory(prefix="eightfold-", ignore_cleanup_errors=True) as private,
            connect(farm, Path(private), units=left) as client,
        ):
            engine = Engine(
                folder=folder,
                store=store,
                client=client,
                builds=builds,
                private=Path(private),
                deadline=deadline,
                **options,
            )
            return engine.run()


def repeat(
    folder: Folder, name: str, trace: Path | None = None, adapter: str | None = None
) -> tuple[Case, str]:
    """Run a case again in this process; return how it ended, and ``alone`` or ``with its unit``.

    Alone at first; if it passes so, with all cases of its unit, which run in one simulation.

    ``name``: as reports and folders of failures call it; ``trace``: a file for the waves of the
    simulation; ``adapter``: somebody's code through which the case is asked, see `check_adapter`.
    """
    with folder.store() as store:
        _, unit, seed = store.find_case(name)
    if trace is not None and unit.backend == "golden":
        raise InputError(f"{name}: golden has no waves; repeat it without --trace")
    check_adapter(folder, adapter, [unit])
    suite = suite_of(unit)
    cases = suite.run(replace(unit, first=seed, count=1), trace).cases
    if cases[0].verdict != "passed" or unit.count == 1:
        return cases[0], "alone"
    case = next(case for case in suite.run(unit, trace).cases if case.seed == seed)
    return case, "with its unit"


def merge(folders: Sequence[Folder], into: Folder) -> list[str]:
    """Put campaigns together in a new folder; return names of units whose outcomes contradict.

    Units that several have are counted once. Raises `InputError` if they are of different versions
    of Eightfold or of something else that they share, or some are runs of ``eightfold conform`` and
    others are not.
    """
    known = joined_facts(folders)
    asked = {"merged": [folder.facts()["asked"] for folder in folders]}
    if len(_of_conform(asked)) > 1:
        raise InputError(
            f"{into.path}: runs of eightfold conform are not merged with other campaigns; "
            "report them one by one"
        )
    different: list[str] = []

    def fill(store: Store) -> None:
        for folder in folders:
            with folder.store() as other:
                different.extend(store.take_from(other))

    into.create(asked, fill, known)
    for folder in folders:
        folder.copy_files(into)
    return different


def _of_conform(asked: Mapping[str, Any]) -> set[bool]:
    """Return whether campaigns are runs of ``eightfold conform``: both, if only some are."""
    if "merged" in asked:
        return set().union(*map(_of_conform, asked["merged"]))
    return {"adapter" in asked}
