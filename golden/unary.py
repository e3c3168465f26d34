"""Functions of one byte: of floats and roots by tables, rescaled ones such as the RELU family."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from eightfold.golden.arrays import Codes
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
from eightfold.golden.fixed_point_log import inverse_square_root
from eightfold.golden.fixed_point_math import input_radius
from eightfold.golden.fixed_point_math import logistic as logistic_in_fixed_point
from eightfold.golden.fixed_point_math import tanh as tanh_in_fixed_point
from eightfold.golden.floats import quantize_float
from eightfold.golden.quantization import Quantization, Reference, clamp, quantized_bounds, saturate
from eightfold.golden.rounding import round_half_away

CODES = np.arange(-128, 128, dtype=np.int64)
"""Every int8 code, ascending."""

ROOT_FRACTION = 20
"""Fraction bits of the root in RSQRT."""


def logistic(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return LOGISTIC: a table filled in float32, or (``tflm``) fixed point.

    The fixed-point variant assumes the output (1/256, -128) and never rescales.
    Raises `RejectedError` for LiteRT if the output scale is not 1/256.
    """
    if reference == "tflm":
        return _fixed_point(x, input_quantization, logistic_in_fixed_point, 23, -128)
    if output_quantization.per_tensor()[0] != np.float32(1 / 256):
        raise RejectedError("the output scale of LOGISTIC must be 1/256")
    return look_up(x, float_table(_sigmoid, input_quantization, output_quantization))


