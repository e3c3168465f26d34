"""``eightfold import``: quantized networks of other tools, as files that the accelerator runs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from eightfold.common.errors import InputError
from eightfold.common.files import distinct_paths, read_arrays, write_file
from eightfold.common.program import complain, is_given, path_option
from eightfold.common.terminal import output_console, terminal_progress

if TYPE_CHECKING:  # the compiler and golden load only when needed
    from eightfold.importer import Refused
    from eightfold.importer.compare import Comparison
    from eightfold.importer.tpu_mlir import Method


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command was asked for: its options, under their names."""

    source: Path
    output: Path
    samples: Mapping[str, NDArray] | None
    count: int
    json_file: Path | None
    calibration: str | None
    asymmetric: bool
    fallback: bool


def _tflite(request: Request) -> int:
    """Write a quantized network of another tool as a ``.tflite`` file, and say what it has become.

    Returns the exit status.
    """
    from eightfold.importer import FORM, import_model

    with terminal_progress(f"importing {request.source.name}"):
        imported = import_model(request.source, request.samples, fallback=request.fallback)
        comparison = imported.compared(request.count)
    write_file(request.output, imported.model)
    kept = [each._asdict() for each in imported.kept]
    _report(request, {"model": str(request.output), "kept": kept, **comparison.as_json()})
    _print(comparison, f"{request.output} beside {comparison.runtime} ({FORM})")
    click.echo("\n".join([*imported.notes, f"{request.output}: {comparison.verdict()}"]))
    return 0 if comparison.explained else 1


class Taken(NamedTuple):
    """A model that commands read; notes on how it was imported, if it was; and of these the ones on
    layers that the import has kept."""

    content: bytes | Path
    notes: list[str]
    kept: list[str]


def taken(model: Path, *, fallback: bool) -> Taken:
    """Return a model as it is; a network of another tool is imported first."""
    if model.suffix not in (".xml", ".onnx"):
        return Taken(model, [], [])
    from eightfold.importer import import_model

    imported = import_model(model, fallback=fallback)
    verdict = f"imported: {imported.compared().verdict()}"
    return Taken(imported.model, [*imported.notes, verdict], imported.notes)


def _print(comparison: "Comparison", title: str) -> None:
    """Print a row for each tensor, and how often classes agree."""
    console = output_console(140)
    table = Table(title=escape(title))
    for name in ("tensor", "operator", "range"):
        table.add_column(name, overflow="fold")
    for name in ("elements", "differ", "by", "bound", "alone differ", "by", "bound"):
        table.add_column(name, justify="right")
    table.add_column("why, operators alone")
    for each in comparison.tensors:
        numbers = (each.elements, each.different, each.largest, each.bound)
        alone = (each.own_different, each.own_largest, each.own_bound)
        causes = ", ".join(f"{name} {count:,}" for name, count in each.causes.most_common())
        words = (each.name, each.operator, each.range)
        table.add_row(*map(escape, words), *(f"{n:,}" for n in (*numbers, *alone)), causes)
    console.print(table)
    for name, same in comparison.classes.items():
        click.echo(f"{name}: the same class in {same} of {comparison.samples} samples")


def _tpu_mlir(request: Request) -> int:
    """Write a float network as one of TPU-MLIR's int8, and say how far it is from float.

    Returns the exit status.
    """
    from eightfold.importer.tpu_mlir import import_program

    if not request.samples:
        raise InputError("--spec tpu-mlir: thresholds come from data; give --samples IN.npz")
    method = cast("Method", request.calibration or "max")
    with terminal_progress(f"importing {request.source.name}"):
        imported = import_program(
            request.source, request.samples, method, asymmetric=request.asymmetric
        )
        lines = imported.lines(request.samples)
    write_file(request.output, imported.program.save())
    for line in lines:
        click.echo(line)
    click.echo(request.output)
    return 0


def _report(request: Request, content: Mapping[str, Any]) -> None:
    """Write JSON, if it was asked for."""
    if request.json_file:
        write_file(request.json_file, json.dumps(content, indent=1) + "\n")


