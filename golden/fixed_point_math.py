"""exp, 1/(1+x), tanh, logistic and reciprocal in int32 or int16 fixed point.

"Qk" is an int32 with k integer bits and 31 - k fraction bits; 1 in Q0 is 2^31 - 1. The product
of a Qa and a Qb is `srdhm`, a Q(a+b). All arrays are int64 holding int32 values. ``fraction``
15, where a function has it: the same in int16, Qk with 15 - k fraction bits, and each constant
rounded to the upper half of what it is in int32.
Source: gemmlowp ``fixedpoint.h``; TFLite ``kernels/internal/quantization_util.cc``.
"""

import math
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from eightfold.golden.fixed_point import (
    Integers,
    count_leading_zeros,
    half_sum,
    quantize_multiplier_greater_than_one,
    rounding_divide_by_pot,
    saturating_shift_left,
    srdhm,
    wrap32,
)

_EXP_MINUS_EIGHTH = 1895147668
_ONE_THIRD = 715827883
# exp(-2^n) in Q0 for n = -2..4.
_EXP_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_48_OVER_17 = 1515870810  # Q2
_MINUS_32_OVER_17 = -1010580540  # Q2


def _constant(value: int, fraction: int) -> int:
    return value if fraction == 31 else (value + (1 << (30 - fraction))) >> (31 - fraction)


def exp_on_negative(a: ArrayLike, integer_bits: int, fraction: int = 31) -> Integers:
    """Return ``exp(a)`` in Q0 of ``a <= 0`` in Q(``integer_bits``).

    ``a`` is split into a part in [-1/4, 0), whose exponential is a Taylor polynomial of degree 4
    around -1/8, and a multiple of 1/4, one factor exp(-2^n) per set bit. exp(0) is 2^31 - 1.
    """
    value = np.asarray(a, dtype=np.int64)
    quarter = 1 << (fraction - 2 - integer_bits)
    fine = (value & (quarter - 1)) - quarter
    rest = fine - value
    last = saturating_shift_left(fine, integer_bits, fraction)
    result = _exp_on_last_quarter(last, fraction)
    for power, factor in enumerate(_EXP_POWERS, -2):
        if power < integer_bits:
            bit = (rest >> (fraction - integer_bits + power)) & 1
            factor = _constant(factor, fraction)
            result = np.where(bit, srdhm(result, factor, fraction), result)
    if integer_bits > 5:
        lowest = -(1 << (fraction + 5 - integer_bits))
        result = np.where(value < lowest, 0, result)
    return np.where(value == 0, (1 << fraction) - 1, result)


def _exp_on_last_quarter(a: Integers, fraction: int) -> Integers:
    """Return ``exp(a)`` in Q0 of ``a`` in [-1/4, 0) in Q0."""
    third, eighth = _constant(_ONE_THIRD, fraction), _constant(_EXP_MINUS_EIGHTH, fraction)
    x = a + (1 << (fraction - 3))  # distance from -1/8
    x2 = srdhm(x, x, fraction)
    x3, x4 = srdhm(x2, x, fraction), srdhm(x2, x2, fraction)
    cubic = srdhm(rounding_divide_by_pot(x4, 2) + x3, third, fraction)
    return eighth + srdhm(eighth, x + rounding_divide_by_pot(cubic + x2, 1), fraction)


def _half_denominator_inverse(a: ArrayLike, fraction: int) -> Integers:
    """Return ``2 / (1 + a)`` in Q2 of ``a`` in [0, 1) in Q0: three Newton-Raphson steps."""
    half = half_sum(a, (1 << fraction) - 1)
    slope = _constant(_MINUS_32_OVER_17, fraction)
    x = _constant(_48_OVER_17, fraction) + srdhm(half, slope, fraction)
    for _ in range(3):
        error = (1 << (fraction - 2)) - srdhm(half, x, fraction)
        x = x + saturating_shift_left(srdhm(x, error, fraction), 2, fraction)
    return x


def one_over_one_plus(a: ArrayLike, fraction: int = 31) -> Integers:
    """Return ``1 / (1 + a)`` in Q0 of ``a`` in [0, 1) in Q0."""
    return saturating_shift_left(_half_denominator_inverse(a, fraction), 1, fraction)


def one_minus_over_one_plus(a: ArrayLike, fraction: int = 31) -> Integers:
    """Return ``(1 - a) / (1 + a)`` in Q0 of ``a`` in [0, 1) in Q0."""
    excess = _half_denominator_inverse(a, fraction) - (1 << (fraction - 2))
    return saturating_shift_left(excess, 2, fraction)


def logistic(a: ArrayLike, integer_bits: int, fraction: int = 31) -> Integers:
    """Return ``1 / (1 + exp(-a))`` in Q0 of ``a`` in Q(``integer_bits``)."""
    value = np.asarray(a, dtype=np.int64)
    power = exp_on_negative(-np.abs(value), integer_bits, fraction)
    positive = one_over_one_plus(power, fraction)
    negative = (1 << fraction) - 1 - positive
    return np.where(
        value > 0, positive, np.where(value < 0, negative, np.int64(1 << (fraction - 1)))
    )


def tanh(a: ArrayLike, integer_bits: int, fraction: int = 31) -> Integers:
    """Return ``tanh(a)`` in Q0 of ``a`` in Q(``integer_bits``)."""
    value = np.asarray(a, dtype=np.int64)
    # The same raw value with one more integer bit is 2a: tanh(a) = (1-e^-2a) / (1+e^-2a).
    power = exp_on_negative(-np.abs(value), integer_bits + 1, fraction)
    return np.sign(value) * one_minus_over_one_plus(power, fraction)


def reciprocal(x: ArrayLike, integer_bits: int) -> tuple[Integers, Integers]:
    """Return ``(r, over)``: ``1 / x = r * 2^-over``, r in Q0, of x > 0 in Q(``integer_bits``)."""
    if type(x) is int:
        zeros = 32 - x.bit_length()
        return one_over_one_plus((x << zeros) - (1 << 31)), cast(Integers, integer_bits - zeros)
    value = np.asarray(x, dtype=np.int64)
    headroom = count_leading_zeros(value)
    fraction = wrap32((value << headroom) - (1 << 31))
    return one_over_one_plus(fraction), integer_bits - headroom


def softmax_scaling(beta: float, scale: np.float32) -> tuple[int, int]:
    """Return ``(m, shift)`` that takes a difference of codes to beta times its real value in Q5.

    Raises `AbortedError` if ``beta * scale * 2^26 <= 1``.
    """
    real = float(np.float32(beta)) * float(scale) * 2.0**26
    multiplier, shift = quantize_multiplier_greater_than_one(min(real, 2.0**31 - 1))
    return int(multiplier), int(shift)


def input_radius(integer_bits: int, left_shift: int) -> int:
    """Return the largest difference of codes that fits Q(``integer_bits``) after the left shift.

    ``floor((2^k - 1) * 2^(31 - k) / 2^left_shift)``.
    """
    return math.floor(math.ldexp((1 << integer_bits) - 1, 31 - integer_bits - left_shift))
