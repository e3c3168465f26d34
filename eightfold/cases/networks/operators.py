"""How a random network grows by each operator, from the tensors that it has."""

from collections.abc import Callable
from math import prod

import numpy as np

from eightfold.cases.models.matrix import random_bias, random_filter
from eightfold.cases.models.tensors import (
    choose,
    random_activation,
    random_codes,
    random_zero_point,
)
from eightfold.cases.networks.growing import GrowingNetwork, Value, any_rank

Extension = Callable[[GrowingNetwork], object]
ACCUMULATED = 73 * 73  # standard deviations of a uniform weight and code: a product's magnitude


def _rank_4(value: Value) -> bool:
    return len(value.shape) == 4


def _conv_2d(net: GrowingNetwork) -> None:
    x = net.pick(_rank_4)
    kernel = net.kernel(x.shape, 4)
    groups = choose(net.rng, *(g for g in (1, 1, 1, 2, 3) if x.shape[3] % g == 0))
    depth = x.shape[3] // groups
    outputs = groups * choose(net.rng, 1, 2, 3, 5, 8, 17)
    _weighted(net, "CONV_2D", x, kernel, [outputs, *kernel, depth], 0)


def _depthwise_conv_2d(net: GrowingNetwork) -> None:
    x = net.pick(_rank_4)
    kernel = net.kernel(x.shape, 4)
    outputs = x.shape[3] * choose(net.rng, 1, 1, 1, 2, 3)
    _weighted(net, "DEPTHWISE_CONV_2D", x, kernel, [1, *kernel, outputs], 3)


def _weighted(
    net: GrowingNetwork, name: str, x: Value, kernel: list[int], filters: list[int], axis: int
) -> None:
    outputs = filters[axis]
    taps = prod(filters) // outputs
    options, shape = net.window(x.shape, kernel, outputs, dilated=True)
    weights, scales, suited = random_filter(net, filters, axis, taps, x.scale)
    bias = net.builder.constant(
        random_bias(net.rng, outputs, ACCUMULATED * np.sqrt(taps)), scale=x.scale * scales
    )
    if name == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = outputs // x.shape[3]
    options |= random_activation(net.rng)
    scale, zero_point = net.scale(suited), random_zero_point(net.rng)
    net.add(name, [x, weights, bias], shape, scale, zero_point, options, prod(shape) * taps)


