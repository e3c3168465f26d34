"""Reductions on the vector engine: sums, extremes, their places; rows scaled by one; products."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from eightfold.compiler.emit.emitter import Emitter, loop_fields
from eightfold.compiler.emit.memory import ALIGNMENT
from eightfold.compiler.emit.regions import Nest, broadcast_loops, collapsed, halvings, parts
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.exact import CompileError
from eightfold.compiler.steps.elementwise import CODES, RUN, operand_tables
from eightfold.compiler.steps.step import Step, UnaryStep
from eightfold.isa import Combine, Operand, Reduce, Requantize, Rounding, Row, Space, Vector
from eightfold.isa.issued import Interval
from eightfold.isa.vector_fields import RowScaling

LONGEST = (1 << 16) - 1
"""Iterations of a loop, elements of a run."""

WINDOWS, LOOPS = 2, 3
"""Loops of a window, and over results, that a command has."""

ROWS = {Reduce.SUM: Row.SUM, Reduce.MAXIMUM: Row.MAXIMUM, Reduce.MINIMUM: Row.MINIMUM}
"""What reduces a run as ``reduce`` does a window."""


def grouped(shape: Sequence[int], axes: Sequence[int]) -> Nest:
    """Return the elements of a shape, and of what is left of it without some axes.

    Adjacent axes that are all reduced or all kept are one loop; those of 1 are none.
    """
    kept = [1 if axis in axes else count for axis, count in enumerate(shape)]
    return Nest((0, 0), tuple(collapsed(broadcast_loops([shape, kept], shape))))


def reduced(nest: Nest) -> list[bool]:
    """Return of each loop whether the result does not have it."""
    return [not into for _, _, into in nest.loops]


def is_direct(nest: Nest) -> bool:
    """Return whether a command has as many loops over what is reduced as are needed."""
    loops = nest.loops
    before = loops[:-1] if any(reduced(nest)[-1:]) else loops
    windows = [factors(count) for count, _, into in before if not into]
    return all(windows) and sum(map(len, windows)) <= WINDOWS


@dataclass(frozen=True, kw_only=True)
class Reduction(UnaryStep):
    """``target = requantize(reduce(source))``; ``whole``, of `grouped`, has the elements of both.

    ``byte``: None for the value; 0 or 1 for a byte of the number of the first element that has the
    extreme, along the one loop that is reduced. ``requantize`` is of a sum.
    """

    whole: Nest
    reduce: Reduce
    byte: int | None = None
    requantize: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        longest = max((count for count, _, into in self.whole.loops if not into), default=1)
        if self.byte is not None and longest > LONGEST:
            raise CompileError(f"an axis of {longest} elements is longer than {LONGEST}")
        assert is_direct(self.whole), "reduced axes are to be moved together before"

    @property
    def feature(self) -> str:
        """Rows, where the bytes that are reduced are next to each other."""
        return "rows" if any(reduced(self.whole)[-1:]) else ""

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        self._emit(emitter, staging, self.whole, whole=True)

    def _emit(self, emitter: Emitter, staging: Staging, nest: Nest, whole: bool = False) -> None:
        """Emit a part of the result; halved along its first kept axis until it fits."""
        room = staging.needed(self.uses, map(nest.size, (0, 1)))
        if room <= staging.limit(whole):
            staging.begin(room)
            self._part(emitter, staging, nest)
            return
        kept = (i for i, (count, _, into) in enumerate(nest.loops) if into and count > 1)
        halves = nest.halves(next(kept, None))
        for half in halves:
            self._emit(emitter, staging, half)
        if not halves:
            self._emit_in_parts(emitter, staging, nest)

    def _emit_in_parts(self, emitter: Emitter, staging: Staging, nest: Nest) -> None:
        """Emit one result of a row, part by part: each goes on from the one before."""
        if not reduced(nest)[-1]:
            raise NoRoomError
        for number, part in enumerate(_cut(nest, staging.limit(whole=False) - ALIGNMENT)):
            staging.begin(fits([part.size(0), 1]))
            self._part(emitter, staging, part, resume=number > 0)

    def _part(self, emitter: Emitter, staging: Staging, nest: Nest, resume: bool = False) -> None:
        """Emit a part that fits: its bytes loaded, its commands, its result stored."""
        moved = staging.load_nest(self.uses, nest)
        self._commands(emitter, moved, resume)
        staging.store_block(self.target, nest.starts[1], nest.axes(1), moved.starts[1])

    def _commands(self, emitter: Emitter, nest: Nest, resume: bool) -> None:
        """Emit the commands of a part at scratchpad addresses, each within the limits."""
        nest = Nest(nest.starts, tuple(loop for loop in nest.loops if loop[0] > 1))
        if _run(nest) > LONGEST and reduced(nest)[-1]:
            self._long_rows(emitter, nest, resume)
            return
        outer = _outer(nest)
        long = [i for i, (count, _, into) in enumerate(nest.loops) if into and count > RUN]
        if len(outer) <= LOOPS and not long:
            self._command(emitter, nest, resume)
            return
        place, size = (outer[0], 1) if len(outer) > LOOPS else (long[0], RUN)
        for part in parts(range(nest.loops[place][0]), size):
            self._commands(emitter, nest.some(place, part.start, len(part)), resume)

    def _long_rows(self, emitter: Emitter, nest: Nest, resume: bool) -> None:
        """Emit rows longer than a run, one after the other: each in parts that go on."""
        place = next((i for i, loop in enumerate(nest.loops) if loop[2]), None)
        if place is None:
            for number, part in enumerate(_cut(nest, RUN)):
                self._commands(emitter, part, resume or number > 0)
            return
        for number in range(nest.loops[place][0]):
            self._long_rows(emitter, nest.index(place, number), resume)

    def _command(self, emitter: Emitter, nest: Nest, resume: bool) -> None:
        """Emit the command of loops that are within the limits."""
        run = _run(nest)
        in_rows = resume or (run > 1 and reduced(nest)[-1])
        over = nest.loops[:-1] if run > 1 and in_rows else nest.loops
        taps = [each for count, step, into in over if not into for each in factored(count, step)]
        kept = [nest.loops[i] for i in _outer(nest)]
        command = replace(
            self._operation(emitter, in_rows),
            run=run,
            source_a=nest.starts[0],
            target=nest.starts[1],
            resume=resume,
            **loop_fields(kept, "a_step", "target_step"),
            **loop_fields(taps, "a_window", count="window"),
        )
        reads, writes = nest.intervals()
        emitter.vector(command, [reads], writes)

    def _operation(self, emitter: Emitter, in_rows: bool) -> Vector:
        """Return a command that says what becomes of the bytes, but not where they are."""
        command = Vector(run=1, source_a=0, target=0, requantize=self._requantization(in_rows))
        if in_rows:
            return replace(command, row=ROWS[self.reduce])
        if self.byte is None:
            return replace(command, reduce=self.reduce)
        # The number breaks ties: the smallest sum is that of the first element.
        sign = -1 if self.reduce == Reduce.MAXIMUM else 1
        return replace(
            command,
            combine=Combine.ADD,
            operand_b=Operand.POSITION,
            reduce=Reduce.MINIMUM,
            **operand_tables(emitter, [(sign * CODES) << 16]),
        )

    def _requantization(self, in_rows: bool) -> Requantize:
        if self.requantize is not None:
            return Requantize.of(self.requantize)
        if self.byte is None:
            return extract_byte(2) if in_rows else Requantize()
        return extract_byte(self.byte)


def _run(nest: Nest) -> int:
    """Return the iterations of the last loop if its bytes are adjacent: the command's run, or 1."""
    return nest.loops[-1][0] if nest.loops and nest.loops[-1][1] == 1 else 1


