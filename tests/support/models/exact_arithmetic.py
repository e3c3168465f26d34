"""What tests of arithmetic compute with: exact integers and fractions, and float32 made of them."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.golden.quantization import Quantization
from eightfold.golden.rounding import ROUNDINGS

HALF = Fraction(1, 2)
EXACT: dict[str, Callable[[Fraction], int]] = {
    "half_away": lambda v: math.floor(v + HALF) if v >= 0 else math.ceil(v - HALF),
    "half_up": lambda v: math.floor(v + HALF),
    "half_down": lambda v: math.ceil(v - HALF),
    "half_even": round,
    "toward_zero": math.trunc,
    "down": math.floor,
    "up": math.ceil,
}
"""Every rounding mode."""

int8 = st.integers(-128, 127)
int32 = st.one_of(
    st.integers(INT32_MIN, INT32_MAX),
    st.integers(-300, 300),
    st.sampled_from([INT32_MIN, INT32_MIN + 1, 2**30, -(2**30), INT32_MAX]),
)
"""The whole range, small numbers, and ends."""

types = st.tuples(*[st.sampled_from([(0, "int8"), (128, "uint8")])] * 3)
"""What a form's operands and result are: how much more than int8 the codes are, and their type."""

scales = st.floats(min_value=2.0**-60, max_value=2.0**20, width=32)
roundings = st.sampled_from(ROUNDINGS)


def per_tensor(scale: float, zero_point: int) -> Quantization:
    return Quantization(np.array([scale], np.float32), np.array([zero_point]))


def wrap(x: int, bits: int = 32) -> int:
    """The signed integer of the lowest bits."""
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def exact_shift(value: int, rshift: int, rounding: str) -> int:
    return EXACT[rounding](Fraction(value) / Fraction(2) ** rshift)


def exact_multiply(x: int, multiplier: int, shift: int) -> int:
    """The multiplier pair of TFLite, each rounding as a fraction."""
    left, right = max(shift, 0), max(-shift, 0)
    high = EXACT["half_up"](Fraction(wrap(x << left) * multiplier, 2**31))
    return EXACT["half_away"](Fraction(high, 2**right))


def to_int8(value: int) -> int:
    return max(-128, min(127, value))


def saturated(value: int, offset: int) -> int:
    """An integer at the ends of int8, or of uint8 with an offset of 128."""
    return to_int8(value - offset) + offset


def exact32(value: Fraction) -> Fraction:
    """The float32 nearest to a fraction, ties to even."""
    if not value:
        return value
    exponent = max(-126, (abs(value).numerator.bit_length() - value.denominator.bit_length()) - 1)
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    return round(value / unit) * unit
