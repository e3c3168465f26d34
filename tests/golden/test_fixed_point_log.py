"""Logarithm and inverse square root in fixed point: known values, and nearness to the real ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eightfold.golden.fixed_point_log import inverse_square_root, log


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (2**19, 0),
        (3 * 2**18, 27210304),
        (2**20, 46516320),
        (10 * 2**19, 154523870),
        (511 * 2**19, 418515678),
    ],
)
def test_log_known_values(x: int, expected: int) -> None:
    assert int(log(x, 12, 5)) == expected


@given(st.integers(2**19, 2**31 - 1))
def test_log_is_close_to_the_real_one(x: int) -> None:
    assert abs(int(log(x, 12, 5)) / 2**26 - math.log(x / 2**19)) < 1e-6


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0, (2**31 - 1, 0)),
        (1, (2**31 - 1, 0)),
        (2, (1518498372, 0)),
        (100, (214748363, 0)),
        (65025, (269488147, -5)),
        (10**6, (274877901, -7)),
    ],
)
def test_inverse_square_root_known_values(x: int, expected: tuple[int, int]) -> None:
    multiplier, shift = inverse_square_root(x)
    assert (int(multiplier), int(shift)) == expected


@given(st.lists(st.integers(2, 2**31 - 1), min_size=1, max_size=5))
def test_inverse_square_root_is_close_to_the_real_one(x: list[int]) -> None:
    multiplier, shift = inverse_square_root(x)
    assert np.all(shift <= 0)
    np.testing.assert_allclose(multiplier * 2.0 ** (shift - 31), 1 / np.sqrt(x), rtol=2e-6)
