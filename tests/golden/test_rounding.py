"""The seven rounding modes against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eightfold.golden.rounding import ROUNDINGS, round_half_away, rounding_shift
from eightfold.isa import Rounding
from tests.support.models.exact_arithmetic import EXACT

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
