"""Operators that only move elements are dropped, merged, or moved behind functions of a byte.

What an operator moves is known element by element: golden runs it on positions in place of codes.
"""

from dataclasses import replace

import numpy as np

from eightfold.compiler.lower.movement import PositionCall
from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import (
    REFUSED,
    bytewise,
    function_of,
    runs,
    same_quantization,
)
from eightfold.model import Operator
from eightfold.operators import Node, OperatorCall

RENAMING = frozenset({"EXPAND_DIMS", "RESHAPE", "SQUEEZE"})
"""Operators whose result is the input's bytes under another shape."""

REORDERING = RENAMING | {"TRANSPOSE"}
"""Operators whose result has each element of the input once."""

STAYING = REORDERING | {"CONCATENATION", "PAD", "PADV2", "QUANTIZE", "SLICE", "STRIDED_SLICE"}
"""Operators that may have nothing to do."""


def tidy(draft: Draft) -> None:
    """Merge and move what only moves elements, and drop what moves none."""
    for operator in draft.each():
        for change in (_merge_renaming, _merge_transposed, _merge_joined, _lift, _drop):
            current = draft.operator(operator.index)
            if current is not None and runs(draft.graph, current):
                change(draft, current)


def _drop(draft: Draft, operator: Operator) -> None:
    """Drop an operator whose result is its input, element by element."""
    node = Node(draft.tensors, operator)
    if operator.name not in STAYING or len(node.outputs) != 1 or node.tensor(0) is None:
        return
    source = node.input(0)
    target = node.output
    if source.shape != target.shape or source.dtype != target.dtype or source.data is not None:
        return
    if target.index in draft.outputs() or not same_quantization(source, target):
        return
    if not _stays(draft, operator):
        return
    draft.remove(operator)
    draft.stand_in(target.index, source.index)
    draft.say("moves", [operator.index], "it moves nothing")


def _stays(draft: Draft, operator: Operator) -> bool:
    """Return whether an operator gives its first input's elements, each at its place."""
    graph = draft.graph
    if operator.name == "QUANTIZE":
        function = function_of(graph, operator, draft.reference)
        return function is not None and np.array_equal(function.table, np.arange(-128, 128))
    try:
        positions = PositionCall(OperatorCall(graph, operator, reference=draft.reference))
        (result,) = positions.results()
    except REFUSED:
        return False
    first = positions.sources[0].first
    return np.array_equal(result.reshape(-1), np.arange(first, first + result.size))


def _before(draft: Draft, operator: Operator, names: frozenset[str]) -> Operator | None:
    """Return the operator of these names whose result is the first input, if only this reads it."""
    first = draft.producer(operator.inputs[0]) if operator.inputs else None
    return first if first and first.name in names and runs(draft.graph, first) else None


def _merge_renaming(draft: Draft, operator: Operator) -> None:
    """Let the second of two renamings read what the first one reads: it says the whole shape."""
    first = _before(draft, operator, RENAMING)
    if first is None or operator.name not in RENAMING:
        return
    node, inner = Node(draft.tensors, operator), Node(draft.tensors, first)
    if any(each.is_computed(1) for each in (node, inner)) or inner.is_constant(0):
        return
    if not same_quantization(inner.input(0), node.output):
        return
    shape = node.output.shape
    sizes = draft.constant(None, np.array(shape, np.int32).reshape(-1))
    merged = replace(
        operator, name="RESHAPE", inputs=(first.inputs[0], sizes), options={"new_shape": shape}
    )
    draft.merge("moves", first, merged)


def _merge_transposed(draft: Draft, operator: Operator) -> None:
    """Make one TRANSPOSE of two: axis i of the result is axis ``inner[outer[i]]`` of the input."""
    first = _before(draft, operator, frozenset({"TRANSPOSE"}))
    if first is None or operator.name != "TRANSPOSE":
        return
    node, inner = Node(draft.tensors, operator), Node(draft.tensors, first)
    if not (node.is_constant(1) and inner.is_constant(1)) or inner.is_constant(0):
        return
    axes = inner.constant(1).reshape(-1)[node.constant(1).reshape(-1)]
    permutation = draft.constant(node.input(1), axes.astype(np.int32))
    draft.merge("moves", first, replace(operator, inputs=(first.inputs[0], permutation)))


def _merge_joined(draft: Draft, operator: Operator) -> None:
    """Let a concatenation read the parts of another one along the same axis."""
    if operator.name != "CONCATENATION":
        return
    rank = len(draft.tensors[operator.outputs[0]].shape)
    for tensor in operator.inputs:
        first = draft.producer(tensor)
        if operator.inputs.count(tensor) > 1 or first is None or first.name != operator.name:
            continue
        if len({each.options["axis"] % rank for each in (operator, first)}) > 1:
            continue
        parts = [draft.tensors[part] for part in (*first.inputs, tensor)]
        if not all(same_quantization(parts[0], part) for part in parts):
            continue
        place = operator.inputs.index(tensor)
        inputs = (*operator.inputs[:place], *first.inputs, *operator.inputs[place + 1 :])
        draft.merge("moves", first, replace(operator, inputs=inputs))
        return


ABSORBING = frozenset(
    {"ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D"}
)
"""Operators that may take in a function of a byte behind them, besides such functions."""


def _lift(draft: Draft, operator: Operator) -> None:
    """Move a function of a byte in front of what only reorders: then it may join what is there.

    Each element of the result is the function of one element, wherever that lies.
    """
    first = _before(draft, operator, REORDERING)
    graph = draft.graph
    if first is None or (function := function_of(graph, operator, draft.reference)) is None:
        return
    node = Node(draft.tensors, first)
    if function.source != first.outputs[0] or node.is_constant(0) or node.is_computed(1):
        return
    producer = draft.producer(first.inputs[0])
    if producer is None or not (producer.name in ABSORBING or bytewise(graph, producer)):
        return
    between = draft.tensor(replace(draft.tensors[operator.outputs[0]], shape=node.shape()))
    inputs = tuple(first.inputs[0] if t == function.source else t for t in operator.inputs)
    moved = replace(operator, index=first.index, inputs=inputs, outputs=(between,))
    behind = replace(
        first, index=operator.index, inputs=(between, *first.inputs[1:]), outputs=operator.outputs
    )
    draft.replace(first, moved)
    draft.replace(operator, behind)
    draft.say("moves", [first.index, operator.index], f"{operator.name} before {first.name}")
