"""The steps of one operator, each with a temporary for its result; the last one's is the tensor."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from eightfold.compiler.lower.lowering import Lowered
from eightfold.compiler.steps.elementwise import Elementwise
from eightfold.compiler.steps.pointwise import Pointwise
from eightfold.compiler.steps.step import Step
from eightfold.compiler.steps.temporary import Temporary
from eightfold.compiler.steps.two_bytes import TwoBytes

Shape = tuple[int, ...]
Operand = tuple[int, Shape]
"""A tensor and its shape."""


@dataclass
class StepList:
    """Steps in order; temporaries have numbers from ``first`` on."""

    first: int
    steps: list[Step] = field(default_factory=list)
    temporaries: dict[int, Temporary] = field(default_factory=dict)

    def temporary(self, size: int, content: bytes | None = None) -> int:
        """Return a new temporary of ``size`` bytes, a constant if it has a content."""
        number = self.first + len(self.temporaries)
        self.temporaries[number] = Temporary(size, content)
        return number

    def pointwise(
        self, operation: Elementwise, operands: Sequence[Operand], shape: Shape
    ) -> Operand:
        """Add an element-wise operation; return its result."""
        target = self.temporary(prod(shape))
        used = operands[: operation.operands]
        step = Pointwise(
            operation=operation,
            sources=tuple(tensor for tensor, _ in used),
            shapes=tuple(each for _, each in used),
            target=target,
            shape=shape,
        )
        self.steps.append(step)
        return target, shape

    def two_bytes(self, function: TwoBytes, a: Operand, b: Operand, shape: Shape) -> Operand:
        """Add a function of two bytes; return its result."""
        result = self.pointwise(function.base, (a, b), shape)
        chosen = (b, a) if function.swapped else (a, b)
        for correction in function.corrections:
            difference = self.pointwise(correction, chosen, shape)
            result = self.pointwise(function.join, (result, difference), shape)
        return result

    def lowered(self, target: int) -> Lowered:
        """Return all, the last result being the tensor ``target``."""
        *before, last = self.steps
        temporaries = {t: v for t, v in self.temporaries.items() if t != last.target}
        return Lowered(
            steps=(*before, replace(last, target=target)), temporaries=temporaries, searched=0
        )
