"""Copies of elements, told by their positions, as few programs of strided loops.

The elements form a box: along each of its axes the position in the source moves on by amounts that
depend on the index alone, and so does the position in the target. `affine_pieces` cuts each axis,
and each product of pieces is one copy. The box has the axes of the target, or those of the source
where that takes fewer commands, or where the target's are none: SPACE_TO_BATCH_ND with padding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.emit.loops import LOOPS, Loop, joined
from eightfold.compiler.exact.channels import CompileError
from eightfold.compiler.steps.movement import Copy
from eightfold.compiler.steps.pieces import Row, affine_pieces

Positions = NDArray[np.int64]

COMMAND = 12
"""Cycles that a MOVE takes beside those of its runs, about."""


@dataclass(frozen=True)
class Box:
    """Copies element (i, j, ...) from source to target ``origin + axes[0][i] + axes[1][j] + ...``.

    ``origin`` is (source, target), and so is every row of an axis: int64 (size, 2).
    """

    origin: Row
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

    Parameters
    ----------
    picked
        For each element of the target the position in the source; negative ones are not from it.
    source, shape
        The tensor, and its shape.
    item
        Bytes of an element.

    Raises
    ------
    CompileError
        If neither the target's axes nor the source's tell where the elements are.
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

    Parameters
    ----------
    outside
        For each byte of the target whether it is to be filled.
    code
        The byte.
    unit
        Bytes that the mover writes per cycle.
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
    return moved + COMMAND * _commands(found)


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
        place = np.arange(picked.size).reshape(picked.shape)
        yield from _box(picked[box], place[box])


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
