"""The suite of somebody's own files: each through check, compile, golden and RTL.

A case is one file. Its message has what the report shows of it, as `Line` writes and reads it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from eightfold.campaign.records import GOOD, Case, Evidence, Unit, Verdict, error_case
from eightfold.campaign.store import Results, Row
from eightfold.campaign.suite import FiguresTable, Result, Section, Suite, Wrong
from eightfold.common.errors import HardwareError, InputError, Unanswered
from eightfold.common.program import CONFIG_HELP
from eightfold.run.assessment import assess
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.run.report.result import RunResult
from eightfold.run.session import Session
from eightfold.sim.simulator.build import Design
from eightfold.sim.simulator.system import system_design
from eightfold.target.config import AcceleratorConfig

NAME = "files"

PATHS = click.Option(
    ["--path"],
    multiple=True,
    metavar="PATH",
    help="A .tflite file, a folder of them, or a list: a text with a path in each line, from its "
    "own folder on. May be given several times, or behind the suite's name without --path.",
)

OPTIONS = (
    PATHS,
    click.Option(
        ["--golden-only"],
        is_flag=True,
        help="Simulate nothing. Else Verilator simulates; cycles are the estimate's all the same.",
    ),
    click.Option(["--config"], default="base", show_default=True, help=f"{CONFIG_HELP}."),
    click.Option(
        ["--seed"], type=click.IntRange(min=0), default=0, show_default=True, help="Of the inputs."
    ),
)


@dataclass(frozen=True)
class Line:
    """What became of a file, in words.

    ``status`` is one of `eightfold.run.assessment.STATUSES`; ``cycles`` by the estimate;
    ``golden`` and ``rtl`` say what they are equal to; ``why`` is why not.
    """

    status: str
    cycles: str = "-"
    golden: str = "-"
    rtl: str = "-"
    why: str = ""

    def __str__(self) -> str:
        """Return one line; the file has a name beside it, so it is no ``model`` in it."""
        line = replace(self, why=self.why.removeprefix("model: "))
        return f"{self.status}: " + "; ".join(" ".join(word.split()) for word in astuple(line)[1:])

    def because(self, error: Exception | str) -> "Line":
        """Return the line with one reason more, behind the first."""
        reason = str(error).removeprefix("(bytes): ")
        return replace(self, why=f"{self.why}; {reason}" if self.why else reason)

    @classmethod
    def of(cls, row: Row) -> "Line":
        """Return what a row says; of a file that never came to an end why that is so."""
        status, _, rest = row.message.partition(": ")
        words = rest.split("; ", 3)
        known = row.verdict not in ("error", "lost") and len(words) == 4
        return cls(status, *words) if known else cls(row.verdict, why=row.message)


def plan(asked: Mapping[str, Any]) -> Iterator[Unit]:
    """Yield a unit for each file that is asked for."""
    if not asked["path"]:
        raise InputError("suite files: name a .tflite file, a folder, or a list of them")
    config = AcceleratorConfig.load(asked["config"])
    found = [each for path in asked["path"] for each in _files(Path(path))]
    for number, (path, shown) in enumerate(dict.fromkeys(found)):
        settings = {
            "path": str(path),
            "sha256": hashlib.sha256(_content(path)).hexdigest(),
            "seed": asked["seed"],
            "config": config.as_dict(),
        }
        yield Unit(
            suite=NAME,
            operator=shown.encode("utf-8", "backslashreplace")[-100:].decode(errors="ignore"),
            first=number,
            count=1,
            backend="golden" if asked["golden_only"] else "verilator",
            config=Path(asked["config"]).stem,
            settings=json.dumps(settings, sort_keys=True),
        )


def _content(path: Path) -> bytes:
    """Return the bytes of a file; raise `InputError` if it is none that can be read."""
    if not path.is_file():  # the bytes of a pipe may never end
        raise InputError(f"{path}: no regular file; name a readable .tflite file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a readable .tflite file") from None


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that a path stands for, each with the name that it is shown by."""
    try:
        if path.is_dir():
            for each in sorted(path.rglob("*.tflite")):
                yield each.absolute(), str(each.relative_to(path))
        elif path.suffix == ".tflite":
            yield path.absolute(), path.name
        else:
            for line in path.read_text("utf-8").splitlines():
                if line.strip() and not line.startswith("#"):
                    yield (path.parent / line.strip()).absolute(), line.strip()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no list of files: {error}; name a folder") from None


def run(unit: Unit, trace: Path | None = None) -> Result:
    """Take a file as far as it goes; whatever it is, that is a case."""
    settings = json.loads(unit.settings)
    path = Path(settings["path"])
    content = None
    try:
        content = _content(path)
        if hashlib.sha256(content).hexdigest() != settings["sha256"]:
            raise Unanswered(f"{path}: has changed since the campaign began; begin another one")
        case = _judged(unit, settings, content, trace)
    except Exception as error:
        refused = isinstance(error, InputError) and not isinstance(error, Unanswered)
        if content is None or not refused:  # what is gone is no file that was refused
            case = error_case(unit.first, unit.operator, error, content)
        else:
            message = str(Line("refused", why=str(error)))
            case = Case(seed=unit.first, verdict="refused", message=message)
    return Result([replace(case, operator=unit.operator)], {})


