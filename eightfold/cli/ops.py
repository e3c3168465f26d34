"""``eightfold ops``: the operators of the accelerator."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from eightfold.common.program import CONFIG_HELP
from eightfold.common.terminal import output_console
from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:
    from eightfold.cli.operator_list import Description

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
    from eightfold.cli.operator_list import describe_all, marked, summary
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


def _print(descriptions: "Sequence[Description]", console: Console) -> None:
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


def _print_paragraphs(title: str, descriptions: "Sequence[Description]", console: Console) -> None:
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


def _engines(description: "Description") -> str:
    return ", ".join(description.engines) or "none"
