"""The bins of a requantization are those that its arithmetic says."""

import numpy as np
import pytest

from eightfold.golden.rounding import ROUNDINGS
from lab.coverage.requantizations import PAIR_SHIFTS, SINGLE_SHIFTS, requantization

UNIT = {"multiplier": 1 << 30, "low": -128, "high": 127}
"""Half of the accumulator, as a pair."""


@pytest.mark.parametrize(
    ("left", "right", "name"),
    [
        (30, 0, PAIR_SHIFTS[0]),
        (8, 0, PAIR_SHIFTS[0]),
        (7, 0, PAIR_SHIFTS[1]),
        (1, 0, PAIR_SHIFTS[1]),
        (0, 0, PAIR_SHIFTS[2]),
        (0, 1, PAIR_SHIFTS[3]),
        (0, 7, PAIR_SHIFTS[3]),
        (0, 8, PAIR_SHIFTS[4]),
        (0, 16, PAIR_SHIFTS[5]),
        (0, 30, PAIR_SHIFTS[5]),
        (0, 31, PAIR_SHIFTS[6]),
    ],
)
def test_pair_shift(left: int, right: int, name: str) -> None:
    labels = requantization(0, {**UNIT, "left": left, "right": right})
    assert labels["pair shift"] == {name}
    assert labels["form"] == {"pair"}
    assert not labels["single shift"]


@pytest.mark.parametrize(("right", "place"), [(0, 0), (30, 0), (31, 1), (39, 2), (47, 3), (62, 3)])
def test_single_shift(right: int, place: int) -> None:
    labels = requantization(0, {**UNIT, "single": 1, "right": right})
    assert labels["single shift"] == {SINGLE_SHIFTS[place]}
    assert not labels["pair shift"]


@pytest.mark.parametrize(
    ("acc", "ties"), [(4, {"positive"}), (-4, {"negative"}), (8, set()), (0, set()), (5, set())]
)
def test_tie(acc: int, ties: set[str]) -> None:
    """4 / 2 / 4 is a half; 5 / 2 is rounded to 3 first, which is none."""
    assert requantization(acc, {**UNIT, "right": 2})["tie"] == ties


@pytest.mark.parametrize(("acc", "ties"), [(3, {"positive"}), (-3, {"negative"}), (2, set())])
def test_product_tie(acc: int, ties: set[str]) -> None:
    assert requantization(acc, UNIT)["product tie"] == ties


@pytest.mark.parametrize(
    ("acc", "name"), [(254, "within"), (256, "above"), (-256, "within"), (-258, "below")]
)
def test_saturation(acc: int, name: str) -> None:
    assert requantization(acc, UNIT)["saturation"] == {name}


def test_several_channels_show_several_bins() -> None:
    labels = requantization(
        np.array([[4, -600]]),
        {**UNIT, "right": np.array([2, 0]), "multiplier": np.array([1 << 30, 1234567891])},
    )
    assert labels["tie"] == {"positive"}
    assert labels["saturation"] == {"within", "below"}
    assert labels["multiplier"] == {"a power of two", "another"}


def test_overflow_rounding_and_multiplier() -> None:
    labels = requantization(2**31 - 1, {**UNIT, "bias": 1})
    assert labels["overflow"] == {"bias"}
    assert requantization(2**30, {**UNIT, "left": 1})["overflow"] == {"left shift"}
    assert requantization(0, {"rounding": 3})["rounding"] == {ROUNDINGS[3]}
    assert requantization(0, {})["multiplier"] == {"0"}
