"""The bins of a requantization are those that its arithmetic says."""

import numpy as np
import pytest

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
    assert not labels["single shift"]


@pytest.mark.parametrize(("right", "place"), [(0, 0), (30, 0), (31, 1), (39, 2), (47, 3), (62, 3)])
def test_single_shift(right: int, place: int) -> None:
    labels = requantization(0, {**UNIT, "single": 1, "right": right})
    assert labels["single shift"] == {SINGLE_SHIFTS[place]}
    assert not labels["pair shift"]


@pytest.mark.parametrize(
    ("label", "acc", "fields", "names"),
    [
        # 4 / 2 / 4 is a half; 5 / 2 is rounded to 3 first, which is none.
        *(("tie", acc, {"right": 2}, {"positive"} if acc == 4 else set()) for acc in (4, 8, 0, 5)),
        ("tie", -4, {"right": 2}, {"negative"}),
        ("product tie", 3, {}, {"positive"}),
        ("product tie", -3, {}, {"negative"}),
        ("product tie", 2, {}, set()),
        ("saturation", 254, {}, {"within"}),
        ("saturation", 256, {}, {"above"}),
        ("saturation", -256, {}, {"within"}),
        ("saturation", -258, {}, {"below"}),
        ("overflow", 2**31 - 1, {"bias": 1}, {"bias"}),
        ("overflow", 2**30, {"left": 1}, {"left shift"}),
        ("multiplier", 0, {"multiplier": 0}, {"0"}),
    ],
)
def test_other_labels(label: str, acc: int, fields: dict[str, int], names: set[str]) -> None:
    assert requantization(acc, UNIT | fields)[label] == names


def test_several_channels_show_several_bins() -> None:
    labels = requantization(
        np.array([[4, -600]]),
        {**UNIT, "right": np.array([2, 0]), "multiplier": np.array([1 << 30, 1234567891])},
    )
    assert labels["tie"] == {"positive"}
    assert labels["saturation"] == {"within", "below"}
    assert labels["multiplier"] == {"a power of two", "another"}
