"""The requantizers, of integers and in float64, against exact Python integers, and their steps."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eightfold.golden.fixed_point import INT32_MAX, multiply_by_quantized_multiplier
from eightfold.golden.prepared import Channels, FloatRequantizer, float_requantizer
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.steps import explain_multiplication, explain_requantize, step_lines
from tests.support.models.exact_arithmetic import EXACT, int32, wrap

multipliers = st.one_of(
    st.integers(0, INT32_MAX), st.sampled_from([0, 1, 2**30, 2**30 + 1, INT32_MAX])
)


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, int]:
    single = draw(st.integers(0, 1))
    low, high = sorted(draw(st.tuples(st.integers(-128, 127), st.integers(-128, 127))))
    return {
        "bias": draw(int32),
        "multiplier": draw(multipliers),
        "left": draw(st.one_of(st.just(0), st.integers(0, 30))),
        "right": draw(st.integers(0, 62 if single else 31)),
        "single": single,
        "rounding": draw(st.integers(0, 6)),
        "zero_point": draw(st.integers(-128, 127)),
        "low": low,
        "high": high,
    }


def exact(acc: int, p: dict[str, int]) -> int:
    x = wrap(wrap(acc + p["bias"]) << p["left"])
    rounded = EXACT[ROUNDINGS[p["rounding"]]]
    if p["single"]:
        v = rounded(Fraction(x * p["multiplier"], 2 ** p["right"])) + p["zero_point"]
    else:
        y = (x * p["multiplier"] + 2**30) // 2**31
        v = wrap(rounded(Fraction(y, 2 ** p["right"])) + p["zero_point"])
    return max(p["low"], min(p["high"], v))


@given(int32, parameters())
def test_is_the_contract_on_scalars(acc: int, p: dict[str, int]) -> None:
    got = requantize(acc, **p)
    assert got.dtype == np.int8
    assert int(got) == exact(acc, p)


@pytest.mark.slow
@given(st.lists(st.tuples(int32, parameters()), min_size=1, max_size=8))
def test_every_parameter_may_be_an_array(rows: list[tuple[int, dict[str, int]]]) -> None:
    columns = {name: np.array([p[name] for _, p in rows]) for name in rows[0][1]}
    got = requantize(np.array([acc for acc, _ in rows]), **columns)
    np.testing.assert_array_equal(got, [exact(acc, p) for acc, p in rows])


def test_parameters_broadcast_over_channels() -> None:
    acc = np.arange(-12, 12).reshape(2, 3, 4)
    got = requantize(acc, multiplier=[2**30, 2**29, 1, 0], right=[0, 1, 2, 3], zero_point=-128)
    assert got.shape == (2, 3, 4)
    assert got.dtype == np.int8


def test_the_pair_wraps_where_single_does_not() -> None:
    common = {"multiplier": INT32_MAX, "zero_point": 127}
    assert requantize(INT32_MAX, **common, single=False) == -128
    assert requantize(INT32_MAX, **common, single=True, right=31) == 127


@pytest.mark.parametrize(
    "change",
    [
        {"multiplier": -1},
        {"multiplier": 2**31},
        {"multiplier": 0.5},
        {"bias": 2**31},
        {"left": -1},
        {"left": 31},
        {"right": -1},
        {"right": 32},
        {"right": [62, 32], "single": [1, 0]},
        {"right": 63, "single": True},
        {"single": 2},
        {"rounding": 7},
        {"rounding": "nearest"},
        {"zero_point": 128},
        {"low": -129},
        {"high": 128},
        {"low": 1, "high": 0},
    ],
)
def test_refuses_parameters_out_of_range(change: dict) -> None:
    with pytest.raises(ValueError, match=r"must"):
        requantize(np.zeros(2, dtype=np.int32), **{"multiplier": 2**30, **change})


@settings(max_examples=1000)
@given(int32, parameters())
def test_steps_of_a_requantization_end_in_its_result(acc: int, p: dict[str, int]) -> None:
    assert explain_requantize(acc, **p)[-1][1] == requantize(acc, **p)


@settings(max_examples=1000)
@given(int32, int32, st.integers(-31, 30), st.booleans())
def test_steps_of_a_multiplication_end_in_its_result(
    x: int, multiplier: int, shift: int, single: bool
) -> None:
    expected = multiply_by_quantized_multiplier(x, multiplier, shift, single=single)
    assert explain_multiplication(x, multiplier, shift, single=single)[-1][1] == expected


def test_steps_state_the_formula_with_its_numbers():
    steps = explain_requantize(100, multiplier=1 << 30, bias=5, left=2, right=3, zero_point=-3)
    assert step_lines(steps) == [
        "wrap32(100 + bias 5) = 105",
        "wrap32(105 << left 2) = 420",
        "SRDHM(420, multiplier 1073741824) = 210",
        "rounding_shift(210, right 3, half_away) = 26",
        "wrap32(26 + zero point -3) = 23",
        "clamp(23, low -128, high 127) = 23",
    ]


def test_steps_of_a_single_rounding():
    steps = explain_requantize(-3, multiplier=3, right=1, single=1, rounding="half_up", high=-7)
    assert step_lines(steps)[2:] == [
        "-3 * multiplier 3 = -9",
        "rounding_shift(-9, right 1, half_up) = -4",
        "-4 + zero point 0 = -4",
        "clamp(-4, low -128, high -7) = -7",
    ]


def test_parameters_out_of_range_are_refused():
    with pytest.raises(ValueError, match="left must be in 0..30"):
        explain_requantize(1, multiplier=1, left=31)


CHANNELS = 5
BOUNDS = [(-128, 127), (-128, 0), (-5, 90), (17, 17)]


def equals_the_integers(raw: np.ndarray, dtype: type, *known: Any) -> bool:
    """Compare the sums of channels in floats with the integers; return False if those must do."""
    _, addend, multiplier, shift, zero_point, bounds = known
    run = float_requantizer(Channels(*known), len(raw))
    if run is None:
        return False
    scaled = multiply_by_quantized_multiplier(raw + addend, multiplier, shift)
    expected = np.clip(scaled + zero_point, *bounds).astype(np.int8)
    np.testing.assert_array_equal(run(raw.astype(dtype)), expected)
    return True


def near_steps(
    bound: np.ndarray, addend: np.ndarray, multiplier: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """Return raw sums within ``bound``: around every half code, and random ones."""
    rng = np.random.default_rng(int(bound.sum()) & 0xFFFF)
    real = np.ldexp(np.maximum(multiplier, 1).astype(float), shift - 31)
    halves = np.arange(-600, 601)[:, None] / 2
    middle = np.rint(np.clip(halves / real, -(2.0**40), 2.0**40)).astype(np.int64) - addend
    around = (middle[None] + np.arange(-2, 3)[:, None, None]).reshape(-1, bound.size)
    anywhere = rng.integers(-bound, bound + 1, (2000, bound.size))
    return np.clip(np.concatenate([around, anywhere]), -bound, bound)


@pytest.mark.slow
@pytest.mark.parametrize("right", range(-6, 32))
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usual("right")
def test_equals_the_integers(right: int, seed: int) -> None:
    rng = np.random.default_rng([right + 6, seed])
    multiplier = rng.integers(2**30, 2**31, CHANNELS)
    multiplier[:2] = 2**30, rng.choice([2**31 - 1, 3 * 2**29, 2**30 + 1])
    shift = np.full(CHANNELS, -right)
    shift[-1] = -max(0, right - 3)
    bound = rng.integers(1, 2 ** int(np.clip(right + 9, 3, 29)), CHANNELS)
    if right < 0:
        bound = np.minimum(bound, 2 ** (28 + right))
    addend = rng.integers(-bound, bound + 1) * int(rng.integers(2))
    zero_point = int(rng.choice([-128, -5, 0, 127]))
    raw = near_steps(bound, addend, multiplier, shift)
    known = bound, addend, multiplier, shift, zero_point
    done = [equals_the_integers(raw, np.float64, *known, bounds) for bounds in BOUNDS]
    assert any(done) or right > 12


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_channel_of_one_code_needs_no_exact_product(bounds: tuple[int, int]) -> None:
    multiplier, shift = np.array([2**31 - 1, 2**30 + 7]), np.array([-28, -9])
    bound = np.array([100, 90000])
    addend = np.array([2**30, -70])
    raw = np.random.default_rng(0).integers(-bound, bound + 1, (96, 2))
    assert equals_the_integers(raw, np.float32, bound, addend, multiplier, shift, 3, bounds)


def test_rounding_twice_is_seen() -> None:
    # 2^30 * 23 / 2^34 = 1.4375: first 11.5 to 12, then 12 / 8 = 1.5 to 2.
    one = np.array([1])
    known = Channels(23 * one, 0 * one, 2**30 * one, -3 * one, 0, (-128, 127))
    run = FloatRequantizer(known, 2)
    np.testing.assert_array_equal(run(np.array([[23.0], [-23.0]])), [[2], [-1]])
    integers = multiply_by_quantized_multiplier(np.array([23, -23]), 2**30, -3)
    np.testing.assert_array_equal(integers, [2, -1])


@pytest.mark.parametrize(
    ("bound", "shift", "zero_point", "bounds"),
    [
        (2**31, -9, 0, (-128, 127)),
        (2**28, 2, 0, (-128, 127)),
        (2**30, -32, 0, (-128, 127)),
        (1000, -9, 128, (-128, 127)),
        (1000, -9, 0, (5, 4)),
        (1000, -9, 0, (-129, 4)),
    ],
)
def test_what_may_wrap_is_left_to_the_integers(
    bound: int, shift: int, zero_point: int, bounds: tuple[int, int]
) -> None:
    one = np.array([1])
    arguments = bound * one, 0 * one, 2**30 * one, shift * one
    assert float_requantizer(Channels(*arguments, zero_point, bounds), 1) is None


def test_many_sums_are_worked_on_in_blocks() -> None:
    rng = np.random.default_rng(1)
    bound = np.full(3, 10**5)
    multiplier = rng.integers(2**30, 2**31, 3)
    shift = np.full(3, -9)
    addend = np.array([5, -77, 123456])
    raw = rng.integers(-(10**5), 10**5 + 1, (50_001, 3))
    known = bound, addend, multiplier, shift, -1, (-128, 127)
    assert equals_the_integers(raw, np.float32, *known)
