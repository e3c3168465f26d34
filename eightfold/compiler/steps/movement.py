"""Operators that only move bytes, as programs of the mover; GATHER, in parts that fit.

`copies` makes programs of elements that are told by their positions, as few strided loops as it
can. The elements form a box: along each of its axes the position in the source moves on by amounts
that depend on the index alone, and so does the position in the target. `affine_pieces` cuts each
axis into few arithmetic progressions, and each product of pieces is one copy. The box has the axes
of the target, or those of the source where that takes fewer commands, or where the target's are
none: SPACE_TO_BATCH_ND with padding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.compiler.emit.emitter import LOOPS, Emitter, Loop, joined
from eightfold.compiler.emit.regions import Nest, packed_steps, parts
from eightfold.compiler.emit.staging import NoRoomError, Place, Staging, fits
from eightfold.compiler.exact import CompileError
from eightfold.compiler.steps.step import Step
from eightfold.estimate.cost import MOVE_COMMAND
from eightfold.isa import SPACES, Opcode, Space
from eightfold.target.config import AcceleratorConfig

PHASES = 32
"""Most interleaved progressions that are tried."""

AffineRow = tuple[int, ...]
"""What belongs together at one step of a walk, such as (output, tap) of a resized axis, or (source
offset, target offset) of a copy. Rows are independent of each other, so a piece may take every n-th
one."""


@dataclass(frozen=True)
class AffinePiece:
    """The rows ``first + sum(i * step)``, i in [0, count) for each loop, the outer one first.

    ``loops``: iterations, and what each adds to the row.
    """

    first: AffineRow
    loops: tuple[tuple[int, AffineRow], ...]

    @property
    def rows(self) -> NDArray[np.int64]:
        """All rows, int64 (rows, columns)."""
        rows = np.array([self.first], dtype=np.int64)
        for count, step in self.loops:
            steps = np.arange(count)[:, None] * np.array(step, dtype=np.int64)
            rows = (rows[:, None] + steps).reshape(-1, len(self.first))
        return rows


def affine_pieces(rows: ArrayLike) -> list[AffinePiece]:
    """Return few pieces that together have every row once.

    Each piece has at most two loops, each with more than one iteration. Of consecutive rows the
    fewest pieces are found that a shortest path over the ends of progressions gives; where every
    n-th row progresses (as the taps of a resize by 3/2 do), n interleaved lists are cut instead if
    that takes fewer pieces. ``rows``: integers (rows, columns), or (rows,) for a single column; at
    least one row.
    """
    every = np.asarray(rows, dtype=np.int64)
    every = every[:, None] if every.ndim == 1 else every
    best = _consecutive(every)
    for phases in range(2, PHASES + 1):
        if phases >= len(best):
            break
        found = [piece for phase in range(phases) for piece in _consecutive(every[phase::phases])]
        best = min(best, found, key=len)
    return best


def _consecutive(rows: NDArray[np.int64]) -> list[AffinePiece]:
    """Return the pieces on a shortest path from the first row to behind the last one."""
    lengths = _run_lengths(rows)
    before: dict[int, tuple[int, AffinePiece]] = {}
    frontier = [0]
    while len(rows) not in before:
        reached = []
        for start in frontier:
            for end, piece in _from(rows, lengths, start):
                if end not in before:
                    before[end] = (start, piece)
                    reached.append(end)
        frontier = reached
    pieces = []
    place = len(rows)
    while place:
        place, piece = before[place]
        pieces.append(piece)
    return pieces[::-1]


def _run_lengths(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row how many from it on are in arithmetic progression."""
    steps = np.diff(rows, axis=0)
    turns = np.flatnonzero(np.any(steps[1:] != steps[:-1], axis=1)) + 1  # rows where steps change
    ends = np.append(turns, len(rows) - 1)
    place = np.arange(len(rows))
    last = ends[np.minimum(np.searchsorted(ends, place, side="right"), len(ends) - 1)]
    return last - place + 1


