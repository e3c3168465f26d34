"""Integer requantization parameters that are proved equal to the reference's arithmetic.

Where the reference requantizes in double precision, its int8 output is a non-decreasing step
function of the accumulator with at most 255 steps. A multiplier, a shift and a rounding mode of the
hardware's single-rounding requantizer give another one. `solve` finds parameters for which both
have every step at the same accumulator, or shows that there are none.

Zero points never enter the array: ``bias' = bias - z_in * sum(w)``, with padding read as z_in.

Imports golden alone; lowering and steps import it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, wrap32
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS, round_half_away

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

    def equals(self, other: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Return whether another non-decreasing function has every step in its place."""
        steps = np.array(self.steps, dtype=np.int64)
        values = np.arange(self.low + 1, self.high + 1)
        at, before = steps <= self.last, steps > self.first
        reached, below = other(steps[at]), other(steps[before] - 1)
        return bool(np.all(reached >= values[at]) and np.all(below < values[before]))


@dataclass(frozen=True, kw_only=True)
class SingleRounding:
    """Parameters of the requantizer's single-rounding mode."""

    multiplier: int
    right: int
    rounding: str

    @property
    def fields(self) -> dict[str, int]:
        """The requantizer's."""
        scale = {"multiplier": self.multiplier, "left": 0, "right": self.right, "single": 1}
        return scale | {"rounding": ROUNDINGS.index(self.rounding)}


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

    ``clamp(rounding_shift(acc * multiplier, right, rounding) + zero_point, low, high)``, with
    ``factor`` > 0 about the real multiplier: it says which shifts are worth trying.

    For each shift and rounding mode the multipliers that put all steps in place form an interval,
    which is computed exactly; None if all of them are empty. The result is checked once more
    against `eightfold.golden.requantize` on both sides of every step: both functions are
    non-decreasing, so that is a proof for the whole range.
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
    ends = {"zero_point": zero_point, "low": function.low, "high": function.high}
    return function.equals(lambda sums: requantize(sums, **parameters.fields, **ends))


def _feasible(
    function: StepFunction, zero_point: int, right: int, rounding: str
) -> tuple[int, int]:
    """Return the least and the greatest multiplier that put every step in its place.

    With p the least product that reaches a step's value and t the step, the requantizer reaches the
    value at ``t`` if ``m * t >= p``, and not before if ``m * (t - 1) < p``.
    """
    least = 0
    most = MULTIPLIER_MAX
    for index, step in enumerate(function.steps):
        k = function.low + 1 + index - zero_point
        p = least_product(k, right, rounding)
        if step <= function.last:
            low, high = _at_least(step, p)
            least, most = max(least, low), min(most, high)
        if step > function.first:
            low, high = _at_least(1 - step, 1 - p)  # m * (step - 1) < p
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


Parameters = dict[str, np.ndarray]


class CompileError(Exception):
    """The hardware cannot be shown to compute this operator exactly; the message says why."""


def folded_bias(weights: np.ndarray, bias: np.ndarray | None, zero_point: int) -> np.ndarray:
    """Return ``wrap32(bias - zero_point * sum(w))`` per channel; ``weights`` is (channels, K)."""
    total = weights.astype(np.int64).sum(axis=1)
    return wrap32((0 if bias is None else bias.astype(np.int64)) - zero_point * total)


def pair(multiplier: np.ndarray, shift: np.ndarray, channels: int) -> Parameters:
    """Return parameters of the TFLite pair for multipliers and shifts, (1,) or (channels,)."""
    if np.any(shift > 30):
        raise CompileError("a real multiplier is 2^30 or more: the left shift ends at 30")
    shift = np.broadcast_to(shift, (channels,))
    return {
        "multiplier": np.broadcast_to(multiplier, (channels,)),
        "left": np.maximum(shift, 0),
        "right": np.maximum(-shift, 0),
        "single": np.zeros(channels, dtype=np.int64),
        "rounding": np.full(channels, ROUNDINGS.index("half_away")),
    }


def one_pair(multiplier: Any, shift: Any) -> dict[str, int]:
    """Return the fields of `pair` for one multiplier and one shift, as numbers."""
    mantissa, exponent = (np.array(part).reshape(1) for part in (multiplier, shift))
    return {name: int(values[0]) for name, values in pair(mantissa, exponent, 1).items()}


def double_precision(
    real_multipliers: np.ndarray, zero_point: int, bounds: tuple[int, int], reach: np.ndarray
) -> tuple[Parameters, int]:
    """Return single-rounding parameters equal to ``clamp(wrap32(round(acc * real)) + zero_point)``.

    The equality is proved for every int32 accumulator; where no parameters have it (a product
    outside int32, or more steps than 31 bits of multiplier can place), for every accumulator that
    int8 inputs can reach.

    ``real_multipliers``: float64 (channels,), not negative; ``bounds``: the output's [low, high];
    ``reach``: integers (channels, 2), least and greatest accumulator, bias included. Return fields
    per channel, and the number of channels that did not have the nearest 31-bit multiplier with
    ties away from zero over all int32. Raises CompileError if a channel has no parameters that can
    be proved.
    """
    found: list[SingleRounding] = []
    searched = 0
    for channel, factor in enumerate(real_multipliers.tolist()):
        for first, last in ((INT32_MIN, INT32_MAX), tuple(reach[channel].tolist())):
            parameters = _prove(factor, zero_point, bounds, first, last)
            if parameters is not None:
                break
        else:
            raise CompileError(
                f"channel {channel}: no multiplier, shift and rounding equal the reference's "
                f"double-precision requantization by {factor!r}"
            )
        found.append(parameters)
        searched += parameters != nearest(factor) or (first, last) != (INT32_MIN, INT32_MAX)
    each = [parameters.fields for parameters in found]
    return {name: np.array([fields[name] for fields in each]) for name in each[0]}, searched


@lru_cache(maxsize=4096)  # channels may have a scale in common
def _prove(
    factor: float, zero_point: int, bounds: tuple[int, int], first: int, last: int
) -> SingleRounding | None:
    """Return proved parameters for accumulators in [first, last], or None."""
    low, high = bounds
    ends = round_half_away(np.array([first, last], dtype=np.float64) * factor) + zero_point
    if ends[0] < INT32_MIN + max(zero_point, 0) or ends[1] > INT32_MAX + min(zero_point, 0):
        return None  # the reference's conversion to int32 overflows: not a step function
    if factor == 0.0:
        return nearest(factor)

    def reference(acc: np.ndarray) -> np.ndarray:
        return round_half_away(acc.astype(np.float64) * factor).astype(np.int64) + zero_point

    return solve(StepFunction.of(reference, low, high, first, last), zero_point, factor)


def reachable(weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the least and greatest ``bias + sum(w * q)`` over int8 ``q``, int64 (channels, 2).

    ``weights`` is (channels, K); the accumulator is the array's: zero points folded into the bias.
    """
    positive = np.maximum(weights.astype(np.int64), 0).sum(axis=1)
    negative = np.minimum(weights.astype(np.int64), 0).sum(axis=1)
    least = bias - 128 * positive + 127 * negative
    most = bias + 127 * positive - 128 * negative
    if np.any(least < INT32_MIN) or np.any(most > INT32_MAX):
        return np.tile([INT32_MIN, INT32_MAX], (len(weights), 1))  # it may wrap: anything
    return np.stack([least, most], axis=1)
