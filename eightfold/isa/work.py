"""Who worked for an operator: cycles of engines, which work at several operators at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eightfold.isa import Engine, Opcode
from eightfold.isa.issued import Issued


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

    Parameters
    ----------
    spans
        Index, begin and end of each command of an engine, in cycles. An engine's commands do not
        overlap: one begins where the one before has ended, at the earliest. The matrix engine
        issues vectors while results of the command before are on their way, which is not seen in
        them: it takes the cycles of its vectors at least.
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
    if command.command.opcode is not Opcode.MATRIX:
        return 0
    fields = command.fields
    passes = fields["groups"] * fields["ky"] * fields["kx"] * fields["kc"]
    return passes * (fields["y"] * fields["x"] + fields.get("lead", 0))


def _covered(times: Iterable[tuple[int, int]]) -> int:
    """Return in how many cycles one of some intervals is, or several."""
    covered, until = 0, 0
    for begin, end in sorted(times):
        covered += max(0, end - max(begin, until))
        until = max(until, end)
    return covered
