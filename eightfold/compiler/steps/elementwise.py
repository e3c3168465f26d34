"""Element-wise operators on the vector engine, with broadcasting, in parts that fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eightfold.compiler.emit.emitter import Emitter, loop_fields
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.emit.tile import Tile
from eightfold.compiler.steps.step import Step
from eightfold.compiler.steps.windowed import Axis
from eightfold.isa import Combine, Operand, Reduce, Requantize, Space, Vector
from eightfold.isa.issued import Interval

RUN = 1 << 15
"""Longest run of a command, below the field's limit and a multiple of every vector."""

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


def emit_elementwise(
    emitter: Emitter,
    operation: Elementwise,
    sources: Sequence[int],
    target: int,
    shape: Sequence[int],
    strides: Sequence[Sequence[int]],
) -> None:
    """Emit the commands for ``shape`` elements at scratchpad addresses.

    ``strides``: for each operand, and the result last, the bytes from one element to the next along
    each axis; 0 where an operand is broadcast. Adjacent axes that are contiguous everywhere count
    as one.
    """
    axes = collapsed(shape, strides)
    _emit(emitter, operation, list(sources), target, axes)


def collapsed(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> list[tuple[int, tuple[int, ...]]]:
    """Return (count, strides) per axis, with 1 dropped and what is contiguous joined."""
    axes: list[tuple[int, tuple[int, ...]]] = []
    for axis, count in enumerate(shape):
        steps = tuple(stride[axis] for stride in strides)
        if count == 1:
            continue
        if axes and axes[-1][1] == tuple(count * step for step in steps):
            axes[-1] = (axes[-1][0] * count, steps)
        else:
            axes.append((count, steps))
    return axes


def _emit(
    emitter: Emitter,
    operation: Elementwise,
    sources: list[int],
    target: int,
    axes: list[tuple[int, tuple[int, ...]]],
) -> None:
    """Split until three loops and a run are left; in a run an operand may be the same byte."""
    unit = axes[-1][1] if axes else (1,) * (len(sources) + 1)
    run = axes[-1][0] if axes and unit[-1] == 1 and set(unit) <= {0, 1} else 1
    loops = axes[:-1] if run > 1 else axes
    if run > RUN:
        for start in range(0, run, RUN):
            part = [*loops, (min(RUN, run - start), unit)]
            moved = [source + start * step for source, step in zip(sources, unit, strict=False)]
            _emit(emitter, operation, moved, target + start, part)
        return
    if len(loops) > 3 or any(count >= 1 << 16 for count, _ in loops):
        (count, steps), *inner = axes
        half = count // 2 if len(loops) <= 3 else 1
        for first, size in ((0, half), (half, count - half)):
            moved = [source + first * step for source, step in zip(sources, steps, strict=False)]
            part = inner if size == 1 else [(size, steps), *inner]
            if size:
                _emit(emitter, operation, moved, target + first * steps[-1], part)
        return
    repeated = [run > 1 and step == 0 for step in unit[:-1]]
    _command(emitter, operation, sources, target, loops, run, repeated)


def _command(
    emitter: Emitter,
    operation: Elementwise,
    sources: list[int],
    target: int,
    loops: list[tuple[int, tuple[int, ...]]],
    run: int,
    repeated: list[bool],
) -> None:
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
        **loop_fields([(count, *each) for count, each in loops], *steps),
    )
    reads = [
        _interval(source, 1 if same else run, [(count, steps[i]) for count, steps in loops])
        for i, (source, same) in enumerate(zip(sources, repeated, strict=True))
    ]
    writes = _interval(target, run, [(count, steps[-1]) for count, steps in loops])
    emitter.vector(command, reads, writes)


def operand_tables(emitter: Emitter, tables: Sequence[np.ndarray]) -> dict[str, Any]:
    """Load the operands' tables, and return the fields that choose them."""
    fields: dict[str, Any] = {}
    for side, entries in zip("ab", tables, strict=False):
        number = emitter.table(entries)
        fields |= {f"lookup_{side}": 1, f"table_{side}": number}
    return fields


def _interval(start: int, run: int, loops: list[tuple[int, int]]) -> Interval:
    return Interval(
        Space.SCRATCHPAD, start, start + run + sum((count - 1) * step for count, step in loops)
    )


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Each window reduced and requantized; ``fill`` is what changes nothing."""

    rows: Axis
    columns: Axis
    reduce: Reduce
    fill: int
    requantize: Requantize


def emit_pool(
    emitter: Emitter, pool: Pool, source: Tile, target: Tile, outputs: tuple[range, range]
) -> None:
    """Emit the command for the output rows and columns ``outputs`` of one image."""
    y, x = pool.rows, pool.columns
    row, column = y.start(outputs[0].start), x.start(outputs[1].start)
    command = Vector(
        reduce=pool.reduce,
        fill=pool.fill,
        run=len(source.channels),
        count1=len(outputs[0]),
        count0=len(outputs[1]),
        window1=y.kernel,
        window0=x.kernel,
        source_a=source.at(row, column),
        a_step1=y.stride * source.row_pitch,
        a_step0=x.stride * source.pixel_pitch,
        a_window1=y.dilation * source.row_pitch,
        a_window0=x.dilation * source.pixel_pitch,
        target=target.at(outputs[0].start, outputs[1].start),
        target_step1=target.row_pitch,
        target_step0=target.pixel_pitch,
        row0=row - source.rows.start,
        rows=len(source.rows),
        row_step=y.stride,
        row_window=y.dilation,
        column0=column - source.columns.start,
        columns=len(source.columns),
        column_step=x.stride,
        column_window=x.dilation,
        requantize=pool.requantize,
    )
    reads = source.written(y.span(outputs[0]))
    emitter.vector(command, [reads], target.written(outputs[0]))


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
