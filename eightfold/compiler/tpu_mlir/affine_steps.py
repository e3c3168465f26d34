"""Requantization of window sums by a real factor and a real offset, proved.

The requantizer adds an integer bias and an integer zero point, so that an offset between them has
to come from elsewhere: all weights may be the same number above 1, which makes the bias finer, and
zero points together with their bias reach offsets in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.exact.step_function import (
    INT32_MAX,
    INT32_MIN,
    MULTIPLIER_MAX,
    StepFunction,
    least_product,
)
from eightfold.compiler.steps.elementwise import IDENTITY
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS

RIGHT_MAX = 54
"""Largest right shift tried: results of 9 bits, shifted by it, fit int64."""

WEIGHTS = (127, 126, 125)
"""Weights tried where 1 does not do: the bias is finest with the largest ones."""


@dataclass(frozen=True, kw_only=True)
class AffineSteps:
    """``requantize(weight * sum, **parameters)``."""

    weight: int
    parameters: dict[str, int]


def fit(function: StepFunction, slope: float, rounding: str) -> AffineSteps | None:
    """Find what equals a step function of sums at each of them, or None.

    Parameters
    ----------
    function
        From [first, last] to [-128, 127].
    slope
        About its slope, above 0.
    rounding
        What its ties are rounded like: a name of `eightfold.golden.rounding.ROUNDINGS`.

    Returns
    -------
    AffineSteps or None
        The result is checked against `eightfold.golden.requantize` on both sides of every step;
        both functions are non-decreasing, so that is a proof for all sums.
    """
    for weight, modes, zero_points in _attempts(rounding):
        for mode, nudge in product(modes, (0, 1, -1)):
            right = min(int(30 - np.floor(np.log2(slope / weight))), RIGHT_MAX)
            multiplier = round(slope / weight * 2.0**right) + nudge if right >= 0 else 0
            if not 0 < multiplier <= MULTIPLIER_MAX:
                continue
            lowest, highest = _biases(function, weight, (multiplier, right, mode), zero_points)
            (possible,) = np.nonzero(lowest <= highest)
            for place in possible[:1]:
                shift = {
                    "multiplier": multiplier,
                    "right": right,
                    "rounding": ROUNDINGS.index(mode),
                }
                ends = {"zero_point": int(zero_points[place]), "bias": int(lowest[place])}
                found = AffineSteps(weight=weight, parameters=IDENTITY | shift | ends)
                if _equal(function, found):
                    return found
    return None


def _attempts(rounding: str) -> Iterator[tuple[int, tuple[str, ...], NDArray[np.int64]]]:
    """Yield weights, rounding modes and zero points to try together.

    With a zero point of 0 ties are rounded by the sign of the whole result, as the function's are.
    """
    modes = tuple(dict.fromkeys((rounding, "half_up", "half_down")))
    yield 1, modes, np.zeros(1, dtype=np.int64)
    yield WEIGHTS[0], modes, np.zeros(1, dtype=np.int64)
    for weight in WEIGHTS:
        yield weight, ("half_up",), np.arange(-128, 128)


def _biases(
    function: StepFunction,
    weight: int,
    scaling: tuple[int, int, str],
    zero_points: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and greatest bias that put every step in its place, by zero point."""
    multiplier, right, rounding = scaling
    values = np.arange(function.low + 1, function.high + 1)
    steps = np.array(function.steps, dtype=np.int64)
    products = least_product(values - zero_points[:, None], right, rounding)
    least = -(-products // multiplier)  # the least accumulator that reaches the value
    at = steps <= function.last
    before = steps > function.first
    low = max(INT32_MIN, INT32_MIN - weight * function.first)
    high = min(INT32_MAX, INT32_MAX - weight * function.last)
    lowest = np.max(least - weight * steps, axis=1, where=at, initial=low)
    highest = np.min(least - 1 - weight * (steps - 1), axis=1, where=before, initial=high)
    return lowest, highest


def _equal(function: StepFunction, found: AffineSteps) -> bool:
    """Check both sides of every step."""
    steps = np.array(function.steps, dtype=np.int64)
    values = np.arange(function.low + 1, function.high + 1)
    at = steps <= function.last
    before = steps > function.first
    reached = requantize(found.weight * steps[at], **found.parameters)
    below = requantize(found.weight * (steps[before] - 1), **found.parameters)
    return bool(np.all(reached >= values[at]) and np.all(below < values[before]))
