"""The operators and their figures as Markdown, and their places in the documents."""

from collections.abc import Sequence
from pathlib import Path

from eightfold.cli.operator_list import (
    Description,
    Figure,
    Figures,
    describe_all,
    measured,
    throughput,
)
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.markers import replace_between
from lab.documents.cycle_tables import markdown, number, percent
from lab.documents.operator_table import golden_link
from lab.measure.catalogue import SERIES, reached
from lab.measure.growth import Growth, growths
from lab.measure.models import REQUIREMENTS, SIZES

ROOT = IMPORT_ROOT
OPERATORS, THROUGHPUT = Path("docs/operators.md"), Path("docs/throughput.md")


def supported_table(descriptions: Sequence[Description]) -> str:
    """Return a row per operator: what `eightfold ops` prints."""
    head = ("Operator", "Row", "Engine", "Limits", "Elements per cycle", "Exact reference")
    rows = [
        (
            each.name,
            "" if each.row is None else str(each.row),
            ", ".join(each.engines) or "none",
            each.limits,
            each.rate,
            golden_link(each.name),
        )
        for each in descriptions
    ]
    return markdown(head, rows, text=len(head))


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
            found = figures[name][series.label]
            macs = throughput(found, macs=True) if found[-1].macs else None
            rows.append(
                (
                    *(name, series.label, f"{series.counted}s"),
                    " / ".join(number(figure.elements) for figure in found),
                    *(number(figure.cycles) for figure in found),
                    *(f"{figure.cycles / figure.elements:.3f}" for figure in found),
                    _rate(throughput(found)),
                    "" if macs is None else f"{macs:.0f}",
                    _rate(_from_memory(found)),
                )
            )
    return markdown(head, rows, text=3)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _from_memory(figures: Sequence[Figure]) -> float | None:
    """Return elements per cycle of the largest size, doorbell to done; None without work."""
    largest = figures[-1]
    return largest.elements / largest.from_memory if largest.cycles else None


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
        values = [each.throughput for each in every]
        short = [
            f"{each.operator} {each.label} ({each.throughput:.2f})"
            for each in every
            if not each.meets(requirement.least)
        ]
        rows.append(
            (
                requirement.title,
                f"{requirement.least:g}",
                f"{min(values):.2f} to {max(values):.2f}",
                f"{len(every) - len(short)} of {len(every)}",
                "; ".join(short),
            )
        )
    head = ("Elements per cycle", "Goal", "Measured", "Series that reach it", "Short of it")
    return markdown(head, rows, text=len(head))


def document(path: Path, text: str, figures: Figures | None = None) -> str:
    """Return a document of `OPERATORS` or `THROUGHPUT` with its generated parts as they should be.

    Raises
    ------
    ValueError
        If the markers are missing.
    """
    figures = measured() if figures is None else figures
    if path == OPERATORS:
        return replace_between(text, "supported operators", supported_table(describe_all(figures)))
    for name, table in (
        ("throughput goals", requirement_table),
        ("growth of cycles", growth_table),
        ("cycles of every operator", cycles_table),
    ):
        text = replace_between(text, name, table(figures))
    return text