def _from(
    rows: NDArray[np.int64], lengths: NDArray[np.int64], start: int
) -> Iterator[tuple[int, AffinePiece]]:
    """Yield the pieces worth trying from a row on, with the row behind each.

    A run that repeats; the run once; and the run without its last row, with which the next run may
    begin.
    """
    run = int(lengths[start])
    first = _row(rows[start])
    tail = rows[start:]
    step = rows[start + 1] - rows[start] if run > 1 else 0 * rows[start]
    if run < len(tail):
        block, place = np.divmod(np.arange(len(tail))[:, None], run)
        outer = rows[start + run] - rows[start]
        wrong = np.flatnonzero(np.any(tail != tail[0] + block * outer + place * step, axis=1))
        count = int(wrong[0] if wrong.size else len(tail)) // run
        if count > 1 and run > 1:
            yield start + count * run, AffinePiece(first, ((count, _row(outer)), (run, _row(step))))
    for length in (run, run - 1):
        if length > 0:
            loops = ((length, _row(step)),) if length > 1 else ()
            yield start + length, AffinePiece(first, loops)


def _row(values: NDArray[np.int64]) -> AffineRow:
    return tuple(values.tolist())


@dataclass(frozen=True)
class Copy:
    """Runs from a tensor, or of a byte if ``source`` is None, into the operator's result.

    ``loops``: (count, source stride, target stride), outermost first; offsets in bytes.
    """

    source: int | None
    source_offset: int
    target_offset: int
    run: int
    loops: tuple[tuple[int, int, int], ...] = ()
    fill: int = 0

    def emit(self, emitter: Emitter, source: Place, target: Place) -> None:
        """Emit the commands; a run of fill needs neither a source nor its strides."""
        loops = self.loops
        source = (source[0], source[1] + self.source_offset)
        if self.source is None:
            source, loops = (Space.FILL, 0), [(count, 0, step) for count, _, step in loops]
        target = (target[0], target[1] + self.target_offset)
        emitter.move(source, target, self.run, loops, self.fill)


@dataclass(frozen=True, kw_only=True)
class Movement(Step):
    """Copies into ``target``, in order: later ones read or overwrite what earlier ones wrote."""

    copies: tuple[Copy, ...]
    only_copies = True

    @property
    def uses(self) -> tuple[int, ...]:
        sources = {copy.source for copy in self.copies if copy.source is not None}
        return (*sorted(sources - {self.target}), self.target)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        for copy in self.copies:
            target = staging.places[self.target]
            source = target if copy.source is None else staging.places[copy.source]
            if copy.source is None or (source[0], target[0]) in SPACES[Opcode.MOVE]:
                copy.emit(emitter, source, target)
            else:
                starts = source[1] + copy.source_offset, target[1] + copy.target_offset
                nest = Nest(starts, (*copy.loops, (copy.run, 1, 1)))
                _through_room(emitter, staging, (source[0], target[0]), nest)


def rearranged(target: int, picked: "Positions", source: int, shape: tuple[int, ...]) -> Movement:
    """Return the `copies` of bytes that are all of a target."""
    return Movement(target=target, copies=tuple(copies(picked, source, shape, 1)))


def _through_room(
    emitter: Emitter, staging: Staging, spaces: tuple[Space, Space], nest: Nest
) -> None:
    """Copy from memory to memory by way of the scratchpad, in pieces that fit.

    The last loop of ``nest`` goes over the bytes of a run.
    """
    counts = [loop[0] for loop in nest.loops]
    size = prod(counts)
    limit = staging.limit(whole=False)
    if limit < 1:
        raise NoRoomError
    if size <= limit:
        staging.begin(fits([size]))
        local = (Space.SCRATCHPAD, staging.take(size))
        source, target = zip(spaces, nest.starts, strict=True)
        _, here, there = zip(*nest.loops, strict=True)
        packed = packed_steps(counts)
        emitter.move(source, local, 1, zip(counts, here, packed, strict=True))
        emitter.move(local, target, 1, zip(counts, packed, there, strict=True))
        return
    last = len(counts) - 1
    runs = (nest.some(last, part.start, len(part)) for part in parts(range(counts[-1]), limit))
    for piece in runs if nest.first == last else nest.halves(nest.first):
        _through_room(emitter, staging, spaces, piece)


Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Box:
    """Copies element (i, j, ...) from source to target ``origin + axes[0][i] + axes[1][j] + ...``.

    ``origin`` is (source, target), and so is every row of an axis: int64 (size, 2).
    """

    origin: AffineRow
    axes: tuple[Positions, ...]

    def copies(self, source: int, item: int = 1) -> list[Copy]:
        """Return the copies from the tensor ``source`` of elements of ``item`` bytes."""
        found = []
        for pieces in product(*(affine_pieces(axis) for axis in self.axes)):
            start = np.sum([self.origin, *(piece.first for piece in pieces)], axis=0) * item
            loops = [
                (count, step[0] * item, step[1] * item)
                for piece in pieces
                for count, step in piece.loops
            ]
            found.append(strided(source, int(start[0]), int(start[1]), item, loops))
        return found


