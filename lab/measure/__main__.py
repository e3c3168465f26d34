"""Measure every operator in RTL and write what `eightfold ops` shows: ``python -m lab.measure``.

Beside the figures are what the compiler says about an operator when it is asked. It is asked once:
the answers follow from the code alone.
"""

import json
from dataclasses import astuple, replace
from functools import cache
from typing import Any

import click
import numpy as np

from eightfold.cli.operator_list import FILE, Figures, measured
from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from eightfold.common.terminal import terminal_progress
from eightfold.compiler.exact import CompileError
from eightfold.compiler.lower.lowering import lower
from eightfold.isa import Engine
from eightfold.model import Graph, Operator, Tensor
from eightfold.target.config import PRESETS
from lab.measure.models import SIZES, MeasuredCase
from lab.measure.rtl import PRESET, compiled, engines, measure
from lab.measure.series import CATALOGUE, SERIES

TYPES = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.float32, np.bool_)
"""Element types that a `eightfold.model.Tensor` may have."""

ACTIVATIONS = ("RELU", "RELU_N1_TO_1", "RELU6")
"""Fused activations that the reference kernels know."""


@cache
def smallest(name: str) -> MeasuredCase:
    """Return the smallest model of an operator's first series."""
    return SERIES[name][0].case(SIZES[0], inside=False)


@cache
def used_engines(name: str) -> tuple[str, ...]:
    """Return the names of the engines whose commands an operator becomes, in any of its series."""
    cases = [series.case(SIZES[0]) for series in SERIES[name]]
    used = {engine for case in cases for engine in engines(case, compiled(case))}
    return tuple(engine.name.lower() for engine in Engine if engine in used)


@cache
def constant_operands(name: str) -> tuple[str, ...]:
    """Return the names of the operands that the compiler refuses if they are not constant."""
    case = smallest(name)
    names = []
    for index in case.operator.inputs:
        tensor = case.graph.tensors[index]
        if tensor.data is not None and not _compiles(
            _changed(case.graph, replace(tensor, data=None)), case.operator
        ):
            names.append(tensor.name)
    return tuple(names)


@cache
def element_types(name: str) -> tuple[str, ...]:
    """Return the element types that the compiler takes in place of int8, or where none is, bool."""
    case = smallest(name)
    places = (*case.operator.inputs, *case.operator.outputs)
    tensors = [case.graph.tensors[index] for index in dict.fromkeys(places)]
    own = np.int8 if any(tensor.dtype == np.int8 for tensor in tensors) else np.bool_
    taken = []
    for dtype in TYPES:
        changed = [_typed(t, np.dtype(dtype)) for t in tensors if t.dtype == own]
        if _compiles(_changed(case.graph, *changed), case.operator):
            taken.append(np.dtype(dtype).name)
    return tuple(taken)


@cache
def refused_activations(name: str) -> tuple[str, ...]:
    """Return the fused activations that the operator has in the schema and the compiler refuses."""
    case = smallest(name)
    field = "fused_activation_function"
    if field not in case.operator.options:
        return ()
    options = case.operator.options
    return tuple(
        activation
        for activation in ACTIVATIONS
        if not _compiles(case.graph, replace(case.operator, options=options | {field: activation}))
    )


def facts(name: str) -> dict[str, Any]:
    """Return what `eightfold ops` shows of an operator's limits, by field of a record."""
    return {
        "engines": used_engines(name),
        "constants": constant_operands(name),
        "types": element_types(name),
        "refused": refused_activations(name),
        "limit": CATALOGUE[name].limit,
    }


def file_text(figures: Figures) -> str:
    """Return the file that `eightfold ops` reads, a line per fact and series."""
    operators = {}
    for name, entry in CATALOGUE.items():
        lines = {field: json.dumps(value) for field, value in facts(name).items()}
        rows = []
        for one in entry.series:
            found = [astuple(figure) for figure in figures[name][one.label]]
            row = json.dumps({"counted": one.counted, "figures": found})
            rows.append(f"   {json.dumps(one.label)}: {row}")
        lines["series"] = "{\n" + ",\n".join(rows) + "\n  }"
        operators[name] = ",\n".join(f'  "{field}": {text}' for field, text in lines.items())
    bodies = (f" {json.dumps(name)}: {{\n{body}\n }}" for name, body in operators.items())
    return "{\n" + ",\n".join(bodies) + "\n}\n"


def _changed(graph: Graph, *tensors: Tensor) -> Graph:
    """Return a graph with other tensors in the place of some; those without a value are inputs."""
    others = {tensor.index: tensor for tensor in tensors}
    computed = {index for operator in graph.operators for index in operator.outputs}
    every = tuple(others.get(tensor.index, tensor) for tensor in graph.tensors)
    given = [t.index for t in tensors if t.data is None and t.index not in computed]
    inputs = tuple(dict.fromkeys((*graph.inputs, *given)))
    return replace(graph, tensors=every, inputs=inputs)


def _typed(tensor: Tensor, dtype: np.dtype) -> Tensor:
    """Return a tensor of another element type; int8 alone is quantized."""
    return replace(
        tensor,
        dtype=dtype,
        quantization=tensor.quantization if dtype == np.int8 else None,
        data=None if tensor.data is None else tensor.data.astype(dtype),
    )


def _compiles(graph: Graph, operator: Operator) -> bool:
    try:
        lower(graph, operator, PRESETS[PRESET], "litert")
    except CompileError:
        return False
    return True


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
