"""Operators that scale whole rows by what they find of them, in parts that fit."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eightfold.compiler.elementwise import RUN, operand_tables
from eightfold.compiler.emitter import Emitter, Interval
from eightfold.compiler.staging import NoRoomError, Staging, fits, halvings, parts
from eightfold.isa import Row, Space


@dataclass(frozen=True, kw_only=True)
class RowScaling:
    """What becomes of a row: `eightfold.isa.VECTOR` with ``row``.

    ``tables``: int32 (256,) each, of the elements and of the sum, by the byte read as unsigned.
    """

    row: Row
    relative: bool
    tables: tuple[np.ndarray, np.ndarray]
    requantize: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class ScaledRows:
    """``target = scaling(source)``, of ``rows`` contiguous rows of ``length`` bytes."""

    source: int
    target: int
    rows: int
    length: int
    scaling: RowScaling

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        return (self.source, self.target)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, as many rows at a time as fit."""
        outside = [tensor for tensor in self.uses if staging.resident(tensor) is None]
        room = staging.room[1]
        for count in halvings(self.rows):
            size = fits([count * self.length] * len(outside))
            if size <= (room if count in (1, self.rows) else room // 2):
                break
        else:
            raise NoRoomError
        for rows in parts(range(self.rows), count):
            offset, size = rows.start * self.length, len(rows) * self.length
            staging.begin(fits([size] * len(outside)))
            source = staging.load(self.source, offset, size)
            resident = staging.resident(self.target)
            target = resident + offset if resident is not None else staging.take(size)
            emit_scaled_rows(emitter, self.scaling, source, target, len(rows), self.length)
            staging.store(self.target, offset, size, target)


def emit_scaled_rows(
    emitter: Emitter, scaling: RowScaling, source: int, target: int, rows: int, length: int
) -> None:
    """Emit the commands for ``rows`` contiguous rows at scratchpad addresses."""
    for first in range(0, rows, RUN):
        count = min(RUN, rows - first)
        start, result = source + first * length, target + first * length
        fields = {
            "row": scaling.row.value,
            "relative": int(scaling.relative),
            "run": length,
            "rows": 1,
            "columns": 1,
            **{f"count{i}": 1 for i in (1, 2)},
            **{f"window{i}": 1 for i in range(2)},
            "count0": count,
            "source_a": start,
            "a_step0": length,
            "target": result,
            "target_step0": length,
            **operand_tables(emitter, scaling.tables),
            **{f"requantize.{name}": value for name, value in scaling.requantize.items()},
        }
        reads = Interval(Space.SCRATCHPAD, start, start + count * length)
        writes = Interval(Space.SCRATCHPAD, result, result + count * length)
        emitter.vector(fields, [reads], writes)
