"""Operators of OpenVINO and ONNX as layers, from attributes under their names in ONNX."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from eightfold.importer.network import Layer, Network, Refusal

Attributes = Mapping[str, Any]
Taken = dict[str, Any]
"""Attributes of a layer: by the names that its kind's function returns."""


def take(network: Network, layer: Layer, given: Attributes) -> None:
    """Give a layer whose kind is an operator's name its kind and attributes.

    Raises `Refusal` if there is no int8 form of it, as far as is seen here.
    """
    if layer.kind not in OPERATORS:
        raise Refusal("this type of layer is none of those that docs/fakequantize.md lists")
    kind, attributes = OPERATORS[layer.kind]
    found = attributes(network, layer, given)
    if kind not in ("conv", "matmul", "add", "sub", "mul", "concat"):
        del layer.inputs[1:]
    layer.kind, layer.attributes = kind, found


def keep(network: Network) -> None:
    """Make tables of refused layers that compute each element from one: kind ``table``.

    What such a layer is called in the source stands in its attribute ``operator``, why it would be
    refused in ``reason``.
    """
    for layer in filter(partial(may_keep, network), network.layers):
        layer.attributes |= {"operator": layer.kind, "reason": layer.refusal}
        layer.kind, layer.inputs, layer.refusal = "table", network.computed(layer), None


def may_keep(network: Network, layer: Layer) -> bool:
    """Return whether `keep` makes a table of a layer."""
    one = len(network.computed(layer)) == 1
    return layer.refusal is not None and layer.kind in FUNCTIONS and one


def numbers(network: Network, name: str) -> list[Any]:
    """Return the numbers of a constant operand, such as axes."""
    if name not in network.constants:
        raise Refusal(f"the operand {name} is computed")
    return network.constants[name].values.reshape(-1).tolist()


