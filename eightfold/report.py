"""Results of a run, and the forms in which they are shown: JSON and a table on the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from eightfold.reference.deviations import DEVIATIONS

if TYPE_CHECKING:
    from eightfold.sim.simulator.runner import Progress


@dataclass(kw_only=True)
class OperatorReport:
    """One operator of a run.

    ``cycles`` and ``utilisation`` (MACs per cycle over the array's MACs per cycle) are None where
    the hardware did not compute it; ``mismatches`` is None where nothing was compared. ``reason``
    says why an operator ran in golden. ``searched`` counts channels whose requantization had to be
    searched and proved. ``counters``: what the accelerator's counters counted during the operator.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    macs: int
    where: str
    cycles: int | None = None
    utilisation: float | None = None
    mismatches: int | None = None
    searched: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    reason: str | None = None


@dataclass(kw_only=True)
class RunResult:
    """One inference: tensors by index, and what it took.

    ``notes`` says which tensors were not taken as the file states them.

    ``cycles`` is the sum over the operators that ran in hardware: from doorbell to done. None on
    the golden backend.
    """

    model: str
    config: str
    backend: str
    reference: str
    tensors: dict[int, np.ndarray]
    outputs: dict[int, np.ndarray]
    operators: list[OperatorReport]
    macs_per_cycle: int
    seconds: float = 0.0
    compared: bool = False
    first_mismatch: str | None = None
    unread: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the model, padding taps included."""
        return sum(operator.macs for operator in self.operators)

    @property
    def cycles(self) -> int | None:
        """Cycles of the operators in hardware."""
        cycles = [operator.cycles for operator in self.operators if operator.cycles is not None]
        return sum(cycles) if cycles else None

    @property
    def mismatches(self) -> int | None:
        """Differing elements over all tensors, None if nothing was compared."""
        if not self.compared:
            return None
        return sum(operator.mismatches or 0 for operator in self.operators)

    @property
    def utilisation(self) -> float | None:
        """MACs in hardware per cycle over the array's MACs per cycle."""
        in_hardware = sum(o.macs for o in self.operators if o.where == "hardware")
        return in_hardware / (self.cycles * self.macs_per_cycle) if self.cycles else None

    def as_json(self) -> dict[str, Any]:
        """Return what ``eightfold run --json`` writes."""
        return {
            "model": self.model,
            "config": self.config,
            "backend": self.backend,
            "reference": self.reference,
            "macs": self.macs,
            "cycles": self.cycles,
            "utilisation": self.utilisation,
            "mismatches": self.mismatches,
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            "operators": [asdict(operator) for operator in self.operators],
        }


def verdict(result: RunResult) -> str:
    """Return one line that says what a run has shown."""
    hardware = [operator for operator in result.operators if operator.where == "hardware"]
    ran = (
        f"{len(hardware)} of {len(result.operators)} operators in hardware"
        if result.backend != "golden"
        else f"{len(result.operators)} operators in golden"
    )
    if not result.compared:
        return f"{ran}; nothing compared (use --compare)"
    if result.mismatches:
        return f"{ran}; {result.mismatches} elements differ from LiteRT: {result.first_mismatch}"
    if result.unread:
        equal = f"equal to LiteRT but for tensors {result.unread}, which it does not keep"
    else:
        equal = "every tensor equals LiteRT's reference kernels bit for bit"
    names = {operator.name for operator in result.operators}
    deviations = [
        f", {name} as intended: {why}" for name, why in DEVIATIONS.items() if name in names
    ]
    return f"{ran}; {equal}{''.join(deviations)}"


@contextmanager
def simulation_progress() -> "Iterator[Callable[[Progress], None] | None]":
    """Yield a callback that shows a simulation's progress on a terminal, None in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("building the simulator", total=None)

        def show(progress: "Progress") -> None:
            bar.update(
                task, completed=progress.done, total=progress.total, description=progress.text
            )

        yield show


def print_table(result: RunResult, console: Console) -> None:
    """Print a row per operator, the totals, and what is to be noted."""
    table = Table(title=f"{result.model} on {result.backend}, config {result.config}")
    table.add_column("#", justify="right")
    table.add_column("operator", no_wrap=True)
    table.add_column("output", no_wrap=True)
    for name in ("MACs", "cycles", "utilisation"):
        table.add_column(name, justify="right")
    table.add_column("where")
    table.add_column("mismatches", justify="right")
    for operator in result.operators:
        table.add_row(
            str(operator.index),
            operator.name,
            "x".join(map(str, operator.shape)),
            *_figures(operator.macs, operator.cycles, operator.utilisation),
            operator.where,
            _count(operator.mismatches),
        )
    table.add_section()
    totals = _figures(result.macs, result.cycles, result.utilisation)
    table.add_row("", "total", "", *totals, "", _count(result.mismatches))
    console.print(table)
    for note in result.notes:
        console.print(f"note: {note}", markup=False, highlight=False)


def _figures(macs: int, cycles: int | None, utilisation: float | None) -> tuple[str, str, str]:
    shown = f"{utilisation:.1%}" if utilisation is not None and macs else "-"
    return _count(macs or None), _count(cycles), shown


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