def copies(picked: Positions, source: int, shape: tuple[int, ...], item: int) -> list[Copy]:
    """Return copies from a tensor that put the elements named by ``picked`` in their places.

    ``picked``: for each element of the target the position in the source; negative ones are not
    from it. ``item``: bytes of an element. Raises CompileError if neither the target's axes nor the
    source's tell where the elements are.
    """
    best: list[Copy] = []
    boxes = chain(_of_target(np.atleast_1d(picked)), _of_source(picked.reshape(-1), shape or (1,)))
    for box in boxes:
        found = box.copies(source, item)
        best = min(best or found, found, key=_commands)
        if _commands(best) == 1:
            break
    if not best:
        raise CompileError("its elements do not move in strides")
    return best


def filled(outside: NDArray[np.bool_], code: int, unit: int) -> list[Copy]:
    """Return copies of the byte ``code`` that reach at least where ``outside`` is true.

    What surrounds a box is filled slab by slab, along each axis what is beside the box; or all of
    the target at once where that takes fewer cycles, because slabs are thin, or nothing is a box.
    ``outside``: for each byte of the target whether it is to be filled; ``unit``: bytes that the
    mover writes per cycle.
    """
    whole = [Copy(None, 0, 0, outside.size, (), code)]
    if outside.all() or (box := _bounds(~outside)) is None:
        return whole
    place = np.arange(outside.size).reshape(outside.shape)
    found = []
    axes = [np.arange(size) for size in outside.shape]
    inside = [indices.reshape(-1) for indices in box]
    for axis, indices in enumerate(axes):
        beside = np.setdiff1d(indices, inside[axis])
        if beside.size:
            slab_places = place[np.ix_(*inside[:axis], beside, *axes[axis + 1 :])]
            (slab,) = _box(slab_places, slab_places)
            found += [replace(copy, source=None, fill=code) for copy in slab.copies(0)]
    return min(whole, found, key=lambda way: cycles(way, unit))


