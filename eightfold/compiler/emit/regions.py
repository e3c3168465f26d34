"""Parts of tensors: loops over the bytes of several at once, and rectangles of NHWC images."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from eightfold.isa import Space
from eightfold.isa.issued import Interval


def halvings(size: int, unit: int = 1) -> Iterator[int]:
    """Yield ``size``, then half of it, and so on down to ``unit``, multiples of ``unit``."""
    while True:
        yield size
        if size <= unit:
            return
        size = -(-size // (2 * unit)) * unit


def parts(whole: range, size: int) -> list[range]:
    """Return consecutive ranges of ``size`` that cover ``whole``; the last may be smaller."""
    return [
        range(start, min(start + size, whole.stop))
        for start in range(whole.start, whole.stop, size)
    ]


Steps = tuple[int, ...]
"""A loop: iterations, and the bytes from one to the next in each tensor."""


@dataclass(frozen=True)
class Nest:
    """Elements of tensors, such as operands and result.

    ``starts``: the first byte of each tensor. ``loops``, outermost first: iterations, and for each
    tensor the bytes from one to the next, 0 if it does not have the axis or is broadcast along it.
    """

    starts: tuple[int, ...]
    loops: tuple[Steps, ...]

    def places(self, tensor: int) -> list[int]:
        """Return which loops move on in a tensor, those of long steps first."""
        steps = [loop[1 + tensor] for loop in self.loops]
        return sorted((i for i, step in enumerate(steps) if step), key=lambda i: -steps[i])

    def axes(self, tensor: int) -> list[tuple[int, int]]:
        """Return count and step of each of `places`."""
        return [(self.loops[i][0], self.loops[i][1 + tensor]) for i in self.places(tensor)]

    def size(self, tensor: int) -> int:
        """Return the bytes that are different ones in a tensor."""
        return prod(count for count, _ in self.axes(tensor))

    def span(self, tensor: int) -> int:
        """Return the bytes from the first to the last one in a tensor."""
        return 1 + sum((count - 1) * step for count, step in self.axes(tensor))

    def some(self, place: int, first: int, count: int) -> "Nest":
        """Return some iterations of a loop."""
        _, *steps = self.loops[place]
        starts = (start + first * step for start, step in zip(self.starts, steps, strict=True))
        loops = (*self.loops[:place], (count, *steps), *self.loops[place + 1 :])
        return Nest(tuple(starts), loops)

    def index(self, place: int, number: int) -> "Nest":
        """Return one iteration of a loop, which is gone then."""
        one = self.some(place, number, 1)
        return Nest(one.starts, (*one.loops[:place], *one.loops[place + 1 :]))

    def cut(self, place: int, count: int) -> tuple["Nest", "Nest"]:
        """Return the first iterations of a loop, and the others."""
        return self.some(place, 0, count), self.some(place, count, self.loops[place][0] - count)

    def halves(self, place: int | None, unit: int = 1) -> tuple["Nest", ...]:
        """Return both halves of a loop, the first one whole units; none of a loop of one."""
        if place is None:
            return ()
        count = self.loops[place][0]
        half = -(-count // (2 * unit)) * unit
        return self.cut(place, half) if half < count else ()

    @property
    def first(self) -> int | None:
        """The first loop of more than one iteration; None if there is none."""
        return next((i for i, loop in enumerate(self.loops) if loop[0] > 1), None)

    def intervals(self, *runs: int) -> list[Interval]:
        """Return the bytes of each tensor, from scratchpad addresses; of ``runs`` if not single."""
        return [
            Interval.of_runs(start, run, self.axes(tensor))
            for tensor, (start, run) in enumerate(
                zip(self.starts, runs or (1,) * len(self.starts), strict=True)
            )
        ]


def packed_steps(counts: Sequence[int]) -> list[int]:
    """Return the bytes from one iteration of nested loops to the next, without gaps."""
    return [prod(counts[i + 1 :]) for i in range(len(counts))]


def broadcast_loops(shapes: Iterable[Sequence[int]], common: Sequence[int]) -> list[Steps]:
    """Return loops over the axes of a common shape; steps are 0 where a shape is broadcast."""
    found = []
    for shape in shapes:
        padded = (1,) * (len(common) - len(shape)) + tuple(shape)
        steps = zip(padded, packed_steps(padded), strict=True)
        found.append([0 if count == 1 else step for count, step in steps])
    return list(zip(common, *found, strict=True))


def collapsed(loops: Iterable[Steps]) -> list[Steps]:
    """Return loops (count, steps) without those of 1, and with what is contiguous joined."""
    found: list[Steps] = []
    for count, *steps in loops:
        if count == 1:
            continue
        if found and found[-1][1:] == tuple(count * step for step in steps):
            count *= found.pop()[0]
        found.append((count, *steps))
    return found


Part = tuple[range, range, range]
"""Rows, columns and channels of an image."""


def part_bytes(part: Part) -> int:
    return prod(map(len, part))


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Rows, columns and channels of one image, wherever they lie in the scratchpad.

    ``address`` is that of the first row, column and channel; the pitches are in bytes.
    """

    address: int
    rows: range
    columns: range
    channels: range
    row_pitch: int
    pixel_pitch: int

    @classmethod
    def packed(cls, address: int, rows: range, columns: range, channels: range) -> "Tile":
        """Return a tile without gaps."""
        return cls(
            address=address,
            rows=rows,
            columns=columns,
            channels=channels,
            row_pitch=len(columns) * len(channels),
            pixel_pitch=len(channels),
        )

    @classmethod
    def resident(cls, address: int, shape: tuple[int, ...], image: int) -> "Tile":
        """Return one whole image of a tensor (N, H, W, C) at ``address``."""
        _, height, width, depth = shape
        start = address + image * height * width * depth
        return cls.packed(start, range(height), range(width), range(depth))

    def at(self, row: int, column: int) -> int:
        """Return the address of a pixel, also of one outside the tile."""
        return (
            self.address
            + (row - self.rows.start) * self.row_pitch
            + (column - self.columns.start) * self.pixel_pitch
        )

    def crop(self, rows: range, columns: range) -> "Tile":
        """Return some of the tile's rows and columns, numbered as the tensor's."""
        return replace(self, address=self.at(rows.start, columns.start), rows=rows, columns=columns)

    def slice(self, channels: range) -> "Tile":
        """Return some of the tile's channels, numbered as the tensor's."""
        address = self.address + channels.start - self.channels.start
        return replace(self, address=address, channels=channels)

    def interval(self, rows: range, beyond: int = 0) -> Interval:
        """Return the bytes that are read for some rows, as far as they are in the tile.

        Whole vectors are read, so these are all bytes from the first to the last, and ``beyond``
        more; of a tile whose rows lie beside each other within a pixel's pitch, those of each.
        """
        first, last = self._inside(rows)
        stop = self.at(last, self.columns.stop - 1) + len(self.channels) + beyond
        start = self.at(first, self.columns.start)
        if self.row_pitch >= self.pixel_pitch:
            return Interval(Space.SCRATCHPAD, start, stop)
        return self._pitched(start, stop, (last - first) * self.row_pitch + beyond)

    def written(self, rows: range) -> Interval:
        """Return the bytes of some rows, as far as they are in the tile, where they are written."""
        first, last = self._inside(rows)
        span = self.interval(rows)
        even = self.row_pitch == len(self.columns) * self.pixel_pitch
        if span.pitch or not (even or first == last):
            return span
        return self._pitched(span.start, span.stop, 0)

    def _inside(self, rows: range) -> tuple[int, int]:
        """Return the first and the last of some rows that are in the tile."""
        first = min(max(rows.start, self.rows.start), self.rows.stop - 1)
        return first, max(min(rows.stop, self.rows.stop), first + 1) - 1

    def _pitched(self, start: int, stop: int, more: int) -> Interval:
        """Return the channels of every pixel, and ``more`` bytes behind each."""
        return Interval.repeated(start, stop, self.pixel_pitch, len(self.channels) + more)

    def transposed(self) -> "Tile":
        """Return the tile with rows for columns, and columns for rows."""
        return replace(
            self,
            rows=self.columns,
            columns=self.rows,
            row_pitch=self.pixel_pitch,
            pixel_pitch=self.row_pitch,
        )
