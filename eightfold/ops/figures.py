"""The measured figures as a file, and what follows from them: throughput and how cycles grow."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from eightfold.common.files import write_file
from eightfold.ops.catalogue import SERIES
from eightfold.ops.series import Series

FILE = Path(__file__).with_name("figures.json")
"""What ``eightfold ops --measure`` writes."""


@dataclass(frozen=True)
class Figure:
    """What a model asked for, and the cycles it took; see `eightfold.ops.measure`.

    Attributes
    ----------
    elements, units
        As `eightfold.ops.subject.Work` says.
    macs
        Multiply-accumulates.
    cycles
        Operands and result in the scratchpad.
    from_memory
        Operands and result in memory: from doorbell to done.
    """

    elements: int
    units: int | None
    macs: int
    cycles: int
    from_memory: int


Figures = dict[str, dict[str, list[Figure]]]
"""By operator and label of the series, in the order of `eightfold.ops.subject.SIZES`."""


def save(figures: Figures, path: Path = FILE) -> None:
    """Write figures, a line per series.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    operators = []
    for name, series in sorted(figures.items()):
        lines = [
            f"  {json.dumps(label)}: {json.dumps([astuple(figure) for figure in found])}"
            for label, found in series.items()
        ]
        operators.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    write_file(path, "{\n" + ",\n".join(operators) + "\n}\n")


@cache
def measured(path: Path = FILE) -> Figures:
    """Return the figures of a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: {label: [Figure(*figure) for figure in found] for label, found in series.items()}
        for name, series in content.items()
    }


def throughput(figures: Sequence[Figure], macs: bool = False) -> float | None:
    """Return elements (or MACs) per cycle between the two largest sizes; None without cycles.

    What a larger operator takes for what it has more: fixed costs do not count.
    """
    smaller, larger = figures[-2:]
    cycles = larger.cycles - smaller.cycles
    if cycles <= 0 or larger.elements == smaller.elements:
        return None
    more = larger.macs - smaller.macs if macs else larger.elements - smaller.elements
    return more / cycles


@dataclass(frozen=True)
class Growth:
    """Cycles as ``fixed + per_element * elements + per_unit * units``, fitted.

    ``worst`` is the largest deviation of a measured figure from this, relative to the figure.
    """

    fixed: float
    per_element: float
    per_unit: float | None
    unit: str
    worst: float


APART = 0.05
"""Deviation above which series are not fitted together."""


def growths(name: str, figures: Figures) -> dict[str, Growth]:
    """Return how an operator's cycles grow, by the labels of the series that were fitted together.

    Least squares of relative deviations. Those with units are fitted together, unless that deviates
    by more than `APART`: an engine that works on whole vectors does not grow in proportion.
    """
    together = tuple(series for series in SERIES[name] if series.unit)
    each = [(series,) for series in SERIES[name]]
    alone = [group for group in each if not group[0].unit]
    joint = _fitted([together], figures[name]) if together else {}
    if any(growth.worst > APART for growth in joint.values()):
        return _fitted(each, figures[name])
    return joint | _fitted(alone, figures[name])


def _fitted(
    groups: Sequence[tuple[Series, ...]], figures: dict[str, list[Figure]]
) -> dict[str, Growth]:
    found = {}
    for group in groups:
        points = [figure for series in group for figure in figures[series.label]]
        if len({point.elements for point in points}) == 1 or not any(p.cycles for p in points):
            continue
        label = "; ".join(series.label for series in group)
        found[label] = _fit(points, group[0].unit if len(group) > 1 else "")
    return found


def _fit(points: Sequence[Figure], unit: str) -> Growth:
    cycles = np.array([point.cycles for point in points], float)
    columns = [np.ones(len(points)), [point.elements for point in points]]
    if unit:
        columns.append([point.units for point in points])
    matrix = np.array(columns, float).T
    solution, *_ = np.linalg.lstsq(matrix / cycles[:, None], np.ones(len(points)), rcond=None)
    worst = np.abs(matrix @ solution / cycles - 1).max()
    fixed, per_element, *rest = solution.tolist()
    return Growth(fixed, per_element, rest[0] if rest else None, unit, float(worst))
