"""The row of one operator: its golden function, and what running it needs to know besides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners.stacks import Stacks

Results = np.ndarray | list[np.ndarray]
"""The only output, or the list of all."""


class Arguments:
    """What a golden function is called with."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        self.positional, self.named = positional, named


@dataclass(frozen=True, kw_only=True)
class Runner:
    """How an operator's tensors and options reach golden, and how its results may be had."""

    golden: Callable[..., Results]
    """The function of golden whose results the operator has."""

    arguments: Callable[[OperatorCall], Arguments]
    """Reads from a call what ``golden`` takes."""

    stacks: Stacks | None
    """When the operator computes stacked inferences as one; None: never."""

    macs: Callable[[OperatorCall], int] | None = None
    """Counts the operator's multiply-accumulates, padding taps included; None: it has no weights.
    It looks at the shapes that the graph states, at no array."""

    prepare: Callable[[OperatorCall], Callable[..., np.ndarray] | None] | None = None
    """Takes a call that `run` has accepted, and returns a faster function of the inputs that are no
    constants, in order, for inputs of the same shapes and dtypes. None: there is none."""

    @property
    def golden_name(self) -> str:
        """The golden function with its module, such as ``eightfold.golden.binary.add``."""
        return f"{self.golden.__module__}.{self.golden.__qualname__}"

    def run(self, call: OperatorCall) -> list[np.ndarray]:
        """Return the outputs.

        Raises
        ------
        InputError, eightfold.golden.errors.SpecError
            If the tensors do not fit, or golden refuses the operator. The message does not name it.
        """
        arguments = self.arguments(call)
        results = self.golden(*arguments.positional, **arguments.named)
        return results if isinstance(results, list) else [results]
