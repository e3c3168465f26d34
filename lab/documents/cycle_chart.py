"""The chart of cycles per operator, against what the multipliers need; needs matplotlib."""

from collections.abc import Sequence
from io import StringIO
from typing import Any

from eightfold.common.extras import needs_extra, require_module
from eightfold.run.report import RunResult, mac_limit
from lab.documents.cycles import Measurement
from lab.documents.part import number, percent

COLUMNS = 2
ROW = 0.19
"""Inches of a bar."""

PANEL, HEAD, FOOT = 0.75, 0.55, 0.35
"""Inches between panels, above the first and below the last one."""

WIDTH, LEFT, GAP = 11.0, 1.75, 0.35
"""Inches of the chart, in front of a panel's bars, and behind them."""

LIMIT, BEYOND, INK = "#1f6feb", "#f0b37e", "#1f2328"

# Typed loosely: matplotlib lists every key that it allows, where it is installed.
STYLE: Any = {
    "svg.hashsalt": "eightfold",  # the same names of elements each time
    "svg.fonttype": "none",
    "font.size": 8,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@needs_extra("docs", "the chart")
def require_matplotlib() -> None:
    """Raise InputError if matplotlib is not there: better before the simulations than after."""
    require_module("matplotlib")


def chart(measurements: Sequence[Measurement]) -> str:
    """Return an SVG, the same bytes for the same figures: a panel per network, a bar per operator.

    A bar is the operator's cycles; its dark part is `mac_limit`.
    """
    from matplotlib import rc_context  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    places, height = _places([len(item.result.operators) for item in measurements])
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), facecolor="white")
        for item, (column, top, rows) in zip(measurements, places, strict=True):
            step = WIDTH / COLUMNS
            box = (
                (column * step + LEFT) / WIDTH,
                1 - (top + rows * ROW) / height,
                (step - LEFT - GAP) / WIDTH,
                rows * ROW / height,
            )
            _panel(figure.add_axes(box), item)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower right", ncols=2, frameon=False)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _places(sizes: Sequence[int]) -> tuple[list[tuple[int, float, int]], float]:
    """Return column, top in inches and rows of each panel, and the chart's height.

    Each panel goes to the column that is shortest so far.
    """
    ends = [HEAD] * COLUMNS
    places = []
    for rows in sizes:
        column = ends.index(min(ends))
        places.append((column, ends[column], rows))
        ends[column] += rows * ROW + PANEL
    return places, max(ends) - PANEL + HEAD + FOOT


def _panel(axes: Any, item: Measurement) -> None:
    result = item.result
    names = [f"{operator.index} {operator.name}" for operator in result.operators]
    cycles, limits = _bars(result)
    rows = range(len(names))
    axes.barh(rows, cycles, color=BEYOND, label="cycles")
    axes.barh(rows, limits, color=LIMIT, label="of them, limit of the multipliers")
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="x", color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right"]].set_visible(False)
    used = percent(item.limit, item.cycles)
    *_, (label, _) = item.labelled()
    axes.set_title(
        f"{label} on {result.config}: {number(item.cycles)} cycles, {used}",
        loc="left",
        fontweight="bold",
    )


def _bars(result: RunResult) -> tuple[list[int], list[int]]:
    """Return cycles and limit of each operator; work that ends later has none left of its own."""
    cycles = [operator.cycles or 0 for operator in result.operators]
    macs = [operator.hardware_macs or 0 for operator in result.operators]
    limits = [mac_limit(count, result.macs_per_cycle) for count in macs]
    return cycles, [min(pair) for pair in zip(cycles, limits, strict=True)]
