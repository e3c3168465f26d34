"""Requantization parameters of output channels, exact with respect to the chosen reference.

Zero points never enter the array: ``bias' = bias - z_in * sum(w)``, with padding read as z_in.
"""

import numpy as np

from eightfold.compiler.exact.step_function import (
    INT32_MAX,
    INT32_MIN,
    SingleRounding,
    StepFunction,
    nearest,
    solve,
)
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.rounding import ROUNDINGS, round_half_away

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


def double_precision(
    real_multipliers: np.ndarray,
    zero_point: int,
    bounds: tuple[int, int],
    reach: np.ndarray,
) -> tuple[Parameters, int]:
    """Return single-rounding parameters equal to ``clamp(wrap32(round(acc * real)) + zero_point)``.

    The equality is proved for every int32 accumulator; where no parameters have it (a product
    outside int32, or more steps than 31 bits of multiplier can place), for every accumulator that
    int8 inputs can reach.

    Parameters
    ----------
    real_multipliers
        float64 (channels,), not negative.
    bounds
        The output's [low, high].
    reach
        Integers (channels, 2): least and greatest accumulator, bias included.

    Returns
    -------
    parameters, searched
        Fields per channel, and the number of channels that did not have the nearest 31-bit
        multiplier with ties away from zero over all int32.

    Raises
    ------
    CompileError
        If a channel has no parameters that can be proved.
    """
    found: list[SingleRounding] = []
    searched = 0
    cache: dict[tuple[float, int, int], SingleRounding | None] = {}
    for channel, factor in enumerate(real_multipliers.tolist()):
        for first, last in ((INT32_MIN, INT32_MAX), tuple(reach[channel].tolist())):
            key = (factor, first, last)
            if key not in cache:
                cache[key] = _prove(factor, zero_point, bounds, first, last)
            if (parameters := cache[key]) is not None:
                break
        else:
            raise CompileError(
                f"channel {channel}: no multiplier, shift and rounding equal the reference's "
                f"double-precision requantization by {factor!r}"
            )
        found.append(parameters)
        searched += parameters != nearest(factor) or (first, last) != (INT32_MIN, INT32_MAX)
    zeros = np.zeros(len(found), dtype=np.int64)
    fields = {
        "multiplier": np.array([p.multiplier for p in found], dtype=np.int64),
        "left": zeros,
        "right": np.array([p.right for p in found], dtype=np.int64),
        "single": zeros + 1,
        "rounding": np.array([ROUNDINGS.index(p.rounding) for p in found], dtype=np.int64),
    }
    return fields, searched


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
