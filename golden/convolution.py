"""CONV_2D and DEPTHWISE_CONV_2D, and their int32 accumulators."""

from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Bias, Codes, Shape
from eightfold.golden.errors import RejectedError
from eightfold.golden.exact_product import filter_matrix, filter_sums, operand_type
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    wrapped,
)
from eightfold.golden.quantization import Quantization, clamp, effective_scales, fused_bounds
from eightfold.golden.remember import read_only
from eightfold.golden.windows import Window


def conv_2d_shape(shape: Shape, weights: Shape, window: Window) -> Shape:
    """Return the shape of `conv_2d`'s result from those of input and filter; raises as it."""
    if len(shape) != 4 or len(weights) != 4:
        raise RejectedError("input and filter must have rank 4")
    outputs, depth = weights[0], weights[3]
    groups = shape[3] // depth
    if groups * depth != shape[3] or groups == 0 or outputs % groups:
        raise RejectedError(
            f"groups of {depth} channels must divide {shape[3]} input channels, and their "
            f"number {outputs} output channels"
        )
    _check_room(window, shape)
    return (shape[0], *window.output_sizes(shape), outputs)


def depthwise_conv_2d_shape(shape: Shape, weights: Shape, window: Window) -> Shape:
    """Return the shape of the result of `depthwise_conv_2d`; as `conv_2d_shape`."""
    if len(shape) != 4 or len(weights) != 4 or weights[0] != 1:
        raise RejectedError("input and filter must have rank 4, and the filter a first size of 1")
    outputs = weights[3]
    if outputs % shape[3]:
        raise RejectedError(f"{outputs} filters are no multiple of {shape[3]} input channels")
    _check_room(window, shape)
    return (shape[0], *window.output_sizes(shape), outputs)


def conv_2d_accumulators(
    x: Codes, weights: Codes, bias: Bias, *, input_zero_point: int, window: Window
) -> NDArray[np.int32]:
    """Return ``wrap32(sum of w * (x - z) over the taps inside the input, + bias)``.

    The result is int32, shape (n, oh, ow, o). Raises `RejectedError` if ranks, channel counts or
    the window do not fit. Raises `UndefinedError` if the output has no elements.

    ``x``: shape (n, h, w, g * i): g groups of i channels.
    ``weights``: shape (o, kh, kw, i). Output channel c reads input group ``c // (o / g)``.
    """
    conv_2d_shape(x.shape, weights.shape, window)
    outputs, depth = weights.shape[0], weights.shape[3]
    groups = x.shape[3] // depth
    # Taps outside the input are skipped: they count as the zero point, 0 after subtraction.
    columns, limit = filter_matrix(weights)
    operand = x.astype(operand_type(limit, input_zero_point))
    operand -= input_zero_point
    taps = window.taps(operand, fill=0)
    n, oh, ow, _, kh, kw = taps.shape
    size = kh * kw * depth
    per_group = outputs // groups
    acc = np.empty((n * oh * ow, outputs), dtype=np.int32)
    for group in range(groups):
        rows = taps[:, :, :, group * depth : (group + 1) * depth].transpose(0, 1, 2, 4, 5, 3)
        channels = slice(group * per_group, (group + 1) * per_group)
        acc[:, channels] = filter_sums(rows.reshape(-1, size), columns[:, channels])
    if bias is not None:
        acc += checked_bias(bias, outputs)  # int32 wraps, which is the arithmetic asked for
    return acc.reshape(n, oh, ow, outputs)


