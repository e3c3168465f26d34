"""Element-wise operators on the vector engine, with broadcasting, in parts that fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eightfold.compiler.emit.emitter import Emitter, loop_fields
from eightfold.compiler.emit.regions import Nest, broadcast_loops, collapsed, parts
from eightfold.compiler.emit.staging import NoRoomError, Staging
from eightfold.compiler.steps.step import Step
from eightfold.isa import Combine, Operand, Requantize, Vector

RUN = 1 << 15
"""Longest run of a command, below the field's limit and a multiple of every vector."""

EVERY_BYTE = np.arange(256, dtype=np.uint8).view(np.int8)
"""The int8 codes in the order of a table's entries."""

CODES = EVERY_BYTE.astype(np.int64)

IDENTITY = Requantize().values()
"""Requantization that only clamps to int8."""


@dataclass(frozen=True, kw_only=True)
class Elementwise:
    """``requantize(combine(table_a[a], table_b[b]))``; without a table the byte itself.

    ``tables``: int32 (256,) each, by the byte read as unsigned; the operand b has one if the
    operation takes it.
    """

    combine: Combine = Combine.A
    tables: tuple[np.ndarray, ...] = ()
    requantize: dict[str, int] = field(default_factory=lambda: dict(IDENTITY))

    @property
    def operands(self) -> int:
        """One or two."""
        return 1 if self.combine == Combine.A else 2


def emit_elementwise(emitter: Emitter, operation: Elementwise, nest: Nest) -> None:
    """Emit the commands for elements at scratchpad addresses: of each operand, the result last."""
    _emit(emitter, operation, Nest(nest.starts, tuple(collapsed(nest.loops))))


def _emit(emitter: Emitter, operation: Elementwise, nest: Nest) -> None:
    """Split until three loops and a run are left; in a run an operand may be the same byte."""
    loops = nest.loops
    unit = loops[-1][1:] if loops else (1,) * len(nest.starts)
    run = loops[-1][0] if loops and unit[-1] == 1 and set(unit) <= {0, 1} else 1
    outer = loops[:-1] if run > 1 else loops
    if run > RUN:
        for part in parts(range(run), RUN):
            _emit(emitter, operation, nest.some(len(outer), part.start, len(part)))
    elif len(outer) > 3:
        for number in range(loops[0][0]):
            _emit(emitter, operation, nest.index(0, number))
    elif any(loop[0] >= 1 << 16 for loop in outer):
        for half in nest.cut(0, loops[0][0] // 2):
            emit_elementwise(emitter, operation, half)
    else:
        repeated = [run > 1 and step == 0 for step in unit[:-1]]
        _command(emitter, operation, Nest(nest.starts, outer), run, repeated)


def _command(
    emitter: Emitter, operation: Elementwise, nest: Nest, run: int, repeated: list[bool]
) -> None:
    *sources, target = nest.starts
    steps = ("a_step", "b_step", "target_step")
    steps = steps if operation.operands == 2 else (steps[0], steps[2])
    command = Vector(
        combine=operation.combine,
        operand_b=Operand.REPEAT if repeated[1:] == [True] else Operand.BYTES,
        repeat_a=repeated[0],
        run=run,
        source_a=sources[0],
        source_b=sources[-1],
        target=target,
        requantize=Requantize.of(operation.requantize),
        **operand_tables(emitter, operation.tables),
        **loop_fields(nest.loops, *steps),
    )
    *reads, writes = nest.intervals(*(1 if same else run for same in (*repeated, False)))
    emitter.vector(command, reads, writes)


def operand_tables(emitter: Emitter, tables: Sequence[np.ndarray]) -> dict[str, Any]:
    """Load the operands' tables, and return the fields that choose them."""
    fields: dict[str, Any] = {}
    for side, entries in zip("ab", tables, strict=False):
        number = emitter.table(entries)
        fields |= {f"lookup_{side}": 1, f"table_{side}": number}
    return fields


Shape = tuple[int, ...]
Shaped = tuple[int, Shape]
"""A tensor and its shape."""


@dataclass(frozen=True, kw_only=True)
class Pointwise(Step):
    """``target = operation(operands)``, which broadcast to ``shape``."""

    operation: Elementwise
    operands: tuple[Shaped, ...]
    shape: Shape

    @property
    def uses(self) -> tuple[int, ...]:
        return (*(tensor for tensor, _ in self.operands), self.target)

    @property
    def replaceable(self) -> int | None:
        """The first operand, if each of its bytes is read once, for the byte in its place."""
        first, shape = self.operands[0]
        return first if shape == self.shape and self.uses.count(first) == 1 else None

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        self._emit(emitter, staging, self.nest, whole=True)

    @property
    def nest(self) -> Nest:
        """The elements of the operands, and of the result."""
        shape = self.shape or (1,)
        shapes = [*(each for _, each in self.operands), shape]
        return Nest((0,) * len(shapes), tuple(broadcast_loops(shapes, shape)))

    def _emit(self, emitter: Emitter, staging: Staging, nest: Nest, whole: bool = False) -> None:
        """Emit a block of the result; halved along its first axis until it fits."""
        spans = [nest.span(i) for i in range(len(self.uses))]
        room = staging.needed(self.uses, spans)
        if room > staging.limit(whole):
            halves = nest.halves(nest.first)
            if not halves:
                raise NoRoomError
            for half in halves:
                self._emit(emitter, staging, half)
            return
        staging.begin(room)
        starts = [*map(staging.load, self.uses[:-1], nest.starts, spans)]
        starts.append(staging.result(self.target, nest.starts[-1], spans[-1]))
        emit_elementwise(emitter, self.operation, Nest(tuple(starts), nest.loops))
        staging.store(self.target, nest.starts[-1], spans[-1], starts[-1])