def _outer(nest: Nest) -> list[int]:
    """Return the places of the loops that go over results, but for the run."""
    last = len(nest.loops) - (_run(nest) > 1)
    return [i for i, loop in enumerate(nest.loops[:last]) if loop[2]]


def extract_byte(number: int) -> Requantize:
    """Return the requantization that passes byte ``number`` of 4 as it is."""
    return Requantize(left=8 * (3 - number), multiplier=1, right=24, rounding=Rounding.DOWN)


def _cut(nest: Nest, most: int) -> Iterator[Nest]:
    """Yield parts of ``most`` bytes at most: halves, runs of whole vectors.

    Raises NoRoomError if a vector is more.
    """
    if nest.size(0) <= most:
        yield nest
        return
    place = next(i for i, loop in enumerate(nest.loops) if loop[0] > 1)
    halves = nest.halves(place, ALIGNMENT if place == len(nest.loops) - 1 else 1)
    if not halves:
        raise NoRoomError
    for half in halves:
        yield from _cut(half, most)


def factors(count: int) -> tuple[int, ...]:
    """Return the counts of one or two loops that make ``count`` iterations; none if there are none.

    As the prime 65537, which is in no product of counts of 16 bits.
    """
    if count <= LONGEST:
        return (count,)
    size = next((n for n in range(LONGEST, 1, -1) if count % n == 0), 1)
    return (count // size, size) if count // size <= LONGEST else ()


def factored(count: int, *steps: int) -> list[tuple[int, ...]]:
    """Return a loop as one or two whose counts fit a command."""
    counts = factors(count)
    inner = [prod(counts[place + 1 :]) for place in range(len(counts))]
    return [(n, *(i * step for step in steps)) for n, i in zip(counts, inner, strict=True)]


@dataclass(frozen=True, kw_only=True)
class ScaledRows(UnaryStep):
    """``target = scaling(source)``, of ``rows`` contiguous rows of ``length`` bytes."""

    rows: int
    length: int
    scaling: RowScaling

    @property
    def feature(self) -> str:
        return "rows"

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, as many rows at a time as fit, or parts of one row."""

        def room(count: int) -> int:
            return staging.needed(self.uses, [count * self.length] * 2)

        try:
            if self.length > RUN:
                raise NoRoomError
            count = staging.largest(halvings(self.rows), room, self.rows)
        except NoRoomError:
            for row in range(self.rows):
                self._emit_in_parts(emitter, staging, row * self.length)
            return
        for rows in parts(range(self.rows), count):
            offset = rows.start * self.length
            size = len(rows) * self.length
            staging.begin(room(len(rows)))
            places = self._places(staging, offset, size)
            self._commands(emitter, places, len(rows), self.length, self.scaling.row)
            staging.store(self.target, offset, size, places[1])

    def _places(self, staging: Staging, offset: int, size: int) -> tuple[int, int]:
        """Return the scratchpad addresses of some bytes of both tensors, the source's loaded."""
        return staging.load(self.source, offset, size), staging.result(self.target, offset, size)

    def _emit_in_parts(self, emitter: Emitter, staging: Staging, start: int) -> None:
        """Emit a row from byte ``start`` on: its maximum, its sum, then the scaling, by parts.

        What the first two write is overwritten by the third.
        """
        size = min(RUN, self.length)
        if outside := len(staging.outside(self.uses)):
            size = min(size, (staging.room[1] // 2 // outside - ALIGNMENT) // ALIGNMENT * ALIGNMENT)
        if size < 1:
            raise NoRoomError
        kinds = [Row.MAXIMUM] if self.scaling.relative else []
        for kind in (*kinds, Row.SUM, self.scaling.row):
            for part in parts(range(self.length), size):
                offset = start + part.start
                staging.begin(fits([len(part)] * outside))
                places = self._places(staging, offset, len(part))
                resume = kind == self.scaling.row or part.start > 0
                self._commands(emitter, places, 1, len(part), kind, resume)
                if kind == self.scaling.row:
                    staging.store(self.target, offset, len(part), places[1])

    def _commands(
        self,
        emitter: Emitter,
        places: tuple[int, int],
        rows: int,
        length: int,
        row: Row,
        resume: bool = False,
    ) -> None:
        """Emit the commands for contiguous rows at scratchpad addresses, of source and target.

        ``row`` is what is done with one; ``resume``: a part goes on from the one before.
        """
        source, target = places
        for first in range(0, rows, RUN):
            count = min(RUN, rows - first)
            start, result = source + first * length, target + first * length
            command = Vector(
                row=row,
                relative=self.scaling.relative,
                resume=resume,
                run=length,
                count0=count,
                source_a=start,
                a_step0=length,
                target=result,
                target_step0=length,
                requantize=Requantize.of(self.scaling.requantize),
                **operand_tables(emitter, self.scaling.tables),
            )
            reads = Interval(Space.SCRATCHPAD, start, start + count * length)
            writes = Interval(Space.SCRATCHPAD, result, result + count * length)
            emitter.vector(command, [reads], writes)


@dataclass(frozen=True, kw_only=True)
class Product(Step):
    """``target = requantize(sum over k of tables[0][a] * tables[1][b])``, both computed.

    The MAC array's weights stream from the model region, which nothing writes
    (docs/decisions/0007-computed-weights-on-the-vector-engine.md). In a VECTOR the run is a row of
    the second matrix, the window goes over k, and the first matrix has for each position the one
    byte that multiplies its row; tables subtract both zero points.

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
        room = staging.needed(self.uses, map(nest.size, range(3)))
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
            **loop_fields(factored(depth, a_step, b_step), "a_window", "b_window", count="window"),
        )
        *reads, writes = nest.intervals()
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
