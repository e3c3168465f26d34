"""Arrays that have a shape and no memory: golden's views of one have the shapes of results."""

import numpy as np

from eightfold.model.prepare.row import Operand

COPIED = Operand(("int8", "int32", "int64"))
"""An operand that is copied: codes, or the integers of shapes."""


def hollow(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of ``shape`` that repeats one byte; functions that copy no element run on it.

    Every stride is 0, so that whatever numpy makes a view of stays one.
    """
    return np.broadcast_to(np.int8(0), shape)
