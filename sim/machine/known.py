"""What a stream has written of scratchpad and tables itself: the rest is whatever was there."""

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.sim.machine.accesses import TABLE_BYTES, Accesses
from eightfold.target.config import AcceleratorConfig


class Known:
    """What is known of scratchpad and tables, from the begin of a stream on: nothing at first.

    Attributes
    ----------
    bytes : bool by space, one for each byte
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        sizes = {
            isa.Space.SCRATCHPAD: config.scratchpad,
            isa.Space.TABLES: TABLE_BYTES * config.tables,
        }
        self.bytes = {space: np.zeros(size, np.bool_) for space, size in sizes.items()}

    def covers(self, touched: Accesses) -> bool:
        """Return whether all that a command reads is known, and within its space."""
        return all(
            self._inside(space, offsets) and bool(self.bytes[space][offsets].all())
            for space, offsets in touched.reads.items()
            if space in self.bytes and offsets.size
        )

    def add(self, touched: Accesses) -> None:
        """Note what a command writes within its space."""
        for space, offsets in touched.writes.items():
            if space in self.bytes and self._inside(space, offsets):
                self.bytes[space][offsets] = True

    def _inside(self, space: isa.Space, offsets: NDArray[np.int64]) -> bool:
        return not offsets.size or (offsets[0] >= 0 and offsets[-1] < len(self.bytes[space]))
