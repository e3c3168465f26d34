"""Several inferences as one: their tensors one after the other along axis 0.

A stack of N inferences has axis 0 N times as long. An operator that treats the slices along axis 0
alike, and none together, computes the stack of its results from the stack of its inputs. Which
operators do is a list of the sure cases; any other means one inference at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from eightfold.model.graph import Graph, Operator, Tensor

RESHAPING = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE"})
"""Operators that keep the elements' order: a stack's elements are each inference's in turn."""

_Rule = Callable[[Graph, Operator], bool]


def stackable(graph: Graph) -> bool:
    """Return whether every operator of the graph is known to work on stacks."""
    tensors = [graph.tensors[index] for index in graph.inputs]
    tensors += [graph.tensors[index] for op in graph.operators for index in op.outputs]
    return all(len(tensor.shape) > 0 for tensor in tensors) and all(
        operator.name in _RULES and _RULES[operator.name](graph, operator)
        for operator in graph.operators
    )


def stacked_shape(tensor: Tensor, stacked: int) -> tuple[int, ...]:
    """Return the shape of the stack of ``stacked`` tensors."""
    return (stacked * tensor.shape[0], *tensor.shape[1:])


def stack(graph: Graph, batch: Sequence[Mapping[int, np.ndarray]]) -> dict[int, np.ndarray] | None:
    """Return the inputs as stacks; None if one is missing, or not as the graph declares it."""
    stacks = {}
    for index in graph.inputs:
        tensor = graph.tensors[index]
        arrays = [inputs.get(index) for inputs in batch]
        fit = [a for a in arrays if a is not None and a.shape == tensor.shape]
        if len(fit) < len(arrays) or any(array.dtype != tensor.dtype for array in fit):
            return None
        stacks[index] = np.concatenate(fit)
    return stacks


def unstack(
    graph: Graph, values: Mapping[int, np.ndarray], stacked: int
) -> list[dict[int, np.ndarray]] | None:
    """Return each inference's tensors, views of the stacks; None if a shape is not as declared."""
    results: list[dict[int, np.ndarray]] = [{} for _ in range(stacked)]
    for index, array in values.items():
        tensor = graph.tensors[index]
        if array.shape != stacked_shape(tensor, stacked):
            return None
        for result, part in zip(results, array.reshape(stacked, *tensor.shape), strict=True):
            result[index] = part
    return results


def _rank(graph: Graph, operator: Operator) -> int:
    return len(graph.tensors[operator.inputs[0]].shape)


def _first_only(graph: Graph, operator: Operator) -> bool:
    """Only the first input is computed; the others are constants or absent."""
    first, *others = operator.inputs
    return graph.tensors[first].data is None and all(
        index < 0 or graph.tensors[index].data is not None for index in others
    )


def _image(graph: Graph, operator: Operator) -> bool:
    return _first_only(graph, operator) and _rank(graph, operator) == 4


def _rows(graph: Graph, operator: Operator) -> bool:
    """Along the last axis, which is not axis 0."""
    return _first_only(graph, operator) and _rank(graph, operator) >= 2


def _fully_connected(graph: Graph, operator: Operator) -> bool:
    """Each inference gives whole rows of the filter's length."""
    if not _rows(graph, operator):
        return False
    x, weights = (graph.tensors[index].shape for index in operator.inputs[:2])
    return len(weights) == 2 and prod(x) % weights[1] == 0


def _elementwise(graph: Graph, operator: Operator) -> bool:
    """Computed inputs have the output's shape; constants are the same for all slices."""
    output = graph.tensors[operator.outputs[0]].shape
    for index in operator.inputs:
        if index < 0:
            return False
        tensor = graph.tensors[index]
        if tensor.data is None:
            # Axis 0 counts slices in both; the axes behind it may broadcast.
            if len(tensor.shape) != len(output) or tensor.shape[0] != output[0]:
                return False
        elif len(tensor.shape) > len(output) or (
            len(tensor.shape) == len(output) and tensor.shape[0] != 1
        ):
            return False
    return any(graph.tensors[index].data is None for index in operator.inputs)


def _reshaping(graph: Graph, operator: Operator) -> bool:
    x, y = graph.tensors[operator.inputs[0]].shape, graph.tensors[operator.outputs[0]].shape
    return _first_only(graph, operator) and len(x) > 0 and prod(x) == prod(y)


def _constants(graph: Graph, operator: Operator) -> np.ndarray | None:
    """Return the second input; None if it is absent or computed."""
    if len(operator.inputs) < 2 or not _first_only(graph, operator):
        return None
    return graph.tensors[operator.inputs[1]].data


def _padding(graph: Graph, operator: Operator) -> bool:
    paddings = _constants(graph, operator)
    return paddings is not None and paddings.ndim == 2 and not paddings[0].any()


def _reduction(graph: Graph, operator: Operator) -> bool:
    axes, rank = _constants(graph, operator), _rank(graph, operator)
    return axes is not None and rank >= 2 and not np.any(axes % rank == 0)


def _permutation(graph: Graph, operator: Operator) -> bool:
    order = _constants(graph, operator)
    return order is not None and order.size > 0 and order.flat[0] in (0, -order.size)


def _concatenation(graph: Graph, operator: Operator) -> bool:
    tensors, rank = [graph.tensors[index] for index in operator.inputs], _rank(graph, operator)
    computed = all(tensor.data is None for tensor in tensors)
    return computed and rank >= 2 and operator.options["axis"] % rank != 0


_RULES: dict[str, _Rule] = {
    "CONV_2D": _image,
    "DEPTHWISE_CONV_2D": _image,
    "AVERAGE_POOL_2D": _image,
    "MAX_POOL_2D": _image,
    "RESIZE_BILINEAR": _image,
    "RESIZE_NEAREST_NEIGHBOR": _image,
    "DEPTH_TO_SPACE": _image,
    "SPACE_TO_DEPTH": _image,
    "FULLY_CONNECTED": _fully_connected,
    "CONCATENATION": _concatenation,
    "TRANSPOSE": _permutation,
    **dict.fromkeys(("PAD", "PADV2"), _padding),
    **dict.fromkeys(("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), _rows),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "ARG_MAX", "ARG_MIN"), _reduction),
    **dict.fromkeys(RESHAPING, _reshaping),
    **dict.fromkeys(
        [
            "ADD",
            "SUB",
            "MUL",
            "MAXIMUM",
            "MINIMUM",
            "EQUAL",
            "NOT_EQUAL",
            "GREATER",
            "GREATER_EQUAL",
            "LESS",
            "LESS_EQUAL",
            "PRELU",
            "LEAKY_RELU",
            "HARD_SWISH",
            "LOGISTIC",
            "TANH",
            "RELU",
            "RELU6",
            "RELU_0_TO_1",
            "RELU_N1_TO_1",
            "QUANTIZE",
            "DEQUANTIZE",
        ],
        _elementwise,
    ),
}
"""By operator name, whether it works on stacks."""
