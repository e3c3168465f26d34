"""Byte tables as subjects: LOGISTIC, TANH and QUANTIZE of int8, a case a table of 256 results.

Cases are the columns of `eightfold.conformance.units.tables`, in int64; scales are the bits of
float32.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.arithmetic import Arithmetic, reference_arithmetic, wrap
from eightfold.conformance.judge.arithmetic import compute as requantize
from eightfold.conformance.judge.dot import ZERO_POINTS
from eightfold.conformance.judge.forms import FORMS, Form
from eightfold.conformance.judge.rules import Features, Mask, bounds
from eightfold.conformance.judge.subject import (
    Cases,
    Mistake,
    Steps,
    Subject,
    Table,
    bits,
    mantissa_bits,
    named,
    rows,
    scales,
)
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.conformance.units.tables import OPERATORS
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from eightfold.golden.fixed_point_math import logistic, tanh
from eightfold.golden.quantization import Reference
from eightfold.golden.rounding import round_half_away, rounding_shift
from eightfold.golden.steps import explain_multiplication
from eightfold.golden.tpu_mlir.numbers import round_float
from eightfold.golden.unary import CODES

Floats = NDArray[Any]
Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class TableArithmetic:
    """How LOGISTIC or TANH is computed; each field is a name out of a table of this module.

    The defaults are LiteRT's, all in float32, ``steps`` 256 of LOGISTIC and 128 of TANH::

        x = input_scale * (q - input_zero_point)           input_zero_point, input_range
        y = round(function(x) * steps)                     function, steps, rounding
        clamp(y + output_zero_point)                       output_zero_point, clamp

    ``form`` is ``float32``, ``float64``, or ``fixed_point``, which is TFLite Micro's: the input in
    Q4, the function in Q0, whose lower bits are rounded off.
    """

    form: str = "float32"
    input_zero_point: str = "subtracted"
    input_range: str = "whole"
    function: str = "exact"
    steps: str = "exact"
    rounding: str = "half_away"
    output_zero_point: str = "added"
    clamp: str = "int8"
    order: str = "codes"


def _sigmoid(x: Floats) -> Floats:
    """Return the logistic function in the type of ``x``, its exponential rounded once."""
    one = x.dtype.type(1)
    with np.errstate(over="ignore"):
        return one / (one + np.exp(-x.astype(np.float64)).astype(x.dtype))


def _tanh(x: Floats) -> Floats:
    return np.tanh(x.astype(np.float64)).astype(x.dtype)


def _plan(x: Floats) -> Floats:
    """Return the logistic function in four straight pieces, known as PLAN."""
    a = np.abs(x)
    pieces = [a >= 5, a >= 2.375, a >= 1]
    y = np.select(pieces, [1.0, 0.03125 * a + 0.84375, 0.125 * a + 0.625], 0.25 * a + 0.5)
    return np.where(x < 0, 1 - y, y)


def _interpolated(function: Function, segments: int) -> Function:
    knots = np.linspace(-8, 8, segments + 1)
    return lambda x: np.interp(x, knots, function(knots))


def _functions(operator: str) -> dict[str, Function]:
    exact = _sigmoid if operator == "LOGISTIC" else _tanh
    if operator == "LOGISTIC":
        rough: dict[str, Function] = {
            "hard": lambda x: np.clip(x / 6 + 0.5, 0, 1),
            "hard_fifth": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
            "plan": _plan,
        }
    else:
        rough = {"hard": lambda x: np.clip(x, -1, 1), "plan": lambda x: 2 * _plan(2 * x) - 1}
    lines = {f"interpolated_{n}": _interpolated(exact, n) for n in (16, 32, 64, 256)}
    return {"exact": exact, **rough, **lines}


FUNCTIONS = {operator: _functions(operator) for operator in ("LOGISTIC", "TANH")}
"""What is taken for the function (``function``)."""

RANGES: dict[str, float] = {"whole": np.inf, "unsigned": np.inf, "2": 2.0, "4": 4.0}
"""Beyond what magnitude the input is cut (``input_range``); ``unsigned``: what is negative counts
as beyond the upper end."""

STEPS = {"LOGISTIC": {"exact": 256, "one_less": 255}, "TANH": {"exact": 128, "one_less": 127}}
"""By how much the function is multiplied (``steps``)."""

CLAMPS: dict[str, Callable[[Integers], Integers]] = {
    "int8": lambda v: np.clip(v, -128, 127),
    "wraps": lambda v: wrap(v, 8),
    "symmetric": lambda v: np.clip(v, -127, 127),
    "unsigned": lambda v: np.where(v < 0, 127, np.minimum(v, 127)),
}
"""The end (``clamp``)."""

ORDERS: dict[str, Callable[[Integers], Integers]] = {
    "codes": lambda table: table,
    "bytes": lambda table: np.roll(table, 128, axis=1),
    "one_up": lambda table: np.roll(table, -1, axis=1),
    "one_up_ends": lambda table: np.concatenate([table[:, 1:], table[:, -1:]], axis=1),
    "one_down": lambda table: np.roll(table, 1, axis=1),
    "one_down_ends": lambda table: np.concatenate([table[:, :1], table[:, :-1]], axis=1),
    "last": lambda table: np.where(CODES < 0, table[:, -1:], table),
}
"""The order of the results: of ascending codes, of codes read as bytes, of the codes beside them,
at the end the other end's or its own, or of the last one for what is negative (``order``)."""

