"""ADD, SUB, MUL, DIV and SQUARED_DIFFERENCE with broadcasting."""

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.errors import AbortedError, RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    Integers,
    count_leading_zeros,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    quantize_multiplier_smaller_than_one,
    rounding_divide_by_pot,
    srdhm,
    wrap32,
    wrapped,
)
from eightfold.golden.fixed_point_math import reciprocal
from eightfold.golden.quantization import (
    Quantization,
    Reference,
    clamp,
    fused_bounds,
    scale_type,
)

ADD_LEFT_SHIFT = 20
"""Fraction bits that ADD and SUB give the operands before they are rescaled."""

SQUARED_LEFT_SHIFT = 7
"""Those of SQUARED_DIFFERENCE: the square of a difference has twice as many, and fits int32."""


def broadcast(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """Return both operands in their `broadcast_shape`."""
    if a.shape == b.shape:
        return a, b
    shape = broadcast_shape(a.shape, b.shape)
    return np.broadcast_to(a, shape), np.broadcast_to(b, shape)


def broadcast_shape(a: Shape, b: Shape) -> Shape:
    """Return the common shape of two operands, right aligned as in numpy.

    Raises `RejectedError` if shapes do not fit, `AbortedError` if unequal ones have rank above 8.
    """
    if a == b:
        return a
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        raise RejectedError(f"shapes {a} and {b} do not broadcast") from None
    if len(shape) > 8:
        raise AbortedError(f"broadcasting works to rank 8, not {len(shape)}")
    return shape


def add(
    a: Codes,
    b: Codes,
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> Codes:
    """Return ADD: both operands to a common scale with 20 more bits, the sum to the output's.

    Raises `AbortedError` if ``2 * max(s_a, s_b) / (2^20 * s_out)`` is not below 1.
    """
    quantizations = a_quantization, b_quantization, output_quantization
    return _sum(a, b, 1, quantizations, activation)


def sub(
    a: Codes,
    b: Codes,
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> Codes:
    """Return SUB: `add` with the second operand subtracted.

    Raises `RejectedError` if a zero point is not an int8. Raises `AbortedError` or `UndefinedError`
    if ``2 * max(s_a, s_b) / (2^20 * s_out)`` is 1, or above 1.
    """
    quantizations = a_quantization, b_quantization, output_quantization
    if any(not -128 <= each.per_tensor()[1] <= 127 for each in quantizations):
        raise RejectedError("SUB needs zero points in int8")
    if (real := common_scales(*quantizations)[2]) > 1:
        raise UndefinedError(f"the output multiplier of SUB must be below 1, not {real}")
    return _sum(a, b, -1, quantizations, activation)


def rescaled_operand(
    x: Codes, quantization: Quantization, real: float, bits: int = ADD_LEFT_SHIFT
) -> Integers:
    """Return ``(x - z) * 2^bits * real`` through the multiplier pair, 0 < real < 1."""
    difference = x.astype(np.int64) - quantization.per_tensor()[1]
    if real == 0.5:  # the operand with the larger scale: what follows is exact
        return difference << (bits - 1)
    return multiply_by_quantized_multiplier(
        difference << bits, *quantize_multiplier_smaller_than_one(real)
    )


def common_scales(
    a: Quantization, b: Quantization, output: Quantization
) -> tuple[float, float, float]:
    """Return ``s_a / t``, ``s_b / t`` and ``t / (2^20 * s_out)`` with ``t = 2 * max(s_a, s_b)``.

    In float64 of the widened scales.
    """
    first, second, out = (float(q.per_tensor()[0]) for q in (a, b, output))
    common = 2 * max(first, second)
    return first / common, second / common, common / (2**ADD_LEFT_SHIFT * out)


def _sum(
    a: Codes,
    b: Codes,
    sign: int,
    quantizations: tuple[Quantization, Quantization, Quantization],
    activation: str,
) -> Codes:
    """Return ADD, or with the ``sign`` -1 SUB."""
    first, second, output = quantizations
    *reals, real = common_scales(*quantizations)
    x, y = broadcast(a, b)
    total = rescaled_operand(x, first, reals[0]) + sign * rescaled_operand(y, second, reals[1])
    scaled = multiply_by_quantized_multiplier(total, *quantize_multiplier_smaller_than_one(real))
    return clamp(wrapped(scaled + output.per_tensor()[1]), fused_bounds(activation, output))


def mul(
    a: Codes,
    b: Codes,
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
    reference: Reference = "litert",
) -> Codes:
    """Return MUL: the product of the differences to the zero points, rescaled.

    The multiplier is ``s_a * s_b / s_out``, each step in float32; ``tflm`` in float64.
    """
    x, y = broadcast(a, b)
    (a_scale, a_zero), (b_scale, b_zero) = a_quantization.per_tensor(), b_quantization.per_tensor()
    real = multiplication_scale(a_scale, b_scale, output_quantization.per_tensor()[0], reference)
    product = (x.astype(np.int64) - a_zero) * (y.astype(np.int64) - b_zero)
    scaled = multiply_by_quantized_multiplier(product, *quantize_multiplier(real))
    codes = wrapped(scaled + output_quantization.per_tensor()[1])
    return clamp(codes, fused_bounds(activation, output_quantization))


def multiplication_scale(
    a: np.float32, b: np.float32, output: np.float32, reference: Reference
) -> float:
    """Return ``a * b / output`` in float32, or (``tflm``) in float64."""
    real = scale_type(reference)
    with np.errstate(over="ignore", under="ignore"):
        return float(real(a) * real(b) / real(output))


def squared_difference(
    a: Codes,
    b: Codes,
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    reference: Reference = "litert",
) -> Codes:
    """Return SQUARED_DIFFERENCE: both operands to a common scale with 7 more bits, then the square.

    The multiplier of the square is ``t^2 / (2^14 * s_out)``, ``t = 2 * max(s_a, s_b)``, in float64.
    Raises `AbortedError` if the multiplier is not below 1; ``tflm`` takes larger ones, and raises
    `UndefinedError` if the left shift is 32 or more.
    """
    reals = common_scales(a_quantization, b_quantization, output_quantization)
    x, y = broadcast(a, b)
    difference = rescaled_operand(x, a_quantization, reals[0], SQUARED_LEFT_SHIFT)
    difference = difference - rescaled_operand(y, b_quantization, reals[1], SQUARED_LEFT_SHIFT)
    common = 2 * max(float(q.per_tensor()[0]) for q in (a_quantization, b_quantization))
    (out, zero_point), bits = output_quantization.per_tensor(), 2 * SQUARED_LEFT_SHIFT
    quantized = quantize_multiplier_smaller_than_one
    if reference == "tflm":
        quantized = quantize_multiplier
    pair = quantized(common * common / (2**bits * float(out)))
    scaled = multiply_by_quantized_multiplier(difference * difference, *pair)
    return clamp(wrapped(scaled + zero_point))


def div(
    a: Codes,
    b: Codes,
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
    reference: Reference = "litert",
) -> Codes:
    """Return DIV: the quotient of the differences to the zero points, rescaled.

    ``x / y`` is ``srdhm(x << h, r) * 2^-(h + o)``, h the sign bits of x, ``r * 2^-o`` the
    reciprocal of y; its multiplier ``s_a / (s_b * s_out)``, each step in float32; ``tflm`` in
    float64. The last shift ``h + o - shift`` is often above 31, where C++ leaves it undefined: then
    it is what processors of 64 bits do, see `_shifted`. Equals LiteRT and TFLite Micro there.
    Raises `RejectedError` if a divisor is 0: its code is the zero point.
    """
    x, y = (
        codes.astype(np.int64) - quantization.per_tensor()[1]
        for codes, quantization in zip(
            broadcast(a, b), (a_quantization, b_quantization), strict=True
        )
    )
    if not y.all():
        raise RejectedError("a divisor is 0")
    every = a_quantization, b_quantization, output_quantization
    real = scale_type(reference)
    first, second, out = (real(quantization.per_tensor()[0]) for quantization in every)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        multiplier, shift = quantize_multiplier(float(first / (second * out)))
    dividend = np.where(y < 0, -x, x)
    inverse, over = reciprocal(np.abs(y), 31)
    headroom = count_leading_zeros(dividend ^ (dividend >> 63)) - 1
    quotient = srdhm(srdhm(wrap32(dividend << headroom), inverse), multiplier)
    scaled = _shifted(quotient, headroom + over - shift)
    codes = wrapped(scaled + output_quantization.per_tensor()[1])
    return clamp(codes, fused_bounds(activation, output_quantization))


def _shifted(x: Integers, e: Integers) -> Integers:
    """Return `rounding_divide_by_pot` of ``x`` by any ``e``, as x86-64 and AArch64 compute it.

    They count 64-bit shifts modulo 64 and 32-bit ones modulo 32. Beyond 31 the mask of what is
    dropped is -1, so that 1 is added to all that is not negative.
    """
    count = e & 63
    inside = count <= 31
    rounded = rounding_divide_by_pot(x, np.where(inside, count, 0))
    return np.where(inside, rounded, (x >> (count & 31)) + (x >= 0))
