"""What comes from where: golden itself runs an operator that copies, on positions for values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.exact.channels import CompileError
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

    def results(self) -> list[NDArray[np.int64]]:
        """Return for each output what its elements are: positions, or codes below `FIRST`.

        Raises
        ------
        CompileError
            If an operand such as an axis is not constant, or a result has another shape than the
            graph says.
        eightfold.golden.errors.SpecError, eightfold.errors.InputError
            As `eightfold.execute.run_operator`, without the operator's name.
        """
        results = RUNNERS[self.operator.name].run(self)
        for tensor, array in zip(self.outputs, results, strict=True):
            if array.shape != tensor.shape:
                raise CompileError(f"{tensor} has the shape {tensor.shape}, not {array.shape}")
        return results

    def int8(self, position: int) -> np.ndarray:
        """Return the positions of an input, which must be int8."""
        return self._positions(position, np.int8)

    def copied(self, position: int) -> np.ndarray:
        """Return the positions of an input, which must be of the outputs' dtype."""
        return self._positions(position, self.output.dtype.type)

    def optional(self, position: int) -> np.ndarray | None:
        """Return an input's array, which must be constant; None if it is absent."""
        return None if self.tensor(position) is None else self.constant(position)

    def _positions(self, position: int, dtype: type[np.generic]) -> NDArray[np.int64]:
        tensor = self.input(position)
        self.check_types([dtype], tensor)
        if position not in self.sources:
            first = FIRST + sum(source.size for source in self.sources.values())
            self.sources[position] = Source(tensor.index, first, tensor.shape)
        source = self.sources[position]
        return np.arange(source.first, source.first + source.size).reshape(tensor.shape)
