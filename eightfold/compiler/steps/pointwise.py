"""Element-wise operators with broadcasting, in parts that fit."""

from dataclasses import dataclass

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.steps.elementwise import Elementwise, emit_elementwise
from eightfold.compiler.steps.step import Step


@dataclass(frozen=True, kw_only=True)
class Pointwise(Step):
    """``target = operation(sources)``; ``shapes`` of the sources, which broadcast to ``shape``."""

    operation: Elementwise
    sources: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        return (*self.sources, self.target)

    @property
    def replaceable(self) -> int | None:
        """The first operand, if each of its bytes is read once, for the byte in its place."""
        first = self.sources[0]
        once = self.shapes[0] == self.shape and self.sources.count(first) == 1
        return first if once else None

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands."""
        shape = self.shape or (1,)
        strides = [broadcast_steps(each, shape) for each in (*self.shapes, shape)]
        self._emit(emitter, staging, shape, strides, [0] * len(strides))

    def _emit(
        self,
        emitter: Emitter,
        staging: Staging,
        shape: tuple[int, ...],
        strides: list[tuple[int, ...]],
        offsets: list[int],
    ) -> None:
        """Emit a block of the result; halved along its first axis until it fits."""
        sizes = [_span(shape, stride) for stride in strides]
        outside = [staging.resident(tensor) is None for tensor in self.uses]
        room = fits([size for size, out in zip(sizes, outside, strict=True) if out])
        whole = all(offset == 0 for offset in offsets) and shape == (self.shape or (1,))
        if room > staging.room[1] // (1 if whole else 2) and any(outside):
            axis = next((i for i, count in enumerate(shape) if count > 1), None)
            if axis is None:
                raise NoRoomError
            half = -(-shape[axis] // 2)
            for start, count in ((0, half), (half, shape[axis] - half)):
                part = (*shape[:axis], count, *shape[axis + 1 :])
                moved = [o + start * s[axis] for o, s in zip(offsets, strides, strict=True)]
                self._emit(emitter, staging, part, strides, moved)
            return
        staging.begin(room)
        addresses = [
            staging.load(tensor, offset, size)
            for tensor, offset, size in zip(self.sources, offsets, sizes, strict=False)
        ]
        resident = staging.resident(self.target)
        target = resident + offsets[-1] if resident is not None else staging.take(sizes[-1])
        emit_elementwise(emitter, self.operation, addresses, target, shape, strides)
        staging.store(self.target, offsets[-1], sizes[-1], target)


def broadcast_steps(shape: tuple[int, ...], common: tuple[int, ...]) -> tuple[int, ...]:
    """Return the steps of an operand along the common axes, 0 where it is broadcast."""
    padded = (1,) * (len(common) - len(shape)) + shape
    steps = []
    step = 1
    for count in reversed(padded):
        steps.append(0 if count == 1 else step)
        step *= count
    return tuple(reversed(steps))


def _span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + int(np.sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)], dtype=int))
