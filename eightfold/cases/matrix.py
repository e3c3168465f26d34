"""Operators of which each result comes from many elements: with weights, over windows and axes."""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from eightfold.cases import draws
from eightfold.cases.builder import Value

FAR = (-33.0, 20.0)
"""Exponents of the multiplier where it is far from what spreads the results over int8."""

ACCUMULATED = 73 * 73
"""Standard deviations of a uniform weight and code: a product's magnitude."""


def random_bias(rng: draws.Random, count: int, taps: int) -> np.ndarray:
    """Return int32 biases as large as sums of ``taps`` products; sometimes near int32's ends."""
    if draws.beyond(rng, 16):  # so that sums wrap
        return rng.choice([-(2**31), 2**31 - 1], count).astype(np.int32)
    return rng.normal(0, ACCUMULATED * np.sqrt(taps), count).astype(np.int32)


def random_filter(
    model: draws.SingleOperator, shape: Sequence[int], axis: int, scale_in: float
) -> tuple[int, np.ndarray, float]:
    """Add a filter; return its index, its scales, and the suited output scale."""
    rng = model.rng
    channels = shape[axis]
    weights = draws.random_codes(rng, shape, low=-128 if draws.beyond(rng, 8) else -127)
    kind = draws.bounded(rng, "weights", lambda: "per-axis" if rng.integers(4) else "per-tensor")
    count = channels if kind == "per-axis" else 1
    scales = np.array([model.scale(0.02, 1.0) for _ in range(count)])
    index = model.constant(weights, scale=scales, axis=axis if count > 1 else 0)
    return index, scales, _suited(scale_in, scales, prod(shape) // channels)


def _suited(scale_in: float, scales: np.ndarray, taps: int) -> float:
    """Return the output scale that spreads sums of ``taps`` products over int8."""
    return scale_in * float(scales.mean()) * ACCUMULATED * np.sqrt(taps) / 50


def _output(
    model: draws.SingleOperator, suited: float, products: np.ndarray, far: tuple[float, float] = FAR
) -> tuple[float, int]:
    """Return the output's quantization; ``products`` are those of input's and filter's scales."""
    scale = model.output_scale(suited, float(products.mean()), far)
    return scale, draws.random_zero_point(model.rng)


def _conv_2d(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    kernel = draws.random_kernel(rng, 4)
    options, sizes = draws.random_window(rng, (kernel[0], kernel[1]), dilated=True)
    depth = draws.random_size(rng, "input_channels", 1, 2, 3, 4, 5, 8, 17)
    groups = draws.random_size(rng, "groups", 1, 1, 1, 2, 3)
    outputs = groups * draws.random_size(rng, "output_channels", 1, 2, 3, 5, 8, 17)
    x = draws.random_codes(rng, [draws.random_size(rng, "batch", 1, 1, 2), *sizes, depth * groups])
    return _weighted(model, "CONV_2D", x, [outputs, *kernel, depth], 0, options)


def _depthwise_conv_2d(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    kernel = draws.random_kernel(rng, 4)
    options, sizes = draws.random_window(rng, (kernel[0], kernel[1]), dilated=True)
    depth = draws.random_size(rng, "input_channels", 1, 2, 3, 5, 8, 17)
    multiplier = draws.random_size(rng, "depth_multiplier", 1, 1, 2, 3)
    outputs = depth * multiplier
    x = draws.random_codes(rng, [draws.random_size(rng, "batch", 1, 1, 2), *sizes, depth])
    options |= {"depth_multiplier": multiplier}
    return _weighted(model, "DEPTHWISE_CONV_2D", x, [1, *kernel, outputs], 3, options)


def _weighted(
    model: draws.SingleOperator,
    name: str,
    x: np.ndarray,
    filters: list[int],
    axis: int,
    options: dict[str, Any],
) -> draws.Case:
    scale = model.scale()
    inputs = [model.operand(x, scale, draws.random_zero_point(model.rng))]
    weights, scales, suited = random_filter(model, filters, axis, scale)
    inputs.append(weights)
    if name == "CONV_2D" or model.rng.integers(8):
        bias = random_bias(model.rng, filters[axis], prod(filters) // filters[axis])
        inputs.append(model.constant(bias, scale=scale * scales))
    out = _output(model, suited, scale * scales)
    return model.finish(name, inputs, out, options | draws.random_activation(model.rng))


def _fully_connected(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    size = draws.random_size(rng, "input_channels", 1, 2, 3, 7, 16, 33, 100)
    outputs = draws.random_size(rng, "output_channels", 1, 2, 5, 16, 19)
    rows = draws.bounded(rng, "batch", lambda: draws.random_shape(rng, (1, 1, 2), 8))
    x = draws.random_codes(rng, [*np.atleast_1d(rows), size])
    scale = model.scale()
    source = model.operand(x, scale, draws.random_zero_point(rng))
    kind = draws.bounded(rng, "weights", lambda: ["per-tensor", "per-axis"][rng.integers(2)])
    per_channel = kind == "per-axis"
    scales = np.array([model.scale(0.02, 1.0) for _ in range(outputs if per_channel else 1)])
    zero_point = draws.random_zero_point(rng) if not per_channel and draws.beyond(rng, 4) else 0
    weights = draws.random_codes(rng, [outputs, size], low=-128 if draws.beyond(rng, 8) else -127)
    inputs = [source, model.constant(weights, scale=scales, zero_point=zero_point), -1]
    if rng.integers(4):
        inputs[2] = _modest_bias(model, outputs, size, scale * scales)
    keep = bool(rng.integers(2))
    # A scaled accumulator, which has 23 bits or so, stays in int32.
    out = _output(model, _suited(scale, scales, size), scale * scales, (-24.0, 4.0))
    options = {"keep_num_dims": keep} | draws.random_activation(rng)
    return model.finish("FULLY_CONNECTED", inputs, out, options)


def _batch_matmul(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    m, k, n = (draws.choose(rng, 1, 2, 3, 7, 16, 17, 33) for _ in range(3))
    options = _adjoints(rng)
    batches = draws.broadcasting(rng, (1, 1, 2, 3), 3)
    for place in range(draws.choose(rng, 0, 0, 1, 2)):  # a matrix alone, or two
        batches[place - int(rng.integers(2))] = []
    matrices = zip(batches, ([m, k], [k, n]), options.values(), strict=True)
    constant = draws.choose(rng, 0, 1, 1, 2, 2, 2)  # the first, the second, or none
    operands = []
    scales = [model.scale(), model.scale()]
    for place, (batch, size, adjoint) in enumerate(matrices):
        codes = draws.random_codes(rng, [*batch, *(size[::-1] if adjoint else size)])
        kind = {"scale": scales[place], "zero_point": draws.random_zero_point(rng)}
        add = model.constant if place == constant else model.operand
        operands.append(add(codes, **kind))
    product = np.array([scales[0] * scales[1]])
    return model.finish(
        "BATCH_MATMUL", operands, _output(model, _suited(1.0, product, k), product), options
    )


def _adjoints(rng: draws.Random) -> dict[str, bool]:
    return {name: bool(rng.integers(2)) for name in ("adj_x", "adj_y")}


def _modest_bias(model: draws.SingleOperator, count: int, taps: int, scales: np.ndarray) -> int:
    """Add a bias: a scaled accumulator outside int32 has no defined result."""
    values = model.rng.normal(0, ACCUMULATED * np.sqrt(taps), count).astype(np.int32)
    return model.constant(values, scale=scales)


def _transpose_conv(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    kernel = draws.random_kernel(rng, 4)
    options, sizes = draws.random_window(rng, (kernel[0], kernel[1]), dilated=False)
    depth = draws.choose(rng, 1, 2, 3, 5, 8, 17)
    outputs = draws.choose(rng, 1, 2, 3, 8, 11)
    # The window is that of the convolution from the output to the input.
    result = [draws.choose(rng, 1, 1, 2), *sizes, outputs]
    x = draws.random_codes(rng, draws.output_shape(result, kernel, options, depth))
    inputs = [model.given(np.array(result, np.int32))]
    scale = model.scale()
    weights, scales, suited = random_filter(model, [outputs, *kernel, depth], 0, scale)
    inputs += [weights, model.operand(x, scale, draws.random_zero_point(rng))]
    if rng.integers(2):
        bias = random_bias(rng, outputs, prod(kernel) * depth)
        inputs.append(model.constant(bias, scale=scale * scales))
    out = _output(model, suited, scale * scales)
    return model.finish("TRANSPOSE_CONV", inputs, out, options | draws.random_activation(rng))


def _extend_conv_2d(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    kernel = net.kernel(x.shape, 4)
    groups = draws.choose(net.rng, *(g for g in (1, 1, 1, 2, 3) if x.shape[3] % g == 0))
    depth = x.shape[3] // groups
    outputs = groups * draws.choose(net.rng, 1, 2, 3, 5, 8, 17)
    _extend_weighted(net, "CONV_2D", x, [outputs, *kernel, depth], 0)


def _extend_depthwise_conv_2d(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    kernel = net.kernel(x.shape, 4)
    outputs = x.shape[3] * draws.choose(net.rng, 1, 1, 1, 2, 3)
    _extend_weighted(net, "DEPTHWISE_CONV_2D", x, [1, *kernel, outputs], 3)


def _extend_weighted(
    net: draws.GrowingNetwork, name: str, x: Value, filters: list[int], axis: int
) -> None:
    outputs = filters[axis]
    options = net.window(x.shape, filters[1:3], dilated=True)
    weights, scales, suited = random_filter(net, filters, axis, x.scale)
    values = random_bias(net.rng, outputs, prod(filters) // outputs)
    inputs = [x, weights, net.constant(values, scale=x.scale * scales)]
    if name == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = outputs // x.shape[3]
    options |= draws.random_activation(net.rng)
    net.add(name, inputs, net.rescaled(suited), options)


def _extend_transpose_conv(net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    kernel, strides = (net.rng.integers(1, 3, 2, endpoint=True).tolist() for _ in range(2))
    padding = str(net.rng.choice(["SAME", "VALID"]))
    outputs = draws.choose(net.rng, 1, 2, 3, 8)
    sizes = [
        (size - 1) * stride + (k if padding == "VALID" else 1) + int(net.rng.integers(stride))
        for size, stride, k in zip(x.shape[1:3], strides, kernel, strict=True)
    ]
    weights, _, suited = random_filter(net, [outputs, *kernel, x.shape[3]], 0, x.scale)
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
    options |= draws.random_activation(net.rng)
    inputs = [net.integers([x.shape[0], *sizes, outputs]), weights, x]
    net.add("TRANSPOSE_CONV", inputs, net.rescaled(suited), options)


def _extend_fully_connected(net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) >= 2)
    keep = bool(net.rng.integers(2))
    size = x.shape[-1] if keep or net.rng.integers(2) else prod(x.shape[1:])
    outputs = draws.choose(net.rng, 1, 2, 5, 16, 19)
    weights, scales, suited = random_filter(net, [outputs, size], 0, x.scale)
    bias = _modest_bias(net, outputs, size, x.scale * scales)
    options = {"keep_num_dims": keep} | draws.random_activation(net.rng)
    out = net.rescaled(suited)
    net.add("FULLY_CONNECTED", [x, weights, bias if net.rng.integers(4) else -1], out, options)


def _extend_batch_matmul(net: draws.GrowingNetwork) -> None:
    """Add a product with a constant, or with a tensor there is: half of these attend to it."""
    x = net.pick(lambda value: 2 <= len(value.shape) <= 5)
    options = _adjoints(net.rng)
    k = x.shape[-2 if options["adj_x"] else -1]

    def suits(value: Value) -> bool:
        sizes = zip(value.shape[-3::-1], x.shape[-3::-1], strict=False)
        last = value.shape[-2:][:: -1 if options["adj_y"] else 1]
        alike = all(one == other or 1 in (one, other) for one, other in sizes)
        return len(last) == 2 and last[0] == k and len(value.shape) <= 5 and alike

    if net.rng.integers(4):
        y = net.pick(suits)
    else:
        shape = [k, draws.choose(net.rng, 1, 2, 5, 16)][:: -1 if options["adj_y"] else 1]
        quantization = net.scale(0.02, 1.0), draws.random_zero_point(net.rng)
        codes = draws.random_codes(net.rng, shape)
        index = net.constant(codes, scale=quantization[0], zero_point=quantization[1])
        y = Value(index, tuple(shape), *quantization)
    suited = _suited(x.scale, np.array([y.scale]), k)
    scores = net.add("BATCH_MATMUL", [x, y], net.rescaled(suited), options)
    if "SOFTMAX" in net.operators and net.rng.integers(2):
        weights = net.add("SOFTMAX", [scores], (1 / 256, -128), {"beta": 1.0})
        options = {"adj_x": False, "adj_y": not options["adj_y"]}
        net.add("BATCH_MATMUL", [weights, y], net.rescaled(y.scale), options)


def _pool(name: str, rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    kernel = draws.random_kernel(rng, 5)
    options, sizes = draws.random_window(rng, (kernel[0], kernel[1]), dilated=False)
    depth = draws.random_size(rng, "input_channels", 1, 2, 3, 5, 8, 17)
    x = draws.random_codes(rng, [draws.random_size(rng, "batch", 1, 1, 2), *sizes, depth])
    out = model.scale(), draws.random_zero_point(rng)
    source = model.operand(x, *out)
    if draws.beyond(rng, 4):  # accepted, and not rescaled
        out = model.scale(), draws.random_zero_point(rng)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]} | draws.random_activation(
        rng
    )
    return model.finish(name, [source], out, options)


def _extend_pool(name: str, net: draws.GrowingNetwork) -> None:
    x = net.pick(draws.is_image)
    kernel = net.kernel(x.shape, 5)
    options = net.window(x.shape, kernel, dilated=False)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
    options |= draws.random_activation(net.rng)
    net.add(name, [x], net.kept(x), options)


TRUTHS = ("REDUCE_ALL", "REDUCE_ANY")
"""Reductions of truth values."""


def _rows(rng: draws.Random) -> np.ndarray:
    shape = [
        *draws.random_shape(rng, (0, 1, 1, 2, 2, 3), 16),
        draws.choose(rng, 1, 2, 3, 10, 100, 400),
    ]
    while len(shape) > 3 and np.prod(shape) > 2**16:
        del shape[0]
    return draws.random_codes(rng, shape)


def _exponentials(name: str, rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    source = model.operand(_rows(rng), model.scale(0.1, 5.0), draws.random_zero_point(rng))
    options = {}
    if name == "SOFTMAX":
        options = {"beta": float(rng.choice([1.0, 1.0, 0.5, 2.0, rng.uniform(0.1, 3.0)]))}
    return model.finish(name, [source], options=options)


def _l2_normalization(rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    codes, zero_point = _rows(rng), draws.random_zero_point(rng)
    if rng.integers(4) == 0:  # small sums: few codes beside the zero point
        codes = np.full_like(codes, zero_point)
        codes.flat[:: draws.choose(rng, 2, 3, 7)] = np.clip(
            zero_point + rng.integers(-2, 3), -128, 127
        )
    return model.finish("L2_NORMALIZATION", [model.operand(codes, model.scale(), zero_point)])


def _extend_rows(name: str, net: draws.GrowingNetwork) -> None:
    # Exponentials that sum to 512 abort SOFTMAX: a short axis cannot reach it.
    x = net.pick(lambda value: 2 <= len(value.shape) <= 4 and value.shape[-1] <= 256)
    options = {}
    if name == "SOFTMAX":
        betas = [1.0, 1.0, 0.5, float(net.rng.uniform(0.1, 3.0))]
        options = {"beta": float(net.rng.choice(betas))}
    net.add(name, [x], options=options)


def _reduction(name: str, rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    shape = draws.random_shape(rng, (1, 2, 3, 4, 5, 6), 6)
    scale, zero_point = model.scale(), draws.random_zero_point(rng)
    if name in TRUTHS:
        source = model.unquantized(draws.random_truths(rng, shape))
    else:
        source = model.operand(draws.random_codes(rng, shape), scale, zero_point)
    rank = len(shape)
    chosen = rng.choice(rank, rng.integers(1, rank, endpoint=True), replace=False)
    keep = bool(rng.integers(2))
    axes = chosen - rank * rng.integers(0, 2, chosen.size)  # negative ones count from the end
    axes = rng.permutation(np.append(axes, chosen[: rng.integers(2)])).astype(np.int32)
    if axes.size == 1 and rng.integers(2):
        axes = axes.reshape(())
    out = scale, zero_point
    if name in ("MEAN", "SUM"):
        near = _reduced_scale(name, scale, prod(shape[axis] for axis in chosen))
        out = model.output_scale(near, scale), draws.random_zero_point(rng)
    return model.finish(name, [source, model.given(axes)], out, {"keep_dims": keep})


def _extend_reduction(name: str, net: draws.GrowingNetwork) -> None:
    x = net.pick()
    out = x  # extremes are not rescaled
    if name in TRUTHS:
        x = net.truth(draws.has_axes, x.shape)
    rank = len(x.shape)
    keep = bool(net.rng.integers(2))
    axes = net.rng.choice(rank, net.rng.integers(1, rank, endpoint=True), replace=False)
    signed = (axes - rank * net.rng.integers(0, 2, axes.size)).astype(np.int32)
    if name in ("MEAN", "SUM"):
        out = net.rescaled(_reduced_scale(name, x.scale, prod(x.shape[axis] for axis in axes)))
    net.add(name, [x, net.constant(signed)], out, {"keep_dims": keep})


def _reduced_scale(name: str, scale: float, count: int) -> float:
    """Return the scale that spreads the means or sums of ``count`` elements over int8."""
    spread = np.sqrt(count)
    return scale * (spread if name == "SUM" else 1 / spread)


def _index_of_extreme(name: str, rng: draws.Random) -> draws.Case:
    model = draws.SingleOperator(rng)
    codes = draws.random_codes(rng, draws.random_shape(rng, (1, 2, 3, 4, 5), 7))
    if rng.integers(2):
        codes //= 64  # several equal extremes
    source = model.operand(codes, model.scale(), draws.random_zero_point(rng))
    axis = int(rng.integers(codes.ndim))
    given = np.array(axis - codes.ndim * rng.integers(2)).astype(draws.index_dtype(rng))
    inputs = [source, model.given(given.reshape([(), (1,)][rng.integers(2)]))]
    return model.finish(name, inputs, options={"output_type": ["INT32", "INT64"][rng.integers(2)]})


def _extend_index_of_extreme(name: str, net: draws.GrowingNetwork) -> None:
    x = net.pick(lambda value: len(value.shape) >= 2)
    axis = net.integers(int(net.rng.integers(len(x.shape))))
    net.add(name, [x, axis], options={"output_type": "INT32"})


MATRIX: dict[str, draws.Maker] = {
    "BATCH_MATMUL": draws.Maker(_batch_matmul, _extend_batch_matmul),
    "CONV_2D": draws.Maker(_conv_2d, _extend_conv_2d),
    "DEPTHWISE_CONV_2D": draws.Maker(_depthwise_conv_2d, _extend_depthwise_conv_2d),
    "FULLY_CONNECTED": draws.Maker(_fully_connected, _extend_fully_connected),
    **draws.makers(_pool, _extend_pool, "AVERAGE_POOL_2D", "MAX_POOL_2D"),
    "TRANSPOSE_CONV": draws.Maker(_transpose_conv, _extend_transpose_conv),
    "L2_NORMALIZATION": draws.Maker(_l2_normalization, partial(_extend_rows, "L2_NORMALIZATION")),
    **draws.makers(_exponentials, _extend_rows, "LOG_SOFTMAX", "SOFTMAX"),
    **draws.makers(_index_of_extreme, _extend_index_of_extreme, "ARG_MAX", "ARG_MIN"),
    **draws.makers(
        _reduction, _extend_reduction, *TRUTHS, "MEAN", "REDUCE_MAX", "REDUCE_MIN", "SUM"
    ),
}
"""By the operator's name."""
