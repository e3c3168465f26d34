"""The one table of operators, by name."""

from eightfold.operators.convolution import CONVOLUTION
from eightfold.operators.definition import Definition
from eightfold.operators.elementwise import ELEMENTWISE
from eightfold.operators.images import ON_IMAGES
from eightfold.operators.movement import MOVEMENT
from eightfold.operators.recurrent import RECURRENT
from eightfold.operators.reduction import REDUCTION
from eightfold.operators.rules import SpecRow

OPERATORS: dict[str, Definition] = (
    CONVOLUTION | ON_IMAGES | ELEMENTWISE | REDUCTION | MOVEMENT | RECURRENT
)
"""The record of every operator that golden computes, by its name in the schema."""

_ROWS = {
    name: row
    for name, definition in OPERATORS.items()
    if (row := definition.spec_row(name)) is not None
}

SPEC_ROWS: tuple[SpecRow, ...] = tuple(sorted(_ROWS.values(), key=lambda row: row.entry.number))
"""The rows of the spec's operator table, in its order."""


def spec_row(operator: str) -> SpecRow | None:
    """Return the spec's row of an operator by the schema's name; None if the spec has none."""
    return _ROWS.get(operator)
