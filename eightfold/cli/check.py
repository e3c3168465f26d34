"""``eightfold info`` and ``eightfold check``: what a file has, and what becomes of it."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eightfold.cli.compiler import reference_option
from eightfold.cli.importing import taken
from eightfold.common.program import model_argument
from eightfold.common.terminal import output_console, terminal_progress
from eightfold.run.assessment import Assessment, assess
from eightfold.run.report.clock import clock_of
from eightfold.target.config import PRESETS, AcceleratorConfig

if TYPE_CHECKING:  # golden loads only when needed
    from eightfold.golden.quantization import Reference

SHOWN = 6
"""Findings, and operators of a kind, that are shown without ``--all``: there is one screen."""

ON = {"hardware": "accelerator"}

VERDICTS = {
    "runs": "runs on the accelerator",
    "fallback": "runs with --fallback golden, not without",
    "refused": "does not run, with --fallback golden or without",
}


@click.command()
@model_argument
@click.option(
    "--config",
    "configs",
    multiple=True,
    default=tuple(PRESETS),
    help="Of what size: a preset or a .toml file; all presets without it. May be given several "
    "times.",
)
@reference_option
@click.option("--all", "everything", is_flag=True, help="Show every finding, not the first ones.")
@click.option("--spec", is_flag=True, help="End with 1 also if a row of the spec is violated.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def check(
    model: Path,
    configs: tuple[str, ...],
    reference: "Reference",
    everything: bool,
    spec: bool,
    as_json: bool,
) -> None:
    """Say what becomes of MODEL: does it keep to the spec, what runs where, what does it take.

    An OpenVINO IR or an ONNX model is imported first; layers without int8 form that --fallback
    golden keeps as tables are named, and it is not to run without. Exit status 0 if it runs, with
    --fallback golden or without, 1 if it does not, 2 if it cannot be imported.
    """
    with terminal_progress(f"checking {model.name}") as progress:
        content, notes, kept = taken(model, fallback=True)
        found = replace(assess(content, configs, reference, on_progress=progress), model=str(model))
    if kept:  # what the import has kept needs the option as well
        changed = {"status": "fallback", "reason": "; ".join(kept)}
        fits = [replace(fit, **changed) if fit.status == "runs" else fit for fit in found.fits]
        found = replace(found, fits=fits)
    data = found.as_json()
    if as_json:
        click.echo(json.dumps(data, indent=1))
    else:
        _print(found, data, everything)
        click.echo("".join(f"{note}\n" for note in notes), nl=False)
    raise SystemExit(found.best.status == "refused" or (spec and not data["conforms"]))


def _print(found: Assessment, data: Mapping[str, Any], everything: bool) -> None:
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False, markup=False)
    lines = found.finding_lines()
    shown = lines if everything else lines[:SHOWN]
    for line in shown:
        click.echo(line)
    if lines[len(shown) :]:
        click.echo(f"... and {len(lines) - len(shown)} more; --all shows them")
    best = found.best
    if found.graph is not None:
        count = len(found.graph.operators)
        click.echo(
            f"{found.model}: {count} operators conform to the spec"
            if data["conforms"]
            else f"{found.model}: {data['violations']} violations of the spec in {count} operators"
        )
        _print_places(found)
    if best.status != "refused":
        console.print(_table(found))
    for what, line in found.advice:
        click.echo(f"{what}: {line}")
    reason = f": {best.reason}" if best.reason else ""
    click.echo(f"{found.model}: {VERDICTS[best.status]}{reason}")


def _print_places(found: Assessment) -> None:
    """Print where operators run, a line for each place, with the reasons of those that do not."""
    assert found.graph is not None
    places = found.best.places
    for place in ("hardware", "host", "golden", "nowhere"):
        here = [op for op in found.graph.operators if places.get(op.index, ("",))[0] == place]
        counts = Counter(operator.name for operator in here)
        if names := ", ".join(f"{name} {count}" for name, count in counts.most_common()):
            click.echo(f"{ON.get(place, place)}: {names}")
        reasons = {reason: op for op in reversed(here) if (reason := places[op.index][1])}
        for reason, operator in [*reversed(reasons.items())][:SHOWN]:
            click.echo(f"  {operator}: {reason}")


def _table(found: Assessment) -> Table:
    """Return a row for each configuration: whether it fits, cycles, time and bytes."""
    table = Table("config", "fits")
    for name in ("cycles", "ms", "commands", "model", "arena", "scratchpad"):
        table.add_column(name, justify="right")
    for fit in found.fits:
        clock = clock_of(AcceleratorConfig.load(fit.config))
        time = f"{clock.milliseconds(fit.cycles):.2f}" if clock and fit.cycles else ""
        sizes = [f"{size:,}" for size in (fit.bytes or {}).values()]
        cycles = "" if fit.cycles is None else f"{fit.cycles:,}"
        fits = {"runs": "yes", "fallback": "with fallback", "refused": "no"}[fit.status]
        table.add_row(fit.config, fits, cycles, time, *sizes)
    return table


@click.command()
@model_argument
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def info(model: Path, as_json: bool) -> None:
    """List MODEL's inputs and outputs, with shapes, types, scales and zero points.

    A code of a tensor stands for the real number `scale * (code - zero point)`. An array of --input
    of eightfold run has one of the two names that are shown: tensor_<index>, or the tensor's own.
    """
    from eightfold.model import read_model
    from eightfold.operators import count_macs

    graph = read_model(model)
    facts: dict[str, Any] = {
        "model": str(model),
        "description": graph.description,
        "inputs": [_tensor_facts(graph.tensors[index]) for index in graph.inputs],
        "outputs": [_tensor_facts(graph.tensors[index]) for index in graph.outputs],
        "operators": dict(Counter(operator.name for operator in graph.operators)),
        "macs": sum(count_macs(graph, operator) for operator in graph.operators),
        "constant_bytes": sum(t.data.nbytes for t in graph.tensors if t.data is not None),
        "notes": graph.notes(),
    }
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    console = output_console(120)
    for kind in ("inputs", "outputs"):
        _print_tensors(kind, facts[kind], console)
    operators = ", ".join(f"{count} {name}" for name, count in facts["operators"].items())
    for line in (
        f"operators: {operators or 'none'}",
        f"{facts['macs']:,} multiply-accumulates, {facts['constant_bytes']:,} bytes of constants",
        *(f"note: {note}" for note in facts["notes"]),
    ):
        console.print(line, markup=False)


def _tensor_facts(tensor: Any) -> dict[str, Any]:
    quantization = tensor.quantization
    return {
        "index": tensor.index,
        "name": tensor.name,
        "dtype": tensor.dtype.name,
        "shape": list(tensor.shape),
        "scale": [float(scale) for scale in quantization.scale] if quantization else None,
        "zero_point": quantization.zero_point.tolist() if quantization else None,
    }


def _print_tensors(kind: str, tensors: list[dict[str, Any]], console: Console) -> None:
    table = Table(title=kind, title_justify="left")
    table.add_column("array of an .npz", overflow="fold")
    table.add_column("or its name", overflow="fold")
    table.add_column("type", no_wrap=True)
    table.add_column("shape", overflow="fold")
    table.add_column("scale", justify="right", overflow="fold")
    table.add_column("zero point", justify="right")
    for each in tensors:
        cells = (
            f"tensor_{each['index']}",
            each["name"],
            each["dtype"],
            "x".join(map(str, each["shape"])) or "scalar",
            _values(each["scale"]),
            _values(each["zero_point"]),
        )
        # Names are whatever the file says: no markup, nothing that moves the cursor.
        table.add_row(
            *(Text("".join(c if c.isprintable() else "?" for c in cell)) for cell in cells)
        )
    console.print(table)


def _values(values: list[float] | None) -> str:
    """Return all values if they are few, or first and last; as many digits as tell them apart."""
    if values is None:
        return "-"
    shown = [f"{value:.9g}" for value in values]
    return ", ".join(shown if len(shown) < 4 else [shown[0], "...", shown[-1]])
