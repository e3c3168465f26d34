"""Requantization per channel in float64, for accumulators and scales with which it is exact.

The kernels compute ``y = (acc * m + 2^30) >> 31`` and ``r = y / 2^s``, ties away from zero. Both
are floors, and a floor of a floor is one floor. With ``v = acc * m * 2^-(31 + s)``::

    r = floor(v + 1/2 + e)    acc >= 0, and e = 2^-(s + 1), or 0 if s is 0
    r = floor(v + 1/2 - e)    acc < 0

v is a multiple of 2^-(31 + s). For s <= 12 and |v| < 1024 that takes 10 + 31 + 12 = 53 bits, so
float64 holds v and the sums above without rounding. Where |v| >= 1024, it may round, but rounding
is monotone: the code stays beyond the end of int8 and is clamped to it in both arithmetics.

For larger s that is no proof; there the float arithmetic is compared with the integer one at every
step of the channel's codes, once, when it is prepared.
"""

import threading
from collections.abc import Callable
from math import gcd

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.fixed_point import INT32_MAX, Integers, multiply_by_quantized_multiplier

LARGEST_SHIFT = 12
"""Right shifts beyond need more than the 53 bits of float64."""

_BLOCK = 16384  # elements worked on at a time, so that they stay in the cache
_WIDTH = 256  # elements per row: numpy's inner loops should not be shorter


class _Workspace(threading.local):
    """Two arrays of each thread, which every call uses again."""

    def __init__(self) -> None:
        self.size = 0
        self.values = self.ties = np.empty(0)

    def reserve(self, size: int) -> None:
        if size > self.size:
            self.size = size
            self.values = np.empty(size)
            self.ties = np.empty(size)


_workspace = _Workspace()


