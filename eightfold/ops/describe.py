"""What each operator of the accelerator is: its row of the spec, engines, limits, throughput."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eightfold.execute.runners import RUNNERS
from eightfold.ops import probe
from eightfold.ops.catalogue import CATALOGUE
from eightfold.ops.figures import Figures, measured, throughput
from eightfold.ops.series import Series
from eightfold.spec import ROWS, row_of
from eightfold.spec.rows import place_of


@dataclass(frozen=True)
class Rate:
    """The throughput of a series: elements and multiply-accumulates per cycle, steady state.

    None: it takes no cycles, or as many whatever its size.
    """

    series: str
    counted: str
    elements: float | None
    macs: float | None


@dataclass(frozen=True)
class Description:
    """One operator.

    Attributes
    ----------
    row
        Its number in the spec's table; None beyond the spec.
    engines
        Names of the engines that its commands go to; none if it needs no command.
    constants
        Operands that must be constant.
    types
        Element types of operands and results that are int8 in the spec.
    refused
        Fused activations that are refused.
    limit
        What else is refused; may be empty.
    rates
        A throughput for each series that was measured, first the one to quote.
    reference
        The function whose results the hardware has, bit for bit.
    """

    name: str
    row: int | None
    engines: tuple[str, ...]
    constants: tuple[str, ...]
    types: tuple[str, ...]
    refused: tuple[str, ...]
    limit: str
    rates: tuple[Rate, ...]
    reference: str

    @property
    def limits(self) -> str:
        """The limits in words; empty if there are none."""
        words = [self.limit] if self.limit else []
        if self.constants:
            words.append(f"constant: {', '.join(self.constants)}")
        if self.types != ("int8",):
            words.append(f"types: {', '.join(self.types)}")
        if self.refused:
            words.append(f"no fused {', '.join(self.refused)}")
        return "; ".join(words)

    @property
    def rate(self) -> str:
        """The throughput of the first series in words."""
        first = self.rates[0]
        if not self.engines:
            return "no cycles"
        if first.elements is None:
            return "any size alike"
        words = f"{first.elements:.2f} {first.counted}s"
        if first.macs:
            words += f", {first.macs:.0f} MACs"
        return f"{words} ({first.series})"

    def as_json(self) -> dict[str, Any]:
        """Return what ``eightfold ops --json`` prints."""
        return asdict(self)


def describe(name: str, figures: Figures | None = None) -> Description:
    """Return the description of an operator, with the package's figures if none are given."""
    row = row_of(name)
    entry = CATALOGUE[name]
    found = (measured() if figures is None else figures)[name]
    return Description(
        name=name,
        row=place_of(row) if row else None,
        engines=tuple(engine.name.lower() for engine in probe.used_engines(name)),
        constants=probe.constant_operands(name),
        types=probe.element_types(name),
        refused=probe.refused_activations(name),
        limit=entry.limit,
        rates=tuple(_rate(series, found[series.label]) for series in entry.series),
        reference=RUNNERS[name].golden_name,
    )


def _rate(series: Series, figures: Sequence[Any]) -> Rate:
    macs = throughput(figures, macs=True) if figures[-1].macs else None
    return Rate(series.label, series.counted, throughput(figures), macs)


def describe_all(figures: Figures | None = None) -> list[Description]:
    """Return every operator: in the spec's order, then those beyond it by name."""
    every = [describe(name, figures) for name in CATALOGUE]
    return sorted(every, key=lambda each: (each.row is None, each.row or 0, each.name))


def summary(descriptions: Sequence[Description]) -> str:
    """Return one line that says how many operators there are."""
    rows = {each.row for each in descriptions if each.row is not None}
    more = sum(each.row is None for each in descriptions)
    return f"{len(rows)} of {len(ROWS)} operators of the spec on hardware, and {more} more"
