"""Rows of the operators that compute element by element, or along rows."""

from collections.abc import Sequence
from dataclasses import replace

from eightfold.golden.binary import broadcast_shape
from eightfold.golden.rectifiers import prelu_shape
from eightfold.model.prepare.node import Node
from eightfold.model.prepare.row import Operand, Row, Shape

_INT8 = Operand()


def _same(node: Node) -> Sequence[Shape]:
    return [node.shape(0)]


def _common(node: Node) -> Sequence[Shape]:
    return [broadcast_shape(node.shape(0), node.shape(1))]


def _prelu(node: Node) -> Sequence[Shape]:
    return [prelu_shape(node.shape(0), node.shape(1))]


_UNARY = Row(shapes=_same)
_ROWS = Row(shapes=_same, operands=(Operand(ranks=(1, 32)),))
_BINARY = Row(shapes=_common, operands=(_INT8, _INT8), alike=True)
_COMPARISON = Row(shapes=_common, operands=(_INT8, _INT8), alike=True, dtype="bool")

POINTWISE: dict[str, Row] = {
    **dict.fromkeys(("ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB"), _BINARY),
    **dict.fromkeys(
        ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"), _COMPARISON
    ),
    **dict.fromkeys(
        (
            "HARD_SWISH",
            "LEAKY_RELU",
            "LOGISTIC",
            "RELU",
            "RELU6",
            "RELU_0_TO_1",
            "RELU_N1_TO_1",
            "TANH",
        ),
        _UNARY,
    ),
    **dict.fromkeys(("LOG_SOFTMAX", "SOFTMAX"), _ROWS),
    "L2_NORMALIZATION": replace(_ROWS, activations=frozenset({"NONE"})),
    "DEQUANTIZE": Row(shapes=_same, dtype="float32"),
    "PRELU": Row(shapes=_prelu, operands=(_INT8, _INT8), alike=True),
    "QUANTIZE": Row(shapes=_same, operands=(Operand(("int8", "float32")),), dtypes=("int8",)),
}
"""Operators on values; booleans come out of the comparisons."""
