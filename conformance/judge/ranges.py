"""Ranges of FakeQuantize as a subject: their int8 scale and zero point, or that there is none.

Cases are the columns of `eightfold.conformance.units.fake_quantize`, in int64; limits are the bits
of float32. The three results are whether there is a scale and zero point, the bits of the scale,
and the zero point.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.arithmetic import wrap
from eightfold.conformance.judge.rules import Features, Mask, bounds
from eightfold.conformance.judge.subject import (
    Cases,
    Steps,
    Subject,
    Table,
    mantissa_bits,
    named,
    rows,
    scales,
    shown,
)
from eightfold.conformance.units.fake_quantize import LIMITS, RESULTS
from eightfold.golden.fake_quantize import ZERO_POINT_TOLERANCE
from eightfold.golden.fixed_point import Integers
from eightfold.golden.tpu_mlir.numbers import round_float

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RangeArithmetic:
    """How a range becomes a scale and a zero point; the defaults are the reference's.

    ::

        position = -low / (high - low) * (levels - 1)              position, in float64
        zero_point = rint(position) - levels // 2                  rounding, offset, zero_point
        scale = float32((high - low) / (levels - 1)), or the       scale, steps
            float32 beside it that gives the limits back

    There is none unless levels are 255 or 256 (``levels``), the limits are finite, low < high
    (``inverted``), the output's range is the input's (``output``), 255 levels are symmetric
    (``symmetry``), low <= 0 <= high (``zero``), and the position is an integer, but for a
    ``tolerance``.
    """

    position: str = "float64"
    rounding: str = "half_even"
    offset: str = "half"
    zero_point: str = "signed"
    scale: str = "returning"
    steps: str = "one_less"
    tolerance: str = "relative"
    levels: str = "checked"
    inverted: str = "refused"
    output: str = "checked"
    symmetry: str = "checked"
    zero: str = "inside"
    invalid: str = "zeros"


TOLERANCES: dict[str, float] = {
    "relative": ZERO_POINT_TOLERANCE,
    "exact": 0.0,
    "any": np.inf,
    "millionth": 1e-6 / 255,
}
"""By how much the position may miss an integer, times (levels - 1) (``tolerance``)."""


def compute(arithmetic: RangeArithmetic, cases: Cases) -> Integers:
    """Return validity, bits of the scale, and zero point as ``arithmetic`` says, (n, 3)."""
    a = arithmetic
    low, high, out_low, out_high = _limits(cases)
    levels = cases["levels"]
    valid = np.isfinite(low) & np.isfinite(high) & np.isfinite(out_low) & np.isfinite(out_high)
    if a.output == "checked":
        valid &= (low == out_low) & (high == out_high)
    if a.inverted == "swapped":
        low, high = np.minimum(low, high), np.maximum(low, high)
    valid &= low < high
    if a.levels == "checked":
        valid &= (levels == 255) | (levels == 256)
    if a.symmetry == "checked":
        valid &= (levels != 255) | (low == -high)
    if a.zero == "extended":
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    valid &= (low <= 0) & (high >= 0)
    # What is not valid takes part with another range.
    low, high = np.where(valid, low, -1.0), np.where(valid, high, 1.0)
    steps = (levels - (1 if a.steps == "one_less" else 0)).astype(np.float64)
    scale = _scale(a, low, high, levels, steps)
    position = _position(a, low, high, steps, scale)
    whole = _rounded(position, a.rounding)
    valid &= np.abs(position - np.rint(position)) <= (levels - 1) * TOLERANCES[a.tolerance]
    valid &= scale != 0
    half = levels // 2 if a.offset == "half" else np.full_like(levels, 128)
    zero_point = whole - half
    if a.zero_point == "negated":
        zero_point = -zero_point
    elif a.zero_point == "unsigned":
        zero_point = whole
    zero_point = wrap(zero_point, 8)
    bits = scale.view(np.uint32).astype(np.int64)
    results = np.stack([np.ones_like(levels), bits, zero_point], axis=1)
    if a.invalid == "kept":  # the flag alone says so
        return np.where(valid[:, None] | (np.arange(3) > 0), results, 0)
    return np.where(valid[:, None], results, 0)


def _limits(cases: Cases) -> list[Floats]:
    return [scales(cases[name]).astype(np.float64) for name in LIMITS]


def _scale(
    a: RangeArithmetic, low: Floats, high: Floats, levels: Integers, steps: Floats
) -> NDArray[np.float32]:
    if a.scale == "float32":
        width = high.astype(np.float32) - low.astype(np.float32)
        return width / steps.astype(np.float32)
    nearest = ((high - low) / steps).astype(np.float32)
    if a.scale == "nearest":
        return nearest
    if a.scale == "largest":  # of both sides of 0
        ends = np.maximum(-low / (levels // 2), high / 127)
        return ends.astype(np.float32)
    zero_point = _rounded(-low / (high - low) * (levels - 1), "half_even") - levels // 2
    first = 127 - (levels - 1)
    scale = nearest
    missed = ~_returns(nearest, zero_point, first, low, high)
    for end in (np.inf, 0):
        candidate = np.nextafter(nearest, np.float32(end))
        better = missed & _returns(candidate, zero_point, first, low, high)
        scale = np.where(better, candidate, scale)
    return scale


def _returns(
    scale: NDArray[np.float32], zero_point: Integers, first: Integers, low: Floats, high: Floats
) -> Mask:
    """Return where a scale gives the limits back, rounded to float32."""
    wide = scale.astype(np.float64)
    with np.errstate(over="ignore"):
        ends = [(wide * (code - zero_point)).astype(np.float32) for code in (first, 127)]
    return (ends[0] == low) & (ends[1] == high)


def _position(
    a: RangeArithmetic, low: Floats, high: Floats, steps: Floats, scale: NDArray[np.float32]
) -> Floats:
    if a.position == "float32":
        one = low.astype(np.float32)
        other = high.astype(np.float32)
        return (-one / (other - one) * steps.astype(np.float32)).astype(np.float64)
    if a.position == "by_scale":
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.nan_to_num(-low / scale.astype(np.float64), posinf=0, neginf=0)
    return -low / (high - low) * steps


def _rounded(position: Floats, mode: str) -> Integers:
    return np.clip(round_float(position, mode), -(2.0**40), 2.0**40).astype(np.int64)


_TABLE: Table = {
    ("scale_nearest", "scale", "nearest"): "The scale is the nearest float32, though a float32 "
    "beside it gives the limits back.",
    ("scale_float32", "scale", "float32"): "The scale is computed in float32, which rounds the "
    "width and the quotient.",
    ("scale_of_larger_side", "scale", "largest"): "The scale is that of the side of 0 that needs "
    "the larger one.",
    ("steps_are_levels", "steps", "levels"): "The width is divided by the levels, and not by one "
    "less.",
    ("zero_point_float32", "position", "float32"): "The zero point is computed in float32, in "
    "place of float64.",
    ("zero_point_by_scale", "position", "by_scale"): "The zero point is computed from the scale "
    "after that is rounded to float32.",
    ("zero_point_down", "rounding", "down"): "The zero point is rounded down.",
    ("zero_point_up", "rounding", "up"): "The zero point is rounded up.",
    ("zero_point_negated", "zero_point", "negated"): "The zero point has the other sign.",
    ("zero_point_unsigned", "zero_point", "unsigned"): "The zero point is that of uint8 codes, 128 "
    "above that of int8.",
    ("weights_from_minus_128", "offset", "128"): "The codes of 255 levels begin at -128: their "
    "zero point is -1, not 0.",
    ("zero_point_exact", "tolerance", "exact"): "A zero point has to be an integer exactly: ranges "
    "rounded to float32 are refused.",
    ("zero_point_millionth", "tolerance", "millionth"): "A zero point may miss an integer by 1e-6, "
    "less than float32 limits miss it by.",
    ("zero_point_nudged", "tolerance", "any"): "Any zero point is rounded to an integer; real 0 is "
    "no code then.",
    ("levels_unchecked", "levels", "unchecked"): "Numbers of levels other than 255 and 256 are "
    "accepted.",
    ("inverted_swapped", "inverted", "swapped"): "A range whose low is above its high is accepted "
    "with its ends swapped.",
    ("output_ignored", "output", "ignored"): "The output's range is not compared with the input's.",
    ("asymmetric_weights", "symmetry", "ignored"): "Ranges of 255 levels are accepted though they "
    "are not symmetric.",
    ("range_extended", "zero", "extended"): "A range without 0 is extended to it, as TFLite's "
    "converter does, and not refused.",
    ("invalid_kept", "invalid", "kept"): "Where there is no scale and zero point, the results "
    "beside the flag are not 0.",
}


def features(cases: Cases, meant: Mask) -> Features:
    low, high, out_low, out_high = _limits(cases)
    levels = cases["levels"]
    results = compute(RangeArithmetic(), cases)
    finite = np.isfinite(low) & np.isfinite(high)
    usable = finite & (low < high)
    width = np.where(usable, high - low, 1.0)
    nearest = (width / np.maximum(levels - 1, 1)).astype(np.float32).view(np.uint32)
    valid = results[:, 0] == 1
    table: Features = {
        "a scale and zero point": valid,
        "no scale and zero point": ~valid,
        "256 levels": levels == 256,
        "255 levels": levels == 255,
        "levels other than 255 and 256": (levels != 255) & (levels != 256),
        "an inverted range": low > high,
        "a range of zero width": low == high,
        "a limit that is not finite": ~finite,
        "an output range other than the input's": (low != out_low) | (high != out_high),
        "a range that does not contain 0": (low > 0) | (high < 0),
        "a range from 0": low == 0,
        "a range to 0": high == 0,
        "a symmetric range": low == -high,
        "a scale that is not the nearest": valid & (results[:, 1] != nearest),
        "a negative zero point": results[:, 2] < 0,
        "a positive zero point": results[:, 2] > 0,
        "a zero point of 0": valid & (results[:, 2] == 0),
    }
    for power in range(-24, 20, 4):
        table[f"a width of at least 2^{power}"] = width >= 2.0**power
    table |= bounds("a number of levels", levels, meant)
    return table | bounds("a case number", np.arange(len(levels)), meant)


def sizes(cases: Cases) -> Integers:
    return np.sum([mantissa_bits(cases[name]) for name in LIMITS], axis=0)


def _steps(cases: Cases, index: int, place: int) -> Steps:
    case = rows(cases, slice(index, index + 1))
    valid, scale, zero_point = compute(RangeArithmetic(), case)[0].tolist()
    low, high = (limit.item() for limit in _limits(case)[:2])
    levels = int(case["levels"][0])
    found: list[tuple[str, Any]] = []
    if np.isfinite(low) and np.isfinite(high) and low < high:
        width = high - low
        position = -low / width * (levels - 1)
        scale_text = f"({high:.9g} - {low:.9g}) / {levels - 1}"
        found += [
            (f"{-low:.9g} / ({high:.9g} - {low:.9g}) * {levels - 1}", f"{position:.12g}"),
            (f"rint({position:.12g}) - {levels // 2}", round(position) - levels // 2),
            (scale_text, f"{width / (levels - 1):.12g}"),
        ]
    results = (valid, scale, zero_point)
    return [*found, (place_name(place), value(results[place], place))]


def place_name(place: int) -> str:
    return RESULTS[place].name


def value(result: int, place: int) -> str:
    """Return a result as a person reads it: a scale as its value and its bits."""
    if place != 1 or not 0 <= result < 1 << 32:
        return str(result)
    return f"{float(scales(np.array([result]))[0]):.9g} (0x{result:08x})"


RANGES = Subject(
    name="fake_quantize",
    mistakes=named(_TABLE),
    choices=RangeArithmetic(),
    arithmetic=compute,
    features=features,
    sizes=sizes,
    shown=partial(shown, LIMITS),
    steps=_steps,
    places=place_name,
    value=value,
)
