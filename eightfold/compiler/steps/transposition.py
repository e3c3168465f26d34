"""TRANSPOSE on the matrix engine, where it takes fewer cycles than the mover, in parts that fit.

Weights are 1 for the byte that a lane gets, so that its sum is that byte alone, q in [-128, 127].
`IDENTITY` makes q * 2^30 / 2^30 = q of it, in 64 bits without a remainder to round, and clamps to
[-128, 127]: all 256 codes stay as they are.

A vector of the result is a run of the result, at most as long as there are lanes; the bytes for it
are in few vectors of the input if there are either few rows or few columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.emit.emitter import Emitter, Loop
from eightfold.compiler.emit.regions import collapsed, halvings, packed_steps, parts
from eightfold.compiler.emit.staging import NoRoomError, Staging
from eightfold.compiler.steps.arriving import PipelinePart, emit_pipelined
from eightfold.compiler.steps.dense import positions
from eightfold.compiler.steps.elementwise import IDENTITY
from eightfold.compiler.steps.movement import Movement
from eightfold.compiler.steps.windowed import LONGEST
from eightfold.estimate.cost import LATENCY
from eightfold.isa import Engine, Matrix, Space
from eightfold.isa.issued import Interval
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Block:
    """Result vectors that take the same lanes from the same windows.

    Lane l of position (i, j) gets byte ``places[l]`` behind where the loops ``y`` and ``x``, of
    (count, source step, target step), have come from ``start``, (source, target). Windows are
    ``pitch`` bytes apart; a lane's byte is among the first ``width`` ones of one of them.
    """

    places: NDArray[np.int64]
    pitch: int
    start: tuple[int, int]
    y: Loop
    x: Loop

    @property
    def windows(self) -> int:
        """Vectors that are read for one that is written."""
        return int(self.places.max()) // self.pitch + 1

    def commands(self, config: AcceleratorConfig) -> Iterator[tuple[range, range]]:
        """Yield the positions of each command: as many as there are partial sums."""
        whole = (range(self.y[0]), range(self.x[0]))
        return positions(whole, LONGEST if self.windows == 1 else config.psum_depth)

    def cycles(self, config: AcceleratorConfig) -> int:
        """Return the cycles of all commands, about; weights take one per lane."""
        sizes = (len(rows) * len(columns) for rows, columns in self.commands(config))
        return sum(LATENCY[Engine.MATRIX] + self.windows * max(n, config.lanes) for n in sizes)

    def emit(self, emitter: Emitter, source: int, target: int) -> None:
        """Emit all commands; ``source`` and ``target`` are scratchpad addresses."""
        windows, taps = np.divmod(self.places, self.pitch)
        lanes = len(self.places)
        weights = np.zeros((self.windows, lanes, emitter.config.width), dtype=np.int8)
        weights[windows, np.arange(lanes), taps] = 1
        parameters = {name: np.full(lanes, value) for name, value in IDENTITY.items()}
        for rows, columns in self.commands(emitter.config):
            emitter.weights(weights)
            emitter.parameters(parameters)
            begin, into = (
                address + start + rows.start * y + columns.start * x
                for address, start, y, x in zip(
                    (source, target), self.start, self.y[1:], self.x[1:], strict=True
                )
            )
            self._emit(emitter, begin, into, len(rows), len(columns), int(taps.max()) + 1)

    def _emit(self, emitter: Emitter, source: int, target: int, y: int, x: int, reach: int) -> None:
        """Emit y x x positions; of the furthest window ``reach`` bytes are read."""
        adjoining = self.pitch == emitter.config.width
        width = int(self.places.max()) + 1 if adjoining else reach
        columns = (x - 1) * self.x[1] + width
        command = Matrix(
            last_lanes=len(self.places),
            ky=1 if adjoining else self.windows,
            kc=self.windows if adjoining else 1,
            y=y,
            x=x,
            base=source,
            ky_step=self.pitch,
            y_step=self.y[1],
            x_step=self.x[1],
            columns=columns,
            rows=1,
            target=target,
            target_y=self.y[2],
            target_x=self.x[2],
        )
        down = (command.ky - 1) * self.pitch
        run = (x - 1) * self.x[2] + len(self.places)
        emitter.matrix(
            command,
            Interval.of_runs(source, down + columns, [(y, self.y[1])]),
            Interval(Space.SCRATCHPAD, target, target + (y - 1) * self.y[2] + run, self.y[2], run),
        )


@dataclass(frozen=True)
class Swap:
    """``outer`` matrices of ``rows`` x ``columns`` items of ``item`` bytes, to be transposed."""

    outer: int
    rows: int
    columns: int
    item: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.outer * self.rows * self.columns * self.item

    @property
    def source_axes(self) -> list[tuple[int, int]]:
        """Matrices, rows, bytes of a row: how many, and the bytes from one to the next."""
        row = self.columns * self.item
        return [(self.outer, self.rows * row), (self.rows, row), (row, 1)]

    @property
    def target_axes(self) -> list[tuple[int, int]]:
        """The same of the result."""
        return replace(self, rows=self.columns, columns=self.rows).source_axes

    def some(self, outer: int, rows: int, columns: int) -> "Swap":
        """Return a part of so many matrices, rows and columns."""
        return Swap(outer, rows, columns, self.item)


@dataclass(frozen=True)
class Way:
    """Which bytes a result vector has.

    With ``whole``, neighbouring columns, each whole; or matrices, where several have room: for few
    rows. Else neighbouring rows of one column, which lie in vectors side by side: for few columns.
    """

    config: AcceleratorConfig
    whole: bool

    def unit(self, swap: Swap) -> int:
        """Return the columns, or rows, of a result vector; 0 if it has none.

        They are within a lane each; of whole columns a row is within a vector, too.
        """
        if self.whole:
            return min(self.config.lanes // swap.rows, self.config.width) // swap.item
        return self.config.lanes // swap.item

    def lines(self, swap: Swap) -> int:
        """Return how many there are of what a part may have some of: columns, or rows."""
        return swap.columns if self.whole else swap.rows

    def part(self, swap: Swap, outer: range, lines: range) -> tuple[Swap, int, int]:
        """Return some matrices and lines, with their first byte in source and target."""
        start = outer.start * swap.size // swap.outer
        if self.whole:
            some = swap.some(len(outer), swap.rows, len(lines))
            steps = swap.item, swap.rows * swap.item
        else:
            some = swap.some(len(outer), len(lines), swap.columns)
            steps = swap.columns * swap.item, swap.item
        return some, start + lines.start * steps[0], start + lines.start * steps[1]

    def cycles(self, swap: Swap) -> int:
        """Return the cycles for tensors in the scratchpad, about."""
        axes = (swap.source_axes, swap.target_axes)
        found = self.blocks(swap, *([step for _, step in each] for each in axes))
        return sum(block.cycles(self.config) for block in found)

    def blocks(self, swap: Swap, source: Sequence[int], target: Sequence[int]) -> Iterator[Block]:
        """Yield all vectors; the steps of the axes may be longer than those of ``swap``."""
        return (self._columns if self.whole else self._rows)(swap, source, target)

    def _columns(self, swap: Swap, source: Sequence[int], target: Sequence[int]) -> Iterator[Block]:
        """Yield vectors of columns, or of matrices."""
        matrix = swap.size // swap.outer
        together = self.config.lanes // matrix
        if together > 1 and source[0] == target[0] == matrix:
            for start, size, count in shared(swap.outer, together):
                yield Block(
                    self._places(swap.some(size, swap.rows, swap.columns), source),
                    self.config.width,
                    (start * matrix, start * matrix),
                    (1, 0, 0),
                    (count, size * matrix, size * matrix),
                )
            return
        for start, size, count in shared(swap.columns, self.unit(swap)):
            places = self._places(swap.some(1, swap.rows, size), source)
            side_by_side = int(places.max()) // self.config.width + 1
            yield Block(
                places,
                self.config.width if side_by_side <= swap.rows else source[1],
                (start * swap.item, start * target[1]),
                (swap.outer, source[0], target[0]),
                (count, size * swap.item, size * target[1]),
            )

    def _places(self, swap: Swap, source: Sequence[int]) -> NDArray[np.int64]:
        sizes = (swap.outer, swap.columns, swap.rows, swap.item)
        return _sums(sizes, (source[0], swap.item, source[1], 1))

    def _rows(self, swap: Swap, source: Sequence[int], target: Sequence[int]) -> Iterator[Block]:
        """Yield vectors of rows, column by column."""
        for start, size, count in shared(swap.rows, self.unit(swap)):
            places = _sums((size, swap.item), (source[1], 1))
            for column in range(swap.columns):
                yield Block(
                    places,
                    self.config.width,
                    (
                        start * source[1] + column * swap.item,
                        column * target[1] + start * swap.item,
                    ),
                    (swap.outer, source[0], target[0]),
                    (count, size * source[1], size * swap.item),
                )


def shared(total: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, size, count): parts of at most so many, of one size but for the last."""
    size = -(-total // -(-total // most))
    count, rest = divmod(total, size)
    yield 0, size, count
    if rest:
        yield count * size, rest, 1


def _sums(sizes: Sequence[int], steps: Sequence[int]) -> NDArray[np.int64]:
    """Return the places that loops with these steps reach, the last one innermost."""
    found = np.zeros(1, dtype=np.int64)
    for size, step in zip(sizes, steps, strict=True):
        found = (found[:, None] + np.arange(size) * step).reshape(-1)
    return found


def best_way(swap: Swap, config: AcceleratorConfig) -> Way | None:
    """Return the way with the fewest cycles, None if a vector has no room for an item."""
    ways = [way for way in (Way(config, True), Way(config, False)) if way.unit(swap)]
    return min(ways, key=lambda way: way.cycles(swap), default=None)


def swapped(shape: Sequence[int], axes: Sequence[int], item: int) -> Swap | None:
    """Return a TRANSPOSE of elements of ``item`` bytes as one of matrices; None if it is none.

    Axis i of the result is axis ``axes[i]`` of the input. Axes that stay together become one.
    """
    steps = packed_steps(shape)
    output = [shape[axis] for axis in axes]
    moved = zip(output, (steps[axis] for axis in axes), packed_steps(output), strict=True)
    loops = collapsed(moved)
    inner = loops.pop()[0] if loops and loops[-1][1] == 1 else 1
    outer = loops.pop(0)[0] if loops and loops[0][1] == loops[0][2] else 1
    if len(loops) != 2:
        return None
    (columns, *_), (rows, *_) = loops
    return Swap(outer, rows, columns, inner * item)


@dataclass(frozen=True, kw_only=True)
class Transposition(Movement):
    """A TRANSPOSE by the matrix engine in some ``way``; ``copies`` are what a cascade does."""

    source: int
    swap: Swap
    way: Way
    only_copies = False  # the source must be in the scratchpad

    @property
    def cycles(self) -> int:
        """The matrix engine's cycles; rows in a cascade are copies."""
        return self.way.cycles(self.swap)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, in parts that fit, each brought while the one before is computed."""
        try:
            found = list(self._parts(staging))
        except NoRoomError:
            super().emit(emitter, staging)
            return
        emit_pipelined([self._piece(emitter, staging, *part) for part in found], 1)

    def _piece(
        self, emitter: Emitter, staging: Staging, some: Swap, begin: int, into: int
    ) -> PipelinePart:
        """Return what brings and computes a part, whose first bytes are at ``begin``, ``into``."""
        read = _axes(some.source_axes, self.swap.source_axes)
        written = _axes(some.target_axes, self.swap.target_axes)
        places: list[tuple[int, list[int]]] = []

        def bring() -> None:
            staging.begin(self._room(staging, some))
            places.append(staging.load_block(self.source, begin, read))
            places.append(staging.result_block(self.target, into, written))

        def compute() -> None:
            (source, steps), (target, target_steps) = places
            for block in self.way.blocks(some, steps, target_steps):
                block.emit(emitter, source, target)
            staging.store_block(self.target, into, written, target)

        return bring, compute

    def _parts(self, staging: Staging) -> Iterator[tuple[Swap, int, int]]:
        """Yield parts, with their first byte in source and target.

        All at once if it is in the scratchpad, else as much as a command has partial sums for.
        """
        swap, way = self.swap, self.way
        lines = way.lines(swap)
        unit = way.unit(swap)
        most = way.config.psum_depth
        sizes = [
            *((outer, lines) for outer in halvings(swap.outer)),
            *((1, some) for some in halvings(min(lines, most * unit), unit)),
        ]
        for outer, some in sizes:
            first, *_ = way.part(swap, range(outer), range(some))
            room = self._room(staging, first)
            if not room or (outer * some <= most * unit and 2 * room <= staging.room[1]):
                break
        else:
            raise NoRoomError
        for matrices, part in product(parts(range(swap.outer), outer), parts(range(lines), some)):
            yield way.part(swap, matrices, part)

    def _room(self, staging: Staging, some: Swap) -> int:
        """Return the bytes that a part takes of the room."""
        return staging.needed((self.source, self.target), [some.size] * 2)


def _axes(
    some: Sequence[tuple[int, int]], whole: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the counts of a part, with the steps of all."""
    return [(count, step) for (count, _), (_, step) in zip(some, whole, strict=True)]
