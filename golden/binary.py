"""ADD, SUB and MUL with broadcasting."""

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.errors import AbortedError, RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    quantize_multiplier_smaller_than_one,
    wrapped,
)
from eightfold.golden.quantization import Quantization, Reference, clamp, fused_bounds

ADD_LEFT_SHIFT = 20
"""Fraction bits that ADD and SUB give the operands before they are rescaled."""


def broadcast(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """Return both operands in their `broadcast_shape`."""
    if a.shape == b.shape:
        return a, b
    shape = broadcast_shape(a.shape, b.shape)
    return np.broadcast_to(a, shape), np.broadcast_to(b, shape)


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape of two operands, right aligned as in numpy.

    Raises
    ------
    RejectedError
        If the shapes do not fit.
    AbortedError
        If different shapes have a rank above 8.
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
    a: NDArray[np.int8],
    b: NDArray[np.int8],
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> NDArray[np.int8]:
    """Return ADD: both operands to a common scale with 20 more bits, the sum to the output's.

    Raises
    ------
    AbortedError
        If ``2 * max(s_a, s_b) / (2^20 * s_out)`` is not below 1.
    """
    reals = common_scales(a_quantization, b_quantization, output_quantization)
    x, y = broadcast(a, b)
    total = rescaled_operand(x, a_quantization, reals[0]) + rescaled_operand(
        y, b_quantization, reals[1]
    )
    return _finish(total, reals[2], output_quantization, activation)


def sub(
    a: NDArray[np.int8],
    b: NDArray[np.int8],
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> NDArray[np.int8]:
    """Return SUB: `add` with the second operand subtracted.

    Raises
    ------
    RejectedError
        If a zero point is not an int8.
    AbortedError, UndefinedError
        If ``2 * max(s_a, s_b) / (2^20 * s_out)`` is 1, or above 1.
    """
    for quantization in (a_quantization, b_quantization, output_quantization):
        if not -128 <= quantization.per_tensor()[1] <= 127:
            raise RejectedError("SUB needs zero points in int8")
    reals = common_scales(a_quantization, b_quantization, output_quantization)
    if reals[2] > 1:
        raise UndefinedError(f"the output multiplier of SUB must be below 1, not {reals[2]}")
    x, y = broadcast(a, b)
    total = rescaled_operand(x, a_quantization, reals[0]) - rescaled_operand(
        y, b_quantization, reals[1]
    )
    return _finish(total, reals[2], output_quantization, activation)


def rescaled_operand(x: NDArray[np.int8], quantization: Quantization, real: float) -> Integers:
    """Return ``(x - z) * 2^20 * real`` through the multiplier pair, 0 < real < 1."""
    difference = x.astype(np.int64) - quantization.per_tensor()[1]
    if real == 0.5:  # the operand with the larger scale: what follows is exact
        return difference << (ADD_LEFT_SHIFT - 1)
    return multiply_by_quantized_multiplier(
        difference << ADD_LEFT_SHIFT, *quantize_multiplier_smaller_than_one(real)
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


def _finish(
    total: Integers, real: float, output: Quantization, activation: str
) -> NDArray[np.int8]:
    scaled = multiply_by_quantized_multiplier(total, *quantize_multiplier_smaller_than_one(real))
    return clamp(wrapped(scaled + output.per_tensor()[1]), fused_bounds(activation, output))


def mul(
    a: NDArray[np.int8],
    b: NDArray[np.int8],
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
    reference: Reference = "litert",
) -> NDArray[np.int8]:
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
    if reference == "tflm":
        return float(a) * float(b) / float(output)
    with np.errstate(over="ignore", under="ignore"):
        return float(a * b / output)
