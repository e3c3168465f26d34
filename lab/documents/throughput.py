"""The operators of the accelerator and their measured figures, as Markdown tables.

What is reached follows from the figures, and how cycles grow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eightfold.cli import operator_list
from eightfold.cli.operator_list import Description, Figure, Figures
from eightfold.common.markers import markdown
from lab.documents.part import Part, number, percent, table_part
from lab.documents.tables import golden_link
from lab.measure.models import REQUIREMENTS, SIZES, Requirement, Series
from lab.measure.series import CATALOGUE, SERIES


def reached(requirement: Requirement, figures: Figures) -> dict[str, float]:
    """Return the elements per cycle of each series that the requirement is about, by operator and
    label, to the two digits that are shown."""
    found = {}
    for name, entry in CATALOGUE.items():
        if entry.requirement is not requirement:
            continue
        for series in entry.series[: 1 if requirement.first_only else None]:
            value = operator_list.throughput(figures[name][series.label])
            assert value is not None, "an operator without cycles has no requirement"
            found[f"{name} {series.label}"] = round(value, 2)
    return found


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


def supported_table(descriptions: Sequence[Description]) -> str:
    """Return a row per operator: what `eightfold ops` prints."""
    rows = [
        (
            golden_link(each.name),
            "" if each.row is None else str(each.row),
            ", ".join(each.engines) or "none",
            each.limits,
            each.rate,
        )
        for each in descriptions
    ]
    return markdown(("Operator", "Row", "Engine", "Limits", "Elements per cycle"), rows)


def cycles_table(figures: Figures) -> str:
    """Return a row per series: cycles at each size, cycles per element, elements per cycle."""
    sizes = [size.name for size in SIZES]
    head = (
        *("Operator", "Series", "Counted", "Elements"),
        *(f"Cycles, {size}" for size in sizes),
        *(f"per element, {size}" for size in sizes),
        *("Elements per cycle", "MACs per cycle", "From memory"),
    )
    rows = []
    for name, every in SERIES.items():
        for series in every:
            by_size = figures[name][series.label]
            largest = by_size[-1]
            macs = operator_list.throughput(by_size, macs=True) if largest.macs else None
            from_memory = largest.elements / largest.from_memory if largest.cycles else None
            rows.append(
                (
                    *(name, series.label, f"{series.counted}s"),
                    " / ".join(number(figure.elements) for figure in by_size),
                    *(number(figure.cycles) for figure in by_size),
                    *(f"{figure.cycles / figure.elements:.3f}" for figure in by_size),
                    _rate(operator_list.throughput(by_size)),
                    "" if macs is None else f"{macs:.0f}",
                    _rate(from_memory),
                )
            )
    return markdown(head, rows, text=3)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def growth_table(figures: Figures) -> str:
    """Return how the cycles of each operator grow, a row per formula."""
    rows = []
    for name in SERIES:
        for label, growth in growths(name, figures).items():
            rows.append((name, label, formula(growth), percent(round(1000 * growth.worst), 1000)))
    return markdown(("Operator", "Series", "Cycles", "Deviation"), rows, text=3)


def formula(growth: Growth) -> str:
    """Return a growth in words; what adds less than 0.0005 cycles is left out."""
    words = [f"{growth.fixed:.0f}"]
    for factor, unit in ((growth.per_element, "element"), (growth.per_unit, growth.unit)):
        if factor is not None and abs(factor) >= 0.0005:
            sign = "-" if factor < 0 else "+"
            words.append(f"{sign} {abs(factor):.3g} per {unit}")
    return " ".join(words)


def requirement_table(figures: Figures) -> str:
    """Return a row per goal: what is reached, and which series fall short of it."""
    rows = []
    for requirement in REQUIREMENTS:
        every = reached(requirement, figures)
        values = every.values()
        least = requirement.least
        short = [f"{name} ({value:.2f})" for name, value in every.items() if value < least]
        rows.append(
            (
                requirement.title,
                f"{least:g}",
                f"{min(values):.2f} to {max(values):.2f}",
                f"{len(every) - len(short)} of {len(every)}",
                "; ".join(short),
            )
        )
    head = ("Elements per cycle", "Goal", "Measured", "Series that reach it", "Short of it")
    return markdown(head, rows)


def parts(figures: Callable[[], Figures] = operator_list.measured) -> Iterator[Part]:
    """Yield the parts of the documents that follow from measured figures."""
    cycles = Path("docs/figures/throughput.md")
    yield table_part(
        "supported operators",
        Path("docs/operators.md"),
        lambda: supported_table(operator_list.describe_all(figures())),
    )
    yield table_part(
        "throughput goals", Path("docs/throughput.md"), lambda: requirement_table(figures())
    )
    yield table_part("growth of cycles", cycles, lambda: growth_table(figures()))
    yield table_part("cycles of every operator", cycles, lambda: cycles_table(figures()))
