"""A requantizer as a subject, in one of the forms that can be claimed."""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from eightfold.conformance.judge.arithmetic import compute, reference_arithmetic
from eightfold.conformance.judge.forms import FIELDS, Cases, Form, form_of, operand, take
from eightfold.conformance.judge.rules import Features, Mask, bounds, wide
from eightfold.conformance.judge.subject import Subject
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.golden.fixed_point import INT32_MAX, Integers, srdhm, wrap32
from eightfold.golden.rounding import rounding_shift

NAMES = {
    "acc": "an accumulator",
    "bias": "a bias",
    "multiplier": "a multiplier",
    "shift": "a shift",
    "zero_point": "a zero point",
    "low": "a lower bound",
    "high": "an upper bound",
    "number": "a case number",
}
"""How sentences call the fields of cases, and their place among the cases."""


def features(form: Form, cases: Cases, meant: Mask) -> Features:
    """Return the features of cases, by what they say; some need the cases that are meant."""
    table: Features = {}
    acc, shift, multiplier = cases["acc"], cases["shift"], cases["multiplier"]
    values = _values(form, cases)
    for name, parts in values.dividends.items():
        table |= _division(name, *parts)
    z, v = values.scaled, values.offset
    low, high, zero_point = cases["low"], cases["high"], cases["zero_point"]
    table |= {
        "a result at the upper bound by the clamp": v > high,
        "a result at the lower bound by the clamp": v < low,
        "a result that needs no clamp": (v >= low) & (v <= high),
        "a scaled value below 0": z < 0,
        "a scaled value above 0": z > 0,
        "a scaled value of 0": z == 0,
        "a scaled value beyond int8": (z < -128) | (z > 127),
        "a sum with the zero point that wraps": z + zero_point != wrap32(z + zero_point),
        "a left shift that loses bits": values.lost,
        "a lower bound above -128": low > -128,
        "an upper bound below 127": high < 127,
        "a zero point of 0": zero_point == 0,
        "a negative zero point": zero_point < 0,
        "a positive zero point": zero_point > 0,
        "a negative accumulator": acc < 0,
        "a positive accumulator": acc > 0,
        "an accumulator of 0": acc == 0,
        "an accumulator of -2^31": acc == -(2**31),
        "a left shift": shift > 0,
        "a right shift": shift < 0,
        "a shift of 0": shift == 0,
        "a multiplier of 0": multiplier == 0,
        "a multiplier below 2^30": multiplier < 2**30,
        "a multiplier of 2^31 - 1": multiplier == INT32_MAX,
        "a multiplier that is a power of two": (multiplier & (multiplier - 1)) == 0,
        "a multiplier with bits below 2^16": (multiplier & 0xFFFF) != 0,
    }
    if "bias" in cases:
        total = acc + cases["bias"]
        table |= {
            "a bias other than 0": cases["bias"] != 0,
            "a sum with the bias that wraps": total != wrap32(total),
        }
    table |= _thresholds(values, cases)
    for field, numbers in {**cases, "number": np.arange(meant.size)}.items():
        table |= bounds(NAMES[field], numbers, meant)
    return table


def _thresholds(values: "_Values", cases: Cases) -> Features:
    shift = cases["shift"]
    table: Features = {}
    for limit in range(1, 64):
        table[f"a right shift of at least {limit}"] = -shift >= limit
        table[f"a right shift of at most {limit}"] = (shift < 0) & (-shift <= limit)
    for limit in range(1, 32):
        table[f"a left shift of at least {limit}"] = shift >= limit
        table[f"a left shift of at most {limit}"] = (shift > 0) & (shift <= limit)
    sized = {"an accumulator": cases["acc"], "a scaled value": values.scaled, **values.wide}
    for name, numbers in sized.items():
        table |= wide(name, numbers)
    return table


