"""Compute the channels that are needed, and write a graph's operators without the others.

`intervals` has which codes a channel can have. Which of an operator's tensors have the same
channels, and which channels stay, is asked from the results back to the inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.rewrite.draft import Draft, sliced
from eightfold.compiler.rewrite.elements import BINARY, TABLE, UNARY, accepted, bytewise, runs
from eightfold.compiler.rewrite.intervals import Intervals
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator, Tensor
from eightfold.model.graph import Quantization
from eightfold.operators import Node


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


Mask = NDArray[np.bool_]

FEWEST = 2
"""Channels that are left at least: one scale of a filter would be that of all its channels."""


class Needs:
    """Which channels of a graph's tensors stay, by tensor: the fewest that suffice.

    From nothing, channels are added until nothing asks for more: all of inputs, of outputs, and of
    what operators touch that mix channels; what a sum needs that is itself needed; and with a
    channel those that it is linked to. Channels of zero weights are not needed. Nor are those that
    always have one code, if every tap sees them: their products are a constant (`constant_part`).
    """

    def __init__(self, graph: Graph, reference: Reference) -> None:
        self._graph = graph
        self._intervals = Intervals(graph, reference)
        computed = {tensor for operator in graph.operators for tensor in operator.outputs}
        shapes = {t: graph.tensors[t].shape for t in (*graph.given, *computed)}
        self.kept: dict[int, Mask] = {
            tensor: np.zeros(shape[-1] if shape else 1, dtype=bool)
            for tensor, shape in shapes.items()
        }
        refused = {
            operator.index
            for operator in graph.operators
            if operator.name in WEIGHTED | {"DEPTHWISE_CONV_2D"}
            and not accepted(graph, operator, reference)
        }
        self._weighted = [
            op for op in graph.operators if is_weighted(graph, op) and op.index not in refused
        ]
        sums = {operator.index for operator in self._weighted}
        apart = {
            operator.index: None if operator.index in refused else links(graph, operator)
            for operator in graph.operators
            if operator.index not in sums
        }
        self._links = [link for found in apart.values() for link in found or ()]
        whole = {*graph.given, *graph.results}
        for operator in graph.operators:
            if operator.index not in sums:
                whole |= _mixed(operator, apart[operator.index])
        for tensor in whole & set(self.kept):
            self.kept[tensor][:] = True
        self._settle()

    def constant_part(self, operator: Operator) -> NDArray[np.int64] | None:
        """Return what the channels that go add to a sum's accumulators; None if none add anything.

        int64, one per output channel: their weights times their only code less the zero point.
        """
        node = Node(self._graph.tensors, operator)
        gone = ~self.kept[node.input(0).index]
        interval = self._intervals[node.input(0).index]
        used = gone & interval.constant
        if not used.any():
            return None
        weights = node.constant(1).astype(np.int64)
        sums = weights.reshape(len(weights), -1, weights.shape[-1]).sum(axis=1)
        return sums[:, used] @ (interval.low[used] - _zero_point(node))

    def _settle(self) -> None:
        """Add channels until nothing asks for more, and then to those that have too few."""
        while True:
            before = -1
            while (count := sum(int(mask.sum()) for mask in self.kept.values())) != before:
                before = count
                for operator in reversed(self._weighted):
                    self._ask(operator)
                for link in reversed(self._links):
                    self._tie(link)
            few = [mask for mask in self.kept.values() if mask.sum() < min(FEWEST, len(mask))]
            if not few:
                return
            for mask in few:
                mask[np.flatnonzero(~mask)[: FEWEST - int(mask.sum())]] = True

    def _ask(self, operator: Operator) -> None:
        """Add the channels that the needed channels of a sum need."""
        node = Node(self._graph.tensors, operator)
        source = node.input(0).index
        weights = node.constant(1)[self.kept[node.output.index]]
        used = weights.any(axis=tuple(range(weights.ndim - 1)))
        self.kept[source] |= used & ~self._foldable(node)

    def _foldable(self, node: Node) -> Mask:
        """Return the channels of a sum's input that add the same to it at every place."""
        interval = self._intervals[node.input(0).index]
        if _sees_all(node):
            return interval.constant
        return interval.constant & (interval.low == node.options.get("fill", _zero_point(node)))

    def _tie(self, link: Link) -> None:
        a, b = self.kept[link.a], self.kept[link.b]
        b[link.there] |= a[link.here]
        np.logical_or.at(a, link.here, b[link.there])
        b[link.there] |= a[link.here]


def _mixed(operator: Operator, found: list[Link] | None) -> set[int]:
    """Return the tensors of an operator whose channels all stay."""
    touched = {*operator.inputs, *operator.outputs}
    return touched if found is None else touched - {t for link in found for t in (link.a, link.b)}


def _zero_point(node: Node) -> int:
    quantization = node.input(0).quantization
    assert quantization is not None  # `is_weighted` tells no other operators
    return int(quantization.zero_point[0])


