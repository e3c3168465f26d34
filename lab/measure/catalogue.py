"""The entry of every operator of the accelerator, and whether its figures are what is asked."""

from dataclasses import dataclass

from eightfold.cli.operator_list import Figures, throughput
from lab.measure.computing import COMPUTING
from lab.measure.copying import COPYING
from lab.measure.models import Entry, Requirement, Series

CATALOGUE: dict[str, Entry] = dict(sorted((COMPUTING | COPYING).items()))
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
    found = []
    for name, entry in CATALOGUE.items():
        if entry.requirement is not requirement:
            continue
        for series in entry.series[: 1 if requirement.first_only else None]:
            value = throughput(figures[name][series.label])
            assert value is not None, "an operator without cycles has no requirement"
            found.append(Reached(name, series.label, value))
    return found