def _division(name: str, dividend: Integers, e: Integers) -> Features:
    """Return the features of the division of ``dividend`` by ``2^e``."""
    over = np.maximum(e, 1)
    unit = np.int64(1) << over
    twice = 2 * (dividend & (unit - 1))
    tie = (e > 0) & (twice == unit)
    below = dividend < 0
    return {
        f"a tie at {name}": tie,
        f"a tie below 0 at {name}": tie & below,
        f"a tie above 0 at {name}": tie & ~below,
        f"a remainder at {name}": (e > 0) & (twice != 0),
        f"a negative value with a remainder at {name}": (e > 0) & (twice != 0) & below,
        f"a remainder below half at {name}": (e > 0) & (twice != 0) & (twice < unit),
        f"a remainder above half at {name}": (e > 0) & (twice > unit),
        f"a negative value at {name}": below,
    }


@dataclass(frozen=True)
class _Values:
    """Values inside the reference's arithmetic."""

    dividends: dict[str, tuple[Integers, Integers]]
    scaled: Integers
    offset: Integers
    lost: Mask
    wide: dict[str, Integers]


def _values(form: Form, cases: Cases) -> _Values:
    x = operand(cases)
    shift = cases["shift"]
    multiplier = cases["multiplier"]
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    lost = np.zeros(x.shape, bool)
    if form.roundings == 2:
        shifted = wrap32(x << left)
        lost = shifted != x << left
        product = shifted * multiplier
        y = srdhm(shifted, multiplier)
        dividends = {
            "the first rounding": (product, np.full_like(product, 31)),
            "the second rounding": (y, right),
        }
        z = rounding_shift(y, right, "half_away")
        wide = {"a product": product, "a high product": y}
    else:
        if form.fraction_bits:
            product, e = x * multiplier, 31 - shift
        else:
            product = x * np.minimum(multiplier << left, INT32_MAX)
            e = right
        z = rounding_shift(product, e, "half_up")
        dividends, wide = {"the rounding": (product, e)}, {"a product": product}
        z = wrap32(z) if form.fraction_bits else z
    return _Values(dividends, z, z + cases["zero_point"], lost, wide)


@cache
def requantizer(form: str, biased: bool = False) -> Subject:
    """Return the requantizer of a form; ``biased`` if its cases have a bias. Raises ValueError if
    there is no such form."""
    kind = form_of(form)

    return Subject(
        name=form,
        mistakes=mistakes_of(form, biased),
        choices=reference_arithmetic(kind),
        arithmetic=lambda choices, cases: compute(choices, kind, cases),
        features=partial(features, kind),
        sizes=sizes,
        shown=lambda cases, index, place: take(cases, index),
        steps=lambda cases, index, place: kind.steps(take(cases, index)),
    )


def check_cases(cases: Cases, results: Integers) -> None:
    """Raise ValueError if a field is missing, or a shape or type is another."""
    if absent := [name for name in FIELDS if name not in cases]:
        raise ValueError(f"cases lack {', '.join(absent)}")
    for name, values in (*cases.items(), ("results", results)):
        if values.dtype != np.int64 or values.shape != (len(cases["acc"]),):
            raise ValueError(
                f"{name} must be int64 of shape ({len(cases['acc'])},), not {values.dtype} of "
                f"{values.shape}"
            )


def bits(values: Integers) -> Integers:
    """Return the bits of magnitudes; 0 has none."""
    return np.frexp(np.abs(values).astype(np.float64))[1].astype(np.int64)


def sizes(cases: Cases) -> Integers:
    """Return how hard a case is to follow by hand: the bits of its numbers, shape (n,).

    The zeros at the end of a multiplier do not count, nor do bounds at the ends of int8.
    """
    multiplier = cases["multiplier"]
    shown = multiplier // np.maximum(multiplier & -multiplier, 1)
    numbers = (cases["acc"], shown, cases["shift"], cases["zero_point"])
    bounds = (cases["low"] + 128, 127 - cases["high"])
    bias = (cases["bias"],) if "bias" in cases else ()
    return np.sum([bits(values) for values in (*numbers, *bounds, *bias)], axis=0)
