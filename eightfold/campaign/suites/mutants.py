"""Mutants of the hardware's source: a test has to fail with each that is other hardware.

What runs is the tests themselves, in a copy of the checkout: see `lab.mutants.judge`. A unit
is one mutant; its operator is the file, its seed the mutant's number in the file.
"""

import atexit
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from eightfold.campaign.records import Case, Evidence, Unit, Verdict
from eightfold.campaign.suites.suite import MAKE_HARDWARE, Request, Result, Suite, error_case
from eightfold.common.errors import InputError
from eightfold.common.extras import installed_versions
from eightfold.common.files import IMPORT_ROOT, hash_of_files
from eightfold.sim.simulator.toolchain import (
    checked_simulator,
    icarus_available,
    simulator_version,
)
from lab.mutants import draw, mutants
from lab.mutants.accepted import FILE as ACCEPTED
from lab.mutants.accepted import every_accepted
from lab.mutants.benches import measured_seconds
from lab.mutants.judge import Judge
from lab.mutants.judgement import How, Judgement
from lab.mutants.scratch import checked_checkout

VERDICTS: dict[How, Verdict] = {
    "caught": "passed",
    "survived": "failed",
    "accepted": "refused",
    "equivalent": "refused",
    "invalid": "refused",
}


def plan(request: Request) -> Iterator[Unit]:
    """Yield a unit for each mutant that is drawn, or that is asked for by its number.

    Raises
    ------
    InputError
        If this is no checkout, or a file is not of the hardware or has no such mutant.
    """
    root = checked_checkout(IMPORT_ROOT)
    numbered = [name for name in request.files if ":" in name]
    if not request.files or len(numbered) < len(request.files):
        names = [name for name in request.files if name not in numbered]
        for mutant in draw(_texts(root, names), request.count, request.seed):
            yield _unit(mutant.path, mutant.number)
    for name in numbered:
        path, _, number = name.rpartition(":")
        ((path, text),) = _texts(root, [path]).items()
        if not (number.isdecimal() and int(number) < len(mutants(path, text))):
            raise InputError(f"--files {name}: has no mutant of that number, counted from 0")
        yield _unit(path, int(number))


def _unit(path: str, number: int) -> Unit:
    return Unit(suite="mutants", operator=path, first=number, count=1, backend="tests")


def _texts(root: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the files of the hardware that are asked for, by path from the checkout."""
    found: dict[str, str] = {}
    for name in names or ["hw"]:
        place = (root / name).resolve()
        paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        if not place.is_relative_to(root / "hw") or not paths or not paths[0].is_file():
            raise InputError(
                f"--files {name}: no file of the hardware; name files or folders of hw/, "
                "such as hw/blocks/skid.py"
            )
        found |= {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}
    return found


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Judge the mutants of a unit.

    Raises
    ------
    InputError
        If waves are asked for, this is no checkout, or a test fails without a mutant.
    """
    if trace is not None:
        raise InputError("mutants have no waves; repeat the case without --trace")
    return Result([_case(unit, seed) for seed in unit.seeds], {})


def _case(unit: Unit, seed: int) -> Case:
    path = unit.operator
    try:
        (text,) = _texts(checked_checkout(IMPORT_ROOT), [path]).values()
        found = _judge().judge(mutants(path, text)[seed])
    except InputError:  # of the checkout, so of every mutant
        raise
    except Exception as error:
        return error_case(seed, path, error)
    return case_of(seed, path, found)


def case_of(seed: int, path: str, found: Judgement) -> Case:
    """Return the case of a judgement."""
    return Case(
        seed=seed,
        operator=path,
        verdict=VERDICTS[found.how],
        message=found.message,
        evidence=Evidence(log=found.log) if found.how == "survived" else None,
    )


@cache
def _judge() -> Judge:
    """Return what judges in this process, as long as it runs."""
    judge = Judge(IMPORT_ROOT, every_accepted(), measured_seconds())
    atexit.register(judge.close)
    return judge


def _tools() -> dict[str, str]:
    """Return what catches mutants, and what they are built with."""
    root = checked_checkout(IMPORT_ROOT)
    every = (path for path in (root / "tests").rglob("*") if "__pycache__" not in path.parts)
    icarus = simulator_version("icarus") if icarus_available() else "none"  # tests are skipped then
    return {
        "tests": hash_of_files(root, filter(Path.is_file, every)),
        ACCEPTED.name: hash_of_files(ACCEPTED.parent, [ACCEPTED]),
        "Verilator": simulator_version(checked_simulator("verilator")),
        "Icarus": icarus,
        **installed_versions(MAKE_HARDWARE),
    }


SUITE = Suite(
    name="mutants",
    text="small faults in the hardware's source, each of which a test has to catch",
    backends=(),
    plan=plan,
    run=run,
    tools=_tools,
    patience=6,  # a survivor sees many tests, each of which ran without it first
)
