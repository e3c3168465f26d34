"""Operators prepared for many inferences: what a model fixes is derived once.

What works element by element on one or two int8 becomes a table of all that it can return.
Operators with weights are prepared for one input shape. Each ``prepare_`` function takes the
arguments of the operator's function, which must accept them, and returns a function of the input
alone with the same result. None: the float arithmetic that makes it fast would not be exact, or the
case is rare; then the operator's own function remains.

The zero point z of the input is not subtracted from it: ``sum of w * (x - z)`` is
``sum of w * x - z * sum of w``, the second part a constant per channel. Taps outside the input
read z. Every partial sum of the first is an integer of at most ``128 * sum |w|``, exact in float32
up to 2^24 and in float64 beyond; see `eightfold.golden.exact_product`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.convolution import channel_multipliers
from eightfold.golden.exact_product import filter_matrix, operand_type
from eightfold.golden.fixed_point import INT32_MAX, Integers
from eightfold.golden.float_requantizer import float_requantizer
from eightfold.golden.fully_connected import integer_multipliers
from eightfold.golden.quantization import Quantization, Reference, effective_scales, fused_bounds
from eightfold.golden.windows import Window

_CODES = np.arange(256, dtype=np.uint8).view(np.int8)
"""Every int8, at the index of its byte."""


def unary_table(function: Callable[[NDArray[np.int8]], NDArray[Any]]) -> Callable[..., NDArray]:
    """Return ``function``, which works element by element, as a table of 256 results.

    Raises `eightfold.golden.errors.SpecError` as the function does of any int8.
    """
    table = function(_CODES)
    return lambda x: table.take(x.view(np.uint8))


def binary_table(
    function: Callable[[NDArray[np.int8], NDArray[np.int8]], NDArray[Any]],
) -> Callable[..., NDArray]:
    """Return ``function(a, b)``, which broadcasts, as a table of 65536 results.

    The operands must have shapes that the function accepts.
    Raises `eightfold.golden.errors.SpecError` as the function does of any pair of int8.
    """
    table = function(_CODES[:, None], _CODES[None, :]).reshape(-1)

    def apply(a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray:
        index = a.view(np.uint8).astype(np.uint16)
        index <<= 8
        return table.take(index | b.view(np.uint8))

    return apply


Apply = Callable[[NDArray[np.int8]], NDArray[np.int8]]

# The number next below 0.5: truncating v + copysign(it, v) rounds v to nearest, ties away from
# zero. A fraction of 1/2 still carries, as the sum rounds up; the one next below 1/2 does not.
_BELOW_HALF = np.asarray(np.nextafter(0.5, 0.0))


def _sums(
    matrix: NDArray, bias: NDArray[np.int32] | None, zero_point: int
) -> tuple[Integers, Integers]:
    """Return the bound of ``|sum of w * x|`` and ``bias - z * sum of w`` per column."""
    whole = matrix.astype(np.int64)
    addend = -zero_point * whole.sum(axis=0)
    if bias is not None:
        addend += bias.reshape(-1)
    return 128 * np.abs(whole).sum(axis=0), addend


def prepare_conv_2d(
    shape: tuple[int, ...],
    weights: NDArray[np.int8],
    bias: NDArray[np.int32],
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    activation: str = "NONE",
) -> Apply | None:
    """Return `eightfold.golden.convolution.conv_2d` for inputs of ``shape``.

    None also with groups.
    """
    zero_point = input_quantization.per_tensor()[1]
    if weights.shape[3] != shape[3] or not -128 <= zero_point <= 127:
        return None
    columns, limit = filter_matrix(weights)
    real = operand_type(limit, 0)
    matrix = columns.astype(real)
    oh, ow = (window.output_size(axis, shape[1 + axis]) for axis in (0, 1))
    rows = shape[0] * oh * ow
    size = matrix.shape[0]
    requantize = float_requantizer(
        *_sums(columns, bias, zero_point),
        *channel_multipliers(input_quantization, weight_quantization, output_quantization),
        output_quantization.per_tensor()[1],
        fused_bounds(activation, output_quantization),
        rows,
    )
    if requantize is None:
        return None
    result = (shape[0], oh, ow, weights.shape[0])
    if window.kernel == (1, 1):
        sy, sx = window.stride
        return lambda x: requantize(
            x[:, ::sy, ::sx].astype(real, order="C").reshape(rows, size) @ matrix
        ).reshape(result)
    read = window.tap_reader(shape, np.dtype(real), zero_point)

    def apply(x: NDArray[np.int8]) -> NDArray[np.int8]:
        taps = read(x).transpose(0, 1, 2, 4, 5, 3).reshape(rows, size)
        return requantize(taps @ matrix).reshape(result)

    return apply


def prepare_depthwise_conv_2d(
    shape: tuple[int, ...],
    weights: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    window: Window,
    activation: str = "NONE",
) -> Apply | None:
    """Return `eightfold.golden.convolution.depthwise_conv_2d` for inputs of ``shape``."""
    zero_point = input_quantization.per_tensor()[1]
    outputs = weights.shape[3]
    kh, kw = window.kernel
    oh, ow = (window.output_size(a, shape[1 + a]) for a in (0, 1))
    factors = weights.reshape(kh * kw, outputs)
    bound, addend = _sums(factors, bias, zero_point)
    if bound.max() > 2**24 or not -128 <= zero_point <= 127:
        return None
    requantize = float_requantizer(
        bound,
        addend,
        *channel_multipliers(input_quantization, weight_quantization, output_quantization),
        output_quantization.per_tensor()[1],
        fused_bounds(activation, output_quantization),
        shape[0] * oh * ow,
    )
    if requantize is None:
        return None
    repeats = outputs // shape[3]
    n = shape[0]
    result = (n, oh, ow, outputs)
    pad = window.padder((*shape[:3], outputs), np.dtype(np.float32), zero_point)
    # A row of pixels and channels is one axis, for long inner loops: so the weights repeat.
    spread = np.tile(factors.reshape(kh, kw, 1, outputs).astype(np.float32), (1, 1, ow, 1))
    spread = spread.reshape(kh, kw, ow * outputs)
    sy = window.stride[0]
    dy = window.dilation[0]

    def apply(x: NDArray[np.int8]) -> NDArray[np.int8]:
        padded = pad(x if repeats == 1 else np.repeat(x, repeats, axis=3))
        height = padded.shape[1]
        columns = np.empty((n, kw, height, ow, outputs), dtype=np.float32)
        for kx, column in enumerate(window.shifted(padded, 1, ow)):
            columns[:, kx] = column
        sn, sk, sh, _, sc = columns.strides
        taps = np.ndarray(
            (n, oh, kh, kw, ow * outputs),
            np.float32,
            columns,
            strides=(sn, sh * sy, sh * dy, sk, sc),
        )
        return requantize(np.einsum("nhklx,klx->nhx", taps, spread)).reshape(result)

    return apply


def prepare_fully_connected(
    shape: tuple[int, ...],
    weights: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
    keep_num_dims: bool = False,
    reference: Reference = "litert",
) -> Apply | None:
    """Return `eightfold.golden.fully_connected.fully_connected`; None also with a filter's zero
    point."""
    quantizations = (input_quantization, weight_quantization, output_quantization)
    zero_point = input_quantization.per_tensor()[1]
    out_zero = output_quantization.per_tensor()[1]
    if weight_quantization.scale.size == 1 and weight_quantization.zero_point[0]:
        return None
    columns, limit = filter_matrix(weights)
    real = operand_type(limit, 0)
    matrix = columns.astype(real)
    size, outputs = matrix.shape
    rows = int(np.prod(shape)) // size
    result = (*shape[:-1], outputs) if keep_num_dims else (rows, outputs)
    bound, addend = _sums(columns, bias, zero_point)
    low, high = fused_bounds(activation, output_quantization)
    if reference == "tflm":
        pair = integer_multipliers(*quantizations)
        requantize = float_requantizer(bound, addend, *pair, out_zero, (low, high), rows)
        if requantize is None:
            return None
        return lambda x: requantize(x.reshape(rows, size).astype(real) @ matrix).reshape(result)
    scale = effective_scales(*quantizations)
    offset = np.asarray(out_zero, dtype=np.int16)
    largest = bound + np.abs(addend)
    # Neither the sum nor its scaled value may leave int32, and an int16 must hold every step.
    if (
        largest.max() > INT32_MAX
        or (largest * scale).max() > 2**30
        or not -(2**14) < out_zero < 2**14
        or low > high
    ):
        return None
    ends = np.asarray(float(low - out_zero)), np.asarray(float(high - out_zero))
    constant = addend.astype(np.float64)

    def apply(x: NDArray[np.int8]) -> NDArray[np.int8]:
        scaled = np.add(x.reshape(rows, size).astype(real) @ matrix, constant)
        scaled *= scale
        scaled += np.copysign(_BELOW_HALF, scaled)
        np.maximum(scaled, ends[0], out=scaled)
        np.minimum(scaled, ends[1], out=scaled)
        steps = scaled.astype(np.int16)  # truncates
        steps += offset
        return steps.astype(np.int8).reshape(result)

    return apply
