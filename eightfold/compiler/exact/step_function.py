"""Integer requantization proved against a floating-point reference.

Where the reference requantizes in double precision, its int8 output is a non-decreasing step
function of the accumulator with at most 255 steps. A multiplier, a shift and a rounding mode of the
hardware's single-rounding requantizer give another one. `solve` finds parameters for which both
have every step at the same accumulator, or shows that there are none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eightfold.golden.requantize import requantize

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
MULTIPLIER_MAX = 2**31 - 1
SHIFT_MAX = 62

# Least product p with rounding_shift(p, r) >= k, as k * 2^r + offset(k, half), r above 0.
_OFFSETS: dict[str, Callable[[Any, int], Any]] = {
    "half_away": lambda k, half: -half + (k <= 0),
    "half_up": lambda k, half: -half,
    "half_down": lambda k, half: -half + 1,
    "half_even": lambda k, half: -half + k % 2,
    "toward_zero": lambda k, half: (k <= 0) * (1 - 2 * half),
    "down": lambda k, half: 0,
    "up": lambda k, half: 1 - 2 * half,
}

_SEARCHED = ("half_away", "half_up", "half_down", "half_even")


def least_product(k: Any, right: int, rounding: str) -> Any:
    """Return the least p with ``rounding_shift(p, right, rounding) >= k``, for an int or an array.

    An array must be int64, and ``k << right`` must fit.
    """
    return (k << right) + (_OFFSETS[rounding](k, (1 << right) >> 1) if right else 0)


@dataclass(frozen=True, kw_only=True)
class StepFunction:
    """A non-decreasing function from accumulators in [first, last] to [low, high] by its steps.

    ``steps[i]`` is the least accumulator whose value is at least ``low + 1 + i``: ``first`` if all
    are, ``last + 1`` if none is.
    """

    low: int
    high: int
    first: int
    last: int
    steps: tuple[int, ...]

    @classmethod
    def of(
        cls,
        function: Callable[[np.ndarray], np.ndarray],
        low: int,
        high: int,
        first: int = INT32_MIN,
        last: int = INT32_MAX,
    ) -> "StepFunction":
        """Find the steps of a non-decreasing function of int64 arrays by bisection."""
        values = np.arange(low + 1, high + 1)
        below = np.full(values.shape, first - 1, dtype=np.int64)  # function < value, or first - 1
        least = np.full(values.shape, last + 1, dtype=np.int64)  # function >= value, or last + 1
        while np.any(least - below > 1):
            middle = np.clip((below + least) >> 1, first, last)
            reached = function(middle) >= values
            active = least - below > 1
            least = np.where(active & reached, middle, least)
            below = np.where(active & ~reached, middle, below)
        return cls(low=low, high=high, first=first, last=last, steps=tuple(least.tolist()))


@dataclass(frozen=True, kw_only=True)
class SingleRounding:
    """Parameters of the requantizer's single-rounding mode."""

    multiplier: int
    right: int
    rounding: str


def nearest(factor: float) -> SingleRounding:
    """Return the multiplier of 31 bits nearest to ``factor``, with ties away from zero."""
    exponent = int(np.frexp(factor)[1])  # factor = f * 2^exponent, 0.5 <= f < 1
    right = min(31 - exponent, SHIFT_MAX)
    multiplier = round(factor * 2.0**right)
    if multiplier > MULTIPLIER_MAX:  # f rounds to 1
        multiplier, right = multiplier >> 1, right - 1
    return SingleRounding(multiplier=multiplier, right=right, rounding="half_away")


def solve(function: StepFunction, zero_point: int, factor: float) -> SingleRounding | None:
    """Find parameters equal to ``function`` at every accumulator in its range, or None.

    ``clamp(rounding_shift(acc * multiplier, right, rounding) + zero_point, low, high)``

    Parameters
    ----------
    function
        The reference's output as a function of the accumulator, zero point included.
    zero_point
        Added after the shift.
    factor
        About the real multiplier, > 0: says which shifts are worth trying.

    Returns
    -------
    SingleRounding or None
        For each shift and rounding mode the multipliers that put all steps in place form an
        interval, which is computed exactly; None if all of them are empty. The result is checked
        once more against `eightfold.golden.requantize` on both sides of every step: both functions
        are non-decreasing, so that is a proof for the whole range.
    """
    most = nearest(factor).right
    for right in range(most, max(most - 12, -1), -1):
        for rounding in _SEARCHED:
            least, greatest = _feasible(function, zero_point, right, rounding)
            if least > greatest:
                continue
            multiplier = min(max(round(factor * 2.0**right), least), greatest)
            found = SingleRounding(multiplier=multiplier, right=right, rounding=rounding)
            if equal(function, zero_point, found):
                return found
    return None


def equal(function: StepFunction, zero_point: int, parameters: SingleRounding) -> bool:
    """Check that the requantizer equals ``function`` on both sides of every step."""
    steps = np.array(function.steps, dtype=np.int64)
    expected = np.arange(function.low + 1, function.high + 1)
    options = {
        "single": True,
        "multiplier": parameters.multiplier,
        "right": parameters.right,
        "rounding": parameters.rounding,
        "zero_point": zero_point,
        "low": function.low,
        "high": function.high,
    }
    reached = steps <= function.last
    at_step = requantize(steps[reached], **options)
    before = steps > function.first
    below_step = requantize(steps[before] - 1, **options)
    return bool(np.all(at_step >= expected[reached]) and np.all(below_step < expected[before]))


def _feasible(
    function: StepFunction, zero_point: int, right: int, rounding: str
) -> tuple[int, int]:
    """Return the least and the greatest multiplier that put every step in its place.

    With p the least product that reaches a step's value and t the step, the requantizer reaches the
    value at ``t`` if ``m * t >= p``, and not before if ``m * (t - 1) < p``.
    """
    least, most = 0, MULTIPLIER_MAX
    for index, step in enumerate(function.steps):
        k = function.low + 1 + index - zero_point
        p = least_product(k, right, rounding)
        if step <= function.last:
            low, high = _at_least(step, p)
            least, most = max(least, low), min(most, high)
        if step > function.first:
            low, high = _less_than(step - 1, p)
            least, most = max(least, low), min(most, high)
        if least > most:
            break
    return least, most


def _at_least(t: int, p: int) -> tuple[int, int]:
    """Bounds of m >= 0 with m * t >= p."""
    if t > 0:
        return -(-p // t), MULTIPLIER_MAX
    if t == 0:
        return (0, MULTIPLIER_MAX) if p <= 0 else (1, 0)
    return 0, p // t


def _less_than(t: int, p: int) -> tuple[int, int]:
    """Bounds of m >= 0 with m * t < p, that is -m * t >= 1 - p."""
    return _at_least(-t, 1 - p)
