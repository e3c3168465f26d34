"""log(x) and 1/sqrt(x) in int32 fixed point; see `eightfold.golden.fixed_point_math` for the
notation.

Source: TFLite ``kernels/internal/common.h`` and ``kernels/internal/reference/log_softmax.h``.
"""

import numpy as np
from numpy.typing import ArrayLike

from eightfold.golden.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    Integers,
    count_leading_zeros,
    half_sum,
    rounding_divide_by_pot,
    saturating_shift_left,
    srdhm,
)
from eightfold.golden.fixed_point_math import one_over_one_plus

_LOG_2 = 1488522236  # Q0
_SQRT_HALF = 1518500250  # Q0
_ROOT4_HALF = 1805811301  # Q0: the fourth root of 1/2
# log(1 + u) around the fourth root of 1/2: a rational function, coefficients in Q0.
_ALPHA_N = 117049297
_ALPHA_D = 127690142
_ALPHA_I = 1057819769
_ALPHA_F = 638450708
_THREE_HALVES = 402653184  # Q3 times 2: the constant 3/2 of Newton's step


def log(x: ArrayLike, integer_bits: int, output_bits: int) -> Integers:
    """Return ``log(x)`` in Q(``output_bits``) of ``x >= 1`` in Q(``integer_bits``).

    ``x = r * 2^z`` with r in about [sqrt(1/2), 1), from two candidates for z, half a step apart;
    ``log(x) = z * log(2) + log(r)``, the latter a rational function.
    """
    value = np.asarray(x, dtype=np.int64)
    bits = output_bits + 1
    quarter = rounding_divide_by_pot(1 << 29, bits)
    first = count_leading_zeros(value)
    high = saturating_shift_left(srdhm(value << (first - 1), _SQRT_HALF), 1)
    z_high = _power(integer_bits - first, bits) + quarter
    second = count_leading_zeros(srdhm(value, _SQRT_HALF)) - 1
    low = np.minimum(value << second, INT32_MAX)
    z_low = _power(integer_bits - second, bits) - quarter
    ratio = np.minimum(high, low)
    z = np.maximum(*(np.clip(each, INT32_MIN, INT32_MAX) for each in (z_high, z_low)))
    p, q = half_sum(ratio, _ROOT4_HALF), 2 * (ratio - _ROOT4_HALF)
    square = srdhm(q, q)
    numerator = srdhm(q, ratio) + srdhm(srdhm(q, square), _ALPHA_N)
    denominator = srdhm(p, _ALPHA_I + q + srdhm(_ALPHA_D, square)) + srdhm(_ALPHA_F, q)
    fine = srdhm(rounding_divide_by_pot(numerator, bits), one_over_one_plus(denominator))
    return saturating_shift_left(srdhm(z, _LOG_2) + fine, 1)


def _power(z: Integers, bits: int) -> Integers:
    """Return the integer ``z`` in Q(``bits``)."""
    return saturating_shift_left(z, 31 - bits)


def inverse_square_root(x: ArrayLike) -> tuple[Integers, Integers]:
    """Return ``(m, shift)``, shift <= 0: ``1 / sqrt(x) = m * 2^(shift - 31)`` of 0 <= x < 2^31.

    Five Newton steps from ``x`` scaled into [2^27, 2^29). 0 and 1 give 2^31 - 1.
    """
    value = np.maximum(np.asarray(x, dtype=np.int64), 1)
    large = value >= 1 << 29
    scaled = np.where(large, value // 4, value)
    half_bits = (count_leading_zeros(scaled) - 1) // 2 - 1
    right = 11 + large - half_bits
    operand = (scaled << (2 * half_bits)) >> 1
    half = rounding_divide_by_pot(operand, 1)
    root = np.full_like(operand, 1 << 28)
    for _ in range(5):
        cube = saturating_shift_left(srdhm(srdhm(root, root), root), 6)
        root = saturating_shift_left(srdhm(_THREE_HALVES, root) - srdhm(half, cube), 3)
    multiplier = srdhm(root, _SQRT_HALF) << np.maximum(-right, 0)
    trivial = value == 1
    shift = np.where(trivial, 0, -np.maximum(right, 0))
    return np.where(trivial, INT32_MAX, multiplier), shift
