"""The list of jobs behind ``eightfold synth`` and ``make synth``."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from eightfold.common.files import write_file
from eightfold.rtl.header import without_header
from eightfold.rtl.verilog import unit_verilog
from eightfold.synth.flow import run_synthesis
from eightfold.synth.liberty import GateCount, count_gates, gate_parts, gate_table
from eightfold.synth.report import (
    SynthesisResult,
    document_part,
    markdown_table,
    slow_table,
    write_between_markers,
)
from eightfold.synth.tools import digest_of
from eightfold.target.config import PRESETS, AcceleratorConfig


@dataclass(frozen=True)
class Job:
    """One unit in one configuration."""

    unit: str
    config_name: str
    config: AcceleratorConfig


T = TypeVar("T")

DEFAULT_JOBS = (
    Job("requantizer", "base", PRESETS["base"]),
    Job("lane", "base", PRESETS["base"]),
    Job("lane", "base-dsp", PRESETS["base"].replace(multiplier="infer")),
    Job("mac_array", "small", PRESETS["small"]),
)
"""The requantizer, one 16-wide lane with carry chains and with DSP blocks, a small MAC array."""


def main_jobs(
    units: Sequence[str] = (),
    config: str | Path | None = None,
    *,
    out: Path = Path("build/synth"),
    docs: Path | None = None,
    above: float | None = None,
    console: Console | None = None,
    **options: Any,
) -> list[SynthesisResult]:
    """Measure units one after the other and print the table.

    Progress goes to the console while it is a terminal; otherwise only the table is printed, at
    the end. All figures, those of earlier runs included, are kept in ``out/synthesis.json`` and
    as a table in ``out/synthesis.md``, written after each job. Return those of this call.

    ``units`` and ``config``: those of `DEFAULT_JOBS` unless given. ``docs``: a Markdown file whose
    table is replaced by the figures whose Verilog has not changed since; rows that it loses by that
    are named. ``above``: a clock in MHz, of which `eightfold.synth.report.slow_table` is printed
    too. ``options`` are those of `run_synthesis`. Raises InputError as that does, and from
    `AcceleratorConfig.load` and `write_between_markers`.
    """
    console = console or Console()
    results: list[SynthesisResult] = []
    everything: list[SynthesisResult] = []
    for result in _measured(select_jobs(units, config), console, run_synthesis, out, **options):
        results.append(result)
        everything = _keep(out, result)
    lost: list[str] = []
    if docs is not None:
        current = [
            each
            for each in everything
            if digest_of(without_header(unit_verilog(each.unit, each.config))) == each.digest
        ]
        lost = write_between_markers(docs, document_part(current))
    _print(console, results, above)
    for row in lost:
        why = f"{out} has no figures of the present Verilog; measure it again"
        console.print(f"{docs}: no more row of {row}: {why}", markup=False, soft_wrap=True)
    return results


def main_liberty(
    units: Sequence[str],
    config: str | Path | None,
    liberty: Path,
    *,
    out: Path = Path("build/synth"),
) -> list[GateCount]:
    """Count the gates of units in a library of standard cells, and print the tables.

    Arguments and errors are those of `main_jobs` and `count_gates`.
    """
    console = Console()
    results = [*_measured(select_jobs(units, config), console, count_gates, out, liberty=liberty)]
    text = f"{gate_table(results)}\n{gate_parts(results)}"
    console.print(text, markup=False, soft_wrap=True, highlight=False)
    return results


def _measured(
    jobs: Sequence[Job], console: Console, measure: Callable[..., T], out: Path, **options: Any
) -> Iterator[T]:
    """Yield what is measured of each job; the console, if it is a terminal, tells how far it is."""
    with console.status("") as status:
        for number, job in enumerate(jobs, start=1):
            title = f"{number} of {len(jobs)}: {job.unit} ({job.config_name})"
            yield measure(
                job.unit,
                job.config,
                config_name=job.config_name,
                out=out,
                stage=lambda words, title=title: status.update(f"{title}: {words}"),
                **options,
            )


def select_jobs(units: Sequence[str], config: str | Path | None) -> list[Job]:
    """Return the jobs for what the command line names; see `main_jobs`."""
    if config is not None:
        sizes = AcceleratorConfig.load(config)
        names = units or dict.fromkeys(job.unit for job in DEFAULT_JOBS)
        return [Job(unit, Path(config).stem, sizes) for unit in names]
    jobs: list[Job] = []
    for unit in units or dict.fromkeys(job.unit for job in DEFAULT_JOBS):
        known = [job for job in DEFAULT_JOBS if job.unit == unit]
        jobs += known or [Job(unit, "small", PRESETS["small"])]
    return jobs


def _keep(out: Path, result: SynthesisResult) -> list[SynthesisResult]:
    """Put a result in place of its predecessor in ``synthesis.json``; return all results."""
    path = out / "synthesis.json"
    try:
        kept = [SynthesisResult.from_dict(entry) for entry in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError, KeyError):
        kept = []  # no file yet, or one of another version: its steps are kept apart anyway
    everything = [entry for entry in kept if entry.key != result.key] + [result]
    everything.sort(key=_order)
    write_file(path, json.dumps([r.as_dict() for r in everything], indent=1))
    write_file(out / "synthesis.md", markdown_table(everything))
    return everything


def _order(result: SynthesisResult) -> tuple[str, int, tuple[str, str, str, int]]:
    """Sort by family, then as the jobs are listed, then by name."""
    jobs = [(job.unit, job.config_name) for job in DEFAULT_JOBS]
    name = (result.unit, result.config_name)
    return result.family, jobs.index(name) if name in jobs else len(jobs), result.key


def _print(console: Console, results: Sequence[SynthesisResult], above: float | None) -> None:
    console.print(markdown_table(results), markup=False, soft_wrap=True, highlight=False)
    for result in results:
        name = f"{result.unit} ({result.config_name})"
        if result.timing:
            slowest = result.slowest
            moved = f" ({slowest.moved:,} cells moved)" if slowest.moved else ""
            console.print(f"{name}: {slowest.path}{moved}", markup=False, soft_wrap=True)
            if above is not None:
                table = slow_table(result.slowest, [above])
                console.print(table, markup=False, soft_wrap=True, highlight=False)
        for warning in result.warnings:
            console.print(f"{name}: warning: {warning}", markup=False, soft_wrap=True)
