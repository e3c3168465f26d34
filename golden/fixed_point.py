"""int32 fixed-point primitives of the TFLite kernels.

All functions take and return int64 arrays that hold int32 values, so that products are exact.
Those of sums, products and shifts take Python integers too, and then return one: for a single
value that is ten times as fast as an array of it.
Source: gemmlowp ``fixedpoint.h``, TFLite ``kernels/internal/common.h``, ``quantization_util.cc``.
"""

from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.errors import AbortedError, UndefinedError
from eightfold.golden.remember import read_only, remembered
from eightfold.golden.rounding import round_half_away, rounding_shift

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1

Integers = NDArray[np.int64]


def wrapped(x: ArrayLike) -> NDArray[np.int32]:
    """Return ``x`` (int64) modulo 2^32 as int32."""
    return np.asarray(x, dtype=np.int64).astype(np.int32)


def wrap32(x: ArrayLike) -> Integers:
    """Return ``x`` (int64) modulo 2^32, in [-2^31, 2^31)."""
    return wrapped(x).astype(np.int64)


@remembered
def _lowest(x: Integers) -> int:
    return int(x.min(initial=0))


def srdhm(a: ArrayLike, b: ArrayLike, fraction: int = 31) -> Integers:
    """Saturating rounding doubling high multiply: ``(a*b + 2^30) >> 31``, ties toward +infinity.

    ``a = b = -2^31``, the only product that does not fit, gives 2^31 - 1. ``fraction`` 15: the same
    of int16, with 14, 15 and 2^15.
    """
    half, most = 1 << (fraction - 1), (1 << fraction) - 1
    if type(a) is int and type(b) is int:
        return cast(Integers, min((a * b + half) >> fraction, most))
    first, second = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    product = first * second
    product += half
    product >>= fraction
    if not second.flags.writeable and _lowest(second) > -most - 1:
        return product
    return np.minimum(product, most)


@remembered
def _half_parts(shift: Integers) -> tuple[int, int, Integers, Integers]:
    """Return least and largest shift, half a unit (0 for 1), and -1 where the shift is not 0."""
    return (
        int(shift.min(initial=31)),
        int(shift.max(initial=0)),
        (np.int64(1) << np.maximum(shift, 0)) >> 1,
        -(shift > 0).astype(np.int64),
    )


def rounding_divide_by_pot(x: ArrayLike, e: ArrayLike) -> Integers:
    """Return ``x / 2^e``, 0 <= e <= 31, to nearest, ties away from zero: ``half_away`` of int32."""
    value = cast(Integers, x) if type(x) is int else np.asarray(x, dtype=np.int64)
    if type(e) is int and 0 < e <= 31:
        return (value + ((1 << (e - 1)) + (value >> 63))) >> e
    shift = np.asarray(e, dtype=np.int64)
    least, most, half, shifted = _half_parts(shift)
    if least < 0 or most > 31:
        raise ValueError("e must be in 0..31")
    if most == 0:
        return value + np.zeros_like(shift)
    below_zero = value >> 63  # -1: a tie goes down
    if least == 0:
        below_zero = below_zero & shifted
    result = below_zero + half
    result += value
    result >>= shift
    return result


def quantize_multiplier(d: ArrayLike) -> tuple[Integers, Integers]:
    """Return ``(m, shift)`` with ``d ~ m * 2^(shift - 31)``.

    ``d = f * 2^shift`` with 0.5 <= |f| < 1, ``m = round(f * 2^31)`` (ties away from zero); an
    ``m`` of 2^31 becomes 2^30 with shift + 1; a shift below -31 flushes to (0, 0). So m is 0 or
    in [2^30, 2^31); shift > 0 is a left shift, and is not limited.
    Raises `UndefinedError` if ``d`` is not finite.

    ``d``: float64, any shape.
    """
    return _quantized_float(d) if type(d) is float else _quantized(d)


@lru_cache(maxsize=4096)
def _quantized_float(d: float) -> tuple[Integers, Integers]:
    multiplier, shift = _quantized(d)
    return read_only(multiplier), read_only(shift)


def _quantized(d: ArrayLike) -> tuple[Integers, Integers]:
    real = np.asarray(d, dtype=np.float64)
    if not np.all(np.isfinite(real)):
        raise UndefinedError("a real multiplier must be finite")
    fraction, exponent = np.frexp(real)
    multiplier = round_half_away(fraction * 2.0**31).astype(np.int64)
    carry = multiplier == 2**31
    multiplier = np.where(carry, 2**30, multiplier)
    shift = exponent.astype(np.int64) + carry
    flushed = shift < -31
    return np.where(flushed, 0, multiplier), np.where(flushed, 0, shift)


