"""Primitives and rounding modes against exact integers and fractions, and the kernels' values."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eightfold.golden import fixed_point, fixed_point_log, fixed_point_math
from eightfold.golden.errors import AbortedError, UndefinedError
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.golden.rounding import ROUNDINGS, round_half_away, rounding_shift
from eightfold.isa import Rounding
from tests.support.models.exact_arithmetic import EXACT, exact_multiply, int32

KNOWN: dict[Callable, dict[tuple, int | tuple[int, int]]] = {
    fixed_point.quantize_multiplier: {
        (0.0,): (0, 0),
        (1.0,): (2**30, 1),
        (0.5,): (2**30, 0),
        (0.1,): (1717986918, -3),
        (1 / 3,): (1431655765, -1),
        (3.7,): (1986422374, 2),
        (2.0**-32,): (2**30, -31),
        (2.0**-33,): (0, 0),
        (np.nextafter(1.0, 0.0),): (2**30, 1),
        (-0.75,): (-1610612736, 0),
    },
    fixed_point.multiply_by_quantized_multiplier: {
        (1, 2**30, -1): 1,
        (-1, 2**30, -1): 0,
        (3, 2**30, -1): 1,
        (-3, 2**30, -1): -1,
        (5, 2**30, -1): 2,
        (-5, 2**30, -1): -1,
        (100, 1717986918, -3): 10,
        (1000, 1431655765, -4): 42,
        (2**30, 2**30, 2): 0,
    },
    fixed_point_math.exp_on_negative: {
        (-1, 5): 2147483124,
        (-(2**24), 5): 1672462419,
        (-(2**25), 5): 1302515042,
        (-(2**26), 5): 790015308,
        (-31 * 2**26, 5): 0,
        (0, 5): INT32_MAX,
    },
    fixed_point_math.one_over_one_plus: {
        (0,): INT32_MAX,
        (2**29,): 1717986914,
        (2**30,): 1431655762,
        (INT32_MAX,): 1073741820,
    },
    fixed_point_math.one_minus_over_one_plus: {(2**29,): 1288490180, (2**30,): 715827876},
    fixed_point_math.logistic: {(2**27, 4): 1569936226, (-(2**27), 4): 577547421, (0, 4): 2**30},
    fixed_point_math.tanh: {
        (2**26, 4): 992388804,
        (-(2**26), 4): -992388804,
        (2**27, 4): 1635510876,
        (0, 4): 0,
    },
    fixed_point_math.reciprocal: {
        (2**19, 12): (INT32_MAX, 0),
        (3 * 2**18, 12): (1431655762, 0),
        (10 * 2**19, 12): (1717986914, 3),
    },
    fixed_point_log.log: {
        (2**19, 12, 5): 0,
        (3 * 2**18, 12, 5): 27210304,
        (2**20, 12, 5): 46516320,
        (10 * 2**19, 12, 5): 154523870,
        (511 * 2**19, 12, 5): 418515678,
    },
    fixed_point_log.inverse_square_root: {
        (0,): (2**31 - 1, 0),
        (1,): (2**31 - 1, 0),
        (2,): (1518498372, 0),
        (100,): (214748363, 0),
        (65025,): (269488147, -5),
        (10**6,): (274877901, -7),
    },
}
"""What the kernels' own arithmetic gives, by function and arguments."""


@pytest.mark.parametrize("function", KNOWN, ids=lambda function: function.__name__)
def test_known_values(function: Callable) -> None:
    for arguments, expected in KNOWN[function].items():
        np.testing.assert_array_equal(function(*arguments), expected, str(arguments))


@given(st.integers(-(2**62), 2**62))
def test_wrap32_is_the_residue_in_int32(x: int) -> None:
    assert int(fixed_point.wrap32(x)) == (x + 2**31) % 2**32 - 2**31


