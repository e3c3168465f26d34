"""Constant folding: what a graph computes from constants and from shapes alone."""

from collections.abc import Mapping, Set
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Graph, Operator
from eightfold.operators.call import OperatorCall
from eightfold.operators.definition import hollow
from eightfold.operators.gate import Refusal, open_operands, prepare, unsupported
from eightfold.operators.registry import OPERATORS

REFUSED = (SpecError, InputError, ArithmeticError)
"""What golden raises for an operator that it does not compute, or not with these operands."""


def constant_results(
    graph: Graph,
    operator: Operator,
    reference: Reference = "litert",
    known: Mapping[int, np.ndarray] = MappingProxyType({}),
) -> list[np.ndarray] | None:
    """Return an operator's results if they do not depend on the graph's inputs.

    ``known``: what is known of computed tensors, by index.
    Result: None too if golden refuses the operator, or its results are not as the graph declares.
    """
    if unsupported(graph.tensors, operator) is not None or operator.name not in OPERATORS:
        return None
    by_shape = operator.name == "SHAPE"
    open_inputs = [i for i in operator.inputs if i >= 0 and graph.tensors[i].data is None]
    if not by_shape and any(index not in known for index in open_inputs):
        return None
    try:
        call = OperatorCall(graph, operator, known, reference)
        if by_shape:
            call = call.substituted(hollow(call.shape()))
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            results = [np.asarray(each, order="C") for each in OPERATORS[operator.name].run(call)]
    except REFUSED:
        return None
    stated = [(tensor.shape, tensor.dtype) for tensor in call.outputs]
    return results if [(each.shape, each.dtype) for each in results] == stated else None


def fold_operands(graph: Graph, reference: Reference = "litert") -> tuple[Graph, list[Refusal]]:
    """Return a graph whose operands that no input changes are constants, and what they contradict.

    RESHAPE's shape, an axis and the like may be computed, and still come from constants and shapes
    alone. The gate knows nothing of such operands; what reads them is prepared again here, with
    refusals as `eightfold.operators.gate.prepare` has them. The graph still computes the constants.
    ``graph`` has passed the gate, and is returned itself if it has no such operand.
    """
    operands = {i for each in graph.operators for i in open_operands(graph.tensors, each)}
    known = _known(graph, operands, reference)
    if operands.isdisjoint(known):
        return graph, []
    data = {index: array for index, array in known.items() if index in operands}
    told = [op for op in graph.operators if not data.keys().isdisjoint(op.inputs)]
    # A shape that the file leaves open is a scalar's for all that reads the tensor: not filled in.
    tensors = [replace(t, data=data.get(t.index, t.data), stated=True) for t in graph.tensors]
    graph = replace(graph, tensors=tuple(tensors))
    return graph, prepare(replace(graph, operators=tuple(told)))[1]


def with_folded_operands(graph: Graph, reference: Reference = "litert") -> Graph:
    """Return the graph of `fold_operands`; raises `InputError` if an operand contradicts it."""
    graph, refusals = fold_operands(graph, reference)
    if refusals:
        raise InputError(str(refusals[0]))
    return graph


def _known(graph: Graph, wanted: Set[int], reference: Reference) -> dict[int, np.ndarray]:
    """Return what is known of computed tensors, and of those that they are computed from."""
    needed = set(wanted)
    for operator in reversed(graph.operators):
        if operator.name != "SHAPE" and not needed.isdisjoint(operator.outputs):
            needed.update(operator.inputs)
    known: dict[int, np.ndarray] = {}
    for operator in graph.operators:
        if not needed.isdisjoint(operator.outputs):
            results = constant_results(graph, operator, reference, known)
            known.update(zip(operator.outputs, results or (), strict=False))
    return known
