"""The requantizer: int32 accumulator to int8. The contract of the hardware requantizer."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, srdhm, wrap32
from eightfold.golden.rounding import rounding_code, rounding_shift


def requantize(
    acc: ArrayLike,
    *,
    multiplier: ArrayLike,
    bias: ArrayLike = 0,
    left: ArrayLike = 0,
    right: ArrayLike = 0,
    single: ArrayLike = False,
    rounding: "str | ArrayLike" = "half_away",
    zero_point: ArrayLike = 0,
    low: ArrayLike = -128,
    high: ArrayLike = 127,
) -> NDArray[np.int8]:
    """Return accumulators scaled, shifted to a zero point and clamped.

    ``x = wrap32(wrap32(acc + bias) << left)``, then

    - pair (``single`` 0): ``y = (x * multiplier + 2^30) >> 31``, ``z = y / 2^right`` rounded as
      ``rounding`` says, ``v = wrap32(z + zero_point)``;
    - ``single`` 1: ``z = x * multiplier / 2^right`` rounded, in 64 bits; ``v = z + zero_point``;

    and the result is ``v`` clamped to [low, high]. See docs/numerics.md.
    The result is int8, the broadcast shape of all arguments. Raises `ValueError` if a parameter is
    out of range.

    ``acc``: int32; a wider integer counts modulo 2^32.
    ``multiplier``: 0..2^31-1.
    ``bias``: int32, added with wrap.
    ``left``: 0..30. Bits shifted out of int32 are lost.
    ``right``: 0..31 for the pair, 0..62 for ``single``.
    ``single``: 0 or 1.
    ``rounding``: a name of `eightfold.golden.rounding.ROUNDINGS`, or integer codes 0..6.
    ``zero_point``, ``low``, ``high``: int8, ``low <= high``.
    """
    one = _integers("single", single, 0, 1).astype(bool)
    factor = _integers("multiplier", multiplier, 0, INT32_MAX)
    up = _integers("left", left, 0, 30)
    down = _integers("right", right, 0, 62)
    if np.any((down > 31) & ~one):
        raise ValueError("right must be in 0..31 unless single is set")
    offset = _integers("zero_point", zero_point, -128, 127)
    floor, ceiling = _integers("low", low, -128, 127), _integers("high", high, -128, 127)
    if np.any(floor > ceiling):
        raise ValueError("low must not be above high")
    codes = rounding_code(rounding)
    total = np.asarray(acc, dtype=np.int64) + _integers("bias", bias, INT32_MIN, INT32_MAX)
    x = wrap32(wrap32(total) << up)
    # Both paths end in the same shift; they differ in what it shifts and in the wrap after it.
    if one.all():
        v = rounding_shift(x * factor, down, codes) + offset
    elif not one.any():
        v = wrap32(rounding_shift(srdhm(x, factor), down, codes) + offset)
    else:
        z = rounding_shift(np.where(one, x * factor, srdhm(x, factor)), down, codes)
        v = np.where(one, z + offset, wrap32(z + offset))
    return np.clip(v, floor, ceiling).astype(np.int8)


def _integers(name: str, value: ArrayLike, low: int, high: int) -> NDArray[np.int64]:
    """Return ``value`` as int64, checked to be integers in [low, high]."""
    array = np.asarray(value)
    if array.dtype.kind not in "iub":
        raise ValueError(f"{name} must be integers, not {array.dtype}")
    if array.size and not (int(array.min()) >= low and int(array.max()) <= high):
        raise ValueError(
            f"{name} must be in {low}..{high}, not {int(array.min())}..{int(array.max())}"
        )
    return array.astype(np.int64)
