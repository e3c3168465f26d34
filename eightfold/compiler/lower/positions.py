"""What comes from where: golden itself runs an operator that copies, on positions for values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import RUNNERS

FIRST = 1 << 8
"""The first position: codes, such as those of padding, are below."""


@dataclass(frozen=True)
class Source:
    """An input of ``shape`` whose elements have the positions ``first`` and those that follow."""

    tensor: int
    first: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Elements."""
        return int(np.prod(self.shape, dtype=int))


class PositionCall(OperatorCall):
    """A call whose copied inputs have positions for values; the others must be constants.

    Attributes
    ----------
    sources
        The inputs that are copied, by their place among the operator's.
    """

    def __init__(self, call: OperatorCall) -> None:
        super().__init__(call.graph, call.operator, reference=call.reference)
        self.sources: dict[int, Source] = {}
        self._next = FIRST

    def results(self) -> list[NDArray[np.int64]]:
        """Return for each output what its elements are: positions, or codes below `FIRST`.

        Raises
        ------
        eightfold.golden.errors.SpecError, eightfold.common.errors.InputError
            As `eightfold.execute.run_operator`, without the operator's name; or if an operand such
            as an axis is not constant.
        """
        return RUNNERS[self.operator.name].run(self)

    def codes(self, position: int) -> np.ndarray:
        """Return the positions of an input that is copied."""
        tensor = self.input(position)
        if position not in self.sources:
            self.sources[position] = Source(tensor.index, self._next, tensor.shape)
            self._next += self.sources[position].size
        source = self.sources[position]
        return np.arange(source.first, source.first + source.size).reshape(tensor.shape)

    def optional(self, position: int) -> np.ndarray | None:
        """Return an input's array, which must be constant; None if it is absent."""
        return None if self.tensor(position) is None else self.constant(position)
