"""``eightfold ops``: each operator's row of the spec, engines, limits and throughput."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from eightfold.common.program import CONFIG_HELP
from eightfold.common.terminal import output_console
from eightfold.operators import OPERATORS, SPEC_ROWS, spec_row
from eightfold.target.config import AcceleratorConfig

FILE = Path(__file__).with_name("operators.json")
"""What was measured in RTL and asked of the compiler; ``python -m lab.measure`` writes it."""


@dataclass(frozen=True)
class Figure:
    """What a model of one operator asked for, and the cycles it took.

    ``elements`` are what the throughput counts, ``units`` what the cycles grow with besides, such
    as rows; None if with nothing. ``cycles``: operands and result in the scratchpad;
    ``from_memory``: both in memory, from doorbell to done.
    """

    elements: int
    units: int | None
    macs: int
    cycles: int
    from_memory: int


Figures = Mapping[str, Mapping[str, Sequence[Figure]]]
"""By operator and series; in each from the smallest model to the largest."""


class OperatorRecord(NamedTuple):
    """What `FILE` says of an operator.

    ``facts`` are engines, constants, types, refused and limit, as a `Description` has them. Of each
    series ``counted`` says what its elements are, inputs, outputs or weights; ``figures`` has its
    models.
    """

    facts: dict[str, Any]
    counted: dict[str, str]
    figures: dict[str, list[Figure]]


@cache
def records() -> dict[str, OperatorRecord]:
    """Return what `FILE` says, by the operator's name."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    every = {}
    for name, facts in content.items():
        series = facts.pop("series")
        every[name] = OperatorRecord(
            {field: v if field == "limit" else tuple(v) for field, v in facts.items()},
            {label: one["counted"] for label, one in series.items()},
            {label: [Figure(*row) for row in one["figures"]] for label, one in series.items()},
        )
    return every


def measured() -> dict[str, dict[str, list[Figure]]]:
    """Return the figures of every operator."""
    return {name: record.figures for name, record in records().items()}


def throughput(figures: Sequence[Figure], macs: bool = False) -> float | None:
    """Return elements (or MACs) per cycle between the two largest sizes; None without cycles.

    What a larger operator takes for what it has more: fixed costs do not count.
    """
    smaller, larger = figures[-2:]
    cycles = larger.cycles - smaller.cycles
    if cycles <= 0 or larger.elements == smaller.elements:
        return None
    more = larger.macs - smaller.macs if macs else larger.elements - smaller.elements
    return more / cycles


@dataclass(frozen=True)
class Rate:
    """The throughput of a series: elements and multiply-accumulates per cycle, steady state.

    None: it takes no cycles, or as many whatever its size.
    """

    series: str
    counted: str
    elements: float | None
    macs: float | None


@dataclass(frozen=True)
class Description:
    """One operator.

    ``row``: its number in the spec's table, None beyond the spec; ``engines`` that its commands go
    to, none if it needs no command; ``constants``: operands that must be constant; ``types`` of
    elements of operands and results that are int8 in the spec; ``refused`` fused activations;
    ``limit``: what else is refused, may be empty; ``rates``: a throughput for each series that was
    measured, first the one to quote; ``reference``: the function whose results the hardware has,
    bit for bit.
    """

    name: str
    row: int | None
    engines: tuple[str, ...]
    constants: tuple[str, ...]
    types: tuple[str, ...]
    refused: tuple[str, ...]
    limit: str
    rates: tuple[Rate, ...]
    reference: str

    @property
    def limits(self) -> str:
        """The limits in words; empty if there are none."""
        words = [self.limit] if self.limit else []
        if self.constants:
            words.append(f"constant: {', '.join(self.constants)}")
        if self.types != ("int8",):
            words.append(f"types: {', '.join(self.types)}")
        if self.refused:
            words.append(f"no fused {', '.join(self.refused)}")
        return "; ".join(words)

    @property
    def rate(self) -> str:
        """The throughput of the first series in words."""
        first = self.rates[0]
        if not self.engines:
            return "no cycles"
        if first.elements is None:
            return "any size alike"
        words = f"{first.elements:.2f} {first.counted}s"
        if first.macs:
            words += f", {first.macs:.0f} MACs"
        return f"{words} ({first.series})"

    def as_json(self) -> dict[str, Any]:
        """Return what ``eightfold ops --json`` prints."""
        return asdict(self)


def _described(name: str, figures: Figures | None) -> Description:
    row = spec_row(name)
    record = records()[name]
    series = record.figures if figures is None else figures[name]
    return Description(
        name=name,
        row=row.entry.number if row else None,
        **record.facts,
        rates=tuple(_rate(label, record.counted[label], series[label]) for label in series),
        reference=OPERATORS[name].golden_name,
    )