def _refuse(request: Request, refused: "Refused") -> int:
    """Print a line for each fault, and write them as JSON; return the exit status."""
    for line in (*refused.faults, *filter(None, [refused.advice])):
        complain(f"eightfold: {request.source}: {line}")
    _report(request, {"model": None, "refused": [each._asdict() for each in refused.faults]})
    return 2


SPECS: Mapping[str, Callable[[Request], int]] = {"tflite": _tflite, "tpu-mlir": _tpu_mlir}
"""By the spec in whose terms the result is: who imports, and returns the exit status."""


@click.command("import")
@click.argument("source", metavar="MODEL", type=click.Path(path_type=Path))
@path_option("-o", "--output", required=True, help="Where to write the int8 network.")
@click.option(
    "--spec",
    type=click.Choice([*SPECS]),
    default="tflite",
    show_default=True,
    help="In whose terms the int8 network is.",
)
@path_option(
    "--json", "json_file", help="Write how tensors compare with the source's runtime as JSON."
)
@click.option(
    "--count",
    type=click.IntRange(1, 100_000),
    default=8,
    show_default=True,
    help="Without --samples: how many to draw for the comparison.",
)
@path_option(
    "--samples",
    metavar="IN.npz",
    help="Inputs by name, each with a further first axis: values without a quantization of their "
    "own get the range that they have over these, and every tensor is compared for them.",
)
@click.option(
    "--calibration",
    type=click.Choice(["max", "percentile", "kl"]),
    help="How a threshold comes from the samples' values, of --spec tpu-mlir; without it max.",
)
@click.option(
    "--asymmetric", is_flag=True, help="Zero points, of --spec tpu-mlir; without it thresholds."
)
@click.option(
    "--fallback",
    type=click.Choice(["golden"]),
    help="Keep functions of one element that have no int8 form, as tables that the source's "
    "runtime fills.",
)
def import_command(spec: str, samples: Path | None, fallback: str | None, **asked: Any) -> None:
    """Make of a quantized MODEL of another tool an int8 network that the accelerator runs.

    MODEL.xml is an OpenVINO IR with FakeQuantize, as NNCF writes it, MODEL.onnx one with
    QuantizeLinear and DequantizeLinear, as onnxruntime's static quantization writes it. What has no
    exact int8 form is refused, all of it, layer by layer, or kept with --fallback golden. Every
    int8 tensor is compared with the source's own runtime; exit status 1 if a difference has no
    cause, or is beyond its bound.

    With --spec tpu-mlir MODEL is a float network, .tflite, .onnx or .xml, and the result TPU-MLIR's
    int8, an .npz that eightfold run takes; docs/other-specs.md shows it.
    """
    if spec != "tpu-mlir" and (asked["calibration"] or asked["asymmetric"]):
        raise InputError("--calibration and --asymmetric are of --spec tpu-mlir; leave them out")
    if spec == "tpu-mlir" and (asked["json_file"] or fallback):
        raise InputError("--json and --fallback are of --spec tflite; leave them out")
    if is_given("count") and (samples or spec == "tpu-mlir"):
        raise InputError("--count is of samples that are drawn; leave it out beside --samples")
    source = asked["source"]
    weights = source.with_suffix(".bin") if source.suffix == ".xml" else None
    distinct_paths(
        {"MODEL": source, "the weights of MODEL": weights, "--samples": samples},
        {"--output": asked["output"], "--json": asked["json_file"]},
    )
    arrays = _read_samples(samples) if samples else None
    request = Request(samples=arrays, fallback=fallback is not None, **asked)
    from eightfold.importer import Refused

    try:
        status = SPECS[spec](request)
    except Refused as refused:
        status = _refuse(request, refused)
    raise SystemExit(status)


def _read_samples(path: Path) -> Mapping[str, NDArray]:
    """Return the arrays of an npz file, which have as many samples each."""
    arrays = read_arrays(path)
    counts = {array.shape[:1] for array in arrays.values()}
    if len(counts) != 1 or counts & {(), (0,)}:
        raise InputError(f"--samples {path}: arrays need a first axis of as many samples in each")
    if odd := [name for name, array in arrays.items() if array.dtype.kind not in "biuf"]:
        raise InputError(f"--samples {path}: {odd[0]} is {arrays[odd[0]].dtype}; give real numbers")
    return arrays