def quantize_multiplier_smaller_than_one(d: ArrayLike) -> tuple[Integers, Integers]:
    """Return `quantize_multiplier` of ``d``, 0 < d < 1, with shift <= 0.

    Raises `AbortedError` if ``d`` is outside (0, 1), or so close to 1 that it rounds to 1.
    """
    real = np.asarray(d, dtype=np.float64)
    if not np.all((real > 0) & (real < 1)):
        raise AbortedError(f"the real multiplier must be in (0, 1), not {real}")
    multiplier, shift = quantize_multiplier(d)
    if np.any(shift > 0):
        raise AbortedError(f"the real multiplier {real} rounds to 1")
    return multiplier, shift


def quantize_multiplier_greater_than_one(d: ArrayLike) -> tuple[Integers, Integers]:
    """Return `quantize_multiplier` of d > 1, with shift >= 0; `AbortedError` for other d."""
    real = np.asarray(d, dtype=np.float64)
    if not np.all(real > 1):
        raise AbortedError(f"the real multiplier must be above 1, not {real}")
    return quantize_multiplier(real)


@remembered
def _shift_parts(shift: Integers) -> tuple[int, int, Integers, Integers]:
    """Return the smallest and the largest shift, the left shifts and the right shifts."""
    lowest, highest = int(shift.min(initial=0)), int(shift.max(initial=0))
    left, right = np.asarray(np.maximum(shift, 0)), np.asarray(np.maximum(-shift, 0))
    return lowest, highest, read_only(left), read_only(right)


def multiply_by_quantized_multiplier(
    x: ArrayLike, multiplier: ArrayLike, shift: ArrayLike, *, single: bool = False
) -> Integers:
    """Return ``x * multiplier * 2^(shift - 31)``, rounded.

    Two roundings: ``rounding_divide_by_pot(srdhm(wrap32(x << left), multiplier), right)`` with
    ``left = max(shift, 0)``, ``right = max(-shift, 0)``. The left shift wraps silently.
    ``single``: one rounding, ties toward +infinity, of the 64-bit product shifted by 31 - shift.
    Raises `UndefinedError` if ``shift`` is out of range.

    ``x``, ``multiplier``: int32.
    ``shift``: -31..31; ``single``: -31..30.
    """
    exponent = np.asarray(shift, dtype=np.int64)
    highest = 30 if single else 31
    lowest, most, left, right = _shift_parts(exponent)
    if lowest < -31 or most > highest:
        raise UndefinedError(f"the multiplier's shift must be in -31..{highest}")
    if single:
        product = np.asarray(x, dtype=np.int64) * np.asarray(multiplier, dtype=np.int64)
        return wrap32(rounding_shift(product, 31 - exponent, "half_up"))
    shifted = np.asarray(x, dtype=np.int64)
    if most > 0:
        shifted = wrap32(shifted << left)
    return rounding_divide_by_pot(srdhm(shifted, multiplier), right)


def saturating_shift_left(x: ArrayLike, e: int, fraction: int = 31) -> Integers:
    """Return ``x * 2^e`` clamped to int32, or (15) int16; for e < 0 `rounding_divide_by_pot`."""
    if e < 0:
        return rounding_divide_by_pot(x, -e)
    least, most = -1 << fraction, (1 << fraction) - 1
    if type(x) is int:
        return cast(Integers, min(max(x << e, least), most))
    return np.minimum(np.maximum(np.asarray(x, dtype=np.int64) << e, least), most)


def half_sum(a: ArrayLike, b: ArrayLike) -> Integers:
    """Return ``(a + b) / 2``, halves away from zero."""
    if type(a) is int and type(b) is int:
        return rounding_divide_by_pot(a + b, 1)
    return rounding_divide_by_pot(np.asarray(a, dtype=np.int64) + np.asarray(b, dtype=np.int64), 1)


def count_leading_zeros(x: ArrayLike) -> Integers:
    """Return the leading zeros of ``x`` read as a uint32; 32 for 0."""
    unsigned = np.asarray(x, dtype=np.int64) & 0xFFFFFFFF
    # frexp of an integer below 2^53 gives its bit length, exactly.
    return 32 - np.frexp(unsigned.astype(np.float64))[1].astype(np.int64)
