"""``eightfold import``: quantized networks of other tools, as files that the accelerator runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.files import read_arrays, write_file
from eightfold.common.program import complain
from eightfold.common.terminal import terminal_progress


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command was asked for: its options, under their names."""

    source: Path
    output: Path
    samples: Mapping[str, NDArray] | None


def _tflite(request: Request) -> int:
    """Write a quantized network of another tool as a ``.tflite`` file, and say what it has become.

    Returns the exit status.
    """
    from eightfold.importer import Refused, import_model

    try:
        with terminal_progress(f"importing {request.source.name}"):
            imported = import_model(request.source, request.samples)
    except Refused as refused:
        for line in refused.faults:
            complain(f"eightfold: {request.source}: {line}")
        return 2
    write_file(request.output, imported.model)
    for line in imported.lines():
        click.echo(line)
    click.echo(request.output)
    return 0


SPECS: Mapping[str, Callable[[Request], int]] = {"tflite": _tflite}
"""By the spec in whose terms the result is: who imports, and returns the exit status."""


@click.command("import")
@click.argument("source", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where to write the int8 network.",
)
@click.option(
    "--spec",
    type=click.Choice([*SPECS]),
    default="tflite",
    show_default=True,
    help="In whose terms the int8 network is.",
)
@click.option(
    "--samples",
    type=click.Path(path_type=Path),
    metavar="IN.npz",
    help="Inputs by name, each with a further first axis: values without a quantization of their "
    "own get the range that they have over these.",
)
def import_command(source: Path, output: Path, spec: str, samples: Path | None) -> None:
    """Make of a quantized MODEL of another tool an int8 network that the accelerator runs.

    MODEL.xml is an OpenVINO IR with FakeQuantize, as NNCF writes it. What has no exact int8 form is
    refused, all of it, layer by layer.
    """
    arrays = _read_samples(samples) if samples else None
    raise SystemExit(SPECS[spec](Request(source=source, output=output, samples=arrays)))


def _read_samples(path: Path) -> Mapping[str, NDArray]:
    """Return the arrays of an npz file, which have as many samples each."""
    arrays = read_arrays(path)
    counts = {array.shape[:1] for array in arrays.values()}
    if len(counts) != 1 or counts & {(), (0,)}:
        raise InputError(
            f"--samples {path}: arrays need a first axis of samples, as many in each of them"
        )
    return arrays
