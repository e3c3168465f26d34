"""What the tests of TPU-MLIR compute with: exact fractions, and float32 rounding made of them."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from eightfold.golden.quantization import Quantization
from eightfold.golden.rounding import ROUNDINGS
from tests.golden.test_rounding import EXACT

int8 = st.integers(-128, 127)
scales = st.floats(min_value=2.0**-60, max_value=2.0**20, width=32)
roundings = st.sampled_from(ROUNDINGS)


def per_tensor(scale: float, zero_point: int) -> Quantization:
    return Quantization(np.array([scale], np.float32), np.array([zero_point]))


def exact_shift(value: int, rshift: int, rounding: str) -> int:
    return EXACT[rounding](Fraction(value) / Fraction(2) ** rshift)


def to_int8(value: int) -> int:
    return max(-128, min(127, value))


def exact32(value: Fraction) -> Fraction:
    """The float32 nearest to a fraction, ties to even."""
    if not value:
        return value
    exponent = max(-126, (abs(value).numerator.bit_length() - value.denominator.bit_length()) - 1)
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    return round(value / unit) * unit