ORDERED = {
    ("byte_order", "bytes"): "Results are in the order of the codes read as bytes, 0 to 127 and "
    "then -128 to -1: the table is indexed without a sign.",
    ("entry_after", "one_up"): "The table is off by one: each code gets the result of the next "
    "one, and 127 that of -128.",
    ("entry_after_or_last", "one_up_ends"): "The table is off by one: each code gets the result of "
    "the next one, and 127 its own.",
    ("entry_before", "one_down"): "The table is off by one: each code gets the result of the one "
    "before it, and -128 that of 127.",
    ("entry_before_or_first", "one_down_ends"): "The table is off by one: each code gets the "
    "result of the one before it, and -128 its own.",
    ("compared_unsigned", "last"): "Codes are compared without their sign: negative ones are "
    "beyond the table's end, and get the last result.",
}
"""Sentences of the mistakes of every table's order, by what the names end with, and the order."""

OFFSETS = {"LOGISTIC": -128, "TANH": 0}
"""The output's zero point in TFLite Micro's form."""

DROPPED = {"LOGISTIC": 23, "TANH": 24}
"""Bits that TFLite Micro rounds off."""


def compute(arithmetic: TableArithmetic, operator: str, cases: Cases) -> Integers:
    """Return the tables of LOGISTIC or TANH as ``arithmetic`` says, int64 of shape (n, 256)."""
    a = arithmetic
    v = ZERO_POINTS[a.input_zero_point](CODES, cases["input_zero_point"][:, None])
    if a.form == "fixed_point":
        z = _fixed_point(a, operator, v, cases)
    else:
        z = _float(a, operator, v, cases)
    if a.input_range == "unsigned":
        z = np.where(v < 0, 127, z)
    return ORDERS[a.order](CLAMPS[a.clamp](z))


def _float(a: TableArithmetic, operator: str, v: Integers, cases: Cases) -> Integers:
    kind = np.dtype(a.form)
    limit = RANGES[a.input_range]
    x = scales(cases["input_scale"])[:, None].astype(kind) * v.astype(kind)
    y = FUNCTIONS[operator][a.function](np.clip(x, -limit, limit)).astype(kind)
    z = round_float(y * kind.type(STEPS[operator][a.steps]), a.rounding).astype(np.int64)
    return z + (cases["output_zero_point"][:, None] if a.output_zero_point == "added" else 0)


def _fixed_point(a: TableArithmetic, operator: str, v: Integers, cases: Cases) -> Integers:
    scale = scales(cases["input_scale"]).astype(np.float64)
    multiplier, left = (part[:, None] for part in quantize_multiplier(scale * 2.0**27))
    radius = np.floor(np.ldexp(15.0, 27 - left))
    inside = np.abs(v) < radius
    left = np.where(radius > 0, left, 0)
    scaled = multiply_by_quantized_multiplier(np.where(inside, v, 0), multiplier, left)
    function = logistic if operator == "LOGISTIC" else tanh
    offset = OFFSETS[operator] if a.output_zero_point == "added" else 0
    z = rounding_shift(function(scaled, 4), DROPPED[operator], a.rounding) + offset
    return np.where(inside, z, np.where(v < 0, -128, 127))