def _window(network: Network, layer: Layer, given: Attributes, kernel: list[int]) -> Taken:
    """Return kernel, strides and padding of a layer that goes over an image."""
    rank = len(kernel)
    strides, pads = given.get("strides") or [1] * rank, given.get("pads") or [0] * 2 * rank
    apart = given.get("dilations") or [1] * rank
    begin, end = list(pads[:rank]), list(pads[rank:])
    if (how := given.get("auto_pad", b"")) in (b"SAME_UPPER", b"SAME_LOWER"):
        for axis, size in enumerate(network.shapes[layer.inputs[0]][2:]):
            reach = (-(-size // strides[axis]) - 1) * strides[axis]
            whole = max(reach + (kernel[axis] - 1) * apart[axis] + 1 - size, 0)
            begin[axis] = whole // 2 if how == b"SAME_UPPER" else whole - whole // 2
            end[axis] = whole - begin[axis]
    return {
        "kernel": list(kernel),
        "strides": list(strides),
        "dilations": list(apart),
        "begin": begin,
        "end": end,
    }


def _weights(network: Network, layer: Layer) -> Any:
    """Return the constant that a layer multiplies by, and make a third operand its bias."""
    weights = network.constants.get(layer.inputs[1])
    if weights is None:
        raise Refusal("its weights are computed")
    if layer.inputs[2:]:
        layer.bias = np.asarray(numbers(network, layer.inputs[2]), np.float64)
        del layer.inputs[2:]
    return weights


def _conv(network: Network, layer: Layer, given: Attributes) -> Taken:
    weights, groups = _weights(network, layer), given.get("group", 1)
    if layer.kind == "GroupConvolution":
        groups, shape = len(weights.codes), (-1, *weights.codes.shape[2:])
        layer.inputs[1] += "/joined"
        weights = weights.moved(lambda array: array.reshape(shape))
        network.constants[layer.inputs[1]] = weights
    kernel = list(weights.codes.shape[2:])
    return {**_window(network, layer, given, kernel), "groups": groups}


def _matmul(network: Network, layer: Layer, given: Attributes) -> Taken:
    weights = _weights(network, layer)
    if given.get("transA") or {given.get("alpha", 1.0), given.get("beta", 1.0)} != {1.0}:
        raise Refusal("it transposes its operand, or has a factor")
    if given.get("transB"):
        layer.inputs[1] += "/transposed"
        network.constants[layer.inputs[1]] = weights.moved(lambda array: array.swapaxes(-1, -2))
    return {}


def _pool(network: Network, layer: Layer, given: Attributes) -> Taken:
    if {*given.get("dilations", [1])} != {1}:
        raise Refusal("its window is dilated")
    counted = bool(given.get("count_include_pad"))
    return {**_window(network, layer, given, given["kernel_shape"]), "exclude_pad": not counted}


def _mean(network: Network, layer: Layer, given: Attributes) -> Taken:
    rank = len(network.shapes[layer.inputs[0]])
    whole = layer.kind == "GlobalAveragePool"
    axes = range(2, rank) if whole else given.get("axes") or numbers(network, layer.inputs[-1])
    keep = whole or bool(given.get("keepdims", 1))
    return {"axes": sorted(axis % rank for axis in axes), "keep": keep}


def _pad(network: Network, layer: Layer, given: Attributes) -> Taken:
    """Return the padding: ONNX has it in one operand, OpenVINO in two, before the value."""
    rank = len(network.shapes[layer.inputs[0]])
    operands = [numbers(network, name) for name in layer.inputs[1:] if name]
    begin, end, *rest = (
        [operands[0][:rank], operands[0][rank:], *operands[1:]]
        if len(operands[0]) == 2 * rank
        else operands
    )
    if given.get("mode", b"constant") != b"constant" or len(begin) != rank or rest[1:]:
        raise Refusal("it repeats or mirrors, or pads some axes; constants on all are taken")
    return {"begin": begin, "end": end, "value": rest[0][0] if rest else 0.0}


def _clamp(network: Network, layer: Layer, given: Attributes) -> Taken:
    low, high, *_ = [*layer.inputs[1:], "", ""]
    return {
        "low": numbers(network, low)[0] if low else given.get("min", -np.inf),
        "high": numbers(network, high)[0] if high else given.get("max", np.inf),
    }


def _axis(default: int, network: Network, layer: Layer, given: Attributes) -> Taken:
    return {"axis": given.get("axis", default) % len(network.shapes[layer.output])}


def _transpose(network: Network, layer: Layer, given: Attributes) -> Taken:
    order = numbers(network, layer.inputs[1]) if layer.inputs[1:] else given.get("perm")
    return {"order": order or list(range(len(network.shapes[layer.output])))[::-1]}


def _nothing(network: Network, layer: Layer, given: Attributes) -> Taken:
    return {}


OPERATORS: Mapping[str, tuple[str, Callable[[Network, Layer, Attributes], Taken]]] = {
    **dict.fromkeys(("Convolution", "GroupConvolution", "Conv"), ("conv", _conv)),
    **dict.fromkeys(("MatMul", "Gemm"), ("matmul", _matmul)),
    "Add": ("add", _nothing),
    **dict.fromkeys(("Subtract", "Sub"), ("sub", _nothing)),
    **dict.fromkeys(("Multiply", "Mul"), ("mul", _nothing)),
    "MaxPool": ("max_pool", _pool),
    **dict.fromkeys(("AvgPool", "AveragePool"), ("avg_pool", _pool)),
    **dict.fromkeys(("ReduceMean", "GlobalAveragePool"), ("mean", _mean)),
    "Concat": ("concat", partial(_axis, 0)),
    "Sigmoid": ("sigmoid", _nothing),
    "Tanh": ("tanh", _nothing),
    **dict.fromkeys(("SoftMax", "Softmax"), ("softmax", partial(_axis, -1))),
    "Relu": ("relu", lambda *_: {"low": 0.0, "high": np.inf}),
    **dict.fromkeys(("Clamp", "Clip"), ("clamp", _clamp)),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten"), ("reshape", _nothing)),
    "Transpose": ("transpose", _transpose),
    "Pad": ("pad", _pad),
}
"""Operators that have an int8 form: the kind of layer, and who finds its attributes."""

FUNCTIONS = frozenset(
    "Abs Ceil Ceiling Div Divide Elu Erf Exp Floor Gelu HSigmoid HSwish HardSigmoid HardSwish "  # noqa: SIM905 (rows)
    "LeakyRelu Max Maximum Min Minimum Mish Neg Negative PRelu Round Selu Sign SoftPlus "
    "Softplus Sqrt Swish FakeQuantize DequantizeLinear relu clamp add sub mul".split()
)
"""Operators of which each element is a function of one, if their other operands are constants, that
rises, or falls, or turns once; and kinds, where TFLite lacks the clamp, or a constant has no codes.
"""
