"""What the code does not say of an operator, and `eightfold ops` shows: the catalogue's entry.

An entry has the series of models that are measured, the requirement on their throughput, and the
limits that only a person can put into words.
"""

from dataclasses import dataclass

from eightfold.ops.series import Series


@dataclass(frozen=True, eq=False)
class Requirement:
    """Elements per cycle that every series of some operators must reach at `base`.

    ``first_only``: just the first series of each. ``aim``: what was aimed at; 0 if nothing more.
    """

    title: str
    least: float
    aim: float = 0
    first_only: bool = False


TWO_OPERANDS = Requirement("two-operand element-wise", 8, 16)
TABLES = Requirement("tables", 8, 16)
POOLS = Requirement("pools, input elements", 8)
REDUCTIONS = Requirement("reductions, input elements", 8)
CONTIGUOUS = Requirement("movement of contiguous runs, the port's width", 16, first_only=True)
"""Of operators whose first series copies runs of 16 bytes or more."""

SOFTMAX = Requirement("SOFTMAX", 1)

REQUIREMENTS = (TWO_OPERANDS, TABLES, POOLS, REDUCTIONS, CONTIGUOUS, SOFTMAX)
"""What the project asks of the operators' throughput."""


@dataclass(frozen=True)
class Entry:
    """One operator of the catalogue.

    Attributes
    ----------
    series
        What is measured; the first one is what the operator's throughput is read from.
    requirement
        What its throughput must reach; None: nothing is asked.
    limit
        What the compiler refuses besides what `eightfold.ops.probe` finds by asking, or what a run
        does not accept; empty if nothing. tests/eightfold/ops/test_limits.py shows each.
    """

    series: tuple[Series, ...]
    requirement: Requirement | None
    limit: str = ""
