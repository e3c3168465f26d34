"""Lists of integers as few arithmetic progressions: what a strided loop can walk.

A row is what belongs together at one step of a walk, such as (output, tap) of a resized axis, or
(source offset, target offset) of a copy. Rows are independent of each other, so a piece may take
every n-th one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

PHASES = 32
"""Most interleaved progressions that are tried."""

AffineRow = tuple[int, ...]
Loop = tuple[int, AffineRow]
"""Iterations, and what each adds to the row."""


@dataclass(frozen=True)
class AffinePiece:
    """The rows ``first + sum(i * step)``, i in [0, count) for each loop, the outer one first."""

    first: AffineRow
    loops: tuple[Loop, ...]

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
