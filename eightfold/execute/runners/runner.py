"""What runs one operator."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eightfold.execute.call import OperatorCall


@dataclass(frozen=True)
class Runner:
    """A function that runs an operator, and what its outputs must be in the graph."""

    run: Callable[[OperatorCall], np.ndarray | list[np.ndarray]]
    """Returns the only output, or the list of all."""

    outputs: tuple[type[np.generic], ...] = (np.int8,)
    """Element types that an output may have."""

    several: bool = False
    """Whether there may be more than one output."""

    prepare: Callable[[OperatorCall], Callable[..., np.ndarray] | None] | None = None
    """Takes a call that `run` has accepted, and returns a faster function of the inputs that are no
    constants, in order, for inputs of the same shapes and dtypes. None: there is none."""
