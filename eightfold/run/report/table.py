"""The table of a run on a terminal, and of an estimate without simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eightfold.run.report.clock import Clock, time_of, times_json
from eightfold.run.report.result import Figures, OperatorReport, RunResult


def print_table(result: RunResult, console: Console) -> None:
    """Print a row per operator, the totals, times, and what is to be noted."""
    rows = [
        {**cells(operator), "mismatches": count(operator.mismatches)}
        for operator in result.operators
    ]
    rows.append({**total_cells(result), "mismatches": count(result.mismatches)})
    print_rows(f"{result.model} on {result.backend}, config {result.config}", rows, console)
    notes = [*times(result), *(f"note: {note}" for note in result.notes), *result.rewrites]
    for line in notes:
        console.print(line, markup=False, highlight=False)


def print_rows(title: str, rows: Sequence[Mapping[str, str]], console: Console) -> None:
    """Print operators' cells by column, the last row as their total.

    Columns without a value are left out, as cycles of what golden has computed; where a terminal is
    too narrow those of `_LEFT_OUT` too, in this order.
    """
    columns = {name: [row.get(name, "") for row in rows] for name in rows[0]}
    columns = {name: cells for name, cells in columns.items() if not {*cells} <= {"", "-"}}
    for name in _LEFT_OUT:
        widths = [max(_NARROWEST, *map(len, cells)) for cells in columns.values()]
        if sum(widths) + 3 * len(widths) + 1 <= console.width:
            break
        columns.pop(name, None)
    table = Table(title=escape(title))
    for name in columns:
        words = name in ("operator", "output", "where")
        table.add_column(name, justify="left" if words else "right", no_wrap=name == "operator")
    *operators, total = zip(*columns.values(), strict=True)
    for cells in operators:
        table.add_row(*cells)
    table.add_section()
    table.add_row(*total)
    console.print(table)


_LEFT_OUT = ("output", "worked", "done", "utilisation", "where", "MACs", "#")
_NARROWEST = 6
"""Characters of a column's heading; longer ones end with an ellipsis."""


def cells(operator: OperatorReport) -> dict[str, str]:
    """Return the cells of an operator's line, by column."""
    return {
        "#": str(operator.index),
        "operator": operator.name,
        "output": "x".join(map(str, operator.shape)),
        "MACs": count(operator.macs or None),
        "done": count(operator.hardware_macs or None),
        "cycles": count(operator.cycles),
        "worked": count(operator.engine_cycles),
        "utilisation": _percent(operator.utilisation),
        "where": operator.where,
    }


def total_cells(whole: Figures) -> dict[str, str]:
    """Return the cells of a network's line, by column; its others are empty."""
    return {
        "operator": "total",
        "MACs": count(whole.macs or None),
        "done": count(whole.hardware_macs or None),
        "cycles": count(whole.cycles),
        "utilisation": _percent(whole.utilisation if whole.hardware_macs else None),
    }


def times(result: RunResult) -> list[str]:
    """Return what a run in hardware took in time, or why it has no cycles; nothing for golden."""
    if result.untimed:
        return [
            f"No cycles: {result.untimed} takes some of its own, and the pass without it was left "
            f"out (fast)."
        ]
    return [time_of(result.cycles, result.clock, result.config)] if result.cycles else []


def count(value: int | None) -> str:
    """Return a number with its thousands apart, ``-`` for none."""
    return "-" if value is None else f"{value:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


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
    title = f"{estimated.model}, config {estimated.config}, memory {estimated.memory}, estimated"
    print_rows(title, [*map(cells, estimated.operators), total_cells(estimated)], console)
    cycles, bus = estimated.cycles, estimated.bus_cycles
    if cycles:
        time = time_of(cycles, estimated.clock, estimated.config)
        bus_line = f"The memory's bus is taken in {bus:,} cycles, {bus / cycles:.0%}."
        console.print(f"{time}\n{bus_line}", markup=False, highlight=False)


def _operator_json(operator: OperatorReport) -> dict[str, Any]:
    """Return the fields that need no run."""
    run_alone = ("mismatches", "counters")
    return {name: value for name, value in asdict(operator).items() if name not in run_alone}
