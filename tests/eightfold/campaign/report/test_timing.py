"""When a campaign ran: sessions, killed ones, and those of merged campaigns at the same time."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from eightfold.campaign.records import Unit
from eightfold.campaign.report.facts import (
    _rates,
    by_column,
    intervals,
    rate_chart,
    seconds_chart,
    worked,
    working_time,
)
from eightfold.campaign.store import Results, Spent


def spent(ended: float, backend: str = "golden") -> Spent:
    """Return a unit that ended at a moment."""
    unit = Unit(suite="operators", operator="ADD", first=0, count=10, backend=backend)
    return Spent(unit=unit, seconds=1.5, ended=ended, worker="a", state="done")


def results(sessions: list[tuple], ended: list[float]) -> Results:
    """Return what stands in for a database."""
    found: Any = SimpleNamespace(
        sessions=lambda: sessions, spent=lambda: [spent(moment) for moment in ended]
    )
    return cast(Results, found)


@pytest.mark.parametrize(
    ("sessions", "ended", "expected"),
    [
        ([(0, 10, 1, "complete")], [], [(0, 10)]),
        ([(0, 10, 1, "interrupted"), (50, 60, 1, "complete")], [], [(0, 10), (50, 60)]),
        ([(0, 10, 1, "complete"), (5, 20, 1, "complete")], [], [(0, 20)]),
        ([(0, 30, 1, "complete"), (5, 20, 1, "complete")], [], [(0, 30)]),
        ([(0, None, 1, None)], [4, 8], [(0, 8)]),
        ([(0, None, 1, None), (50, 60, 1, "complete")], [4, 8, 55], [(0, 8), (50, 60)]),
        ([(0, None, 1, None)], [], [(0, 0)]),
        ([], [], []),
    ],
)
def test_intervals(sessions: list[tuple], ended: list[float], expected: list[tuple]) -> None:
    ran = intervals(results(sessions, ended))
    assert [(interval.start, interval.end) for interval in ran] == expected
    assert worked(ran) == sum(end - start for start, end in expected)


def test_the_clock_stands_still_while_nothing_runs() -> None:
    ran = intervals(results([(100, 110, 1, ""), (500, 530, 1, "")], []))
    times = [working_time(moment, ran) for moment in (50, 100, 104, 110, 300, 500, 501, 999)]
    assert times == [0, 0, 4, 10, 10, 10, 11, 40]


def test_the_cases_of_a_unit_are_spread_over_its_seconds() -> None:
    ran = intervals(results([(0, 4, 1, "complete")], []))
    edges = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    # Ten cases each: in 1.5 to 3, and in 2.5 to 4.
    assert _rates([spent(3), spent(4)], ran, edges) == pytest.approx(
        [0, 10 / 3, 20 / 3 + 10 / 3, 20 / 3]
    )


def test_charts_say_their_range() -> None:
    columns = by_column([spent(8), spent(900, "icarus"), spent(900)])
    assert list(columns) == ["golden", "icarus"]
    ran = intervals(results([(0, 900, 1, "complete")], []))
    rate, seconds = rate_chart(columns, ran), seconds_chart(columns)
    assert 'aria-label="cases per second over 15.0 minutes"' in rate
    assert "minutes of running" in rate
    assert 'aria-label="seconds of 3 units, 1.5 to 1.5"' in seconds
    for svg in (rate, seconds):
        assert "var(--series-1)" in svg
        assert "var(--series-2)" in svg