def _transpose_conv(net: GrowingNetwork) -> None:
    x = net.pick(_rank_4)
    kernel, strides = (net.rng.integers(1, 3, 2, endpoint=True).tolist() for _ in range(2))
    padding = str(net.rng.choice(["SAME", "VALID"]))
    outputs = choose(net.rng, 1, 2, 3, 8)
    sizes = [
        (size - 1) * stride + (k if padding == "VALID" else 1) + int(net.rng.integers(stride))
        for size, stride, k in zip(x.shape[1:3], strides, kernel, strict=True)
    ]
    shape = [x.shape[0], *sizes, outputs]
    filters = [outputs, *kernel, x.shape[3]]
    weights, _, suited = random_filter(net, filters, 0, prod(filters) // outputs, x.scale)
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
    options |= random_activation(net.rng)
    inputs = [net.builder.constant(np.array(shape, np.int32)), weights, x]
    macs = prod(x.shape) * prod(filters[:3])
    scale, zero_point = net.scale(suited), random_zero_point(net.rng)
    net.add("TRANSPOSE_CONV", inputs, shape, scale, zero_point, options, macs)


def _fully_connected(net: GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) >= 2)
    keep = bool(net.rng.integers(2))
    size = x.shape[-1] if keep or net.rng.integers(2) else prod(x.shape[1:])
    outputs = choose(net.rng, 1, 2, 5, 16, 19)
    shape = [*x.shape[:-1], outputs] if keep else [prod(x.shape) // size, outputs]
    weights, scales, suited = random_filter(net, [outputs, size], 0, size, x.scale)
    # Modest biases: a scaled accumulator outside int32 has no defined result.
    values = net.rng.normal(0, ACCUMULATED * np.sqrt(size), outputs).astype(np.int32)
    bias = net.builder.constant(values, scale=x.scale * scales)
    options = {"keep_num_dims": keep} | random_activation(net.rng)
    scale, zero_point = net.scale(suited), random_zero_point(net.rng)
    inputs = [x, weights, bias if net.rng.integers(4) else -1]
    net.add("FULLY_CONNECTED", inputs, shape, scale, zero_point, options, prod(shape) * size)


def _partner(net: GrowingNetwork, a: Value, highest: float = np.inf) -> tuple[Value | int, tuple]:
    """Return a second operand: a tensor (also ``a``), a new input of the graph or a constant.

    With its scale, at most ``highest``, and the shape of the result.
    """

    def broadcasts(value: Value) -> bool:
        sizes = zip(a.shape[::-1], value.shape[::-1], strict=False)
        return value.scale <= highest and all(m == n or 1 in (m, n) for m, n in sizes)

    rng = net.rng
    kind = net.rng.integers(8)
    if kind == 0:
        b = net.graph_input(a.shape, min(net.scale(), highest))
    elif kind <= 2:
        shape = [1 if rng.integers(3) == 0 else size for size in a.shape]
        shape = shape[rng.integers(max(len(shape), 1)) :]
        scale = min(net.scale(), highest)
        index = net.builder.constant(
            random_codes(rng, shape), scale=scale, zero_point=random_zero_point(rng)
        )
        return index, (scale, np.broadcast_shapes(a.shape, shape))
    elif kind <= 5:  # residual: an older tensor of the same shape
        b = net.pick(lambda value: value.shape == a.shape and value.scale <= highest)
    else:
        b = net.pick(broadcasts)
    return b, (b.scale, np.broadcast_shapes(a.shape, b.shape))


def _binary(name: str) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        a = net.pick(any_rank)
        b, (scale, shape) = _partner(net, a)
        suited = a.scale * scale * 73 if name == "MUL" else max(a.scale, scale)
        inputs = [a, b] if net.rng.integers(2) else [b, a]
        scale, zero_point = net.scale(suited), random_zero_point(net.rng)
        net.add(name, inputs, shape, scale, zero_point, random_activation(net.rng))

    return grow


def _extremum(name: str) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        a = net.pick(any_rank)
        b, (_, shape) = _partner(net, a)
        if isinstance(b, Value) and net.rng.integers(4):
            b = net.equalized(b, a)
        net.add(name, [a, b], shape, *net.kept(a))

    return grow


def _comparison(name: str) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        a = net.pick(lambda value: value.scale < 0.9)
        b, (_, shape) = _partner(net, a, highest=0.9)
        net.add_last(name, [a, b], shape, np.bool_)

    return grow


def _unary(
    name: str,
    out: Callable[[GrowingNetwork, float], tuple[float, int]] | None = None,
    options: Callable[[GrowingNetwork], dict] = lambda net: {},
) -> Extension:
    """Return the extension by a function of one code; ``out`` gives scale and zero point."""

    def grow(net: GrowingNetwork) -> None:
        x = net.pick(any_rank)
        if out is None:
            scale, zero_point = net.scale(x.scale), random_zero_point(net.rng)
        else:
            scale, zero_point = out(net, x.scale)
        net.add(name, [x], x.shape, scale, zero_point, options(net))

    return grow


def _hard_swish_output(net: GrowingNetwork, scale: float) -> tuple[float, int]:
    # LiteRT rejects an output scale of 1/128 of the input's or less.
    return net.scale(scale, 3.0), random_zero_point(net.rng)


def _prelu(net: GrowingNetwork) -> None:
    x = net.pick()
    shape = [1 if net.rng.integers(2) else size for size in x.shape[1:]]
    slopes = net.builder.constant(
        random_codes(net.rng, shape), scale=net.scale(0.01), zero_point=random_zero_point(net.rng)
    )
    scale, zero_point = net.scale(x.scale), random_zero_point(net.rng)
    net.add("PRELU", [x, slopes], x.shape, scale, zero_point)


def _pool(name: str) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        x = net.pick(_rank_4)
        kernel = net.kernel(x.shape, 5)
        options, shape = net.window(x.shape, kernel, x.shape[3], dilated=False)
        options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
        options |= random_activation(net.rng)
        net.add(name, [x], shape, *net.kept(x), options)

    return grow


def _last_axis(name: str, scale: float, zero_point: int) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        # Exponentials that sum to 512 abort SOFTMAX: a short axis cannot reach it.
        x = net.pick(lambda value: 2 <= len(value.shape) <= 4 and value.shape[-1] <= 256)
        options = {"beta": _beta(net)} if name == "SOFTMAX" else {}
        net.add(name, [x], x.shape, scale, zero_point, options)

    return grow


def _beta(net: GrowingNetwork) -> float:
    """Return the factor of SOFTMAX's logits, 1 in most models."""
    return float(net.rng.choice([1.0, 1.0, 0.5, float(net.rng.uniform(0.1, 3.0))]))


def _reduction(name: str) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        x = net.pick()
        rank = len(x.shape)
        keep = bool(net.rng.integers(2))
        axes = net.rng.choice(rank, net.rng.integers(1, rank, endpoint=True), replace=False)
        shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes]
        signed = (axes - rank * net.rng.integers(0, 2, axes.size)).astype(np.int32)
        scale, zero_point = x.scale, x.zero_point  # extremes are not rescaled
        if name in ("MEAN", "SUM"):
            spread = np.sqrt(prod(x.shape) / prod(shape))
            near = x.scale * spread if name == "SUM" else x.scale / spread
            scale, zero_point = net.scale(near), random_zero_point(net.rng)
        inputs = [x, net.builder.constant(signed)]
        net.add(name, inputs, shape, scale, zero_point, {"keep_dims": keep})

    return grow


