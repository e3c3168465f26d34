"""Functions of one byte: LOGISTIC, TANH, QUANTIZE and the RELU family."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    wrap32,
)
from eightfold.golden.fixed_point_math import input_radius
from eightfold.golden.fixed_point_math import logistic as logistic_in_fixed_point
from eightfold.golden.fixed_point_math import tanh as tanh_in_fixed_point
from eightfold.golden.floats import quantize_float
from eightfold.golden.quantization import (
    Quantization,
    Reference,
    clamp,
    quantized_bounds,
    saturate,
)
from eightfold.golden.rounding import round_half_away

CODES = np.arange(-128, 128, dtype=np.int64)
"""Every int8 code, ascending."""


def logistic(
    x: NDArray[np.int8],
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> NDArray[np.int8]:
    """Return LOGISTIC: a table filled in float32, or (``tflm``) fixed point.

    The fixed-point variant assumes the output (1/256, -128) and never rescales.

    Raises
    ------
    RejectedError
        LiteRT: if the output scale is not 1/256.
    """
    if reference == "tflm":
        return _fixed_point(x, input_quantization, logistic_in_fixed_point, 23, -128)
    if output_quantization.per_tensor()[0] != np.float32(1 / 256):
        raise RejectedError("the output scale of LOGISTIC must be 1/256")
    return look_up(x, float_table(_sigmoid, input_quantization, output_quantization))


def tanh(
    x: NDArray[np.int8],
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> NDArray[np.int8]:
    """Return TANH: a table filled in float32, or (``tflm``) fixed point.

    The fixed-point variant assumes the output (1/128, 0) and never rescales.
    """
    if reference == "tflm":
        return _fixed_point(x, input_quantization, tanh_in_fixed_point, 24, 0)
    return look_up(x, float_table(_tanh, input_quantization, output_quantization))


def look_up(x: NDArray[np.int8], table: NDArray) -> NDArray:
    """Return ``table[x & 255]``: 256 entries, the negative codes in the upper half."""
    return table[x.view(np.uint8)]


def float_table(
    function: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    inputs: Quantization,
    output: Quantization,
) -> NDArray[np.int8]:
    """Return the 256 results of ``function``, indexed by ``q & 255``, all in float32.

    ``round(function(s_in * (q - z_in)) * (1 / s_out)) + z_out``, ties away from zero, clamped.

    Raises
    ------
    UndefinedError
        If an entry leaves int32 before the clamp.
    """
    (scale, zero_point), (out_scale, out_zero) = inputs.per_tensor(), output.per_tensor()
    # The reciprocal of a very small scale is infinite, and 0 times that is no number.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        real = function(scale * (CODES - zero_point).astype(np.float32))
        steps = round_half_away(real * (np.float32(1) / out_scale)) + np.float32(out_zero)
    if not np.all((steps >= INT32_MIN) & (steps < 2.0**31)):
        raise UndefinedError("a table entry leaves int32")
    table = np.empty(256, dtype=np.int8)
    table[CODES & 255] = clamp(steps.astype(np.int64))
    return table


def _sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    # numpy's float32 exp is not correctly rounded, its float64 exp rounded to float32 is.
    exponential = np.exp(-x.astype(np.float64)).astype(np.float32)
    return np.float32(1) / (np.float32(1) + exponential)


def _tanh(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.tanh(x.astype(np.float64)).astype(np.float32)


def _fixed_point(
    x: NDArray[np.int8],
    inputs: Quantization,
    function: Callable[[Integers, int], Integers],
    drop: int,
    offset: int,
) -> NDArray[np.int8]:
    """Return ``function`` in Q4, ``drop`` bits rounded off, ``offset`` added.

    Differences of codes at or beyond the radius saturate.

    Raises
    ------
    UndefinedError
        If the radius leaves int32 (input scale below 2^-28).
    """
    scale, zero_point = inputs.per_tensor()
    multiplier, left_shift = quantize_multiplier(float(scale) * 2.0**27)
    radius = input_radius(4, int(left_shift))
    if radius > INT32_MAX:
        raise UndefinedError(f"the input scale {scale} is too small")
    v = x.astype(np.int64) - zero_point
    inside = np.abs(v) < radius
    scaled = multiply_by_quantized_multiplier(
        # With no code inside, the shift may be illegal and is never used.
        np.where(inside, v, 0),
        multiplier,
        left_shift if radius > 0 else 0,
    )
    codes = rounding_divide_by_pot(function(scaled, 4), drop) + offset
    return clamp(np.where(inside, codes, np.where(v <= -radius, -128, 127)))


def quantize(
    x: NDArray[Any],
    *,
    input_quantization: Quantization | None,
    output_quantization: Quantization,
    dtype: DTypeLike = np.int8,
    reference: Reference = "litert",
) -> NDArray[Any]:
    """Return QUANTIZE: ``(q - z_in) * s_in / s_out + z_out``, the multiplier in float64, clamped.

    ``x`` and the result, of ``dtype``, are int8 or uint8; without ``input_quantization`` ``x`` is
    float32, and the result that of `eightfold.golden.floats.quantize_float`.

    Raises
    ------
    RejectedError
        TFLite Micro: from float32 or uint8 to uint8.
    """
    if reference == "tflm" and np.dtype(dtype) == np.uint8 and x.dtype != np.int8:
        raise RejectedError(f"TFLite Micro has no QUANTIZE of {x.dtype} to uint8")
    if input_quantization is None:
        return quantize_float(x, output_quantization=output_quantization, dtype=dtype)
    (scale, _), (out_scale, _) = input_quantization.per_tensor(), output_quantization.per_tensor()
    codes = _rescale(x, float(scale) / float(out_scale), input_quantization, output_quantization)
    return saturate(codes, dtype)


def relu(
    x: NDArray[np.int8],
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "RELU",
) -> NDArray[np.int8]:
    """Return RELU, RELU_N1_TO_1, RELU_0_TO_1 or LiteRT's RELU6 as an operator of its own.

    Rescaled by ``s_in / s_out`` in float32, then clamped to the codes of the real bounds.

    Raises
    ------
    UndefinedError
        If a bound leaves int32.
    """
    with np.errstate(over="ignore"):
        real = input_quantization.per_tensor()[0] / output_quantization.per_tensor()[0]
    codes = _rescale(x, float(real), input_quantization, output_quantization)
    return clamp(codes, quantized_bounds(activation, output_quantization, UndefinedError))


def relu6(
    x: NDArray[np.int8],
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> NDArray[np.int8]:
    """Return RELU6 as an operator of its own: `relu`, or (``tflm``) the input's codes clamped.

    That variant clamps to the codes of 0 and 6 on the input and never rescales, so that the two
    agree if input and output have the same scale and zero point.

    Raises
    ------
    UndefinedError
        If a bound leaves int32.
    """
    if reference == "tflm":
        return clamp(x, quantized_bounds("RELU6", input_quantization, UndefinedError))
    return relu(
        x,
        input_quantization=input_quantization,
        output_quantization=output_quantization,
        activation="RELU6",
    )


def _rescale(x: NDArray[Any], real: float, inputs: Quantization, output: Quantization) -> Integers:
    """Return ``(x - z_in) * real + z_out`` through the multiplier pair."""
    difference = x.astype(np.int64) - inputs.per_tensor()[1]
    scaled = multiply_by_quantized_multiplier(difference, *quantize_multiplier(real))
    return wrap32(scaled + output.per_tensor()[1])