def _sees_all(node: Node) -> bool:
    """Return whether every tap of a sum's window lies inside the image, at every place."""
    if node.operator.name == "FULLY_CONNECTED":
        return True
    window = node.filter_window()
    return not any(any(window.pads(axis, node.shape()[1 + axis])) for axis in (0, 1))


def compact(draft: Draft) -> None:
    """Remove channels that are constant or unused from weights, parameters and tensors.

    What a removed constant channel adds to the sums that read it goes to their biases.
    """
    graph = draft.graph
    needs = Needs(graph, draft.reference)
    kept = {tensor: np.flatnonzero(mask) for tensor, mask in needs.kept.items() if not mask.all()}
    if not kept:
        return
    narrowed = {tensor: draft.narrow(tensor, channels) for tensor, channels in kept.items()}
    for operator in graph.operators:
        if not kept.keys() & {*operator.inputs, *operator.outputs}:
            continue
        constants = CONSTANTS.get(operator.name, _element_constants)
        inputs = [narrowed.get(tensor, tensor) for tensor in operator.inputs]
        node = Node(graph.tensors, operator)
        for position, number in constants(draft, node, kept, needs).items():
            inputs += [-1] * (position + 1 - len(inputs))
            inputs[position] = number
        outputs = tuple(narrowed.get(tensor, tensor) for tensor in operator.outputs)
        draft.replace(operator, replace(operator, inputs=tuple(inputs), outputs=outputs))
    for operator in graph.operators:
        for tensor in set(operator.outputs) & kept.keys():
            count = draft.tensors[tensor].shape[-1]
            draft.say("channels", [operator.index], f"{len(kept[tensor])} of {count} channels")


Kept = dict[int, np.ndarray]


def _chosen(tensor: Tensor, kept: Kept) -> np.ndarray:
    """Return the channels of a tensor that stay."""
    return kept.get(tensor.index, np.arange(tensor.shape[-1]))


def _sum_constants(draft: Draft, node: Node, kept: Kept, needs: Needs) -> dict[int, int]:
    """Return weights and bias of a convolution or FULLY_CONNECTED."""
    rows, columns = _chosen(node.output, kept), _chosen(node.input(0), kept)
    weights = node.input(1)
    taken = node.constant(1)[rows][..., columns]
    constants = {1: draft.constant(weights, taken, sliced(weights.quantization, 0, rows))}
    added = needs.constant_part(node.operator) if node.input(0).index in kept else None
    bias = node.tensor(2)
    if bias is None and added is None:
        return constants
    if bias is None or bias.data is None:
        values = np.zeros(len(node.constant(1)), np.int64)
        quantization = _bias_scale(node)
    else:
        values = bias.data.reshape(-1).astype(np.int64)
        quantization = bias.quantization
    total = wrap32(values if added is None else values + added).astype(np.int32)[rows]
    constants[2] = draft.constant(bias, total, sliced(quantization, 0, rows))
    return constants


def _bias_scale(node: Node) -> Quantization:
    """Return the quantization that a bias has, for an operator without one."""
    inputs = node.input(0).quantization
    weights = node.input(1).quantization
    assert inputs is not None and weights is not None
    scale = (inputs.scale[0] * weights.scale).astype(np.float32)
    return Quantization(scale, np.zeros(len(scale), np.int64), 0)


def _depthwise_constants(draft: Draft, node: Node, kept: Kept, needs: Needs) -> dict[int, int]:
    """Return weights and bias of DEPTHWISE_CONV_2D."""
    rows = _chosen(node.output, kept)
    weights, bias = node.input(1), node.tensor(2)
    taken = node.constant(1)[..., rows]
    constants = {1: draft.constant(weights, taken, sliced(weights.quantization, 3, rows))}
    if bias is not None and bias.data is not None:
        values = bias.data.reshape(-1)[rows]
        constants[2] = draft.constant(bias, values, sliced(bias.quantization, 0, rows))
    return constants


def _shape_constants(draft: Draft, node: Node, kept: Kept, needs: Needs) -> dict[int, int]:
    """Return the shape that RESHAPE is told."""
    shape = (*node.output.shape[:-1], len(_chosen(node.output, kept)))
    return {1: draft.constant(node.tensor(1), np.array(shape, np.int32))}


def _element_constants(draft: Draft, node: Node, kept: Kept, needs: Needs) -> dict[int, int]:
    """Return operands of element-wise operators that have a code for each channel."""
    rows = _chosen(node.output, kept)
    return {
        position: draft.constant(tensor, tensor.data[..., rows], tensor.quantization)
        for position, tensor in enumerate(node.inputs)
        if tensor is not None and tensor.data is not None and node.output.shape[-1] > 1
        if tensor.dtype == np.int8 and tensor.shape[-1:] == node.output.shape[-1:]
    }


CONSTANTS = {
    **dict.fromkeys(("CONV_2D", "FULLY_CONNECTED"), _sum_constants),
    "DEPTHWISE_CONV_2D": _depthwise_constants,
    "RESHAPE": _shape_constants,
}
"""The constants of an operator with other channels, by their places among its operands."""
