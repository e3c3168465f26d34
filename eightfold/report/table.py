"""The table of a run on a terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eightfold.report.result import OperatorReport, RunResult


def print_table(result: RunResult, console: Console) -> None:
    """Print a row per operator, the totals, and what is to be noted."""
    rows = [_row(operator, str(operator.index), operator.name) for operator in result.operators]
    rows.append(_row(result, "", "total"))
    title = f"{result.model} on {result.backend}, config {result.config}"
    print_rows(title, rows, console)
    for line in [*(f"note: {note}" for note in result.notes), *result.rewrites]:
        console.print(line, markup=False, highlight=False)


def print_rows(title: str, rows: Sequence[Mapping[str, str]], console: Console) -> None:
    """Print operators' cells by column, the last row as their total.

    Where a terminal is too narrow, columns are left out, those of `_LEFT_OUT` in this order.
    """
    columns = {name: [row[name] for row in rows] for name in rows[0]}
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


_LEFT_OUT = ("output", "utilisation", "where", "MACs", "#")
_NARROWEST = 6
"""Characters of a column's heading; longer ones end with an ellipsis."""


def _row(of: OperatorReport | RunResult, index: str, name: str) -> dict[str, str]:
    """Return the cells of an operator's line, or of the total's, by column."""
    operator = of if isinstance(of, OperatorReport) else None
    macs = of.hardware_macs if isinstance(of, OperatorReport) else of.macs
    used = f"{of.utilisation:.1%}" if of.utilisation is not None and macs else "-"
    return {
        "#": index,
        "operator": name,
        "output": "x".join(map(str, operator.shape)) if operator else "",
        "MACs": _count(of.macs or None),
        "cycles": _count(of.cycles),
        "utilisation": used,
        "where": operator.where if operator else "",
        "mismatches": _count(of.mismatches),
    }


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
