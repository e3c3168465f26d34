"""Write the model: ``python -m examples.mobilenet FILE``."""

from pathlib import Path

import click

from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from examples.mobilenet.network import blocks_model, mobilenet_model


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("build/mobilenet.tflite"))
@click.option("--width", default=0.35, show_default=True, help="Multiplier of all channels.")
@click.option("--size", default=160, show_default=True, help="Rows and columns of the image.")
@click.option("--classes", default=10, show_default=True, help="Results of the last layer.")
@click.option("--explicit", is_flag=True, help="TRANSPOSE and PADs, as PyTorch's converters write.")
@click.option(
    "--blocks",
    type=click.IntRange(min=1),
    metavar="N",
    help="N operators of blocks of 24 channels alone, all as large as --size.",
)
def write(
    file: Path, width: float, size: int, classes: int, explicit: bool, blocks: int | None
) -> None:
    """Write MobileNetV2 to FILE, build/mobilenet.tflite if it is not given."""
    if blocks:
        model = blocks_model(blocks, size)
    else:
        model = mobilenet_model(width, size, classes, explicit=explicit)
    write_file(file, model)
    click.echo(file)


if __name__ == "__main__":
    one_line_errors(write)
