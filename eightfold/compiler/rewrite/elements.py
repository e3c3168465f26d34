"""Operators whose every element depends on one element of each operand, and tables of them.

Functions of one byte, one after the other, are one function of one byte. A table has all 256 codes,
so that the composition is checked by being computed: entry by entry with golden's own function of
each operator.
"""

from dataclasses import dataclass, replace

import numpy as np

from eightfold.compiler.lower.pointwise import OF_ONE_BYTE
from eightfold.compiler.rewrite.draft import Draft
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator, Tensor
from eightfold.operators import OPERATORS, OperatorCall, unsupported
from eightfold.operators.folding import REFUSED

UNARY = frozenset(OF_ONE_BYTE)
"""Functions of one byte."""

MONOTONE = frozenset({"ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB"})
"""Functions of two bytes that, with one of them held, do not decrease in the other or do not
increase: each rescales by multipliers of one sign, adds or multiplies, rounds and clamps."""

BINARY = MONOTONE | {"DIV", "PRELU", "SQUARED_DIFFERENCE"}
"""Functions of two bytes with an int8 result."""

CODES = np.arange(-128, 128, dtype=np.int8)
"""Every int8 code, ascending."""


TABLE = "TABLE"
"""A function of one byte that no operator of TFLite is: its option ``table`` has the results of
`CODES`, int8."""


def runs(graph: Graph, operator: Operator) -> bool:
    """Return whether golden runs an operator, as far as element types say, or it is a `TABLE`."""
    return operator.name == TABLE or unsupported(graph.tensors, operator) is None


def bytewise(graph: Graph, operator: Operator) -> bool:
    """Return whether an operator is of `UNARY` or `BINARY`, of int8 operands and result."""
    tensors = [graph.tensors[t] for t in (*operator.inputs, *operator.outputs) if t >= 0]
    return (
        operator.name in UNARY | BINARY | {TABLE}
        and all(tensor.dtype == np.int8 for tensor in tensors)
        and runs(graph, operator)
    )


def computed(
    graph: Graph, operator: Operator, reference: Reference, *operands: np.ndarray
) -> np.ndarray | None:
    """Return what golden computes with other first operands; None if it refuses them."""
    if operator.name == TABLE:
        return operator.options["table"][operands[0].astype(np.int64) + 128]
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            call = OperatorCall(graph, operator, reference=reference).substituted(*operands)
            return OPERATORS[operator.name].run(call)[0]
    except REFUSED:
        return None


def accepted(graph: Graph, operator: Operator, reference: Reference) -> bool:
    """Return whether golden computes an operator with weights; its checks need no images.

    What it refuses must stay as it is, so that it is refused with the model's own numbers.
    """
    shape = graph.tensors[operator.inputs[0]].shape
    images = (0, *shape[1:]) if operator.name != "FULLY_CONNECTED" else shape
    return computed(graph, operator, reference, np.zeros(images, np.int8)) is not None


@dataclass(frozen=True, eq=False)
class Function:
    """A function of one tensor's bytes: ``table`` has the results of `CODES`, int8."""

    source: int
    table: np.ndarray


def function_of(graph: Graph, operator: Operator, reference: Reference) -> Function | None:
    """Return an operator as a function of one byte of one tensor, whose shape its result has.

    Other operands are constants of one element. None if it is none, or if golden refuses a code.
    """
    if not bytewise(graph, operator) or -1 in operator.inputs:
        return None
    operands = [graph.tensors[tensor] for tensor in operator.inputs]
    sources = {tensor.index for tensor in operands if tensor.data is None}
    if len(sources) != 1:
        return None
    (source,) = sources
    codes = []
    for tensor in operands:
        if tensor.data is not None and tensor.data.size != 1:
            return None
        codes.append(CODES if tensor.data is None else tensor.data.reshape(1))
    if graph.tensors[source].shape != graph.tensors[operator.outputs[0]].shape:
        return None
    table = computed(graph, operator, reference, *codes)
    return None if table is None else Function(source, table)


def same_quantization(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors' codes stand for the same numbers."""
    if a.quantization is None or b.quantization is None:
        return a.quantization is b.quantization
    return (
        np.array_equal(a.quantization.scale, b.quantization.scale)
        and np.array_equal(a.quantization.zero_point, b.quantization.zero_point)
        and (len(a.quantization.scale) == 1 or a.quantization.axis == b.quantization.axis)
    )


def compose(draft: Draft) -> None:
    """Make a table of functions of one byte that follow each other, and of those with a constant.

    MUL by a constant, then SUB of one, reads every byte once in place of four times.
    """
    for operator in draft.each():
        function = function_of(draft.graph, operator, draft.reference)
        if function is None:
            continue
        before = _function_before(draft, function)
        if before is not None:
            first, inner = before
            table = function.table[inner.table.astype(np.int64) + 128]
            merged = as_table(operator, Function(inner.source, table))
            draft.merge("tables", first, merged, "one table of both")
        elif operator.name not in UNARY | {TABLE}:
            draft.replace(operator, as_table(operator, function))
            draft.say("tables", [operator.index], "its constant becomes a table")


def as_table(operator: Operator, function: Function) -> Operator:
    """Return an operator that has another one's result, as a table."""
    options = {"table": function.table}
    return replace(operator, name=TABLE, inputs=(function.source,), options=options)


def _function_before(draft: Draft, function: Function) -> tuple[Operator, Function] | None:
    """Return the operator whose result only this function reads, if it is one of a byte too."""
    first = draft.producer(function.source)
    inner = first and function_of(draft.graph, first, draft.reference)
    return (first, inner) if first and inner else None