def _place_of_extreme(name: str) -> Extension:
    def grow(net: GrowingNetwork) -> None:
        x = net.pick(lambda value: len(value.shape) >= 2)
        axis = int(net.rng.integers(len(x.shape)))
        shape = [size for position, size in enumerate(x.shape) if position != axis]
        inputs = [x, net.builder.constant(np.array(axis, dtype=np.int32))]
        net.add_last(name, inputs, shape, np.int32, {"output_type": "INT32"})

    return grow


EXTENSIONS: dict[str, Extension] = {
    "ADD": _binary("ADD"),
    "ARG_MAX": _place_of_extreme("ARG_MAX"),
    "ARG_MIN": _place_of_extreme("ARG_MIN"),
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "EQUAL": _comparison("EQUAL"),
    "FULLY_CONNECTED": _fully_connected,
    "GREATER": _comparison("GREATER"),
    "GREATER_EQUAL": _comparison("GREATER_EQUAL"),
    "HARD_SWISH": _unary("HARD_SWISH", _hard_swish_output),
    "L2_NORMALIZATION": _last_axis("L2_NORMALIZATION", 1 / 128, 0),
    "LEAKY_RELU": _unary("LEAKY_RELU", options=lambda net: {"alpha": net.scale(0.1)}),
    "LESS": _comparison("LESS"),
    "LESS_EQUAL": _comparison("LESS_EQUAL"),
    "LOGISTIC": _unary("LOGISTIC", lambda net, scale: (1 / 256, -128)),
    "LOG_SOFTMAX": _last_axis("LOG_SOFTMAX", 16 / 256, 127),
    "MAXIMUM": _extremum("MAXIMUM"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "MEAN": _reduction("MEAN"),
    "MINIMUM": _extremum("MINIMUM"),
    "MUL": _binary("MUL"),
    "NOT_EQUAL": _comparison("NOT_EQUAL"),
    "PRELU": _prelu,
    "QUANTIZE": _unary("QUANTIZE"),
    "REDUCE_MAX": _reduction("REDUCE_MAX"),
    "REDUCE_MIN": _reduction("REDUCE_MIN"),
    "RELU": _unary("RELU"),
    "RELU6": _unary("RELU6"),
    "RELU_0_TO_1": _unary("RELU_0_TO_1"),
    "RELU_N1_TO_1": _unary("RELU_N1_TO_1"),
    "SOFTMAX": _last_axis("SOFTMAX", 1 / 256, -128),
    "SUB": _binary("SUB"),
    "SUM": _reduction("SUM"),
    "TANH": _unary("TANH", lambda net, scale: (1 / 128, 0)),
    "TRANSPOSE_CONV": _transpose_conv,
}
"""Operators that compute; see `network_movement.EXTENSIONS` for those that move bytes."""
