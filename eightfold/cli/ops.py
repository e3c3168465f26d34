"""``eightfold ops``: the operators of the accelerator."""

import json
import sys

import click
from rich.console import Console
from rich.table import Table

from eightfold.extras import needs_extra


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the operators as JSON.")
@click.option(
    "--measure", is_flag=True, help="Measure all in RTL first, and rewrite figures and documents."
)
@click.option("--docs", is_flag=True, help="Rewrite the documents' tables.")
def ops(as_json: bool, measure: bool, docs: bool) -> None:
    """List the operators of the accelerator: engines, limits, throughput, exact reference."""
    from eightfold.ops.describe import Description, describe_all, summary

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

    def cells(each: Description) -> tuple[str, ...]:
        row = "" if each.row is None else str(each.row)
        return each.name, row, ", ".join(each.engines) or "none", each.limits, each.rate

    table = Table(title="operators of the accelerator; elements per cycle at config base")
    table.add_column("operator", no_wrap=True)
    table.add_column("row", justify="right")
    table.add_column("engine")
    table.add_column("limits")
    table.add_column("elements per cycle")
    table.add_column("exact reference", no_wrap=True)
    for each in descriptions:
        table.add_row(*cells(each), each.reference)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    click.echo(summary(descriptions))


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
