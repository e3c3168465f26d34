"""One element of an operator's output, as the arithmetic that gives it, in lines of text.

`weighted`, `pools`, `elements`, `rows` and `copies` have the operators, each as a function of its
call and the element's index; an operator without a function of its own says so. Every line ends
with ``=`` and a value; the last one's is the element as golden computes it.

Imports what `eightfold.execute` does, and its runners; reports and campaigns import it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from eightfold.common.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.explain.copies import COPIES
from eightfold.execute.explain.elements import ELEMENTS
from eightfold.execute.explain.lines import Index, value_text
from eightfold.execute.explain.pools import POOLS
from eightfold.execute.explain.rows import ROWS
from eightfold.execute.explain.weighted import WEIGHTED
from eightfold.execute.operator import named_errors, run_operator
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Graph, Operator

_EXPLAINERS: dict[str, Callable[[OperatorCall, int, Index], list[str]]] = (
    WEIGHTED | POOLS | ELEMENTS | ROWS | COPIES
)

EXPLAINED: frozenset[str] = frozenset(_EXPLAINERS)
"""Operators whose elements have steps, or at least the operands that they are made from."""


def explain_element(
    graph: Graph,
    operator: Operator,
    values: Mapping[int, np.ndarray],
    output: int,
    index: Sequence[int],
    reference: str = "litert",
) -> list[str]:
    """Return the arithmetic of one element of an operator's output, step by step.

    Parameters
    ----------
    graph, operator, reference
        As `eightfold.execute.run_operator` takes them.
    values
        Inputs and golden's tensors by index: at least what the operator reads.
    output
        Position among ``operator.outputs``.
    index
        The element's place in that output.

    Returns
    -------
    Lines ``formula = value``, after one that names the element; the last value is the element's.
    An operator outside of `EXPLAINED` has two lines: that it has no steps, and golden's element.

    Raises
    ------
    InputError
        If there is no such element, or as `eightfold.execute.run_operator`.
    """
    place = _place(graph, operator, values, output, index)
    title = f"{operator}, output {output}, element {list(place)}:"
    if operator.name not in EXPLAINED:
        results = run_operator(graph, operator, values, reference)
        known = f"{operator.name} has no steps; golden computes it from all of its inputs"
        return [title, f"{known} = {value_text(results[output][place])}"]
    with named_errors(operator):
        call = OperatorCall(graph, operator, values, cast(Reference, reference))
        return [title, *_EXPLAINERS[operator.name](call, output, place)]


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
