"""The series of every operator of the accelerator."""

from eightfold.ops.computing import COMPUTING
from eightfold.ops.copying import COPYING
from eightfold.ops.series import Series

SERIES: dict[str, tuple[Series, ...]] = dict(sorted((COMPUTING | COPYING).items()))
"""By the operator's name; the first one is what the operator's throughput is read from."""