_ROUNDED = {
    "half_up": "ties toward plus infinity",
    "half_down": "ties toward minus infinity",
    "half_even": "ties to even, as `rint` and `lrintf` do: XNNPACK's",
    "toward_zero": "truncated toward zero, as a cast in C does",
    "down": "rounded down",
    "up": "rounded up",
}


_OF_INPUT = {
    ("input_zero_point_missing", "input_zero_point", "missing"): "The input's zero point is not "
    "subtracted.",
    ("input_zero_point_added", "input_zero_point", "added"): "The input's zero point is added, not "
    "subtracted.",
}

_OF_ORDER = {(name, "order", order): text for (name, order), text in ORDERED.items()}

_OF_ALL: Table = {
    **_OF_INPUT,
    ("wraps", "clamp", "wraps"): "What exceeds 127 wraps in 8 bits and is not clamped.",
    ("symmetric", "clamp", "symmetric"): "The least result is -127.",
    ("input_compared_unsigned", "input_range", "unsigned"): "The input less its zero point is "
    "compared with the ends of its range without its sign: what is negative gives the largest "
    "result.",
    ("result_compared_unsigned", "clamp", "unsigned"): "The result is compared with 127 without "
    "its sign: what is negative becomes 127.",
    **_OF_ORDER,
}

_OF_LOGISTIC: Table = {
    ("output_zero_point_missing", "output_zero_point", "missing"): "The output's zero point of "
    "-128 is not added."
}

_OF_FIXED_POINT: Table = {
    ("float32_table", "form", "float32"): "A table filled in float32: LiteRT's form.",
    ("float64_table", "form", "float64"): "A table filled in float64.",
}

_OF_FLOATS: Table = {
    ("float64", "form", "float64"): "All is computed in float64, in place of float32.",
    ("fixed_point", "form", "fixed_point"): "The function is computed in fixed point: TFLite "
    "Micro's form.",
}


def _mistakes(operator: str, fixed: bool) -> tuple[Mistake, ...]:
    low = OFFSETS[operator]
    steps = STEPS[operator]["exact"]  # further out it would not show
    end = "4" if low else "2"
    form, float_ = (" form", " float32") if fixed else ("", "")
    rough = {
        "hard": "The function is " + ("clip(x / 6 + 1/2)" if low else "clip(x, -1, 1)"),
        "hard_fifth": "The function is clip(x / 5 + 1/2)",
        "plan": "The function is in four straight pieces (PLAN)",
        **{
            f"interpolated_{n}": f"The function is interpolated between {n + 1} points from -8 to 8"
            for n in (16, 32, 64, 256)
        },
    }
    found: dict[tuple[Any, ...], str] = {
        **{
            (key, f"function{form}", f"{key}{float_}"): f"{text}."
            for key, text in rough.items()
            if key in FUNCTIONS[operator]
        },
        **{
            (mode, "rounding", mode): f"Results are {does}."
            for mode, does in _ROUNDED.items()
            if not (low and mode == "down")  # the function is positive: truncation is the same
        },
        **_OF_ALL,
        **(_OF_LOGISTIC if low else {}),
        **(_OF_FIXED_POINT if fixed else _OF_FLOATS),
    }
    if not fixed:
        text = f"multiplied by {steps - 1}, so that 1 is the largest code, and not by {steps}"
        found["one_step_less", "steps", "one_less"] = f"The function is {text}."
        found[f"input_{end}", "input_range", end] = f"The input is cut to -{end} to {end}."
    return _called(operator, named(found))


