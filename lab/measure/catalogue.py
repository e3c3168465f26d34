"""The entry of every operator, and what follows from its figures: what is reached, what grows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eightfold.cli.operator_list import Figure, Figures, throughput
from lab.measure.models import CatalogueEntry, Requirement, Series
from lab.measure.series import COMPUTING, COPYING

CATALOGUE: dict[str, CatalogueEntry] = dict(sorted((COMPUTING | COPYING).items()))
"""By the operator's name."""

SERIES: dict[str, tuple[Series, ...]] = {name: entry.series for name, entry in CATALOGUE.items()}
"""The series alone."""


@dataclass(frozen=True)
class Reached:
    """Elements per cycle of a series that a requirement is about."""

    operator: str
    label: str
    throughput: float

    def meets(self, least: float) -> bool:
        """Return whether it is ``least``, to the two digits that are shown."""
        return round(self.throughput, 2) >= least


def reached(requirement: Requirement, figures: Figures) -> list[Reached]:
    """Return what each series reaches that the requirement is about."""
    series_reached = []
    for name, entry in CATALOGUE.items():
        if entry.requirement is not requirement:
            continue
        for series in entry.series[: 1 if requirement.first_only else None]:
            value = throughput(figures[name][series.label])
            assert value is not None, "an operator without cycles has no requirement"
            series_reached.append(Reached(name, series.label, value))
    return series_reached


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
    groups: Sequence[tuple[Series, ...]], figures: Mapping[str, Sequence[Figure]]
) -> dict[str, Growth]:
    fits = {}
    for group in groups:
        points = [figure for series in group for figure in figures[series.label]]
        if len({point.elements for point in points}) == 1 or not any(p.cycles for p in points):
            continue
        label = "; ".join(series.label for series in group)
        fits[label] = _fit(points, group[0].unit if len(group) > 1 else "")
    return fits


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
