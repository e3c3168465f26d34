"""Operators that join tensors or take one apart."""

from collections.abc import Sequence
from typing import Any

from eightfold.golden import joining
from eightfold.golden.errors import RejectedError
from eightfold.golden.joining import concatenated_shape, packed_shape
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    COPIED,
    INDEX,
    INT32,
    Definition,
    Shape,
    Without,
    hollow,
    reader,
)
from eightfold.operators.movement import UNPREPARED, explain_copy
from eightfold.operators.rules import SpecEntry
from eightfold.operators.stacks import JOINED_BEHIND


def _input_shapes(node: Node) -> list[tuple[int, ...]]:
    return [node.shape(position) for position in range(len(node.inputs))]


def _concatenation_shapes(node: Node) -> Sequence[Shape]:
    return [concatenated_shape(_input_shapes(node), node.options["axis"])]


def _pack_shapes(node: Node) -> Sequence[Shape]:
    count = node.options["values_count"]
    if len(node.inputs) != count:
        raise RejectedError(f"has {len(node.inputs)} inputs, but values_count {count}")
    return [packed_shape(_input_shapes(node), node.options["axis"])]


def _split_shapes(node: Node) -> Sequence[Shape]:
    axis = node.known_integer(0)
    if axis is None:
        return [(None,) * len(node.shape(1))] * len(node.outputs)
    return [part.shape for part in joining.split(hollow(node.shape(1)), axis, len(node.outputs))]


def _split_v_shapes(node: Node) -> Sequence[Shape]:
    sizes, axis = node.known_vector(1), node.known_integer(2)
    if node.shape(1)[0] != len(node.outputs):
        raise RejectedError(f"has {len(node.outputs)} outputs, but {node.shape(1)[0]} sizes")
    if sizes is None or axis is None:
        return [(None,) * len(node.shape(0))] * len(node.outputs)
    return [part.shape for part in joining.split_v(hollow(node.shape(0)), sizes, axis)]


def _unpack_shapes(node: Node) -> Sequence[Shape]:
    x = hollow(node.shape(0))
    return [part.shape for part in joining.unpack(x, node.options["axis"], len(node.outputs))]


def _all_arrays(call: OperatorCall) -> Sequence[Any]:
    return [[call.codes(position) for position in range(len(call.inputs))]]


JOINING: dict[str, Definition] = {
    "CONCATENATION": Definition(
        shapes=_concatenation_shapes,
        operands=(COPIED,),
        variadic=True,
        alike=True,
        activations=frozenset({"NONE"}),
        golden=joining.concatenation,
        operands_of=_all_arrays,
        empty=True,
        explain=explain_copy,
        stacks=JOINED_BEHIND,
        prepare=UNPREPARED,
        spec=SpecEntry(3, same=True),
    ),
    "PACK": Definition(
        shapes=_pack_shapes,
        operands=(COPIED,),
        variadic=True,
        alike=True,
        golden=joining.pack,
        operands_of=_all_arrays,
        empty=True,
        explain=explain_copy,
        stacks=Without("its result's axis 0 may be the new one"),
        prepare=UNPREPARED,
    ),
    "SPLIT": Definition(
        shapes=_split_shapes,
        operands=(INT32, COPIED),
        results="num_splits",
        golden=joining.split,
        operands_of=lambda call: [call.codes(1), call.integer(0)],
        empty=True,
        explain=explain_copy,
        stacks=Without("its first input is the axis, which all inferences share"),
        prepare=UNPREPARED,
    ),
    "SPLIT_V": Definition(
        shapes=_split_v_shapes,
        operands=(COPIED, INDEX, INT32),
        results="num_splits",
        empty=True,
        golden=joining.split_v,
        operands_of=reader("codes", "vector", "integer"),
        explain=explain_copy,
        stacks=Without("it may take axis 0 apart"),
        prepare=UNPREPARED,
    ),
    "UNPACK": Definition(
        shapes=_unpack_shapes,
        operands=(COPIED,),
        results="num",
        golden=joining.unpack,
        explain=explain_copy,
        stacks=Without("it may take axis 0 away"),
        prepare=UNPREPARED,
    ),
}
"""Operators on several tensors of a kind."""