@given(int32, int32)
def test_srdhm_rounds_ties_up_and_saturates(a: int, b: int) -> None:
    expected = min((a * b * 2 + 2**31) // 2**32, INT32_MAX)
    assert int(fixed_point.srdhm(a, b)) == expected


@given(int32, st.integers(0, 31))
def test_rounding_divide_by_pot_rounds_ties_away(x: int, e: int) -> None:
    expected = EXACT["half_away"](Fraction(x, 2**e))
    assert int(fixed_point.rounding_divide_by_pot(x, e)) == expected


@given(st.floats(min_value=2.0**-40, max_value=2.0**40))
def test_quantize_multiplier_is_within_half_a_unit(d: float) -> None:
    m, shift = (int(part) for part in fixed_point.quantize_multiplier(d))
    if m == 0:
        assert shift == 0
        assert d < 2.0**-32
        return
    assert 2**30 <= m < 2**31
    assert shift >= -31
    unit = Fraction(2) ** (shift - 31)
    assert abs(m * unit - Fraction(d)) <= unit / 2


@pytest.mark.parametrize("d", [np.inf, -np.inf, np.nan])
def test_quantize_multiplier_is_undefined_unless_finite(d: float) -> None:
    with pytest.raises(UndefinedError):
        fixed_point.quantize_multiplier(d)


@given(int32, st.integers(2**30, INT32_MAX), st.integers(-31, 31))
def test_multiply_rounds_twice(x: int, multiplier: int, shift: int) -> None:
    got = fixed_point.multiply_by_quantized_multiplier(x, multiplier, shift)
    assert int(got) == exact_multiply(x, multiplier, shift)


@given(st.integers(-(2**20), 2**20), st.integers(2**30, INT32_MAX), st.integers(-31, 10))
def test_multiply_rounds_once_if_asked(x: int, multiplier: int, shift: int) -> None:
    got = fixed_point.multiply_by_quantized_multiplier(x, multiplier, shift, single=True)
    assert int(got) == (x * multiplier + 2 ** (30 - shift)) // 2 ** (31 - shift)


@pytest.mark.parametrize(("shift", "single"), [(32, False), (-32, False), (31, True)])
def test_multiply_is_undefined_outside_its_shifts(shift: int, single: bool) -> None:
    with pytest.raises(UndefinedError):
        fixed_point.multiply_by_quantized_multiplier(1, 2**30, shift, single=single)


@pytest.mark.parametrize(
    ("bound", "values"),
    [
        ("smaller", [0.0, 1.0, 1.5, -0.5, np.nextafter(1.0, 0.0), np.nan]),
        ("greater", [0.0, 1.0, 0.5, np.nan]),
    ],
)
def test_smaller_or_greater_than_one_aborts_elsewhere(bound: str, values: list[float]) -> None:
    for d in values:
        with pytest.raises(AbortedError):
            getattr(fixed_point, f"quantize_multiplier_{bound}_than_one")(d)


@given(int32, st.integers(0, 31))
def test_saturating_shift_left_clamps(x: int, e: int) -> None:
    expected = max(INT32_MIN, min(INT32_MAX, x * 2**e))
    assert int(fixed_point.saturating_shift_left(x, e)) == expected


@given(int32, int32)
def test_half_sum_rounds_halves_away(a: int, b: int) -> None:
    assert int(fixed_point.half_sum(a, b)) == EXACT["half_away"](Fraction(a + b, 2))


@given(st.integers(INT32_MIN, INT32_MAX))
def test_count_leading_zeros_reads_a_uint32(x: int) -> None:
    assert int(fixed_point.count_leading_zeros(x)) == 32 - (x % 2**32).bit_length()


def test_primitives_work_elementwise() -> None:
    x = np.array([[100, -100, 7], [2**30, -(2**31), 0]])
    multiplier, shift = np.array([1717986918, 2**30, 2**31 - 1]), np.array([-3, 1, 31])
    got = fixed_point.multiply_by_quantized_multiplier(x, multiplier, shift)
    columns = zip(multiplier.tolist(), shift.tolist(), strict=True)
    pairs = list(columns)
    expected = [
        [exact_multiply(v, *pair) for v, pair in zip(row, pairs, strict=True)] for row in x.tolist()
    ]
    np.testing.assert_array_equal(got, expected)


@given(st.integers(INT32_MIN, 0), st.integers(0, 6))
def test_exp_is_close_to_the_real_one(a: int, integer_bits: int) -> None:
    got = int(fixed_point_math.exp_on_negative(a, integer_bits))
    assert abs(got / 2**31 - np.exp(a / 2 ** (31 - integer_bits))) < 1e-6


@given(st.integers(2**19, 2**31 - 1))
def test_log_is_close_to_the_real_one(x: int) -> None:
    assert abs(int(fixed_point_log.log(x, 12, 5)) / 2**26 - math.log(x / 2**19)) < 1e-6


@given(st.lists(st.integers(2, 2**31 - 1), min_size=1, max_size=5))
def test_inverse_square_root_is_close_to_the_real_one(x: list[int]) -> None:
    multiplier, shift = fixed_point_log.inverse_square_root(x)
    assert np.all(shift <= 0)
    np.testing.assert_allclose(multiplier * 2.0 ** (shift - 31), 1 / np.sqrt(x), rtol=2e-6)


def test_softmax_scaling_known_values() -> None:
    multiplier, shift = fixed_point_math.softmax_scaling(1.0, np.float32(0.1))
    assert (multiplier, shift) == (1717986944, 23)
    assert fixed_point_math.input_radius(5, shift) == 248
    assert fixed_point_math.softmax_scaling(1.0, np.float32(100)) == (INT32_MAX, 31)
    with pytest.raises(AbortedError):
        fixed_point_math.softmax_scaling(1.0, np.float32(2.0**-26))


values = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.builds(lambda k, e: k << e, st.integers(-9, 9), st.integers(0, 59)),
)


