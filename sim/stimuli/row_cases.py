"""Sums of rows, and what golden makes of them."""

import numpy as np
from numpy.typing import ArrayLike

from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.fixed_point_log import inverse_square_root, log
from eightfold.golden.fixed_point_math import reciprocal
from eightfold.isa import Row

INTEGER_BITS = 12
"""Of a row's sum."""

LOWEST = {Row.RECIPROCAL: 1, Row.LOGARITHM: 1 << (31 - INTEGER_BITS), Row.INVERSE_ROOT: 0}
"""Least sum of each function; INVERSE_ROOT takes negative ones too, as sums that wrapped."""


def row_sums(generator: np.random.Generator, function: Row, count: int) -> Integers:
    """Return sums, uint32: corners and ``count`` random ones.

    Corners are both ends of the range, and powers of 2 and of the root of 2 with their neighbours.
    Random ones have all sizes. Of INVERSE_ROOT some are negative, as int32.
    """
    roots = [(1518500250 >> bit) + d for bit in range(31) for d in range(-2, 3)]
    powers = [(1 << bit) + d for bit in range(31) for d in (-1, 0, 1)]
    shifts = 32 - max(LOWEST[function], 1).bit_length()
    some = generator.integers(1, 1 << 31, count) >> generator.integers(0, shifts, count)
    sums = np.array([*range(40), *powers, *roots, (1 << 31) - 1, *some], dtype=np.int64)
    sums = sums[sums >= LOWEST[function]]
    if function == Row.INVERSE_ROOT:
        negative = [1 << 31, (1 << 32) - 1, *generator.integers(1 << 31, 1 << 32, 4)]
        sums = np.append(sums, negative)
    return sums


def row_fields(function: Row, x: ArrayLike) -> dict[str, Integers]:
    """Return the fields of the requantization that the function sets, of sums ``x``, uint32."""
    if function == Row.LOGARITHM:
        return {"bias": -log(x, INTEGER_BITS, 5)}
    if function == Row.RECIPROCAL:
        multiplier, over = reciprocal(x, INTEGER_BITS)
        exponent = -over - 23
    else:
        multiplier, shift = inverse_square_root(wrap32(x))
        exponent = shift + 7
    return {
        "multiplier": multiplier,
        "left": np.maximum(exponent, 0),
        "right": np.maximum(-exponent, 0),
    }