def _called(operator: str, mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return mistakes whose names begin with the operator's."""
    return tuple(replace(each, name=f"{operator.lower()}_{each.name}") for each in mistakes)


@cache
def float_table(operator: str, reference: Reference) -> Subject:
    """Return LOGISTIC or TANH by the kernels of LiteRT, or of TFLite Micro (``tflm``)."""
    fixed = reference == "tflm"
    explained = _fixed_steps if fixed else _float_steps

    return Subject(
        name=operator,
        mistakes=_mistakes(operator, fixed),
        choices=TableArithmetic(form="fixed_point") if fixed else TableArithmetic(),
        arithmetic=lambda choices, cases: compute(choices, operator, cases),
        features=features,
        sizes=sizes,
        shown=shown,
        steps=lambda cases, index, place: explained(operator, shown(cases, index, place)),
        places=place_name,
    )


def place_name(place: int) -> str:
    return f"code {place - 128}"


def shown(cases: Cases, index: int, place: int) -> Mapping[str, Any]:
    case: dict[str, Any] = {"code": place - 128}
    for side in ("input", "output"):
        case[f"{side}_scale"] = float(scales(cases[f"{side}_scale"][index : index + 1])[0])
        case[f"{side}_zero_point"] = int(cases[f"{side}_zero_point"][index])
    return case


def _float_steps(operator: str, case: Mapping[str, Any]) -> Steps:
    v = case["code"] - case["input_zero_point"]
    x = np.float32(case["input_scale"]) * np.float32(v)
    y = FUNCTIONS[operator]["exact"](np.array([x]))[0]
    count = STEPS[operator]["exact"]
    product = y * np.float32(count)
    rounded = int(round_half_away(product))
    offset = rounded + case["output_zero_point"]
    return [
        (f"{case['code']} - zero point {case['input_zero_point']}", v),
        (f"float32 scale {case['input_scale']:.9g} * {v}", f"{x:.9g}"),
        (f"{operator.lower()}({x:.9g})", f"{y:.9g}"),
        (f"{y:.9g} * {count}", f"{product:.9g}"),
        (f"round({product:.9g})", rounded),
        (f"{rounded} + zero point {case['output_zero_point']}", offset),
        (f"clamp({offset}, low -128, high 127)", min(max(offset, -128), 127)),
    ]


def _fixed_steps(operator: str, case: Mapping[str, Any]) -> Steps:
    v = case["code"] - case["input_zero_point"]
    multiplier, left = map(int, quantize_multiplier(case["input_scale"] * 2.0**27))
    radius = int(np.floor(np.ldexp(15.0, 27 - left)))
    found: list[tuple[str, Any]] = [
        (f"{case['code']} - zero point {case['input_zero_point']}", v),
        (f"radius of multiplier {multiplier}, left {left}", radius),
    ]
    if abs(v) >= radius:
        return [*found, (f"saturated: {abs(v)} >= {radius}", -128 if v < 0 else 127)]
    found += explain_multiplication(v, multiplier, left)
    x = found[-1][1]
    y = int((logistic if operator == "LOGISTIC" else tanh)(np.array([x]), 4)[0])
    dropped, offset = DROPPED[operator], OFFSETS[operator]
    z = int(rounding_shift(y, dropped, "half_away"))
    return [
        *found,
        (f"{operator.lower()}({x} in Q4) in Q0", y),
        (f"rounding_shift({y}, right {dropped}, half_away)", z),
        (f"{z} + {offset}", z + offset),
        (f"clamp({z + offset}, low -128, high 127)", min(max(z + offset, -128), 127)),
    ]


def sizes(cases: Cases) -> Integers:
    found = []
    for side in ("input", "output"):
        scale = cases[f"{side}_scale"]
        found += [mantissa_bits(scale), bits((scale >> 23) - 127)]
        found.append(bits(cases[f"{side}_zero_point"]))
    return np.sum(found, axis=0)


def features(cases: Cases, meant: Mask) -> Features:
    table: Features = {}
    for side in ("input", "output"):
        zero, scale = cases[f"{side}_zero_point"], cases[f"{side}_scale"]
        name = f"an {side} zero point"
        table |= {
            f"{name} of 0": zero == 0,
            f"{name} below 0": zero < 0,
            f"{name} above 0": zero > 0,
            f"an {side} scale that is a power of two": (scale & 0x7FFFFF) == 0,
        }
        table |= bounds(name, zero, meant)
        for power in range(-12, 4):
            table[f"an {side} scale of at least 2^{power}"] = scales(scale) >= 2.0**power
            table[f"an {side} scale below 2^{power}"] = scales(scale) < 2.0**power
    ratio = scales(cases["input_scale"]) / scales(cases["output_scale"])
    table |= {
        "an input scale above the output's": ratio > 1,
        "an input scale below the output's": ratio < 1,
        "an input scale equal to the output's": ratio == 1,
    }
    return table | bounds("a case number", np.arange(len(meant)), meant)


@dataclass(frozen=True)
class QuantizeArithmetic(Arithmetic):
    """A requantizer's choices, and those around it.

    ``ratio`` is the float type in which ``input_scale / output_scale`` is computed, or
    ``inverse``: the input's scale times the float32 inverse of the output's.
    """

    ratio: str = "float64"
    input_zero_point: str = "subtracted"
    order: str = "codes"


ALWAYS_INT8 = {
    *("clamp_int8", "relu_at_0", "relu_at_0_of_zero_point", "relu_always", "clamp_wraps_first"),
    *("clamp_first", "clamp_first_saturates", "zero_point_saturates", "left_saturates"),
    *("left_wide", "product_48", "right_5_bits", "second_addend_overflows"),
    "multiplier_leading_one",
}
"""Mistakes of a requantizer that a table of codes cannot show, whatever its scales: the clamp is
that of int8, the accumulator has nine bits, and a ratio's multiplier its leading one."""

_OF_QUANTIZE = {
    ("ratio_float32", "ratio", "float32"): "The ratio of the scales is computed in float32, in "
    "place of float64.",
    ("inverse_float32", "ratio", "inverse"): "The input's scale is multiplied by the output's "
    "inverse, which is rounded to float32.",
    **_OF_INPUT,
    **_OF_ORDER,
}


def _ratio(way: str, cases: Cases) -> Any:
    one, other = scales(cases["input_scale"]), scales(cases["output_scale"])
    if way == "float64":
        return one.astype(np.float64) / other.astype(np.float64)
    ratio = one / other if way == "float32" else one * (np.float32(1) / other)
    return ratio.astype(np.float64)


def compute_quantize(choices: QuantizeArithmetic, form: Form, cases: Cases) -> Integers:
    """Return the tables as ``choices`` say, int64 of shape (n, 256)."""
    codes = ZERO_POINTS[choices.input_zero_point](CODES, cases["input_zero_point"][:, None])
    multiplier, shift = quantize_multiplier(_ratio(choices.ratio, cases))
    per_table = {"multiplier": multiplier, "shift": shift, "zero_point": cases["output_zero_point"]}
    flat = {name: np.repeat(values, len(CODES)) for name, values in per_table.items()}
    flat |= {"low": np.full(codes.size, -128), "high": np.full(codes.size, 127)}
    flat["acc"] = codes.ravel()
    return ORDERS[choices.order](requantize(choices, form, flat).reshape(codes.shape))


@cache
def quantize_table(single: bool) -> Subject:
    """Return QUANTIZE with TFLite's two roundings, or with one."""
    form = FORMS["tflite_single" if single else "tflite"]
    mistakes = [each for each in mistakes_of(form.name) if each.name not in ALWAYS_INT8]

    return Subject(
        name="QUANTIZE",
        mistakes=(*mistakes, *_called("QUANTIZE", named(_OF_QUANTIZE))),
        choices=QuantizeArithmetic(**vars(reference_arithmetic(form))),
        arithmetic=lambda choices, cases: compute_quantize(choices, form, cases),
        features=features,
        sizes=sizes,
        shown=shown,
        steps=lambda cases, index, place: _quantize_steps(form, shown(cases, index, place)),
        places=place_name,
    )


def parts_of(
    columns: Cases, reference: Reference = "litert", *, single: bool = False
) -> Iterator[tuple[Subject, Cases, Integers]]:
    """Yield each operator's subject, its cases, and their places among all."""
    for number, operator in enumerate(OPERATORS):
        quantize = operator == "QUANTIZE"
        subject = quantize_table(single) if quantize else float_table(operator, reference)
        indices = np.flatnonzero(columns["operator"] == number)
        yield subject, rows(columns, indices), indices


def table_results(columns: Cases) -> Integers:
    """Return the tables of LiteRT's kernels, int64 of shape (n, 256)."""
    tables = np.zeros((len(columns["operator"]), len(CODES)), np.int64)
    for subject, cases, indices in parts_of(columns):
        tables[indices] = subject.compute(cases, ())
    return tables


def _quantize_steps(form: Form, case: Mapping[str, Any]) -> Steps:
    v = case["code"] - case["input_zero_point"]
    ratio = case["input_scale"] / case["output_scale"]
    multiplier, shift = map(int, quantize_multiplier(ratio))
    fields_ = {"acc": v, "multiplier": multiplier, "shift": shift}
    fields_ |= {"zero_point": case["output_zero_point"], "low": -128, "high": 127}
    text = f"quantize_multiplier({case['input_scale']:.9g} / {case['output_scale']:.9g})"
    return [
        (f"{case['code']} - zero point {case['input_zero_point']}", v),
        (text, f"{multiplier}, shift {shift}"),
        *form.steps(fields_),
    ]
