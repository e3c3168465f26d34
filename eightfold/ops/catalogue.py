"""The entry of every operator of the accelerator."""

from eightfold.ops.computing import COMPUTING
from eightfold.ops.copying import COPYING
from eightfold.ops.entry import Entry
from eightfold.ops.series import Series

CATALOGUE: dict[str, Entry] = dict(sorted((COMPUTING | COPYING).items()))
"""By the operator's name."""

SERIES: dict[str, tuple[Series, ...]] = {name: entry.series for name, entry in CATALOGUE.items()}
"""The series alone."""
