"""Whether the figures of the operators meet what the project asks of their throughput."""

from dataclasses import dataclass

from eightfold.ops.catalogue import CATALOGUE
from eightfold.ops.entry import REQUIREMENTS, Requirement
from eightfold.ops.figures import Figures, throughput

__all__ = ["REQUIREMENTS", "Reached", "reached"]


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
