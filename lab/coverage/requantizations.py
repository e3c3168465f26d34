"""What a requantization shows: its shift, its ties, what it saturates."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.fixed_point import srdhm, wrap32
from eightfold.golden.rounding import ROUNDINGS, rounding_shift

Labels = defaultdict[str, set[str]]
"""Bins by the name of the point that has them."""

PAIR_SHIFTS = (
    "left 8..30",
    "left 1..7",
    "none",
    "right 1..7",
    "right 8..15",
    "right 16..30",
    "right 31",
)
"""Shifts of TFLite's pair: the right one is the second, after the doubling high multiply."""

SINGLE_SHIFTS = ("right 0..30", "right 31..38", "right 39..46", "right 47..62")
"""Shifts of the 64-bit product with one rounding."""

SATURATIONS = ("below", "within", "above")
TIES = ("positive", "negative")
_PAIR_EDGES, _SINGLE_EDGES = (-7, 0, 1, 8, 16, 31), (31, 39, 47)


def requantization(values: ArrayLike, parameters: Mapping[str, ArrayLike]) -> Labels:
    """Return the bins of a `eightfold.golden.requantize.requantize` with these arguments.

    ``form``: pair or single. ``pair shift`` and ``single shift``. ``tie``: the right shift drops
    exactly half of a number of this sign. ``product tie``: the doubling high multiply does.
    ``saturation``: the code before the clamp is below, within or above its bounds. ``rounding``:
    the mode. ``multiplier``: 0, a power of two or another. ``overflow``: of the bias, or of the
    left shift.
    """
    names = ("bias", "left", "right", "multiplier", "single", "zero_point", "low", "high")
    given = {name: np.asarray(parameters.get(name, 0), np.int64) for name in names}
    rounding = np.asarray(parameters.get("rounding", 0), np.int64)
    shape = np.broadcast_shapes(np.shape(values), *(g.shape for g in given.values()))
    acc, mode = (np.broadcast_to(np.asarray(a, np.int64), shape) for a in (values, rounding))
    bias, left, right, multiplier, single, zero_point, low, high = (
        np.broadcast_to(given[name], shape) for name in names
    )
    labels: Labels = defaultdict(set)
    if not acc.size:
        return labels
    total = acc + bias
    biased = wrap32(total)
    shifted = wrap32(biased << left)
    product = shifted * multiplier
    one = single.astype(bool)
    scaled = np.where(one, product, srdhm(shifted, multiplier))
    code = rounding_shift(scaled, right, mode) + zero_point
    half = (right > 0) & (2 * (scaled & ((1 << right) - 1)) == 1 << right)
    _mark(labels, "overflow", "bias", total != biased)
    _mark(labels, "overflow", "left shift", shifted != biased << left)
    _mark(labels, "form", "pair", ~one)
    _mark(labels, "form", "single", one)
    _mark(labels, "tie", "positive", half & (scaled > 0))
    _mark(labels, "tie", "negative", half & (scaled < 0))
    _mark(labels, "product tie", "positive", ~one & (product > 0) & _half(product))
    _mark(labels, "product tie", "negative", ~one & (product < 0) & _half(product))
    _mark(labels, "saturation", "below", code < low)
    _mark(labels, "saturation", "above", code > high)
    _mark(labels, "saturation", "within", (code >= low) & (code <= high))
    power = (multiplier & (multiplier - 1)) == 0
    _mark(labels, "multiplier", "0", multiplier == 0)
    _mark(labels, "multiplier", "a power of two", power & (multiplier > 0))
    _mark(labels, "multiplier", "another", ~power)
    labels["rounding"] = {ROUNDINGS[each] for each in np.unique(mode)}
    labels["pair shift"] = _classes((right - left)[~one], _PAIR_EDGES, PAIR_SHIFTS)
    labels["single shift"] = _classes(right[one], _SINGLE_EDGES, SINGLE_SHIFTS)
    return labels


def _half(product: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (product & (2**31 - 1)) == 2**30


def _classes(shifts: NDArray[np.int64], edges: tuple[int, ...], names: tuple[str, ...]) -> set[str]:
    """Return the classes of right shifts, negative ones being left shifts."""
    return {names[place] for place in np.searchsorted(edges, np.unique(shifts), side="right")}


def _mark(labels: Labels, point: str, name: str, seen: NDArray[np.bool_]) -> None:
    if seen.any():
        labels[point].add(name)


def join(labels: Labels, more: Mapping[str, set[str]]) -> None:
    """Add bins to others, in place."""
    for point, names in more.items():
        labels[point] |= names
