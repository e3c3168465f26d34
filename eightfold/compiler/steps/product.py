"""BATCH_MATMUL of operands that are computed: products and sums of the vector engine.

The MAC array's weights stream from the model region, which nothing writes
(docs/decisions/0007-computed-weights-on-the-vector-engine.md). In a VECTOR the run is a row of the
second matrix, the window goes over k, and the first matrix has for each position the one byte that
multiplies its row; tables subtract both zero points.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from eightfold.compiler.emit.emitter import Emitter, loop_fields
from eightfold.compiler.emit.nest import Nest
from eightfold.compiler.emit.staging import Staging, fits
from eightfold.compiler.steps.elementwise import RUN, operand_tables
from eightfold.compiler.steps.reduction import LONGEST, LOOPS, factors
from eightfold.compiler.steps.step import Step
from eightfold.isa import Combine, Reduce, Requantize, Vector
from eightfold.isa.issued import Interval


@dataclass(frozen=True, kw_only=True)
class Product(Step):
    """``target = requantize(sum over k of tables[0][a] * tables[1][b])``.

    ``whole`` has all elements of the operands and the result: loops over the axes before the
    matrices, over rows, columns, and k. Columns are adjacent bytes of the second operand and the
    result.
    """

    sources: tuple[int, int]
    whole: Nest
    tables: tuple[np.ndarray, ...]
    requantize: Requantize

    @property
    def uses(self) -> tuple[int, ...]:
        return (*self.sources, self.target)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        self._emit(emitter, staging, self.whole)

    def _emit(self, emitter: Emitter, staging: Staging, nest: Nest) -> None:
        """Emit some elements; halved until a command has fields for them, and all fits."""
        places = map(staging.resident, self.uses)
        room = fits([nest.size(i) for i, place in enumerate(places) if place is None])
        fit = room <= staging.limit(nest == self.whole)
        halves = () if fit and _is_command(nest) else _halves(nest)
        for half in halves:
            self._emit(emitter, staging, half)
        if not halves:
            staging.begin(room)
            moved = staging.load_nest(self.uses, nest)
            self._command(emitter, moved)
            staging.store_block(self.target, nest.starts[2], nest.axes(2), moved.starts[2])

    def _command(self, emitter: Emitter, nest: Nest) -> None:
        """Emit the command of some elements at scratchpad addresses."""
        *outer, columns, (depth, a_step, b_step, _) = nest.loops
        taps = factors(depth)
        inner = [prod(taps[place + 1 :]) for place in range(len(taps))]
        window = [(n, i * a_step, i * b_step) for n, i in zip(taps, inner, strict=True)]
        command = Vector(
            combine=Combine.MULTIPLY,
            reduce=Reduce.SUM,
            repeat_a=1,
            run=columns[0],
            source_a=nest.starts[0],
            source_b=nest.starts[1],
            target=nest.starts[2],
            requantize=self.requantize,
            **operand_tables(emitter, self.tables),
            **loop_fields([n for n in outer if n[0] > 1], "a_step", "b_step", "target_step"),
            **loop_fields(window, "a_window", "b_window", count="window"),
        )
        *reads, writes = (
            Interval.of_runs(start, 1, nest.axes(tensor))
            for tensor, start in enumerate(nest.starts)
        )
        emitter.vector(command, reads, writes)


def _is_command(nest: Nest) -> bool:
    """Return whether a command has fields for a product."""
    *outer, columns, _ = nest.loops
    counts = [loop[0] for loop in outer if loop[0] > 1]
    return len(counts) <= LOOPS and max(counts, default=1) <= LONGEST and columns[0] <= RUN


def _halves(nest: Nest) -> tuple[Nest, ...]:
    """Return halves along the first axis, then along that of the larger matrix; none of one."""
    rows, columns = len(nest.loops) - 3, len(nest.loops) - 2
    order = (rows, columns) if nest.size(0) > nest.size(1) else (columns, rows)
    return nest.halves(next((i for i in (*range(rows), *order) if nest.loops[i][0] > 1), None))