class FloatRequantizer:
    """``clamp(r(raw + addend) + zero point)`` per channel, of raw sums held as floats.

    ``raw_bound``, ``addend``: int64 per channel: a bound of ``|raw|``, and what is added to it
        before the scaling.
    ``multiplier``, ``shift``: int64 per channel, of
        `eightfold.golden.fixed_point.quantize_multiplier`.
    ``zero_point``, ``bounds``: the output's zero point and its least and largest code, within int8.
    ``rows``: sums of each channel in a call.
    ``fixed``: the code of each channel whose multiplier and addend are 0 because it has but one,
        NaN elsewhere.
    """

    def __init__(
        self,
        raw_bound: Integers,
        addend: Integers,
        multiplier: Integers,
        shift: Integers,
        zero_point: int,
        bounds: tuple[int, int],
        rows: int,
        fixed: NDArray[np.float64] | None = None,
    ) -> None:
        channels = raw_bound.size
        repeats = gcd(rows, 1 << max(0, (_WIDTH // channels).bit_length() - 1))
        self._shape = (rows // repeats, repeats * channels)
        self._channels = channels
        self._step = max(1, _BLOCK // self._shape[1])
        right = np.maximum(-shift, 0)
        tie = np.where(right > 0, np.ldexp(1.0, -(right + 1).astype(np.int32)), 0.0)
        scale = np.ldexp(multiplier.astype(np.float64), (shift - 31).astype(np.int32))
        offset = np.full(channels, zero_point + 128.5)
        if fixed is not None:
            offset = np.where(np.isnan(fixed), offset, fixed + 128.5)
        self._low, self._high = (np.asarray(float(bound + 128)) for bound in bounds)
        # From the zero point up, only positive sums count: one constant instead of a sign's two.
        positive = bounds[0] >= zero_point
        if positive:
            offset += tie
        folded = positive and _fits(raw_bound + np.abs(addend), multiplier, shift)
        if folded:
            offset += addend * scale
        self._scale, self._offset = np.tile(scale, repeats), np.tile(offset, repeats)
        self._tie = None if positive else np.tile(tie, repeats)
        self._addend = None if folded else np.tile(addend.astype(np.float64), repeats)

    def __call__(self, raw: NDArray[np.floating]) -> NDArray[np.int8]:
        """Return the codes, shape (rows, channels), of contiguous ``raw`` of as many elements."""
        rows, width = self._shape
        sums = raw.reshape(rows, width)
        codes = np.empty((rows, width), dtype=np.uint8)
        _workspace.reserve(min(rows, self._step) * width)
        for start in range(0, rows, self._step):
            part = sums[start : start + self._step]
            v = _workspace.values[: part.size].reshape(part.shape)
            if self._addend is None:
                np.multiply(part, self._scale, out=v)
            else:
                np.add(part, self._addend, out=v)
                np.multiply(v, self._scale, out=v)
            if self._tie is not None:
                ties = _workspace.ties[: part.size].reshape(part.shape)
                np.add(v, np.copysign(self._tie, v, out=ties), out=v)
            np.add(v, self._offset, out=v)
            np.maximum(v, self._low, out=v)
            np.minimum(v, self._high, out=v)
            # Not negative any more: truncation is floor.
            np.copyto(codes[start : start + self._step], v, casting="unsafe")
        np.bitwise_xor(codes, 128, out=codes)
        return codes.view(np.int8).reshape(-1, self._channels)


def float_requantizer(
    raw_bound: Integers,
    addend: Integers,
    multiplier: Integers,
    shift: Integers,
    zero_point: int,
    bounds: tuple[int, int],
    rows: int,
) -> FloatRequantizer | None:
    """Return a `FloatRequantizer` of these arguments; None where it would not be exact.

    Accumulators, left shifts and results must stay within int32 (so nothing wraps), the zero point
    and the bounds within int8. Of a channel whose shift is below -12, either all accumulators give
    the same code, or every step of its codes is compared.
    """
    multiplier, shift = (np.broadcast_to(part, raw_bound.shape) for part in (multiplier, shift))
    largest = raw_bound + np.abs(addend)
    if (
        shift.min() < -31
        or shift.max() > 30
        or multiplier.min() < 0
        or largest.max() > INT32_MAX
        or (np.where((shift >= 0) & (multiplier > 0), largest, 0) << np.maximum(shift, 0)).max()
        >= 2**30
        or not -128 <= zero_point <= 127
        or not -128 <= bounds[0] <= bounds[1] <= 127
    ):
        return None

    def codes(acc: Integers, chosen: NDArray[np.intp]) -> Integers:
        scaled = multiply_by_quantized_multiplier(acc, multiplier[chosen], shift[chosen])
        return np.minimum(np.maximum(scaled + zero_point, bounds[0]), bounds[1])

    small = np.flatnonzero(shift < -LARGEST_SHIFT)
    if small.size:
        first = codes((addend - raw_bound)[small], small)
        same = first == codes((addend + raw_bound)[small], small)
        constant = small[same]
        small = small[~same]
        # Codes do not decrease with the accumulator: these channels have one each.
        multiplier, shift, addend = multiplier.copy(), shift.copy(), addend.copy()
        multiplier[constant], shift[constant], addend[constant] = 0, 0, 0
        fixed = np.full(raw_bound.shape, np.nan)
        fixed[constant] = first[same]
    else:
        fixed = None
    if small.size and not _steps_agree(
        raw_bound, addend, multiplier, shift, zero_point, bounds, small, codes
    ):
        return None
    return FloatRequantizer(raw_bound, addend, multiplier, shift, zero_point, bounds, rows, fixed)


def _steps_agree(
    raw_bound: Integers,
    addend: Integers,
    multiplier: Integers,
    shift: Integers,
    zero_point: int,
    bounds: tuple[int, int],
    chosen: NDArray[np.intp],
    codes: Callable[[Integers, NDArray[np.intp]], Integers],
) -> bool:
    """Return whether the chosen channels' codes are those of ``codes`` for every accumulator.

    Neither decreases with the accumulator: so they are equal everywhere if they are equal on both
    sides of every step, and at both ends. Steps are found by bisection.
    """
    ends = (addend - raw_bound)[chosen], (addend + raw_bound)[chosen]
    wanted = np.arange(bounds[0] + 1, bounds[1] + 1)[:, None]
    below = np.broadcast_to(ends[0], (wanted.size, chosen.size)).copy()
    above = np.broadcast_to(ends[1], below.shape).copy()
    for _ in range(32):  # the step into each wanted code, if there is one, stays in between
        middle = (below + above) >> 1
        reached = codes(middle, chosen) >= wanted
        above, below = np.where(reached, middle, above), np.where(reached, below, middle)
    acc = np.concatenate([below, above, *(end[None] for end in ends)])
    checked = FloatRequantizer(
        raw_bound[chosen],
        addend[chosen],
        multiplier[chosen],
        shift[chosen],
        zero_point,
        bounds,
        len(acc),
    )
    return bool(
        np.array_equal(checked((acc - addend[chosen]).astype(np.float64)), codes(acc, chosen))
    )


def _fits(largest: Integers, multiplier: Integers, shift: Integers) -> bool:
    """Return whether ``largest * m`` and the offset fit 53 bits in units of 2^-(31 + s)."""
    for bound, factor, exponent in zip(
        largest.tolist(), multiplier.tolist(), shift.tolist(), strict=True
    ):
        left, right = max(exponent, 0), max(-exponent, 0)
        if ((bound * factor) << left) + (1 << (41 + right)) > 2**53:
            return False
    return True
