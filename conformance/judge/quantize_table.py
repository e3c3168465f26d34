"""QUANTIZE's table as a subject: a requantizer whose accumulator is a code less its zero point."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np

from eightfold.conformance.judge.arithmetic import Arithmetic, reference_arithmetic
from eightfold.conformance.judge.arithmetic import compute as requantize
from eightfold.conformance.judge.forms import FORMS, Form
from eightfold.conformance.judge.subject import Cases, Mistake, Steps, Subject, made
from eightfold.conformance.judge.tables import (
    ORDERS,
    ZERO_POINTS,
    features,
    place_name,
    scales,
    shown,
    sizes,
)
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.golden.fixed_point import Integers, quantize_multiplier
from eightfold.golden.unary import CODES


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
    "clamp_int8",
    "relu_at_0",
    "relu_always",
    "clamp_wraps_first",
    "clamp_first",
    "clamp_first_saturates",
    "zero_point_saturates",
    "left_saturates",
    "left_wide",
    "product_48",
    "right_5_bits",
}
"""Mistakes of a requantizer that a table of codes cannot show, whatever its scales: the clamp is
that of int8, and the accumulator has nine bits."""

_OWN = (
    Mistake(
        "quantize_ratio_float32",
        "The ratio of the scales is computed in float32, in place of float64.",
        {"ratio": "float32"},
    ),
    Mistake(
        "quantize_inverse_float32",
        "The input's scale is multiplied by the output's inverse, which is rounded to float32.",
        {"ratio": "inverse"},
    ),
    Mistake(
        "quantize_input_zero_point_missing",
        "The input's zero point is not subtracted.",
        {"input_zero_point": "missing"},
    ),
    Mistake(
        "quantize_input_zero_point_added",
        "The input's zero point is added, not subtracted.",
        {"input_zero_point": "added"},
    ),
    Mistake(
        "quantize_byte_order",
        "Results are in the order of the codes read as bytes, 0 to 127 and then -128 to -1.",
        {"order": "bytes"},
    ),
)


def _ratio(way: str, cases: Cases) -> Any:
    one, other = scales(cases["input_scale"]), scales(cases["output_scale"])
    if way == "float64":
        return one.astype(np.float64) / other.astype(np.float64)
    ratio = one / other if way == "float32" else one * (np.float32(1) / other)
    return ratio.astype(np.float64)


def compute(choices: QuantizeArithmetic, form: Form, cases: Cases) -> Integers:
    """Return the tables as ``choices`` say, int64 of shape (n, 256)."""
    codes = ZERO_POINTS[choices.input_zero_point](CODES, cases["input_zero_point"][:, None])
    multiplier, shift = quantize_multiplier(_ratio(choices.ratio, cases))
    per_table = {"multiplier": multiplier, "shift": shift, "zero_point": cases["output_zero_point"]}
    flat = {name: np.repeat(values, len(CODES)) for name, values in per_table.items()}
    flat |= {
        "acc": codes.ravel(),
        "low": np.full(codes.size, -128),
        "high": np.full(codes.size, 127),
    }
    inner = Arithmetic(**{field.name: getattr(choices, field.name) for field in fields(Arithmetic)})
    return ORDERS[choices.order](requantize(inner, form, flat).reshape(codes.shape))


@cache
def quantize_table(single: bool) -> Subject:
    """Return QUANTIZE with TFLite's two roundings, or with one."""
    form = FORMS["tflite_single" if single else "tflite"]
    inner = reference_arithmetic(form)
    choices = QuantizeArithmetic(**vars(inner))
    mistakes = [each for each in mistakes_of(form.name) if each.name not in ALWAYS_INT8]

    def steps(cases: Cases, index: int, place: int) -> Steps:
        return _steps(form, shown(cases, index, place))

    return Subject(
        name="QUANTIZE",
        mistakes=(*mistakes, *_OWN),
        compute=lambda cases, mistakes: compute(made(choices, mistakes), form, cases),
        features=features,
        sizes=sizes,
        shown=shown,
        steps=steps,
        places=place_name,
    )


def _steps(form: Form, case: Mapping[str, Any]) -> Steps:
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
