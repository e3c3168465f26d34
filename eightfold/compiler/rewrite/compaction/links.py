"""Which channels of an operator's tensors stay or go together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eightfold.compiler.rewrite.elements import BINARY, TABLE, UNARY, bytewise, runs
from eightfold.model import Graph, Operator
from eightfold.model.prepare import Node


@dataclass(frozen=True, eq=False)
class Link:
    """Channel ``here[i]`` of tensor ``a`` stays if and only if ``there[i]`` of ``b`` does."""

    a: int
    here: np.ndarray
    b: int
    there: np.ndarray


WEIGHTED = frozenset({"CONV_2D", "FULLY_CONNECTED"})
"""Operators that multiply channels by weights and sum: any of both sides may go."""


def is_weighted(graph: Graph, operator: Operator) -> bool:
    """Return whether an operator sums its input's channels by constant weights, in one group.

    Of FULLY_CONNECTED with weights that have no zero point, on whole rows of channels.
    """
    node = Node(graph.tensors, operator)
    if operator.name not in WEIGHTED or not runs(graph, operator):
        return False
    if any(map(node.is_computed, (1, 2))) or node.is_constant(0):
        return False
    filters = node.input(1)
    if filters.quantization is None or filters.quantization.zero_point.any():
        return False
    return bool(node.shape()) and node.shape()[-1] == filters.shape[-1]


def links(graph: Graph, operator: Operator) -> list[Link] | None:
    """Return the links of an operator that keeps channels apart; None if it does not."""
    rule = RULES.get(operator.name)
    node = Node(graph.tensors, operator)
    if rule is None or not runs(graph, operator) or node.is_constant(0):
        return None
    if not node.shape() or not node.output.shape:
        return None
    return rule(graph, node)


def _same(node: Node, position: int = 0) -> Link:
    channels = np.arange(node.output.shape[-1])
    return Link(node.input(position).index, channels, node.output.index, channels)


def _one(graph: Graph, node: Node) -> list[Link] | None:
    """Return the link of an operator on one tensor."""
    if node.operator.name in UNARY | {TABLE} and not bytewise(graph, node.operator):
        return None
    return [_same(node)] if node.shape()[-1] == node.output.shape[-1] else None


def _element_by_element(graph: Graph, node: Node) -> list[Link] | None:
    """Return the links of the operands that have the result's channels.

    The only channel of others is read by all.
    """
    if not bytewise(graph, node.operator) or None in node.inputs:
        return None
    channels = node.output.shape[-1]
    return [
        _same(node, position)
        for position, tensor in enumerate(node.inputs)
        if tensor is not None and tensor.data is None and tensor.shape[-1:] == (channels,)
    ]


def _depthwise(graph: Graph, node: Node) -> list[Link] | None:
    """Return the link of each filter with the channel that it reads."""
    if any(map(node.is_computed, (1, 2))):
        return None
    filters = np.arange(node.output.shape[-1])
    repeats = len(filters) // node.shape()[-1]
    return [Link(node.input(0).index, filters // repeats, node.output.index, filters)]


def _padded(graph: Graph, node: Node) -> list[Link] | None:
    """Return the link of an image with its surroundings, if these have no channels of their own."""
    if not node.is_constant(1) or node.constant(1)[-1].any() or node.is_computed(2):
        return None
    return [_same(node)]


def _reduced(graph: Graph, node: Node) -> list[Link] | None:
    """Return the link of a reduction along other axes than the last one."""
    rank = len(node.shape())
    if not node.is_constant(1) or rank - 1 in node.constant(1).reshape(-1) % rank:
        return None
    return [_same(node)]


def _joined(graph: Graph, node: Node) -> list[Link] | None:
    """Return the links of a concatenation's inputs."""
    tensors = [tensor for tensor in node.inputs if tensor is not None]
    if any(tensor.data is not None for tensor in tensors):
        return None
    rank = len(node.output.shape)
    if node.options["axis"] % rank < rank - 1:
        return [_same(node, position) for position in range(len(tensors))]
    found = []
    first = 0
    for tensor in tensors:
        channels = np.arange(tensor.shape[-1])
        found.append(Link(tensor.index, channels, node.output.index, first + channels))
        first += len(channels)
    return found


RULES: dict[str, Callable[[Graph, Node], list[Link] | None]] = {
    **dict.fromkeys(UNARY | {TABLE}, _one),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _one),
    **dict.fromkeys(("EXPAND_DIMS", "RESHAPE", "SQUEEZE"), _one),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _one),
    **dict.fromkeys(BINARY, _element_by_element),
    **dict.fromkeys(("MEAN", "REDUCE_MAX", "REDUCE_MIN", "SUM"), _reduced),
    **dict.fromkeys(("PAD", "PADV2"), _padded),
    "CONCATENATION": _joined,
    "DEPTHWISE_CONV_2D": _depthwise,
}
"""How an operator that keeps channels apart links them."""
