"""Write a graph's operators without the channels that nobody needs.

`intervals` has which codes a channel can have, `needs` which tensors have the same channels and
which channels stay.
"""

from dataclasses import replace

import numpy as np

from eightfold.compiler.rewrite.draft import Draft, sliced
from eightfold.compiler.rewrite.needs import Needs
from eightfold.golden.fixed_point import wrap32
from eightfold.model import Operator, Tensor
from eightfold.model.graph import Quantization
from eightfold.operators import Node


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
    _say(draft, graph.operators, kept)


Kept = dict[int, np.ndarray]


def _say(draft: Draft, operators: tuple[Operator, ...], kept: Kept) -> None:
    for operator in operators:
        for tensor in set(operator.outputs) & kept.keys():
            count = draft.tensors[tensor].shape[-1]
            draft.say("channels", [operator.index], f"{len(kept[tensor])} of {count} channels")


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
