"""The operators of the accelerator and their measured figures, as Markdown tables."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from eightfold.cli.operator_list import (
    Description,
    Figure,
    Figures,
    describe_all,
    measured,
    throughput,
)
from lab.documents.part import Part, markdown, number, percent, table_part
from lab.documents.tables import golden_link
from lab.measure.catalogue import SERIES, Growth, growths, reached
from lab.measure.models import REQUIREMENTS, SIZES


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
            macs = throughput(by_size, macs=True) if by_size[-1].macs else None
            rows.append(
                (
                    *(name, series.label, f"{series.counted}s"),
                    " / ".join(number(figure.elements) for figure in by_size),
                    *(number(figure.cycles) for figure in by_size),
                    *(f"{figure.cycles / figure.elements:.3f}" for figure in by_size),
                    _rate(throughput(by_size)),
                    "" if macs is None else f"{macs:.0f}",
                    _rate(_from_memory(by_size)),
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
    return markdown(head, rows)


def parts(figures: Callable[[], Figures] = measured) -> Iterator[Part]:
    """Yield the parts of the documents that follow from measured figures."""
    cycles = Path("docs/figures/throughput.md")
    yield table_part(
        "supported operators",
        Path("docs/operators.md"),
        lambda: supported_table(describe_all(figures())),
    )
    yield table_part(
        "throughput goals", Path("docs/throughput.md"), lambda: requirement_table(figures())
    )
    yield table_part("growth of cycles", cycles, lambda: growth_table(figures()))
    yield table_part("cycles of every operator", cycles, lambda: cycles_table(figures()))
