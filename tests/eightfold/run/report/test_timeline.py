"""The axis of cycles."""

import numpy as np
import pytest

from eightfold.run.report.timeline import LEFT, Axis, shares, ticks


@pytest.mark.parametrize(
    ("total", "count", "base", "expected"),
    [
        (100, 5, 10, [0, 20, 40, 60, 80, 100]),
        (99, 5, 10, [0, 20, 40, 60, 80]),
        (13_930, 11, 10, list(range(0, 13_930, 2000))),
        (7, 100, 10, [0, 1, 2, 3, 4, 5, 6, 7]),
        (3072, 6, 2, [0, 512, 1024, 1536, 2048, 2560, 3072]),
        (0, 6, 2, [0]),
    ],
)
def test_ticks_are_round(total: int, count: int, base: int, expected: list[int]) -> None:
    assert list(ticks(total, count, base)) == expected


def test_cycles_have_places() -> None:
    axis = Axis(1000, 500)
    assert [axis.x(cycle) for cycle in (0, 1, 1000)] == [LEFT, LEFT + 0.5, LEFT + 500]
    assert Axis(0, 500).x(0) == LEFT
    assert list(axis.ticks()) == [(LEFT + 100.0 * i, f"{200 * i:,}") for i in range(6)]


def test_an_area_is_between_two_step_functions() -> None:
    path = Axis(4, 40).area(np.zeros(4), np.array([0, 1, 1, 0.5]), 10, 20)
    x = [LEFT + 10 * i for i in range(5)]
    assert path == (
        f"M{x[0]},30L{x[1]},30L{x[1]},10L{x[3]},10L{x[3]},20L{x[4]},20L{x[4]},30L{x[0]},30Z"
    )


def test_shares_are_counts_per_cycle() -> None:
    cycles, counts = np.array([0, 10, 20, 40]), np.array([0, 10, 10, 20])
    assert shares(cycles, counts, 40, 4).tolist() == [1, 0, 0.5, 0.5]
    assert shares(cycles, counts, 40, 1).tolist() == [0.5]