def _judged(unit: Unit, settings: Mapping[str, Any], content: bytes, trace: Path | None) -> Case:
    config = AcceleratorConfig(**settings["config"])
    (fit,) = assess(content, [config]).fits
    if fit.status == "refused":
        raise InputError(fit.reason)
    why = next((reason for _, reason in fit.places.values() if reason), "")
    cycles = "-" if fit.cycles is None else f"{fit.cycles:,}"
    compared, line = _in_golden(content, settings["seed"], Line(fit.status, cycles, why=why))
    wrong = compared.first_mismatch
    got: dict[int, np.ndarray] = {}
    expected: dict[int, np.ndarray] = {}
    if unit.backend != "golden" and fit.cycles is not None and not wrong:
        options = {"fallback": "golden", "reference": compared.reference, "trace": trace}
        try:  # once: a pass whose cycles are undisturbed would take as long again
            with Session(unit.backend, config, fast=True, **options) as session:
                rtl = session.run(content, seed=settings["seed"], all_tensors=True)
            different = [
                index
                for index, tensor in compared.tensors.items()
                if index in rtl.tensors and not _equal(rtl.tensors[index], tensor)
            ]
            got = {index: rtl.tensors[index] for index in different}
            expected = {index: compared.tensors[index] for index in different}
            wrong = f"tensors {different} of RTL are not golden's" if different else None
            line = replace(line, rtl="differs" if wrong else "golden")
        except InputError as error:
            line = replace(line.because(error), rtl=UNSIMULATED)
        except HardwareError as error:
            wrong = str(error)
            line = replace(line, rtl="fails")
    if not wrong:
        verdict: Verdict = "refused" if (line.golden, line.rtl) in NOTHING else "passed"
        return Case(seed=unit.first, verdict=verdict, message=str(line))
    evidence = Evidence(model=content, got=got, expected=expected, log=wrong)
    message = str(line.because(wrong))
    return Case(seed=unit.first, verdict="failed", message=message, evidence=evidence)


def _in_golden(content: bytes, seed: int, line: Line) -> tuple[RunResult, Line]:
    """Return a run in golden, compared with LiteRT, or where that refuses with TFLite Micro.

    A runtime that gives no answer ends the case: what another one says is no answer of its.
    """
    for reference, runtime in RUNTIMES.items():
        try:
            with Session(reference=reference) as session:
                run = session.run(content, seed=seed, all_tensors=True, compare=True)
            equal = "differs" if run.mismatches else runtime.title
            return run, replace(line, golden=equal)
        except Unanswered as error:
            raise Unanswered(line.because(error).why) from None
        except InputError as error:
            line = line.because(error)
    with Session() as session:
        run = session.run(content, seed=seed, all_tensors=True)
    return run, replace(line, golden=UNCOMPARED)


UNCOMPARED, UNSIMULATED = "not compared", "not simulated"

NOTHING = {(UNCOMPARED, rtl) for rtl in ("-", UNSIMULATED)}
"""What is said of golden and RTL where neither was compared."""


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def designs(unit: Unit) -> Sequence[Design]:
    """Return the accelerator that a unit simulates."""
    if unit.backend == "golden":
        return ()
    return (system_design(AcceleratorConfig(**json.loads(unit.settings)["config"])),)


def section(results: Results) -> Section | None:
    """Return a row for each file that has ended."""
    rows = sorted((r for r in results.rows() if r.suite == NAME), key=lambda row: row.operator)
    found = [(row, Line.of(row)) for row in rows]
    counts = {status: sum(line.status == status for _, line in found) for status in MEANINGS}
    told = ", ".join(
        f"{count:,} {MEANINGS[status][count > 1]}" for status, count in counts.items() if count
    )
    told = f"of {len(found):,} file{'s' * (len(found) != 1)} {told or 'none has ended'}"
    golden = sum(line.golden == UNCOMPARED for _, line in found)
    rtl = sum(line.rtl == UNSIMULATED for _, line in found)
    told += f", golden of {golden:,} compared with no runtime" if golden else ""
    told += f", RTL of {rtl:,} not simulated" if rtl else ""
    return Section(
        heading="Files",
        text="What became of each: on the accelerator, with golden for some operators, or refused; "
        "what golden equals on every tensor, what the RTL equals, and why not.",
        tables=[
            FiguresTable(
                columns=("file", "on", "came", "cycles", "golden equals", "RTL equals", "why not"),
                numbers=("cycles",),
                rows=[
                    (
                        row.operator,
                        row.column,
                        *((line.status,) if row.verdict in GOOD else (Wrong(line.status),)),
                        *astuple(line)[1:],
                    )
                    for row, line in found
                ],
            )
        ],
        sentence=told,
        figures={
            "rows": [
                {"file": row.operator, "on": row.column, "verdict": row.verdict} | vars(line)
                for row, line in found
            ]
        },
    )


MEANINGS = {
    "runs": ("runs on the accelerator", "run on the accelerator"),
    "fallback": ("runs with --fallback golden", "run with --fallback golden"),
    "refused": ("is refused", "are refused"),
    "error": 2 * ("ended in an error",),
    "lost": 2 * ("took too long",),
}
"""What is said of one file that came to that, and of several."""

SUITE = Suite(
    name=NAME,
    text="files of your own: check, compile, golden and RTL, compared with LiteRT",
    run=run,
    plan=plan,
    options=OPTIONS,
    designs=designs,
    patience=6,  # each simulates as many cycles as its network takes
    subject="file",
    section=section,
)
