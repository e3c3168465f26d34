"""Write the model: ``python -m examples.operators FILE``."""

from pathlib import Path

import click

from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from examples.operators.network import operators_model


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("build/operators.tflite"))
def write(file: Path) -> None:
    """Write the network with every operator to FILE, build/operators.tflite if it is not given."""
    write_file(file, operators_model())
    click.echo(file)


if __name__ == "__main__":
    one_line_errors(write)
