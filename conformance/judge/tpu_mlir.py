"""TPU-MLIR's forms as subjects: the arithmetic of all, and the mistakes that each can have.

Cases are the columns of `eightfold.conformance.units.tpu_mlir`, in int64; floats are their bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.arithmetic import wrap
from eightfold.conformance.judge.rules import Features, Mask, bounds
from eightfold.conformance.judge.subject import (
    Cases,
    Mistake,
    Steps,
    Subject,
    Table,
    bits,
    named,
    rows,
    scales,
    shown,
)
from eightfold.conformance.units.tpu_mlir import COLUMNS, TEXTS, seen
from eightfold.golden.fixed_point import Integers
from eightfold.golden.rounding import ROUNDINGS, rounding_shift
from eightfold.golden.tpu_mlir.numbers import round_float

Floats = NDArray[Any]


@dataclass(frozen=True)
class FormArithmetic:
    """How a form computes; the defaults are the reference's, ties up of integers, away of floats.

    A result is ``saturate(round(v) + zero_point)``; of floats the zero point is in v.
    """

    rounding: str = ""
    codes: str = "own"
    end: str = "saturates"
    zero_point: str = "added"
    input_zero_point: str = "own"
    padding: str = "zero_point"
    bias: str = "added"
    weights: str = "whole"
    multipliers: str = "own"
    shift: str = "after"
    sum: str = "whole"
    condition: str = "zero_point"
    precision: str = "float32"
    offset: str = "subtracted"
    quotient: str = "with_zero_point"


def compute(unit: str, a: FormArithmetic, cases: Cases) -> Integers:
    """Return results of a form that computes as the arithmetic says, shape (n,)."""
    offset = 128 * cases["uint8"]
    if a.codes == "signed":
        names = {"x", "y", "inputs"} & cases.keys()
        cases = {**cases, **{name: wrap(cases[name], 8) for name in names}}
    if a.input_zero_point == "zero" and "input_zero_point" in cases:
        cases = {**cases, "input_zero_point": 0 * cases["input_zero_point"]}
    y_zero = cases.get("zero_point", 0 * offset)
    if a.zero_point != "added":
        y_zero = {"missing": 0 * y_zero, "subtracted": -y_zero}[a.zero_point]
    codes = _VALUES[unit](a, {**cases, "zero_point": y_zero})
    low, high = offset - 128, offset + 127
    if a.end == "wraps":
        return wrap(codes - offset, 8) + offset
    return np.clip(codes, np.maximum(low, 0) if a.end == "relu" else low, high)


def _shifted(a: FormArithmetic, total: Integers, factor: Integers, shift: Integers) -> Integers:
    """Return ``total * factor >> shift``."""
    mode = a.rounding or "half_up"
    if a.shift == "multiplier":
        return total * rounding_shift(factor, shift, mode)
    return rounding_shift(total * factor, shift, mode)


def _seen(a: FormArithmetic, cases: Cases) -> Integers:
    """Return the codes of a window, with its padding."""
    return seen(cases, cases["input_zero_point"] * (a.padding == "zero_point"))


def _sum(a: FormArithmetic, cases: Cases) -> Integers:
    x = _seen(a, cases) if "inside" in cases else cases["inputs"]
    w = cases["weights"] & 255 if a.weights == "unsigned" else cases["weights"]
    total = (x * w).sum(axis=1) + cases["bias"] * (a.bias == "added")
    total = wrap(total, 16) if a.sum == "wraps_16" else total
    return _shifted(a, total, cases["factor"], cases["rshift"]) + cases["zero_point"]


def _add_symmetric(a: FormArithmetic, cases: Cases) -> Integers:
    first, second = cases["multiplier"], cases["other_multiplier"]
    first, second = (second, first) if a.multipliers == "swapped" else (first, second)
    one, other = cases["x"] * first, cases["y"] * second
    mode, shift = a.rounding or "half_up", cases["rshift"]
    if a.shift == "each":
        return rounding_shift(one, shift, mode) + rounding_shift(other, shift, mode)
    total = wrap(one + other, 16) if a.sum == "wraps_16" else one + other
    return rounding_shift(total, shift, mode)


def _real(a: FormArithmetic, bits_: Integers) -> Floats:
    return scales(bits_).astype(a.precision)


def _quantized(a: FormArithmetic, real: Floats, scale: Floats, zero: Integers) -> Integers:
    """Return real values as codes that are not saturated."""
    mode = a.rounding or "half_away"
    if a.quotient == "rounded":
        return round_float(real / scale, mode).astype(np.int64) + zero
    return round_float(real / scale + zero.astype(a.precision), mode).astype(np.int64)


def _add_asymmetric(a: FormArithmetic, cases: Cases) -> Integers:
    parts = ("x", "input_scale", "input_zero_point"), ("y", "other_scale", "other_zero_point")
    one, other = (
        _real(a, cases[scale]) * (cases[name] - cases[zero]).astype(a.precision)
        for name, scale, zero in parts
    )
    return _quantized(a, one + other, _real(a, cases["scale"]), cases["zero_point"])


def _avg_pool(a: FormArithmetic, cases: Cases) -> Integers:
    total = _seen(a, cases).sum(axis=1).astype(a.precision)
    sign = 1 if a.offset == "added" else -1
    mean = _real(a, cases["scale"]) * total + sign * _real(a, cases["offset"])
    return round_float(mean, a.rounding or "half_away").astype(np.int64)


def _slope(a: FormArithmetic, cases: Cases) -> Integers:
    difference = cases["x"] - cases["input_zero_point"]
    factor = cases["multiplier"] * cases.get("alpha", 1)
    below = _shifted(a, difference, factor, cases["rshift"])
    positive = cases["x"] >= 0 if a.condition == "zero" else difference >= 0
    return np.where(positive, difference, below) + cases["zero_point"]


def _pad(a: FormArithmetic, cases: Cases) -> Integers:
    real, scale = _real(a, cases["value"]), _real(a, cases["scale"])
    fill = _quantized(a, real, scale, cases["zero_point"])
    inside = cases["x"] - cases["input_zero_point"] + cases["zero_point"]
    return np.where(cases["inside"] & 1, inside, fill * (a.padding == "zero_point"))


_VALUES: dict[str, Callable[[FormArithmetic, Cases], Integers]] = {
    "convolution": _sum,
    "inner_product": _sum,
    "add_symmetric": _add_symmetric,
    "add_asymmetric": _add_asymmetric,
    "avg_pool": _avg_pool,
    "leaky_relu": _slope,
    "prelu": _slope,
    "pad": _pad,
}
"""What is saturated, by unit."""

SUMS, SLOPES = ("convolution", "inner_product"), ("leaky_relu", "prelu")
ADDS, FLOATS = ("add_symmetric", "add_asymmetric"), ("add_asymmetric", "avg_pool", "pad")
PADDED, SHIFTS = ("convolution", "avg_pool", "pad"), (*SUMS, *SLOPES)
SOURCES = (*SLOPES, "add_asymmetric", "pad")
TARGETS = (*SUMS, *SOURCES)

_TABLE: Table = {
    ("codes_signed", "codes", "signed"): "Codes of uint8 are read as int8.",
    ("result_wraps", "end", "wraps"): "The result is cut to 8 bits, not saturated.",
    ("relu", "end", "relu"): "Negative results become 0.",
    ("zero_point_missing", "zero_point", "missing", TARGETS): "Z_y is not added.",
    ("zero_point_subtracted", "zero_point", "subtracted", TARGETS): "Z_y is subtracted.",
    ("input_zero_point_missing", "input_zero_point", "zero", SOURCES): "Z_x is taken for 0.",
    ("padding_zero", "padding", "zero", PADDED): "What pads is code 0.",
    ("bias_missing", "bias", "missing", SUMS): "There is no bias.",
    ("weights_unsigned", "weights", "unsigned", SUMS): "Weights are read without a sign.",
    ("sum_16_wraps", "sum", "wraps_16", (*SUMS, *ADDS[:1])): "The sum is an int16, and wraps.",
    ("multipliers_swapped", "multipliers", "swapped", ADDS[:1]): "The multipliers are swapped.",
    ("products_shifted", "shift", "each", ADDS[:1]): "Products are shifted, then added.",
    ("multiplier_shifted", "shift", "multiplier", SHIFTS): "M is shifted, as `M >> rshift` reads.",
    ("condition_zero", "condition", "zero", SLOPES): "What decides is q_x >= 0, as printed, not "
    "q_x >= Z_x.",
    ("float64", "precision", "float64", FLOATS[:2]): "The arithmetic is that of float64.",
    ("quotient_rounded", "quotient", "rounded", ADDS[1:]): "The quotient real / S_y is rounded "
    "before Z_y is added.",
    ("offset_added", "offset", "added", FLOATS[1:2]): "Offset is added: the sign that is printed.",
    **{
        (f"rounding_{mode}", "rounding", mode): f"The rounding is {mode.replace('_', ' ')}."
        for mode in ROUNDINGS
    },
}

MISTAKES = named(_TABLE)
"""What one can do in place of the reference, in the forms that each names: all, if none."""


def mistakes(unit: str) -> tuple[Mistake, ...]:
    """Return the mistakes that one can make in a form, in the order in which they are named."""
    reference = "half_away" if unit in FLOATS else "half_up"
    return tuple(
        each
        for each in MISTAKES
        if unit in (each.forms or (unit,)) and each.changes.get("rounding") != reference
    )


def _features(cases: Cases, meant: Mask) -> Features:
    table: dict[str, Any] = {"codes of uint8": cases["uint8"] == 1}
    for name, values in cases.items():
        if values.ndim == 1 and name != "uint8":
            table |= bounds(f"{name.replace('_', ' ')}", values, meant)
    return table


def _sizes(cases: Cases) -> Integers:
    found = [bits(values).reshape(len(values), -1).sum(axis=1) for values in cases.values()]
    return np.sum(found, axis=0)


REALS = [name for name, (*_, text) in TEXTS.items() if text.startswith("float32")]
"""Columns that are bits of float32."""


def _steps(unit: str, cases: Cases, index: int, place: int) -> Steps:
    case = rows(cases, slice(index, index + 1))
    whole = _VALUES[unit](FormArithmetic(), {"zero_point": 0 * case["uint8"], **case})
    result = int(compute(unit, FormArithmetic(), case)[0])
    return [("rounded, with its zero point", int(whole[0])), (f"saturate({int(whole[0])})", result)]


SUBJECTS: dict[str, Subject] = {
    unit: Subject(
        name=unit,
        mistakes=mistakes(unit),
        choices=FormArithmetic(),
        arithmetic=partial(compute, unit),
        features=_features,
        sizes=_sizes,
        shown=partial(shown, REALS),
        steps=partial(_steps, unit),
    )
    for unit in COLUMNS
}
