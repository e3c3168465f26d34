"""Measure every operator in RTL and write what `eightfold ops` shows: ``python -m lab.measure``."""

import click

from eightfold.cli.operator_list import FILE, measured
from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from eightfold.common.terminal import terminal_progress
from lab.measure.facts import file_text
from lab.measure.rtl import measure


@click.command()
@click.option("--keep", is_flag=True, help="Keep the cycles; write anew what the compiler says.")
def main(keep: bool) -> None:
    """Measure all operators in RTL and write the file of `eightfold ops`."""
    if keep:
        figures = measured()
    else:
        with terminal_progress("measuring operators") as progress:
            figures = measure(on_progress=progress)
    write_file(FILE, file_text(figures))
    click.echo(FILE)


if __name__ == "__main__":
    one_line_errors(main)
