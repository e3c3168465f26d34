"""The table: what each operator's tensors must be and what its results are."""

from eightfold.model.prepare.joining import JOINING
from eightfold.model.prepare.matrix import MATRIX
from eightfold.model.prepare.movement import MOVEMENT
from eightfold.model.prepare.pointwise import POINTWISE
from eightfold.model.prepare.reduction import REDUCTION
from eightfold.model.prepare.row import Row

ROWS: dict[str, Row] = MATRIX | POINTWISE | REDUCTION | JOINING | MOVEMENT
"""By operator name; every operator of `eightfold.execute.runners` has a row."""
