"""A network's estimated cycles, as JSON and on a terminal."""

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from eightfold.run.report.clock import Clock, time_of, times_json
from eightfold.run.report.result import Figures, OperatorReport
from eightfold.run.report.table import cells, print_rows, total_cells


@dataclass(frozen=True, kw_only=True)
class Estimated(Figures):
    """What ``eightfold estimate`` tells of a model.

    ``bus_cycles``: cycles in which the memory's bus is taken; the others as of
    `eightfold.run.report.result.RunResult`.
    """

    model: str
    config: str
    memory: str
    operators: list[OperatorReport]
    macs_per_cycle: int
    clock: Clock | None
    bus_cycles: int

    @property
    def cycles(self) -> int:
        """From doorbell to done."""
        return super().cycles or 0

    def as_json(self) -> dict[str, Any]:
        """Return what ``eightfold estimate --json`` writes."""
        return {
            "model": self.model,
            "config": self.config,
            "memory": self.memory,
            "macs": self.macs,
            "hardware_macs": self.hardware_macs,
            "cycles": self.cycles,
            **times_json(self.cycles, self.clock),
            "bus_cycles": self.bus_cycles,
            "utilisation": self.utilisation,
            "operators": [_operator_json(operator) for operator in self.operators],
        }


def print_estimate(estimated: Estimated, console: Console) -> None:
    """Print a row per operator, the totals, the memory's share, and times."""
    total = total_cells(
        estimated.macs, estimated.hardware_macs, estimated.cycles, estimated.utilisation
    )
    title = f"{estimated.model}, config {estimated.config}, memory {estimated.memory}, estimated"
    print_rows(title, [*map(cells, estimated.operators), total], console)
    cycles, bus = estimated.cycles, estimated.bus_cycles
    if cycles:
        share = f"{bus / cycles:.0%}"
        lines = (
            time_of(cycles, estimated.clock, estimated.config),
            f"The memory's bus is taken in {bus:,} cycles, {share}.",
        )
        for line in lines:
            console.print(line, markup=False, highlight=False)


def _operator_json(operator: OperatorReport) -> dict[str, Any]:
    """Return the fields that need no run."""
    fields = asdict(operator)
    for name in ("mismatches", "counters"):
        del fields[name]
    return fields
