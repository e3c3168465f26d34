"""What a VECTOR command computes of whole rows, in numpy."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.fixed_point_log import inverse_square_root, log
from eightfold.golden.fixed_point_math import reciprocal
from eightfold.golden.normalization import L2_OUTPUT_BITS, LOG_BITS
from eightfold.golden.softmax import SUM_BITS
from eightfold.isa import Row

SUM_LIMIT = 1 << 31
"""A row's sum of table entries is below."""

RIGHT_OF_ONE = 31 - 8
"""Right shift of RECIPROCAL for a reciprocal of 1: from 31 fraction bits to the output's 8."""

RECIPROCAL_LIMIT = 1 << 28
"""A sum that RECIPROCAL inverts is below, or the right shift would be larger than 31."""

ONE = 1 << (31 - SUM_BITS)
"""The least sum whose logarithm LOGARITHM takes."""


@dataclass
class RowState:
    """What is known of a row that goes on: its sum, its extreme, the extreme's and its elements."""

    total: int = 0
    extreme: int = 0
    number: int = 0
    elements: int = 0


def reduced_rows(
    row: Row,
    field: Mapping[str, int],
    a: Integers,
    tables: NDArray[np.int32],
    state: RowState,
) -> Integers:
    """Return one number per row: SUM, MAXIMUM or MINIMUM of `eightfold.isa.VECTOR`.

    Parameters
    ----------
    a
        Bytes, shape (..., positions of the window, run).

    Returns
    -------
    int64, shape (..., 1). With several positions the element's number has no meaning, and is 0.
    """
    goes_on = field.get("resume", 0)
    if row == Row.SUM:
        c = _relative(a, np.int64(state.extreme)) if field.get("relative", 0) else a
        total = _looked_up(field, "b", c, tables).sum(axis=(-2, -1)) + goes_on * state.total
        state.total = int(wrap32(total.flat[-1]))
        return wrap32(total)[..., None]
    flat = a.reshape(*a.shape[:-2], -1)
    largest = row == Row.MAXIMUM
    number = flat.argmax(axis=-1) if largest else flat.argmin(axis=-1)
    value = np.take_along_axis(flat, number[..., None], axis=-1)[..., 0]
    if goes_on:
        stays = value <= state.extreme if largest else value >= state.extreme
        number = np.where(stays, state.number, number + state.elements)
        value = np.where(stays, state.extreme, value)
    state.extreme, state.number = int(value.flat[-1]), int(number.flat[-1])
    state.elements = goes_on * state.elements + flat.shape[-1]
    return ((value << 16) + (number if a.shape[-2] == 1 else 0))[..., None]


def scaled_rows(
    row: Row,
    field: Mapping[str, int],
    a: Integers,
    tables: NDArray[np.int32],
    state: RowState,
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
    goes_on = field.get("resume", 0)
    if field.get("relative", 0) and not goes_on:
        state.extreme = int(a[-1, -1, -1].max())
        a = _relative(a, a.max(axis=-1, keepdims=True))
    elif field.get("relative", 0):
        a = _relative(a, np.int64(state.extreme))
    total = _looked_up(field, "b", a, tables).sum(axis=-1, keepdims=True)
    total = np.full_like(total, state.total) if goes_on else total
    limits = {
        Row.RECIPROCAL: (1, RECIPROCAL_LIMIT),
        Row.LOGARITHM: (ONE, SUM_LIMIT),
        Row.INVERSE_ROOT: (-SUM_LIMIT, SUM_LIMIT),
    }
    low, high = limits[row]
    if total.min() < low or total.max() >= high:
        raise ValueError(f"a row's sum must be in {low}..{high - 1}, not {total.min()} or so")
    state.total = int(total.flat[-1])
    values = _looked_up(field, "a", a, tables)
    if row == Row.RECIPROCAL:
        inverse, over = reciprocal(total, SUM_BITS)
        return values, {"multiplier": inverse, "right": over + RIGHT_OF_ONE}
    if row == Row.LOGARITHM:
        return values, {"bias": -log(total, SUM_BITS, LOG_BITS)}
    multiplier, shift = inverse_square_root(total)
    exponent = shift + L2_OUTPUT_BITS
    scaling = {"left": np.maximum(exponent, 0), "right": np.maximum(-exponent, 0)}
    return values, {"multiplier": multiplier, **scaling}


def _relative(a: Integers, maximum: Integers | np.int64) -> Integers:
    """Return the differences, wrapped to bytes."""
    return ((a - maximum + 128) & 255) - 128


def _looked_up(
    field: Mapping[str, int], side: str, c: Integers, tables: NDArray[np.int32]
) -> Integers:
    if not field.get(f"lookup_{side}", 0):
        return c
    return tables[field.get(f"table_{side}", 0)][c & 255].astype(np.int64)
