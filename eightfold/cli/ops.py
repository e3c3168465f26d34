"""``eightfold ops``: the operators of the accelerator."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from eightfold.extras import needs_extra

if TYPE_CHECKING:
    from eightfold.ops.describe import Description

_NARROWEST_TABLE = 120
"""Columns of a terminal; with fewer, the words of a cell would stand one below the other."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the operators as JSON.")
@click.option(
    "--measure", is_flag=True, help="Measure all in RTL first, and rewrite figures and documents."
)
@click.option("--docs", is_flag=True, help="Rewrite the documents' tables.")
def ops(as_json: bool, measure: bool, docs: bool) -> None:
    """List the operators of the accelerator: engines, limits, throughput, exact reference."""
    from eightfold.ops.describe import describe_all, summary

    if measure:
        _measure()
    if measure or docs:
        from eightfold.documents.throughput import write_documents

        for path in write_documents():
            click.echo(path, err=True)
    descriptions = describe_all()
    if as_json:
        click.echo(json.dumps([each.as_json() for each in descriptions], indent=1))
        return

    _print(descriptions, Console(width=None if sys.stdout.isatty() else 160))
    click.echo(summary(descriptions))


def _print(descriptions: "Sequence[Description]", console: Console) -> None:
    """Print a row for each operator, or where the terminal is too narrow for that a paragraph."""
    rows = [
        {
            "operator": each.name,
            "row": "" if each.row is None else str(each.row),
            "engine": ", ".join(each.engines) or "none",
            "limits": each.limits,
            "elements per cycle": each.rate,
            "exact reference": each.reference,
        }
        for each in descriptions
    ]
    title = "operators of the accelerator; elements per cycle at config base"
    if console.width < _NARROWEST_TABLE:
        console.print(title, markup=False, highlight=False)
        for row in rows:
            for name, text in filter(lambda item: item[1], row.items()):
                line = text if name == "operator" else f"  {name}: {text}"
                console.print(line, markup=False, highlight=False)
        return
    table = Table(title=title)
    for name in rows[0]:
        words = name in ("operator", "exact reference")
        table.add_column(name, justify="right" if name == "row" else "left", no_wrap=words)
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


@needs_extra("rtl", "ops --measure")
def _measure() -> None:
    from eightfold.ops.figures import FILE, measured, save
    from eightfold.ops.measure import measure
    from eightfold.progress import terminal_progress

    with terminal_progress("measuring operators") as progress:
        figures = measure(on_progress=progress)
    save(figures)
    measured.cache_clear()
    click.echo(FILE, err=True)
