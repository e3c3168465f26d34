"""Ranges of FakeQuantize as int8 scale and zero point, and back."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eightfold.golden.errors import RejectedError
from eightfold.golden.fake_quantize import (
    Limits,
    NoInt8Error,
    fake_quantize,
    from_int8,
    to_codes,
    to_int8,
)
from eightfold.golden.quantization import Quantization

f32 = np.float32
scales = st.floats(min_value=2.0**-100, max_value=2.0**100, width=32)


# The examples: the float32 nearest to (high - low) / 255 gives other limits, a neighbour these.
@given(scales, st.integers(-128, 127))
@example(1.5319669246673584, 70)
@example(1.4951937198638916, 66)
@example(1.2142642736434937, -90)
def test_an_activation_survives_the_way_there_and_back(scale: float, zero_point: int) -> None:
    limits = from_int8(Quantization(np.array([scale], f32), np.array([zero_point])))
    assert limits.input_low == f32(float(f32(scale)) * (-128 - zero_point))
    back = to_int8(*limits, 256)
    assert back.zero_point.tolist() == [zero_point]
    assert back.axis is None
    # Several scales may round to the same limits; the limits themselves come back exactly.
    assert abs(float(back.scale[0]) - scale) <= np.spacing(f32(scale))
    again = from_int8(back)
    assert again.input_low == limits.input_low
    assert again.input_high == limits.input_high


@given(st.lists(scales, min_size=2, max_size=5), st.integers(0, 3))
def test_weights_per_channel_survive_the_way_there_and_back(steps: list[float], axis: int) -> None:
    weights = Quantization(np.array(steps, f32), np.zeros(len(steps), np.int64), axis)
    limits = from_int8(weights, 255, rank=4)
    assert limits.input_low.shape == tuple(len(steps) if d == axis else 1 for d in range(4))
    np.testing.assert_array_equal(
        limits.input_high.ravel(), (np.array(steps, np.float64) * 127).astype(f32)
    )
    back = to_int8(*limits, 255)
    assert back.axis == axis
    assert not back.zero_point.any()
    for name in Limits._fields:
        np.testing.assert_array_equal(
            getattr(from_int8(back, 255, rank=4), name), getattr(limits, name)
        )


@given(
    st.floats(min_value=2.0**-10, max_value=2.0**10, width=32),
    st.integers(-128, 127),
    st.integers(-8, 8),
    st.integers(-8, 8),
)
def test_limits_off_by_float32_roundings_are_accepted_and_nearly_int8(
    scale: float, zero_point: int, low_ulps: int, high_ulps: int
) -> None:
    # With their own rounding the limits are off by less than 2^-23 + 2^-24, relatively.
    low = f32(float(scale) * (-128 - zero_point) * (1 + low_ulps * 2.0**-26))
    high = f32(float(scale) * (127 - zero_point) * (1 + high_ulps * 2.0**-26))
    got = to_int8(low, high, low, high, 256)
    assert got.zero_point.tolist() == [zero_point]
    # Each level of FakeQuantize is the real value of its code, to the precision of the limits.
    codes = np.arange(-128, 128)
    real = float(got.scale[0]) * (codes - zero_point)
    levels = fake_quantize(real.astype(f32), low, high, low, high, 256)
    assert np.max(np.abs(levels - real)) <= 256 * scale * 2.0**-20


@pytest.mark.parametrize("ulps", range(-7, 8))
def test_a_zero_point_may_miss_an_integer_by_the_tolerance(ulps: int) -> None:
    # One unit in the last place of 128 moves the position of 0 by 2^-16 * 127 / 255 = 7.6e-6.
    low, high = f32(-128 - ulps * 2.0**-16), f32(127)
    if abs(ulps) <= 4:
        assert to_int8(low, high, low, high, 256).zero_point.tolist() == [0]
    else:
        with pytest.raises(NoInt8Error, match="between two levels"):
            to_int8(low, high, low, high, 256)


@given(st.floats(-200, -1, width=32), st.floats(1, 200, width=32))
def test_int8_exists_where_zero_is_a_level(low: float, high: float) -> None:
    position = -Fraction(low) / (Fraction(high) - Fraction(low)) * 255
    distance = abs(position - round(position))
    limit = Fraction(255, 2**23)
    if abs(distance - limit) < Fraction(1, 2**40):
        return
    if distance < limit:
        assert to_int8(low, high, low, high, 256).zero_point.tolist() == [round(position) - 128]
    else:
        with pytest.raises(NoInt8Error, match="between two levels"):
            to_int8(low, high, low, high, 256)


@pytest.mark.parametrize(
    ("limits", "levels", "match"),
    [
        ((-1, 1, -1, 1), 16, "levels"),
        ((-1, 1, -1, 1), 257, "levels"),
        ((-128, 127, -128, 126), 256, "output range"),
        ((127, -128, 127, -128), 256, "inverted"),
        ((0, 0, 0, 0), 256, "zero width"),
        ((np.nan, 1, np.nan, 1), 256, "finite"),
        ((-1, np.inf, -1, np.inf), 256, "finite"),
        ((-1, 1, -1, 1), 256, "between two levels"),
        ((1, 2, 1, 2), 256, "does not contain 0"),
        ((-2, -1, -2, -1), 256, "does not contain 0"),
        ((-128, 127, -128, 127), 255, "symmetric"),
        ((0, 1e-45, 0, 1e-45), 256, "scale is 0"),
        (([0, 0], [1, 2], [0, 0], [1, 2]), 256, "one range"),
        (([[-1, -2], [-1, -2]], [[1, 2], [1, 2]], [[-1, -2]], [[1, 2]]), 255, "several axes"),
    ],
)
def test_refuses_ranges_without_int8_and_says_why(limits: Any, levels: int, match: str) -> None:
    with pytest.raises(NoInt8Error, match=match):
        to_int8(*limits, levels=levels)


@given(
    st.floats(min_value=2.0**-10, max_value=2.0**10, width=32),
    st.integers(2, 256),
    st.integers(0, 255),
    st.integers(0, 255),
)
@example(1.0, 2, 0, 1)
@example(0.5, 16, 15, 3)
def test_codes_of_fewer_bits_are_the_levels_and_a_rescale(
    scale: float, levels: int, zero: int, other: int
) -> None:
    first = -(levels // 2)
    numbers = np.arange(first, first + levels)
    zero, other = (first + each % levels if levels % 2 == 0 else 0 for each in (zero, other))
    low, high = (f32(scale * (end - zero)) for end in (first, first + levels - 1))
    to_low, to_high = (f32(3 * scale * (end - other)) for end in (first, first + levels - 1))
    given, taken = to_codes(low, high, to_low, to_high, levels)
    assert (given.zero_point.tolist(), taken.zero_point.tolist()) == ([zero], [other])
    x = (float(given.scale[0]) * (numbers - zero)).astype(f32)
    wanted = float(taken.scale[0]) * (numbers - other)
    got = fake_quantize(x, low, high, to_low, to_high, levels)
    assert np.max(np.abs(got - wanted)) <= 3 * levels * scale * 2.0**-19


@pytest.mark.parametrize(
    ("limits", "levels", "match"),
    [
        ((-1, 1, -1, 1), 257, "2 to 256 levels"),
        ((-1, 1, -1, 1), 2, "between two levels"),
        ((-1, 2, -1, 2), 15, "15 levels are a weight's"),
        ((0, 15, 1, 16), 16, "does not contain 0"),
        ((0, [[15], [30]], 0, 15), 16, "one range"),
    ],
)
def test_refuses_codes_that_do_not_exist(limits: Any, levels: int, match: str) -> None:
    with pytest.raises(NoInt8Error, match=match):
        to_codes(*limits, levels=levels)


def test_refuses_limits_whose_shapes_do_not_broadcast() -> None:
    with pytest.raises(RejectedError, match="broadcast"):
        to_int8([-1, -1], [1, 1, 1], [-1], [1], 255)


@pytest.mark.parametrize(
    ("scale", "zero_point", "axis", "levels", "rank", "error", "match"),
    [
        ([1], [0], None, 16, None, NoInt8Error, "levels"),
        ([1], [1], None, 255, None, NoInt8Error, "zero point is 0"),
        ([1], [128], None, 256, None, NoInt8Error, "no int8"),
        ([1, 2], [0, 0], 0, 256, 4, NoInt8Error, "one scale"),
        ([1, 2], [0, 0], 0, 255, None, RejectedError, "rank"),
        ([1, 2], [0, 0], 4, 255, 4, RejectedError, "rank"),
        ([1, 2], [0, 0], None, 255, 4, RejectedError, "axis"),
        ([0], [0], None, 256, None, NoInt8Error, "empty or infinite"),
        ([3e38], [0], None, 256, None, NoInt8Error, "empty or infinite"),
    ],
)
def test_refuses_codes_without_a_fake_quantize(
    scale: list, zero_point: list, axis: int, levels: Any, rank: int, error: Any, match: str
) -> None:
    quantization = Quantization(np.array(scale, f32), np.array(zero_point), axis)
    with pytest.raises(error, match=match):
        from_int8(quantization, levels, rank)
