"""What a VECTOR command computes of whole rows, in numpy."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import Row
from golden.fixed_point import Integers, wrap32
from golden.fixed_point_log import inverse_square_root, log
from golden.fixed_point_math import reciprocal
from golden.normalization import L2_OUTPUT_BITS, LOG_BITS
from golden.softmax import SUM_BITS

SUM_LIMIT = 1 << 31
"""A row's sum of table entries is below."""

RIGHT_OF_ONE = 31 - 8
"""Right shift of RECIPROCAL for a reciprocal of 1: from 31 fraction bits to the output's 8."""

RECIPROCAL_LIMIT = 1 << 28
"""A sum that RECIPROCAL inverts is below, or the right shift would be larger than 31."""

ONE = 1 << (31 - SUM_BITS)
"""The least sum whose logarithm LOGARITHM takes."""


def reduced_rows(row: Row, entries: Integers, a: Integers) -> Integers:
    """Return one number per row: SUM, MAXIMUM or MINIMUM of `eightfold.isa.VECTOR`.

    Parameters
    ----------
    entries, a
        What b looks up, and the bytes, shape (..., positions of the window, run).

    Returns
    -------
    int64, shape (..., 1). With several positions the element's number has no meaning, and is 0.
    """
    if row == Row.SUM:
        return wrap32(entries.sum(axis=(-2, -1)))[..., None]
    flat = a.reshape(*a.shape[:-2], -1)
    index = flat.argmax(axis=-1) if row == Row.MAXIMUM else flat.argmin(axis=-1)
    value = np.take_along_axis(flat, index[..., None], axis=-1)
    number = index[..., None] if a.shape[-2] == 1 else 0
    return (value << 16) + number


def scaled_rows(
    row: Row, field: Mapping[str, int], a: Integers, tables: NDArray[np.int32]
) -> tuple[Integers, dict[str, Integers]]:
    """Return table_a's entries, and the requantizer's fields of every row.

    Parameters
    ----------
    a
        Bytes, shape (..., 1, run).

    Raises
    ------
    ValueError
        If there is a window; if a row's sum is not in [1, 2^28) for RECIPROCAL, [2^19, 2^31) for
        LOGARITHM, or below 2^31 for INVERSE_ROOT.
    """
    if a.shape[-2] != 1:
        raise ValueError(f"{row.name} has no window")
    a = a[..., 0, :]
    c = a - a.max(axis=-1, keepdims=True) if field.get("relative", 0) else a
    c = ((c + 128) & 255) - 128
    values, entries = (
        tables[field.get(f"table_{side}", 0)][c & 255].astype(np.int64)
        if field.get(f"lookup_{side}", 0)
        else c
        for side in "ab"
    )
    total = entries.sum(axis=-1, keepdims=True)
    limits = {
        Row.RECIPROCAL: (1, RECIPROCAL_LIMIT),
        Row.LOGARITHM: (ONE, SUM_LIMIT),
        Row.INVERSE_ROOT: (-SUM_LIMIT, SUM_LIMIT),
    }
    low, high = limits[row]
    if total.min() < low or total.max() >= high:
        raise ValueError(f"a row's sum must be in {low}..{high - 1}, not {total.min()} or so")
    if row == Row.RECIPROCAL:
        inverse, over = reciprocal(total, SUM_BITS)
        return values, {"multiplier": inverse, "right": over + RIGHT_OF_ONE}
    if row == Row.LOGARITHM:
        return values, {"bias": -log(total, SUM_BITS, LOG_BITS)}
    multiplier, shift = inverse_square_root(total)
    exponent = shift + L2_OUTPUT_BITS
    scaling = {"left": np.maximum(exponent, 0), "right": np.maximum(-exponent, 0)}
    return values, {"multiplier": multiplier, **scaling}
