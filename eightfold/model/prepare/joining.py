"""Rows of the operators that join tensors or take one apart."""

from collections.abc import Sequence

from eightfold.golden.errors import RejectedError
from eightfold.golden.joining import concatenated_shape, packed_shape, split, unpack
from eightfold.model.prepare.hollow import COPIED, hollow
from eightfold.model.prepare.node import Node
from eightfold.model.prepare.row import Operand, Row, Shape


def _input_shapes(node: Node) -> list[tuple[int, ...]]:
    return [node.shape(position) for position in range(len(node.inputs))]


def _concatenation(node: Node) -> Sequence[Shape]:
    return [concatenated_shape(_input_shapes(node), node.options["axis"])]


def _pack(node: Node) -> Sequence[Shape]:
    count = node.options["values_count"]
    if len(node.inputs) != count:
        raise RejectedError(f"has {len(node.inputs)} inputs, but values_count {count}")
    return [packed_shape(_input_shapes(node), node.options["axis"])]


def _split(node: Node) -> Sequence[Shape]:
    axis = node.known_integer(0)
    if axis is None:
        return [(None,) * len(node.shape(1))] * len(node.outputs)
    return [part.shape for part in split(hollow(node.shape(1)), axis, len(node.outputs))]


def _unpack(node: Node) -> Sequence[Shape]:
    x = hollow(node.shape(0))
    return [part.shape for part in unpack(x, node.options["axis"], len(node.outputs))]


JOINING: dict[str, Row] = {
    "CONCATENATION": Row(
        shapes=_concatenation,
        operands=(COPIED,),
        variadic=True,
        alike=True,
        activations=frozenset({"NONE"}),
    ),
    "PACK": Row(shapes=_pack, operands=(COPIED,), variadic=True, alike=True),
    "SPLIT": Row(
        shapes=_split,
        operands=(Operand(("int32",), values=False), COPIED),
        results="num_splits",
    ),
    "UNPACK": Row(shapes=_unpack, operands=(COPIED,), results="num"),
}
"""Operators on several tensors of a kind."""