def depthwise_conv_2d_accumulators(
    x: Codes, weights: Codes, bias: Bias, *, input_zero_point: int, window: Window
) -> NDArray[np.int32]:
    """Return the accumulators of `conv_2d_accumulators` with one input channel per output.

    The result is int32, shape (n, oh, ow, i * multiplier); raises as `conv_2d_accumulators`.

    ``x``: shape (n, h, w, i).
    ``weights``: shape (1, kh, kw, i * multiplier). Output channel c reads input channel ``c //
        multiplier``.
    """
    _, oh, ow, outputs = depthwise_conv_2d_shape(x.shape, weights.shape, window)
    operand = x.astype(np.int32) - np.int32(input_zero_point)
    if outputs != x.shape[3]:
        operand = np.repeat(operand, outputs // x.shape[3], axis=3)
    padded = window.padder(operand.shape, operand.dtype, fill=0)(operand)
    acc = np.zeros((x.shape[0], oh, ow, outputs), dtype=np.int32)
    product = np.empty_like(acc)
    # Repeated along the width, so that numpy's inner loop runs over more than the channels.
    factors = np.repeat(weights[0].astype(np.int32)[:, :, None], ow, axis=2)
    for kx, column in enumerate(window.shifted(padded, 1, ow)):
        contiguous = np.asarray(column, order="C")
        for ky, seen in enumerate(window.shifted(contiguous, 0, oh)):
            acc += np.multiply(seen, factors[ky, kx], out=product)  # wraps, as asked for
    if bias is not None:
        acc += checked_bias(bias, outputs)
    return acc


def conv_2d(
    x: Codes,
    weights: Codes,
    bias: Bias,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    bias_quantization: Quantization | None = None,
    activation: str = "NONE",
) -> Codes:
    """Return CONV_2D: the accumulators, requantized per output channel.

    Shapes as in `conv_2d_accumulators`. The bias scale is ignored.
    Raises `RejectedError` without int32 bias; if a filter or bias zero point is not 0; if the
    scales are neither one nor one per output channel, or their axis has another size.
    """
    if bias is None:
        raise RejectedError("CONV_2D needs a bias")
    check_bias_zero_point(bias_quantization)
    if weight_quantization.zero_point.any():
        raise RejectedError("the zero point of the filter must be 0")
    check_axis(weight_quantization, weights.shape, weights.shape[0])
    acc = conv_2d_accumulators(
        x, weights, bias, input_zero_point=input_quantization.per_tensor()[1], window=window
    )
    return requantize_channels(
        acc, input_quantization, weight_quantization, output_quantization, activation
    )


def depthwise_conv_2d(
    x: Codes,
    weights: Codes,
    bias: Bias,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    bias_quantization: Quantization | None = None,
    activation: str = "NONE",
) -> Codes:
    """Return DEPTHWISE_CONV_2D: the accumulators, requantized per output channel.

    Shapes as in `depthwise_conv_2d_accumulators`. Filter zero points and bias scale are ignored.
    Raises `RejectedError` if the bias zero point is not 0; if the scales are neither one nor one
    per output channel, or their axis has another size.
    """
    check_bias_zero_point(bias_quantization)
    check_axis(weight_quantization, weights.shape, weights.shape[-1])
    acc = depthwise_conv_2d_accumulators(
        x, weights, bias, input_zero_point=input_quantization.per_tensor()[1], window=window
    )
    return requantize_channels(
        acc, input_quantization, weight_quantization, output_quantization, activation
    )


@lru_cache(maxsize=1024)
def channel_multipliers(
    inputs: Quantization, weights: Quantization, output: Quantization, repeats: int = 1
) -> tuple[Integers, Integers]:
    """Return `quantize_multiplier` of the effective scales, one per filter scale, repeated."""
    multiplier, shift = quantize_multiplier(effective_scales(inputs, weights, output))
    return read_only(np.tile(multiplier, repeats)), read_only(np.tile(shift, repeats))


def requantize_channels(
    acc: NDArray[np.int32],
    inputs: Quantization,
    weights: Quantization,
    output: Quantization,
    activation: str,
) -> Codes:
    """Return accumulators (..., o) as codes: multiplier pair per channel, zero point, clamp."""
    # Few channels: several pixels as one row, so that numpy's inner loop is not as short.
    repeats = gcd(acc.size // acc.shape[-1], 32) if 1 < weights.scale.size < 32 else 1
    multiplier, shift = channel_multipliers(inputs, weights, output, repeats)
    rows = acc.reshape(-1, repeats * acc.shape[-1])
    scaled = multiply_by_quantized_multiplier(rows, multiplier, shift)
    codes = wrapped(scaled + output.per_tensor()[1])
    return clamp(codes, fused_bounds(activation, output)).reshape(acc.shape)


def _check_room(window: Window, shape: Shape) -> None:
    """Reject a negative output size; one of 0 is undefined, see `Window.output_size`."""
    for axis in (0, 1):
        missing = window.extent(axis) - shape[1 + axis]
        if window.padding == "VALID" and missing >= 2 * window.stride[axis]:
            raise RejectedError(f"a window of {window.extent(axis)} does not fit, {missing} short")


def check_bias_zero_point(quantization: Quantization | None) -> None:
    """Reject a bias with a zero point; None is a bias without quantization."""
    if quantization is not None and quantization.zero_point.any():
        raise RejectedError("the zero point of the bias must be 0")


def check_axis(quantization: Quantization, shape: Shape, outputs: int) -> None:
    """Reject filter scales that are neither one nor one per output, or along an unfit axis."""
    count = quantization.scale.size
    if count == 1:
        return
    if count != outputs:
        raise RejectedError(f"{count} filter scales for {outputs} output channels")
    # The kernels compare this size only: a wrong axis of the same size passes.
    if quantization.axis is None or shape[quantization.axis] != outputs:
        raise RejectedError(f"axis {quantization.axis} of the filter scales is not the outputs'")


def checked_bias(bias: NDArray, outputs: int) -> NDArray[np.int32]:
    """Return the bias as shape (outputs,); raises as `check_bias`."""
    check_bias(bias.dtype, bias.size, outputs)
    return bias.reshape(outputs)


def check_bias(dtype: np.dtype, size: int, outputs: int) -> None:
    """Raise `RejectedError` unless a bias is int32 with one element for each of ``outputs``."""
    if dtype != np.int32 or size != outputs:
        raise RejectedError(f"the bias must be int32 of {outputs}, not {dtype} of {size}")
