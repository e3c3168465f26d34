"""``eightfold info``: what goes into a model, what comes out, and what is between."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eightfold.common.program import model_argument
from eightfold.common.terminal import output_console


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