def marked(description: Description, config: AcceleratorConfig) -> Description:
    """Return the description with what a configuration leaves out as its first limit."""
    from eightfold.compiler.lower.lowering import NEEDS

    feature, where = NEEDS.get(description.name, ("", ""))
    if feature not in config.left_out:
        return description
    words = f"left out{f' {where}' if where else ''}: {feature} = false"
    return replace(description, limit="; ".join(filter(None, (words, description.limit))))


def _rate(label: str, counted: str, figures: Sequence[Figure]) -> Rate:
    macs = throughput(figures, macs=True) if figures[-1].macs else None
    return Rate(label, counted, throughput(figures), macs)


def describe_all(figures: Figures | None = None) -> list[Description]:
    """Return every operator: in the spec's order, then those beyond it by name.

    ``figures`` take the place of those of `FILE`.
    """
    every = [_described(name, figures) for name in records()]
    return sorted(every, key=lambda each: (each.row is None, each.row or 0, each.name))


def summary(descriptions: Sequence[Description]) -> str:
    """Return one line that says how many operators there are."""
    rows = {each.row for each in descriptions if each.row is not None}
    more = sum(each.row is None for each in descriptions)
    return f"{len(rows)} of {len(SPEC_ROWS)} operators of the spec on hardware, and {more} more"


_NARROWEST_TABLE = 80
"""Columns of a terminal; with fewer, the words of a cell would stand one below the other."""

_WITH_REFERENCE = 120
"""Columns from which on the table also has the exact reference."""

_WITH_WHOLE_REFERENCE = 140
"""Columns from which on its name is whole."""

_GOLDEN = "eightfold.golden."
"""What that name begins with."""


@click.command()
@click.option("--config", help=f"{CONFIG_HELP}: mark what it leaves out; all are there without.")
@click.option("--json", "as_json", is_flag=True, help="Print the operators as JSON.")
def ops(config: str | None, as_json: bool) -> None:
    """List the operators of the accelerator: engines, limits, throughput, exact reference."""
    from eightfold.compiler.lower.lowering import GOLDEN_ALONE

    sizes = AcceleratorConfig.load(config) if config else None
    descriptions = [marked(each, sizes) for each in describe_all()] if sizes else describe_all()
    if as_json:
        click.echo(json.dumps([each.as_json() for each in descriptions], indent=1))
        return

    console = output_console(_WITH_WHOLE_REFERENCE)
    _print(descriptions, console)
    for name, reason in GOLDEN_ALONE.items():
        console.print(f"  {name}: in golden alone, {reason}; with --fallback golden", markup=False)
    click.echo(summary(descriptions))


def _print(descriptions: Sequence[Description], console: Console) -> None:
    """Print a row for each operator, or where the terminal is too narrow for that a paragraph."""
    title = "operators of the accelerator; elements per cycle at config base"
    if console.width < _NARROWEST_TABLE:
        _print_paragraphs(title, descriptions, console)
        return
    with_reference = console.width >= _WITH_REFERENCE
    left_out = _GOLDEN if console.width < _WITH_WHOLE_REFERENCE else ""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("operator", no_wrap=True)
    table.add_column("row", justify="right", no_wrap=True)
    table.add_column("engine", no_wrap=True)
    table.add_column("elements per cycle\nlimits", overflow="fold")
    if with_reference:
        within = f" in {left_out[:-1]}" if left_out else ""
        table.add_column(f"exact reference{within}", no_wrap=True)
    for each in descriptions:
        table.add_row(
            each.name,
            "" if each.row is None else str(each.row),
            _engines(each),
            "\n".join(filter(None, (each.rate, each.limits))),
            *([each.reference.removeprefix(left_out)] if with_reference else []),
        )
    console.print(title, markup=False, highlight=False)
    console.print(table)
    if not with_reference:
        more = f"{_WITH_REFERENCE} columns, and --json, also show each operator's exact reference."
        console.print(more, markup=False, highlight=False)


def _print_paragraphs(title: str, descriptions: Sequence[Description], console: Console) -> None:
    console.print(title, markup=False, highlight=False)
    for each in descriptions:
        facts = {
            "row": "" if each.row is None else str(each.row),
            "engine": _engines(each),
            "limits": each.limits,
            "elements per cycle": each.rate,
            "exact reference": each.reference,
        }
        lines = [f"  {name}: {text}" for name, text in facts.items() if text]
        console.print("\n".join([each.name, *lines]), markup=False, highlight=False)


def _engines(description: Description) -> str:
    return ", ".join(description.engines) or "none"
