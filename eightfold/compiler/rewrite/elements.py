"""Operators whose every element depends on one element of each operand."""

import numpy as np

from eightfold.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator
from eightfold.model.prepare import unsupported

REFUSED = (SpecError, InputError, ArithmeticError)
"""What golden raises for an operator that it does not compute, or not with these operands."""

UNARY = frozenset(
    {
        "HARD_SWISH",
        "LEAKY_RELU",
        "LOGISTIC",
        "QUANTIZE",
        "RELU",
        "RELU6",
        "RELU_0_TO_1",
        "RELU_N1_TO_1",
        "TANH",
    }
)
"""Functions of one byte."""

MONOTONE = frozenset({"ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB"})
"""Functions of two bytes that, with one of them held, do not decrease in the other or do not
increase: each rescales by multipliers of one sign, adds or multiplies, rounds and clamps."""

BINARY = MONOTONE | {"PRELU"}
"""Functions of two bytes with an int8 result."""

CODES = np.arange(-128, 128, dtype=np.int8)
"""Every int8 code, ascending."""


def bytewise(graph: Graph, operator: Operator) -> bool:
    """Return whether an operator is of `UNARY` or `BINARY`, of int8 operands and result."""
    tensors = [graph.tensors[t] for t in (*operator.inputs, *operator.outputs) if t >= 0]
    return (
        operator.name in UNARY | BINARY
        and all(tensor.dtype == np.int8 for tensor in tensors)
        and unsupported(graph.tensors, operator) is None
    )


def computed(
    graph: Graph, operator: Operator, reference: Reference, *operands: np.ndarray
) -> np.ndarray | None:
    """Return what golden computes with other first operands; None if it refuses them."""
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            call = OperatorCall(graph, operator, reference=reference).substituted(*operands)
            return RUNNERS[operator.name].run(call)[0]
    except REFUSED:
        return None
