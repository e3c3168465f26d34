"""Whose time it was: a run's cycles and counters shared among operators, which may overlap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.isa import Engine, Matrix
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

    ``operators``: the stream's, in order, those without commands too. ``done``: indices of commands
    of engines in the order in which they were done, and what all counters were then, shape (n,),
    never decreasing; ``total``: what they were at the end.
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


@dataclass(frozen=True)
class Work:
    """Cycles in which an engine had a command of an operator.

    ``engines``: cycles in which one of the three had, or several. ``multipliers``: cycles in which
    the matrix engine had, waiting for weights and the like included. Operators overlap, so that
    neither adds up to the cycles of a run.
    """

    engines: int = 0
    multipliers: int = 0


def work(issued: Sequence[Issued], spans: Iterable[tuple[int, int, int]]) -> dict[int, Work]:
    """Return the work for each operator that has commands of engines.

    ``spans``: index, begin and end of each command of an engine, in cycles. An engine's commands do
    not overlap: one begins where the one before has ended, at the earliest. The matrix engine
    issues vectors while results of the command before are on their way, which is not seen in them:
    it takes the cycles of its vectors at least.
    """
    during: dict[int, list[tuple[int, int]]] = {}
    matrix: dict[int, int] = {}
    issues: dict[int, int] = {}
    for index, begin, end in spans:
        command = issued[index]
        during.setdefault(command.operator, []).append((begin, end))
        if command.engine is Engine.MATRIX:
            matrix[command.operator] = matrix.get(command.operator, 0) + end - begin
            issues[command.operator] = issues.get(command.operator, 0) + vectors(command)
    found = {}
    for operator, times in during.items():
        multipliers = max(matrix.get(operator, 0), issues.get(operator, 0))
        found[operator] = Work(max(_covered(times), multipliers), multipliers)
    return found


def vectors(command: Issued) -> int:
    """Return how many vectors a MATRIX command issues, one in a cycle; 0 for other commands."""
    matrix = command.instruction
    return matrix.passes * matrix.vectors if isinstance(matrix, Matrix) else 0


def _covered(times: Iterable[tuple[int, int]]) -> int:
    """Return in how many cycles one of some intervals is, or several."""
    covered, until = 0, 0
    for begin, end in sorted(times):
        covered += max(0, end - max(begin, until))
        until = max(until, end)
    return covered
