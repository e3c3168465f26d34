"""Whose time it was: a run's cycles, and what else is counted, shared among operators."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.isa.issued import Issued

Counts = NDArray[np.int64]


def shares(
    issued: Sequence[Issued],
    operators: Sequence[int],
    done: Iterable[tuple[int, Counts]],
    total: Counts,
) -> dict[int, Counts]:
    """Return what counters counted during each operator; the sum is ``total``.

    An operator ends with the last of its commands, or with the operator before if that is later;
    the last one ends with the run. Operators of one step, a cascade, are one in this; within their
    time, what is between two successive commands that are done belongs to the operator of the later
    one.

    Parameters
    ----------
    operators
        The stream's, in order, those without commands too.
    done
        Indices of commands of engines in the order in which they were done, and what all counters
        were then, shape (n,), never decreasing.
    total
        What all counters were at the end.
    """
    units = _units(issued, operators)
    unit_of = {operator: number for number, unit in enumerate(units) for operator in unit}
    events: list[list[tuple[int, Counts]]] = [[] for _ in units]
    for index, counts in done:
        operator = issued[index].operator
        events[unit_of[operator]].append((operator, counts))
    found = {operator: np.zeros_like(total) for operator in operators}
    now = np.zeros_like(total)
    for number, unit in enumerate(units):
        last = unit[-1]
        for operator, counts in events[number]:
            until = np.maximum(now, counts)
            found[operator] += until - now
            now, last = until, operator
        if number == len(units) - 1:
            found[last] += total - now
    return found


def _units(issued: Sequence[Issued], operators: Sequence[int]) -> list[list[int]]:
    """Return the operators in groups: those from the first to the last of one step together."""
    spans: dict[int, tuple[int, int]] = {}
    for command in issued:
        if command.engine is not None:
            first, last = spans.get(command.step, (command.operator, command.operator))
            spans[command.step] = min(first, command.operator), max(last, command.operator)
    far = {operator: operator for operator in operators}
    for first, last in spans.values():
        far[first] = max(far[first], last)
    units: list[list[int]] = []
    end = -1
    for operator in operators:
        if operator <= end:
            units[-1].append(operator)
        else:
            units.append([operator])
        end = max(end, far[operator])
    return units
