"""BATCH_MATMUL of operands that are computed: products and sums of the vector engine.

The MAC array's weights stream from the model region, which nothing writes
(docs/decisions/0007-computed-weights-on-the-vector-engine.md). In a VECTOR the run is a row of the
second matrix, the window goes over k, and the first matrix has for each position the one byte that
multiplies its row; tables subtract both zero points.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from eightfold.compiler.emit.emitter import Emitter, loop_fields
from eightfold.compiler.emit.staging import Staging, fits
from eightfold.compiler.steps.elementwise import RUN, operand_tables
from eightfold.compiler.steps.reduction import LONGEST, LOOPS, factors
from eightfold.compiler.steps.step import Step
from eightfold.isa import Combine, Reduce, Requantize, Space, Vector
from eightfold.isa.issued import Interval


@dataclass(frozen=True)
class Block:
    """Some elements of a product, with every k.

    ``counts`` of the axes before the matrices, of rows, columns, and k. For the first operand, the
    second and the result: ``steps``, bytes along each of these axes, 0 along those that it does not
    have or where it is broadcast; ``starts``, its first byte.
    """

    counts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...] = (0, 0, 0)

    def axes(self, operand: int) -> list[int]:
        """Return the axes that an operand has, or the result: those of long steps first."""
        steps = self.steps[operand]
        return sorted((i for i, step in enumerate(steps) if step), key=lambda i: -steps[i])

    def shape(self, operand: int) -> list[tuple[int, int]]:
        """Return count and step of each of `axes`."""
        return [(self.counts[axis], self.steps[operand][axis]) for axis in self.axes(operand)]

    def size(self, operand: int) -> int:
        """Return the bytes of an operand, or of the result."""
        return prod(count for count, _ in self.shape(operand))

    @property
    def is_command(self) -> bool:
        """Whether a command has fields for it."""
        loops = [count for count in self.counts[:-2] if count > 1]
        return len(loops) <= LOOPS and max(loops, default=1) <= LONGEST and self.counts[-2] <= RUN

    def halves(self) -> Iterator["Block"]:
        """Yield halves along the first axis, then along that of the larger matrix; none of one."""
        rows, columns = len(self.counts) - 3, len(self.counts) - 2
        order = (rows, columns) if self.size(0) > self.size(1) else (columns, rows)
        axis = next((i for i in (*range(rows), *order) if self.counts[i] > 1), None)
        if axis is None:
            return
        half = -(-self.counts[axis] // 2)
        for start, count in ((0, half), (half, self.counts[axis] - half)):
            counts = (*self.counts[:axis], count, *self.counts[axis + 1 :])
            moved = (at + start * s[axis] for at, s in zip(self.starts, self.steps, strict=True))
            yield replace(self, counts=counts, starts=tuple(moved))


@dataclass(frozen=True, kw_only=True)
class Product(Step):
    """``target = requantize(sum over k of tables[0][a] * tables[1][b])``.

    ``whole`` has all elements. Columns are adjacent bytes of the second operand and the result.
    """

    sources: tuple[int, int]
    whole: Block
    tables: tuple[np.ndarray, ...]
    requantize: Requantize

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        return (*self.sources, self.target)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands."""
        self._emit(emitter, staging, self.whole)

    def _emit(self, emitter: Emitter, staging: Staging, block: Block) -> None:
        """Emit a block; halved until a command has fields for it, and what is elsewhere fits."""
        outside = [i for i, tensor in enumerate(self.uses) if staging.resident(tensor) is None]
        room = fits([block.size(operand) for operand in outside])
        limit = staging.room[1] // (1 if block == self.whole else 2)
        halves = () if block.is_command and room <= limit else tuple(block.halves())
        for half in halves:
            self._emit(emitter, staging, half)
        if halves:
            return
        staging.begin(room)
        starts = []
        steps = []
        for operand, tensor in enumerate(self.uses):
            place = staging.load_block if operand < 2 else staging.result_block
            start, moved = place(tensor, block.starts[operand], block.shape(operand))
            found = dict(zip(block.axes(operand), moved, strict=True))
            starts.append(start)
            steps.append(tuple(found.get(axis, 0) for axis in range(len(block.counts))))
        self._command(emitter, replace(block, starts=tuple(starts), steps=tuple(steps)))
        staging.store_block(self.target, block.starts[2], block.shape(2), starts[2])

    def _command(self, emitter: Emitter, block: Block) -> None:
        """Emit the command of a block at scratchpad addresses."""
        axes = list(zip(block.counts, *block.steps, strict=True))
        depth, a_step, b_step, _ = axes[-1]
        taps = factors(depth)
        inner = [prod(taps[place + 1 :]) for place in range(len(taps))]
        window = [(n, i * a_step, i * b_step) for n, i in zip(taps, inner, strict=True)]
        nest = [axis for axis in axes[:-2] if axis[0] > 1]
        command = Vector(
            combine=Combine.MULTIPLY,
            reduce=Reduce.SUM,
            repeat_a=1,
            run=block.counts[-2],
            source_a=block.starts[0],
            source_b=block.starts[1],
            target=block.starts[2],
            requantize=self.requantize,
            **operand_tables(emitter, self.tables),
            **loop_fields(nest, "a_step", "b_step", "target_step"),
            **loop_fields(window, "a_window", "b_window", count="window"),
        )
        *reads, writes = (
            Interval(Space.SCRATCHPAD, start, start + 1 + sum((n - 1) * step for n, step in shape))
            for start, shape in zip(block.starts, map(block.shape, range(3)), strict=True)
        )
        emitter.vector(command, reads, writes)