def tanh(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return TANH: a table filled in float32, or (``tflm``) fixed point.

    The fixed-point variant assumes the output (1/128, 0) and never rescales.
    """
    if reference == "tflm":
        return _fixed_point(x, input_quantization, tanh_in_fixed_point, 24, 0)
    return look_up(x, float_table(_tanh, input_quantization, output_quantization))


def exponential(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization
) -> Codes:
    """Return EXP: the table of ``exp(real)``, see `float_table`."""
    return look_up(x, float_table(_exp, input_quantization, output_quantization))


def logarithm(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization
) -> Codes:
    """Return LOG: the table of ``log(real)``, see `float_table`; -128 for ``real <= 0``.

    Source: TFLite ``kernels/elementwise.cc``, which takes the least real number of the output,
    ``s_out * (-128 - z_out)``, for the logarithm of what has none.
    """
    out_scale, out_zero = output_quantization.per_tensor()

    def log(real: NDArray[np.float32]) -> NDArray[np.float32]:
        logarithms = np.log(np.where(real > 0, real, 1).astype(np.float64)).astype(np.float32)
        return np.where(real > 0, logarithms, out_scale * np.float32(-128 - out_zero))

    return look_up(x, float_table(log, input_quantization, output_quantization))


def gelu(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    approximate: bool,
) -> Codes:
    """Return GELU: a table, see `float_table`, in float32 at each step.

    ``real / 2 * erfc(-real / sqrt(2))``, or ``approximate``:
    ``real / 2 * (1 + tanh(sqrt(2 / pi) * (real + 0.044715 * real^3)))``.

    Source: TFLite ``kernels/internal/reference/gelu.h``.
    """
    function = _gelu_of_tanh if approximate else _gelu
    return look_up(x, float_table(function, input_quantization, output_quantization))


def elu(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return ELU: the table of ``expm1(real)`` below 0, else ``real``, see `float_table`.

    ``tflm``: of ``exp(real) - 1``, the exponential rounded to float32 before the subtraction.

    Source: the optimized kernel of TFLite's ``kernels/activations.cc``, for there is no reference
    kernel, and TFLite Micro's ``elu.cc``.
    """
    function = _elu_of_exp if reference == "tflm" else _elu
    return look_up(x, float_table(function, input_quantization, output_quantization))


def look_up(x: Codes, table: NDArray) -> NDArray:
    """Return ``table[x & 255]``: 256 entries, the negative codes in the upper half."""
    return table[x.view(np.uint8)]


def float_table(
    function: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    inputs: Quantization,
    output: Quantization,
) -> Codes:
    """Return the 256 results of ``function``, indexed by ``q & 255``, all in float32.

    ``round(function(s_in * (q - z_in)) * (1 / s_out)) + z_out``, ties away from zero, clamped.
    Raises `UndefinedError` if an entry leaves int32 before the clamp.
    """
    (scale, zero_point), (out_scale, out_zero) = inputs.per_tensor(), output.per_tensor()
    # The reciprocal of a very small scale is infinite, and 0 times that is no number.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        real = function(scale * (CODES - zero_point).astype(np.float32))
        steps = round_half_away(real * (np.float32(1) / out_scale)) + np.float32(out_zero)
    if not np.all((steps >= INT32_MIN) & (steps < 2.0**31)):
        raise UndefinedError("a table entry leaves int32")
    return by_byte(steps.astype(np.int64))


def by_byte(results: Integers) -> Codes:
    """Return the results of `CODES`, clamped, indexed by ``q & 255``."""
    table = np.empty(256, dtype=np.int8)
    table[CODES & 255] = clamp(results)
    return table


def _exp(x: NDArray[np.float32]) -> NDArray[np.float32]:
    # numpy's float32 exp is not correctly rounded, its float64 exp rounded to float32 is.
    return np.exp(x.astype(np.float64)).astype(np.float32)


def _sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.float32(1) / (np.float32(1) + _exp(-x))


def _tanh(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.tanh(x.astype(np.float64)).astype(np.float32)


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    tails = [math.erfc(each) for each in (x * np.float32(-math.sqrt(0.5))).tolist()]
    return np.float32(0.5) * x * np.array(tails, np.float32)


def _gelu_of_tanh(x: NDArray[np.float32]) -> NDArray[np.float32]:
    cubic = x + x * np.float32(0.044715) * x * x
    inner = np.multiply(cubic, np.float32(math.sqrt(2 / math.pi)), dtype=np.float32)
    return np.multiply(x * np.float32(0.5), np.float32(1) + _tanh(inner), dtype=np.float32)


def _elu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(x < 0, np.expm1(x.astype(np.float64)).astype(np.float32), x)


def _elu_of_exp(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(x < 0, _exp(x) - np.float32(1), x)


def square_root(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization
) -> Codes:
    """Return SQRT: ``sqrt(s_in * (q - z_in)) / s_out``, truncated, plus ``z_out``, clamped.

    Each step in float32. LiteRT 2.3.0 has this kernel and no public source of it: the formula is
    the one of several that equals it where they differ, at quotients next to an integer.
    Raises `RejectedError` if a code is below the zero point. Raises `UndefinedError` if a quotient
    leaves int32.
    """
    difference = _differences(x, input_quantization, "SQRT").astype(np.float32)
    out_scale, out_zero = output_quantization.per_tensor()
    with np.errstate(over="ignore"):
        steps = np.sqrt(input_quantization.per_tensor()[0] * difference) / out_scale
    if not np.all(steps < 2.0**31):
        raise UndefinedError("a result of SQRT leaves int32")
    return look_up(x, by_byte(wrap32(steps.astype(np.int64) + out_zero)))


def reciprocal_square_root(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization
) -> Codes:
    """Return RSQRT: ``1 / sqrt(q - z_in)`` in fixed point, times ``1 / (sqrt(s_in) * s_out)``.

    With ``(m, shift) = 1 / sqrt(q - z_in)`` and 1 above it 20 bits:
    ``MBQM(MBQM(1, m, shift + 20), M, S - 20) + z_out``, clamped, where (M, S) is the quotient in
    float64 of the product in float32. The zero point itself gives 127.

    Source: TFLite ``kernels/elementwise.cc``, TFLite Micro's ``elementwise.cc``.
    Raises `RejectedError` if a code is below the zero point. Raises `UndefinedError` if ``S - 20``
    is outside -31..31.
    """
    difference = _differences(x, input_quantization, "RSQRT")
    out_scale, out_zero = output_quantization.per_tensor()
    with np.errstate(over="ignore", divide="ignore"):
        product = np.float64(np.sqrt(input_quantization.per_tensor()[0]) * out_scale)
        multiplier, exponent = quantize_multiplier(float(1 / product))
    root, shift = inverse_square_root(difference)
    fraction = multiply_by_quantized_multiplier(
        np.ones_like(difference), root, shift + ROOT_FRACTION
    )
    scaled = multiply_by_quantized_multiplier(fraction, multiplier, exponent - ROOT_FRACTION)
    return look_up(x, by_byte(np.where(difference == 0, 127, wrap32(scaled + out_zero))))


def _differences(x: Codes, inputs: Quantization, operator: str) -> Integers:
    """Return ``q - z_in`` of `CODES`, 0 below the zero point, of which x must not have any."""
    zero_point = inputs.per_tensor()[1]
    if (least := int(x.min(initial=127))) < zero_point:
        raise RejectedError(
            f"{operator} has no result for the code {least}, below the zero point {zero_point}"
        )
    return np.maximum(CODES - zero_point, 0)


def negate(x: Codes) -> Codes:
    """Return NEG: ``-q`` of the code itself, in which -128 stays as it is.

    LiteRT's kernel looks at no scale and no zero point.
    """
    return np.negative(x)


def absolute(
    x: Codes, *, input_quantization: Quantization, output_quantization: Quantization
) -> Codes:
    """Return ABS: ``|x - z_in|`` rescaled by ``s_in / s_out`` in float32, plus ``z_out``, clamped.

    LiteRT and TFLite Micro do not rescale if the scales are equal; a multiplier of 1 is exact too.
    Raises `UndefinedError` if the multiplier's left shift is 32 or more.
    """
    (scale, zero_point), (out_scale, out_zero) = (
        input_quantization.per_tensor(),
        output_quantization.per_tensor(),
    )
    with np.errstate(over="ignore"):
        pair = quantize_multiplier(float(scale / out_scale))
    magnitude = np.abs(x.astype(np.int64) - zero_point)
    return clamp(wrap32(multiply_by_quantized_multiplier(magnitude, *pair) + out_zero))


def _fixed_point(
    x: Codes,
    inputs: Quantization,
    function: Callable[[Integers, int], Integers],
    drop: int,
    offset: int,
) -> Codes:
    """Return ``function`` in Q4, ``drop`` bits rounded off, ``offset`` added.

    At and beyond the radius codes saturate. Raises `UndefinedError` if it leaves int32: a scale
    below 2^-28.
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
    Raises `RejectedError` for TFLite Micro from float32 or uint8 to uint8.
    """
    if reference == "tflm" and np.dtype(dtype) == np.uint8 and x.dtype != np.int8:
        raise RejectedError(f"TFLite Micro has no QUANTIZE of {x.dtype} to uint8")
    if input_quantization is None:
        return quantize_float(x, output_quantization=output_quantization, dtype=dtype)
    (scale, _), (out_scale, _) = input_quantization.per_tensor(), output_quantization.per_tensor()
    codes = _rescale(x, float(scale) / float(out_scale), input_quantization, output_quantization)
    return saturate(codes, dtype)


def relu(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "RELU",
) -> Codes:
    """Return RELU, RELU_N1_TO_1, RELU_0_TO_1 or LiteRT's RELU6 as an operator of its own.

    Rescaled by ``s_in / s_out`` in float32, then clamped to the codes of the real bounds.
    Raises `UndefinedError` if a bound leaves int32.
    """
    with np.errstate(over="ignore"):
        real = input_quantization.per_tensor()[0] / output_quantization.per_tensor()[0]
    codes = _rescale(x, float(real), input_quantization, output_quantization)
    return clamp(codes, quantized_bounds(activation, output_quantization, UndefinedError))


def relu6(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return RELU6 as an operator of its own: `relu`, or (``tflm``) the input's codes clamped.

    That variant clamps to the codes of 0 and 6 on the input and never rescales, so that the two
    agree if input and output have the same scale and zero point.
    Raises `UndefinedError` if a bound leaves int32.
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
