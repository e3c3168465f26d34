"""Operators that scale whole rows by what they find of them, in parts that fit."""

from dataclasses import dataclass

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.memory import ALIGNMENT
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits, halvings, parts
from eightfold.compiler.steps.elementwise import RUN, operand_tables
from eightfold.compiler.steps.step import Step
from eightfold.isa import Requantize, Row, Space, Vector
from eightfold.isa.issued import Interval
from eightfold.isa.vector_fields import RowScaling


@dataclass(frozen=True, kw_only=True)
class ScaledRows(Step):
    """``target = scaling(source)``, of ``rows`` contiguous rows of ``length`` bytes."""

    source: int
    rows: int
    length: int
    scaling: RowScaling

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        return (self.source, self.target)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, as many rows at a time as fit, or parts of one row."""
        outside = [tensor for tensor in self.uses if staging.resident(tensor) is None]
        room = staging.room[1]
        for count in halvings(self.rows):
            size = fits([count * self.length] * len(outside))
            if size <= (room if count in (1, self.rows) else room // 2):
                break
        else:
            count = 0
        if not count or self.length > RUN:
            for row in range(self.rows):
                self._emit_in_parts(emitter, staging, row * self.length, len(outside))
            return
        for rows in parts(range(self.rows), count):
            offset = rows.start * self.length
            size = len(rows) * self.length
            staging.begin(fits([size] * len(outside)))
            source, target = self._places(staging, offset, size)
            emit_scaled_rows(emitter, self.scaling, source, target, len(rows), self.length)
            staging.store(self.target, offset, size, target)

    def _places(self, staging: Staging, offset: int, size: int) -> tuple[int, int]:
        """Return the scratchpad addresses of some bytes of both tensors, the source's loaded."""
        source = staging.load(self.source, offset, size)
        resident = staging.resident(self.target)
        return source, staging.take(size) if resident is None else resident + offset

    def _emit_in_parts(self, emitter: Emitter, staging: Staging, start: int, outside: int) -> None:
        """Emit a row from byte ``start`` on: its maximum, its sum, then the scaling, by parts.

        What the first two write is overwritten by the third.
        """
        size = min(RUN, self.length)
        if outside:
            size = min(size, (staging.room[1] // 2 // outside - ALIGNMENT) // ALIGNMENT * ALIGNMENT)
        if size < 1:
            raise NoRoomError
        kinds = [Row.MAXIMUM] if self.scaling.relative else []
        for kind in (*kinds, Row.SUM, self.scaling.row):
            for part in parts(range(self.length), size):
                offset = start + part.start
                staging.begin(fits([len(part)] * outside))
                source, target = self._places(staging, offset, len(part))
                resume = kind == self.scaling.row or part.start > 0
                emit_scaled_rows(
                    emitter, self.scaling, source, target, 1, len(part), kind=kind, resume=resume
                )
                if kind == self.scaling.row:
                    staging.store(self.target, offset, len(part), target)


def emit_scaled_rows(
    emitter: Emitter,
    scaling: RowScaling,
    source: int,
    target: int,
    rows: int,
    length: int,
    *,
    kind: Row | None = None,
    resume: bool = False,
) -> None:
    """Emit the commands for ``rows`` contiguous rows at scratchpad addresses.

    ``kind``: another operation on a part of a row; ``resume``: it goes on from the one before.
    """
    for first in range(0, rows, RUN):
        count = min(RUN, rows - first)
        start, result = source + first * length, target + first * length
        command = Vector(
            row=kind or scaling.row,
            relative=scaling.relative,
            resume=resume,
            run=length,
            count0=count,
            source_a=start,
            a_step0=length,
            target=result,
            target_step0=length,
            requantize=Requantize.of(scaling.requantize),
            **operand_tables(emitter, scaling.tables),
        )
        reads = Interval(Space.SCRATCHPAD, start, start + count * length)
        writes = Interval(Space.SCRATCHPAD, result, result + count * length)
        emitter.vector(command, [reads], writes)
