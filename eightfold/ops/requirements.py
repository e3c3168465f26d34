"""What the project asks of the operators' throughput at `base`, and whether the figures meet it."""

from collections.abc import Iterator
from dataclasses import dataclass

from eightfold.ops.catalogue import SERIES
from eightfold.ops.figures import Figures, throughput
from eightfold.ops.series import Series

TABLES = (
    *("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "QUANTIZE", "RELU", "RELU6", "RELU_0_TO_1"),
    *("RELU_N1_TO_1", "TANH"),
)
TWO_OPERANDS = (
    *("ADD", "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "MAXIMUM", "MINIMUM"),
    *("MUL", "NOT_EQUAL", "PRELU", "SUB"),
)
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
REDUCTIONS = ("ARG_MAX", "ARG_MIN", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "SUM")
CONTIGUOUS = (
    *("BATCH_TO_SPACE_ND", "CONCATENATION", "DEPTH_TO_SPACE", "GATHER", "PACK", "PAD", "PADV2"),
    *("RESIZE_NEAREST_NEIGHBOR", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT"),
    *("STRIDED_SLICE", "TRANSPOSE", "UNPACK"),
)
"""Their first series copies runs of 16 bytes or more."""


@dataclass(frozen=True)
class Requirement:
    """Elements per cycle that every series of some operators must reach.

    ``first_only``: just the first series of each. ``aim``: what was aimed at; 0 if nothing more.
    """

    title: str
    operators: tuple[str, ...]
    least: float
    aim: float = 0
    first_only: bool = False

    def series(self) -> Iterator[tuple[str, Series]]:
        """Yield the series that it is about, each with its operator."""
        for name in self.operators:
            for series in SERIES[name][: 1 if self.first_only else None]:
                yield name, series


REQUIREMENTS = (
    Requirement("two-operand element-wise", TWO_OPERANDS, 8, 16),
    Requirement("tables", TABLES, 8, 16),
    Requirement("pools, input elements", POOLS, 8),
    Requirement("reductions, input elements", REDUCTIONS, 8),
    Requirement("movement of contiguous runs, the port's width", CONTIGUOUS, 16, first_only=True),
    Requirement("SOFTMAX", ("SOFTMAX",), 1),
)


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
    """Return what each series reaches."""
    found = []
    for name, series in requirement.series():
        value = throughput(figures[name][series.label])
        assert value is not None, "an operator without cycles has no requirement"
        found.append(Reached(name, series.label, value))
    return found
