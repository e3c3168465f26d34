"""Rows of the operators that reduce axes."""

from collections.abc import Sequence

from eightfold.golden.reduction import one_axis, reduced_shape
from eightfold.model.prepare.node import Node
from eightfold.model.prepare.row import Operand, Row, Shape

_INT8 = Operand()
# The kernels count the axes' elements, and never look at their rank.
_AXES = Operand(("int32",), values=False)
_AXIS = Operand(("int32", "int64"), values=False)


def _reduced(node: Node) -> Sequence[Shape]:
    axes, keep = node.known(1), node.options["keep_dims"]
    if axes is None:
        return [(None,) * len(node.shape(0)) if keep else None]
    return [reduced_shape(node.shape(0), axes, keep)]


def _without_axis(node: Node) -> Sequence[Shape]:
    axis, shape = node.known_integer(1), node.shape(0)
    if axis is None:
        return [(None,) * (len(shape) - 1)]
    return [reduced_shape(shape, one_axis(axis, len(shape)))]


_REDUCTION = Row(shapes=_reduced, operands=(_INT8, _AXES))
_EXTREME = Row(
    shapes=_without_axis,
    operands=(Operand(ranks=(1, 32)), _AXIS),
    dtype_option="output_type",
)

REDUCTION: dict[str, Row] = {
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _EXTREME),
    **dict.fromkeys(("MEAN", "REDUCE_MAX", "REDUCE_MIN", "SUM"), _REDUCTION),
}
"""Operators over axes."""
