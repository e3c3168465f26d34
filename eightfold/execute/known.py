"""What a graph computes whatever its inputs are: from constants, and from shapes."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from eightfold.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Graph, Operator
from eightfold.model.prepare import Node, hollow, unsupported

REFUSED = (SpecError, InputError, ArithmeticError)
"""What golden raises for an operator that it does not compute, or not with these operands."""


def known_results(
    graph: Graph,
    operator: Operator,
    reference: Reference = "litert",
    known: Mapping[int, np.ndarray] = MappingProxyType({}),
) -> list[np.ndarray] | None:
    """Return an operator's results if they do not depend on the graph's inputs.

    Parameters
    ----------
    graph, operator, reference
        As `eightfold.execute.run_operator` takes them.
    known
        What is known of computed tensors, by index.

    Returns
    -------
    list of arrays, or None
        None too if golden refuses the operator, or its results are not as the graph declares them.
    """
    if unsupported(graph.tensors, operator) is not None or operator.name not in RUNNERS:
        return None
    node = Node(graph.tensors, operator)
    by_shape = operator.name == "SHAPE"
    open_inputs = [i for i in operator.inputs if i >= 0 and graph.tensors[i].data is None]
    if not by_shape and any(index not in known for index in open_inputs):
        return None
    try:
        call = OperatorCall(graph, operator, known, reference)
        if by_shape:
            call = call.substituted(hollow(node.shape()))
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            results = [np.asarray(each, order="C") for each in RUNNERS[operator.name].run(call)]
    except REFUSED:
        return None
    stated = [(tensor.shape, tensor.dtype) for tensor in node.outputs]
    return results if [(each.shape, each.dtype) for each in results] == stated else None


def known_integers(graph: Graph, reference: Reference = "litert") -> dict[int, np.ndarray]:
    """Return the computed int32 and int64 tensors, such as shapes, that no input changes."""
    known: dict[int, np.ndarray] = {}
    for operator in graph.operators:
        if all(graph.tensors[index].dtype.name in ("int32", "int64") for index in operator.outputs):
            results = known_results(graph, operator, reference, known)
            known.update(zip(operator.outputs, results or (), strict=False))
    return known
