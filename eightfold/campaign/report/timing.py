"""When a campaign ran and what its units took, and charts of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eightfold.campaign.results import Results, Spent
from eightfold.run.report.charts import MUTED, SERIES, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]

WIDTH, HEIGHT = 580, 240
"""Of a chart, in pixels."""

_BARS = 60
_LONG = 600.0  # seconds from which on minutes are shown


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A time during which units ran.

    ``start`` and ``end`` are seconds since 1970, ``worked`` is its start on a clock that stands
    still while no units run.
    """

    start: float
    end: float
    worked: float


def intervals(results: Results) -> list[Interval]:
    """Return when units ran; sessions at the same time, of merged campaigns, are one interval."""
    ended = [spent.ended for spent in results.spent()]
    sessions = results.sessions()
    joined: list[list[float]] = []
    for number, (start, end, _, _) in enumerate(sessions):
        if end is None:  # it was killed, or runs: known is when its last unit ended
            later = sessions[number + 1][0] if number + 1 < len(sessions) else float("inf")
            end = max((moment for moment in ended if start <= moment <= later), default=start)
        end = max(start, end)  # somebody may have set the clock back
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    found, before = [], 0.0
    for start, end in joined:
        found.append(Interval(start=start, end=end, worked=before))
        before += end - start
    return found


def working_time(moment: float, ran: Sequence[Interval]) -> float:
    """Return the seconds that a campaign had run at a moment."""
    for interval in reversed(ran):
        if moment >= interval.start:
            return interval.worked + min(moment, interval.end) - interval.start
    return 0.0


def worked(ran: Sequence[Interval]) -> float:
    """Return the seconds that a campaign has run."""
    return working_time(float("inf"), ran)


def by_column(spent: Sequence[Spent]) -> dict[str, list[Spent]]:
    """Return the units of each column: a colour of the charts each."""
    found: dict[str, list[Spent]] = {}
    for each in spent:
        found.setdefault(each.unit.column, []).append(each)
    return dict(sorted(found.items()))


def rate_chart(columns: Mapping[str, Sequence[Spent]], ran: Sequence[Interval]) -> str:
    """Return an SVG of the cases per second over the time that the campaign ran."""
    total = max(worked(ran), 1e-3)
    scale, unit = (60.0, "minutes") if total >= _LONG else (1.0, "seconds")
    edges = np.linspace(0, total, _BARS + 1)
    rates = [_rates(units, ran, edges) for units in columns.values()]

    def draw(axes: "Axes") -> None:
        _stack(axes, edges / scale, rates)
        for interval in ran[1:]:
            axes.axvline(interval.worked / scale, color=MUTED, linewidth=1, linestyle="--")
        axes.set_xlim(0, total / scale)
        axes.set_xlabel(f"{unit} of running")
        axes.set_ylabel("cases per second")

    label = f"cases per second over {total / scale:.1f} {unit}"
    return chart(draw, width=WIDTH, height=HEIGHT, label=label)


def _rates(units: Sequence[Spent], ran: Sequence[Interval], edges: np.ndarray) -> np.ndarray:
    """Return the cases per second between edges; a unit's cases are spread over its seconds."""
    ended = np.array([[working_time(each.ended, ran)] for each in units])
    seconds = np.array([[max(each.seconds, 1e-3)] for each in units])
    counts = np.array([each.unit.count for each in units])
    done = np.clip((edges - ended + seconds) / seconds, 0, 1)
    return np.diff(counts @ done) / np.diff(edges)


def seconds_chart(columns: Mapping[str, Sequence[Spent]]) -> str:
    """Return an SVG of how many units took how many seconds."""
    seconds = {
        column: [max(each.seconds, 1e-3) for each in units] for column, units in columns.items()
    }
    every = [value for values in seconds.values() for value in values]
    edges = np.geomspace(min(every) / 1.1, max(every) * 1.1, _BARS + 1)
    counts = [np.histogram(values, edges)[0] for values in seconds.values()]

    def draw(axes: "Axes") -> None:
        _stack(axes, edges, counts)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel("seconds per unit")
        axes.set_ylabel("units")

    label = f"seconds of {len(every)} units, {min(every):.3g} to {max(every):.3g}"
    return chart(draw, width=WIDTH, height=HEIGHT, label=label)


def _stack(axes: "Axes", edges: np.ndarray, series: Sequence[np.ndarray]) -> None:
    lower = np.zeros(_BARS)
    for number, heights in enumerate(series):
        colour = SERIES[number % len(SERIES)]
        axes.bar(edges[:-1], heights, np.diff(edges), lower, align="edge", color=colour)
        lower = lower + heights
    axes.grid(axis="y")
    axes.locator_params(axis="y", integer=True)
