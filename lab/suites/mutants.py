"""Mutants of the hardware's source: a test has to fail with each that is other hardware.

What runs is the tests themselves, in a copy of the checkout: see `lab.mutants.judge`. A unit
is one mutant; its operator is the file, its seed the mutant's number in the file.
"""

import atexit
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from eightfold.campaign.records import Case, Evidence, Unit, Verdict, error_case
from eightfold.campaign.store import Results, Row
from eightfold.campaign.suite import MAKE_HARDWARE, FiguresTable, Section, Suite, Wrong
from eightfold.common.errors import InputError
from eightfold.common.extras import installed_versions
from eightfold.common.files import IMPORT_ROOT, hash_of_files
from eightfold.sim.simulator.toolchain import checked_simulator, icarus_available, simulator_version
from lab.mutants.benches import measured_seconds
from lab.mutants.judge import FILE as ACCEPTED
from lab.mutants.judge import HOW, How, Judge, Judgement, every_accepted
from lab.mutants.mutator import draw, mutants
from lab.mutants.scratch import checked_checkout
from lab.suites.common import FILES, SEED, Request, planned, run_without_waves

VERDICTS: dict[How, Verdict] = {
    "caught": "passed",
    "survived": "failed",
    "accepted": "refused",
    "equivalent": "refused",
    "invalid": "refused",
}


def plan(request: Request) -> Iterator[Unit]:
    """Yield a unit for each mutant that is drawn, or that is asked for by its number."""
    root = checked_checkout(IMPORT_ROOT)
    numbered = [name for name in request.files if ":" in name]
    if not request.files or len(numbered) < len(request.files):
        names = [name for name in request.files if name not in numbered]
        for mutant in draw(_texts(root, names), request.cases, request.seed):
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
        inside = place.is_relative_to(root / "hw")
        paths = sorted(place.rglob("*.py")) if inside and place.is_dir() else [place]
        if not inside or not paths or not paths[0].is_file():
            raise InputError(
                f"--files {name}: no file of the hardware; name files or folders of hw/, "
                "such as hw/blocks/skid.py"
            )
        found |= {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}
    return found


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


VALID = ("caught", "survived", "accepted")
"""The outcomes of mutants that are other hardware than before."""


class Tally(Counter[str]):
    """How many mutants ended how, by `lab.mutants.judge.How`."""

    @property
    def valid(self) -> int:
        """Those that are other hardware; ones that may survive are among them."""
        return sum(self[how] for how in VALID)

    @property
    def share(self) -> float | None:
        return self["caught"] / self.valid if self.valid else None

    @property
    def percent(self) -> str:
        """The share as a text, rounded down: 100% is when all were caught."""
        if not self.valid:
            return "–"
        tenths = 1000 * self["caught"] // self.valid
        return "100%" if tenths == 1000 else f"{tenths / 10:.1f}%"

    @property
    def sentence(self) -> str:
        if not self.valid:
            return f"of {self.total():,} mutants none is valid"
        caught = self["caught"]
        valid = self.valid
        are = "is" if valid == 1 else "are"
        return (
            f"of {self.total():,} mutants {valid:,} {are} valid, and tests caught {caught:,} of "
            f"those ({self.percent})"
        )

    def as_dict(self) -> dict[str, float | None]:
        counts = {how: self[how] for how in HOW}
        return {"drawn": self.total(), "valid": self.valid, **counts, "share": self.share}


TEXT = (
    "A mutant is the hardware with one small fault in its source. It is valid if it elaborates, "
    "to another netlist; equivalent if the netlist is the same. It is caught if a test of the "
    "hardware fails with it, or has no end; it survives if none does. Some may survive, each for a "
    "reason that is known: they are accepted, and valid as well."
)


def section(results: Results) -> Section | None:
    """Return what became of a campaign's mutants, by kind and by file; most survivors first."""
    total = Tally()
    kinds: dict[str, Tally] = {}
    files: dict[str, Tally] = {}
    for row in results.rows():
        found = Judgement.from_message(row.message) if row.suite == "mutants" else None
        if found is not None:
            for tally in (
                total,
                kinds.setdefault(found.kind, Tally()),
                files.setdefault(row.operator, Tally()),
            ):
                tally[found.how] += 1
    if not total:
        return None
    kinds, files = _sorted(kinds), _sorted(files)
    return Section(
        heading="Mutants",
        text=TEXT,
        tables=[_table("", "kind", kinds, total), _table("By file", "file", files, total)],
        sentence=total.sentence,
        figures={
            **total.as_dict(),
            "kinds": [{"kind": name, **tally.as_dict()} for name, tally in kinds.items()],
            "files": [{"file": name, **tally.as_dict()} for name, tally in files.items()],
        },
        card=("Mutants caught", total.percent, f"of {total.valid:,} valid ones"),
        refused="these mutants are no hardware, the same hardware, or ones that may survive",
    )


COUNTS = ("drawn", "invalid", "equivalent", "valid", "caught", "accepted", "survived")
"""Figures of a `Tally` in a table."""


def _table(title: str, what: str, tallies: Mapping[str, Tally], total: Tally) -> FiguresTable:
    def row(name: str, tally: Tally) -> list[str | Wrong]:
        figures = tally.as_dict()
        cells: list[str | Wrong] = [f"{figures[count]:,}" for count in COUNTS]
        if tally["survived"]:
            cells[-1] = Wrong(f"{tally['survived']:,}")
        return [name, *cells, tally.percent]

    numbers = (*COUNTS, "caught of valid")
    return FiguresTable(
        title=title,
        columns=(what, *numbers),
        numbers=numbers,
        rows=[row(name, tally) for name, tally in tallies.items()],
        total=row("all", total),
    )


def _sorted(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    def order(name: str) -> tuple[int, int, str]:
        tally = tallies[name]
        return -tally["survived"], -tally["accepted"], name

    return {name: tallies[name] for name in sorted(tallies, key=order)}


def _how(row: Row) -> str:
    judged = Judgement.from_message(row.message)
    return judged.how if judged else row.verdict


SUITE = Suite(
    name="mutants",
    text="small faults in the hardware's source, each of which a test has to catch",
    run=run_without_waves(_case),
    plan=planned(plan),
    options=(FILES, SEED),
    cases=400,
    tools=_tools,
    patience=6,  # a survivor sees many tests, each of which ran without it first
    subject="file",
    section=section,
    how=_how,
    kind=lambda row: "",
)
