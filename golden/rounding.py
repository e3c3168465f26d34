"""Rounding: right shifts of integers in seven modes, and C's ``round`` of a float."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDINGS = ("half_away", "half_up", "half_down", "half_even", "toward_zero", "down", "up")
"""Names of the rounding modes; the position is the code that hardware and compiler use."""


def rounding_code(rounding: "str | ArrayLike") -> NDArray[np.int64]:
    """Return the code of a name of `ROUNDINGS`, or integer codes 0..6; `ValueError` for others."""
    if isinstance(rounding, str):
        if rounding not in ROUNDINGS:
            raise ValueError(f"rounding must be one of {', '.join(ROUNDINGS)}, not {rounding!r}")
        return np.asarray(ROUNDINGS.index(rounding))
    codes = np.asarray(rounding)
    if not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"rounding codes must be integers, not {codes.dtype}")
    if codes.size and not (codes.min() >= 0 and codes.max() < len(ROUNDINGS)):
        raise ValueError(f"rounding code must be in 0..{len(ROUNDINGS) - 1}")
    return codes.astype(np.int64)


def rounding_shift(
    x: ArrayLike, e: ArrayLike, rounding: "str | ArrayLike" = "half_away"
) -> NDArray[np.int64]:
    """Return ``x / 2^e`` rounded to an integer.

    The result is int64, the broadcast shape of the arguments. Raises `ValueError` if a shift or a
    rounding mode is out of range.

    ``x``: any int64.
    ``e``: shift, 0..62; 0 returns ``x`` in every mode.
    ``rounding``: with v = x / 2^e: ``half_away`` nearest, ties away from zero; ``half_up`` and
        ``half_down`` nearest, ties toward +infinity and -infinity; ``half_even`` nearest, ties to
        even; ``toward_zero`` truncates; ``down`` floors; ``up`` takes the ceiling. Or integer
        codes.
    """
    values, shift = np.asarray(x, dtype=np.int64), np.asarray(e, dtype=np.int64)
    if shift.size and not (shift.min() >= 0 and shift.max() <= 62):
        raise ValueError("e must be in 0..62")
    codes = rounding_code(rounding)
    floor = values >> shift
    unit = np.int64(1) << shift
    dropped = values & (unit - 1)
    # Twice the dropped part against the unit needs no half of 2^0, and fits: dropped < 2^62.
    above = 2 * dropped > unit
    tie = 2 * dropped == unit
    inexact = dropped > 0
    steps: tuple[Any, ...] = (
        lambda: above | (tie & (values >= 0)),
        lambda: above | tie,
        lambda: above,
        lambda: above | (tie & ((floor & 1) == 1)),
        lambda: inexact & (values < 0),
        lambda: np.False_,
        lambda: inexact,
    )
    if codes.ndim == 0:
        return floor + steps[int(codes)]()
    return floor + np.select([codes == code for code in range(len(steps))], [s() for s in steps])


def round_half_away(x: Any) -> Any:
    """Return ``x`` rounded to nearest, ties away from zero, in its own float type (C ``round``)."""
    whole = np.trunc(x)
    # The fraction x - whole is exact; x + 0.5 would not be, just below 0.5.
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0).astype(np.asarray(x).dtype)