def test_names_and_codes_are_those_of_the_command_words() -> None:
    assert [(rounding.name.lower(), rounding.value) for rounding in Rounding] == [
        (name, code) for code, name in enumerate(ROUNDINGS)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ROUNDINGS)
@given(x=values, e=st.integers(0, 62))
@example(x=-(2**63), e=62)
@example(x=2**63 - 1, e=62)
@example(x=-(2**61), e=62)
@example(x=2**61, e=62)
@example(x=-1, e=0)
def test_shift_is_the_rounded_quotient(rounding: str, x: int, e: int) -> None:
    assert int(rounding_shift(x, e, rounding)) == EXACT[rounding](Fraction(x, 2**e))


@given(st.lists(st.tuples(values, st.integers(0, 62), st.integers(0, 6)), min_size=1))
def test_codes_may_differ_per_element(rows: list[tuple[int, int, int]]) -> None:
    x, e, codes = (list(column) for column in zip(*rows, strict=True))
    expected = [EXACT[ROUNDINGS[c]](Fraction(v, 2**s)) for v, s, c in rows]
    np.testing.assert_array_equal(rounding_shift(x, e, codes), expected)


@pytest.mark.parametrize(
    ("e", "rounding"), [(-1, 0), (63, 0), (1, 7), (1, -1), (1, "nearest"), (1, [0, 7]), (1, 0.5)]
)
def test_refuses_what_does_not_exist(e: int, rounding: str | list[int]) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        rounding_shift(1, e, rounding)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(x=st.floats(min_value=-(2.0**31), max_value=2.0**31, width=32))
@example(x=0.49999997)
@example(x=-0.5)
@example(x=8388609.0)
def test_round_half_away_in_the_type_of_its_argument(dtype: type, x: float) -> None:
    got = round_half_away(dtype(x))
    assert got.dtype == dtype
    assert int(got) == EXACT["half_away"](Fraction(float(dtype(x))))


def test_round_half_away_just_below_a_half() -> None:
    assert round_half_away(np.float64(0.49999999999999994)) == 0