def cycles(found: Sequence[Copy], unit: int) -> int:
    """Return the cycles of copies that write ``unit`` bytes in one, about."""
    moved = sum(_times(copy.loops) * -(-copy.run // unit) for copy in found)
    return moved + MOVE_COMMAND * _commands(found)


def _commands(found: Sequence[Copy]) -> int:
    return sum(_times(copy.loops[:-LOOPS]) for copy in found)


def _times(loops: Sequence[Loop]) -> int:
    return prod(count for count, *_ in loops)


def strided(source: int, start: int, target: int, item: int, loops: Sequence[Loop]) -> Copy:
    """Return a copy of ``item`` contiguous bytes in loops, the longest run innermost.

    Loops that continue each other are joined. Where more than four are left, which a MOVE has not,
    the shortest ones come first: the mover's program is repeated for each of their iterations.
    """
    left = joined([*(loop for loop in loops if loop[0] > 1), (item, 1, 1)])
    run = max((count for count, *steps in left if steps == [1, 1]), default=1)
    if run > 1:
        left.remove((run, 1, 1))
    left = [loop for loop in left if loop[0] > 1]
    if len(left) > LOOPS:
        shortest = sorted(left, key=lambda loop: loop[0])[: len(left) - LOOPS]
        left = [*shortest, *(loop for loop in left if loop not in shortest)]
    return Copy(source, start, target, run, tuple(left))


def _of_target(picked: Positions) -> Iterator[Box]:
    """Yield the box with the axes of the target, if there is one."""
    inside = picked >= 0
    if (box := _bounds(inside)) is not None:
        yield from _box(picked[box], np.arange(picked.size).reshape(picked.shape)[box])


def _of_source(picked: Positions, shape: tuple[int, ...]) -> Iterator[Box]:
    """Yield the box with the axes of the source, if there is one: no element is copied twice."""
    place = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    from_here = np.flatnonzero(picked >= 0)
    place[picked[from_here]] = from_here
    inside = place >= 0
    if np.count_nonzero(inside) < from_here.size:
        return
    if (box := _bounds(inside.reshape(shape))) is not None:
        whole = np.arange(place.size).reshape(shape)
        yield from _box(whole[box], place.reshape(shape)[box])


def _bounds(inside: NDArray[np.bool_]) -> tuple[NDArray, ...] | None:
    """Return the indices along each axis whose product is ``inside``; None if there are none."""
    axes = range(inside.ndim)
    used = [np.any(inside, axis=tuple(a for a in axes if a != axis)) for axis in axes]
    if np.prod([np.count_nonzero(u) for u in used]) != np.count_nonzero(inside):
        return None
    return np.ix_(*used)


def _box(source: Positions, target: Positions) -> Iterator[Box]:
    """Yield the box of elements whose positions are sums of one amount per axis; else none."""
    both = np.stack([source, target], axis=-1)
    origin = both[(0,) * source.ndim]
    lines = [
        tuple(slice(None) if other == axis else 0 for other in range(source.ndim))
        for axis in range(source.ndim)
    ]
    axes = tuple(both[line] - origin for line in lines)
    total = origin
    for axis in axes:
        total = total[..., None, :] + axis
    if np.array_equal(total, both):
        yield Box(tuple(origin.tolist()), axes)


@dataclass(frozen=True, kw_only=True)
class Gather(Step):
    """``target[b, i, j] = source[b, i, indices[b, j]]``, of slices of ``run`` bytes.

    ``batches``, ``outer``, ``length`` are the source's sizes, ``chosen`` the indices of a batch,
    signed integers of ``index_bytes`` bytes each.
    """

    source: int
    indices: int
    batches: int = 1
    outer: int = 1
    length: int
    chosen: int
    run: int
    index_bytes: int
    only_copies = True

    @property
    def uses(self) -> tuple[int, ...]:
        return (self.source, self.indices, self.target)

    @property
    def feature(self) -> str:
        return "gather"

    def room(self, config: AcceleratorConfig) -> int:
        """Return the room for indices if all tensors are where GATHER can reach them."""
        return min(fits([self.batches * self.chosen * self.index_bytes]), config.scratchpad // 8)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        item = self.run
        loops = (
            (self.batches, self.outer * self.length * item, self.outer * self.chosen * item,
             self.chosen * self.index_bytes),
            (self.outer, self.length * item, self.chosen * item, 0),
            (self.chosen, 0, item, self.index_bytes),
            (item, 1, 1, 0),
        )  # fmt: skip
        self._emit(emitter, staging, Nest((0, 0, 0), loops), whole=True)

    def _emit(self, emitter: Emitter, staging: Staging, nest: Nest, whole: bool = False) -> None:
        """Emit some bytes of source, result and indices; in halves until they fit."""
        # From memory to memory through the room.
        spaces = staging.places[self.source][0], staging.places[self.target][0]
        result = 0 if spaces in SPACES[Opcode.GATHER] else nest.size(1)
        span = nest.span(2) - 1 + self.index_bytes
        room = fits([result]) + staging.needed([self.indices], [span])
        if room > staging.limit(whole):
            if (place := nest.first) is None:
                raise NoRoomError
            for half in nest.cut(place, nest.loops[place][0] // 2):
                self._emit(emitter, staging, half)
            return
        staging.begin(room)
        indices = staging.load(self.indices, nest.starts[2], span)
        source, target = (
            (staging.places[tensor][0], staging.places[tensor][1] + start)
            for tensor, start in zip((self.source, self.target), nest.starts, strict=False)
        )
        counts, sources, targets, looked_up = zip(*nest.loops[:-1], strict=True)
        run = nest.loops[-1][0]
        into, steps = target, targets
        if result:
            into = (Space.SCRATCHPAD, staging.take(result))
            steps = packed_steps([loop[0] for loop in nest.loops])[:-1]
        loops = zip(counts, sources, steps, looked_up, strict=True)
        options = {"index_bytes": self.index_bytes, "limit": self.length, "step": self.run}
        emitter.gather(source, into, run, loops, indices=indices, **options)
        if result:
            emitter.move(into, target, run, zip(counts, steps, targets, strict=True))
