"""One element of an operator's output, as the arithmetic that gives it, in lines of text."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Graph, Operator
from eightfold.operators.call import OperatorCall
from eightfold.operators.definition import Element, Index
from eightfold.operators.registry import OPERATORS
from eightfold.operators.run import named_errors, require_supported


def explain_element(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    output: int,
    index: Sequence[int],
    reference: str = "litert",
) -> list[str]:
    """Return the arithmetic of one element of an operator's output, step by step.

    Raises `InputError` if there is no such element, or as `eightfold.operators.run_operator`.

    ``graph``, ``operator``, ``reference``: as `eightfold.operators.run_operator` takes them.
    ``values``: inputs and golden's tensors by index: at least what the operator reads.
    ``output``: position among ``operator.outputs``.
    ``index``: the element's place in that output.
    Result: lines ``formula = value``, after one that names the element; the last value is the
        element's.
    """
    place = _place(graph, operator, values, output, index)
    title = f"{operator}, output {output}, element {list(place)}:"
    require_supported(graph, [operator])
    with named_errors(operator):
        call = OperatorCall(graph, operator, values, cast(Reference, reference))
        definition = OPERATORS[operator.name]
        return [title, *definition.explain(Element(definition, call, output, place))]


def _place(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    output: int,
    index: Sequence[int],
) -> Index:
    """Return an index as plain integers, which the output must have."""
    if not 0 <= output < len(operator.outputs):
        raise InputError(f"{operator} has {len(operator.outputs)} outputs, none of number {output}")
    tensor = graph.tensors[operator.outputs[output]]
    # Arrays may have other shapes than the graph says, where these are open.
    shape = values[tensor.index].shape if tensor.index in values else tensor.shape
    place = tuple(map(int, index))
    inside = (0 <= at < size for at, size in zip(place, shape, strict=False))
    if len(place) != len(shape) or not all(inside):
        raise InputError(f"{operator}: {tensor} of shape {shape} has no element {list(place)}")
    return place
