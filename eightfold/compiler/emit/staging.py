"""An operator's tensors where its commands can reach them: in the scratchpad, whole or in parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.memory import aligned
from eightfold.compiler.emit.regions import Nest, Part, Tile, packed_steps, part_bytes
from eightfold.isa import Space
from eightfold.isa.issued import Issued

Place = tuple[Space, int]
"""Where a tensor starts: a space and a byte offset."""

Size = TypeVar("Size")
"""What tells how large a part is."""

Axes = Sequence[tuple[int, int]]
"""Of a block: how many, and the bytes from one to the next, outermost first."""


class NoRoomError(Exception):
    """The room of an operator is too small for its smallest part."""


LOAD = 2048
"""Bytes of a tensor that are loaded by one command, about: work can start on the first ones."""


@dataclass
class Arrival:
    """A tensor that the scratchpad gets from memory: ``size`` bytes to ``address``.

    For the first ``loaded`` bytes there are commands.
    """

    source: Place
    address: int
    size: int
    loaded: int = 0

    def load(self, emitter: Emitter, stop: int) -> None:
        """Emit commands for all bytes before ``stop`` that have none."""
        stop = min(stop, self.size)
        while self.loaded < stop:
            part = min(LOAD, stop - self.loaded)
            place = (self.source[0], self.source[1] + self.loaded)
            emitter.move(place, (Space.SCRATCHPAD, self.address + self.loaded), part)
            self.loaded += part


@dataclass
class Staging:
    """Brings parts of one operator's tensors into its room, and results back.

    ``places``: of the operator's tensors. ``room``: address and bytes for parts of those that are
    not in the scratchpad; used as one piece, or as two in turn, so that one is filled while the
    other is worked on. ``arrivals``: tensors that have a place in the scratchpad, and are still to
    be loaded. ``following``: commands behind the operator's, as far as they are known.
    """

    emitter: Emitter
    places: Mapping[int, Place]
    room: tuple[int, int]
    arrivals: Mapping[int, Arrival] = field(default_factory=dict)
    following: Sequence[Issued] = ()
    _next: int = field(default=0, init=False)
    _half: int = field(default=1, init=False)

    def resident(self, tensor: int) -> int | None:
        """Return a tensor's scratchpad address, None if it is elsewhere."""
        space, offset = self.places[tensor]
        return offset if space == Space.SCRATCHPAD else None

    def outside(self, tensors: Iterable[int]) -> list[int]:
        """Return those of some tensors that are not in the scratchpad."""
        return [tensor for tensor in tensors if self.resident(tensor) is None]

    def limit(self, whole: bool) -> int:
        """Return the bytes that a part may take: all of the room if it is the only one, or half."""
        return self.room[1] if whole else self.room[1] // 2

    def largest(self, sizes: Iterable[Size], room: Callable[[Size], int], whole: Size) -> Size:
        """Return the first of some sizes of a part for which there is room.

        Of the ``whole`` and of the last ones all of the room may be used, else half, by turns.
        Raises NoRoomError if there is none.
        """
        *larger, last = sizes
        for size in (*larger, last):
            if room(size) <= self.limit(size in (whole, last)):
                return size
        raise NoRoomError

    def needed(self, tensors: Iterable[int], sizes: Iterable[int]) -> int:
        """Return the room for parts of these sizes, of those tensors not in the scratchpad."""
        pairs = zip(tensors, sizes, strict=True)
        return fits([size for tensor, size in pairs if self.resident(tensor) is None])

    def arrive(self, tensor: int, stop: int | None = None) -> None:
        """Load the bytes before ``stop`` of a tensor that are not there, all without it."""
        if tensor in self.arrivals:
            arrival = self.arrivals[tensor]
            arrival.load(self.emitter, arrival.size if stop is None else stop)

    def arrive_all(self) -> None:
        """Load all that is not there."""
        for tensor in self.arrivals:
            self.arrive(tensor)

    def begin(self, size: int) -> None:
        """Start a part that takes ``size`` bytes of room."""
        address, room = self.room
        if size > room:
            raise NoRoomError
        if size > room // 2:
            self._next = address
            return
        self._half = 1 - self._half
        self._next = address + self._half * aligned(room // 2)

    def take(self, size: int) -> int:
        """Return the address of ``size`` bytes of the part's room."""
        address = self._next
        self._next += aligned(size)
        return address

    def load(self, tensor: int, offset: int, size: int) -> int:
        """Return the scratchpad address of ``size`` bytes of a tensor, loaded if need be."""
        return self.load_block(tensor, offset, [(size, 1)])[0]

    def result(self, tensor: int, offset: int, size: int) -> int:
        """Return the scratchpad address for ``size`` bytes of a result."""
        return self.result_block(tensor, offset, [(size, 1)])[0]

    def store(self, tensor: int, offset: int, size: int, address: int) -> None:
        """Write ``size`` bytes back to a tensor that is not in the scratchpad."""
        self.store_block(tensor, offset, [(size, 1)], address)

    def load_block(self, tensor: int, offset: int, axes: Axes) -> tuple[int, list[int]]:
        """Return address and steps of a block of a tensor, loaded without gaps if need be."""
        address, steps = self.result_block(tensor, offset, axes)
        self._copy_block(tensor, offset, axes, address, load=True)
        return address, steps

    def result_block(self, tensor: int, offset: int, axes: Axes) -> tuple[int, list[int]]:
        """Return address and steps for a block of a result."""
        if (address := self.resident(tensor)) is not None:
            return address + offset, [step for _, step in axes]
        counts = [count for count, _ in axes]
        return self.take(prod(counts)), packed_steps(counts)

    def store_block(self, tensor: int, offset: int, axes: Axes, address: int) -> None:
        """Write a result's block back, unless it is in its place."""
        self._copy_block(tensor, offset, axes, address, load=False)

    def load_nest(self, tensors: Sequence[int], nest: Nest) -> Nest:
        """Return loops over tensors as loops over scratchpad addresses, operands loaded.

        The last tensor is the result, for which there is room.
        """
        starts, found = [], []
        for number, tensor in enumerate(tensors):
            place = self.result_block if tensor == tensors[-1] else self.load_block
            start, steps = place(tensor, nest.starts[number], nest.axes(number))
            starts.append(start)
            moved = dict(zip(nest.places(number), steps, strict=True))
            found.append([moved.get(place, 0) for place in range(len(nest.loops))])
        counts = [loop[0] for loop in nest.loops]
        return Nest(tuple(starts), tuple(zip(counts, *found, strict=True)))

    def load_tile(self, tensor: int, shape: tuple[int, ...], image: int, part: Part) -> Tile:
        """Return rows, columns and channels of one image of a tensor, loaded if need be."""
        if (address := self.resident(tensor)) is not None:
            return Tile.resident(address, shape, image)
        address, _ = self.load_block(tensor, *_block(shape, image, part))
        return Tile.packed(address, *part)

    def result_tile(self, tensor: int, shape: tuple[int, ...], image: int, part: Part) -> Tile:
        """Return where a part of one image of a result is to be written."""
        if (address := self.resident(tensor)) is not None:
            return Tile.resident(address, shape, image).slice(part[2])
        return Tile.packed(self.take(part_bytes(part)), *part)

    def store_tile(self, tensor: int, shape: tuple[int, ...], image: int, tile: Tile) -> None:
        """Write a result's tile back, unless it is in its place."""
        block = _block(shape, image, (tile.rows, tile.columns, tile.channels))
        self.store_block(tensor, *block, tile.address)

    def _copy_block(
        self, tensor: int, offset: int, axes: Axes, address: int, *, load: bool
    ) -> None:
        """Copy a block between a tensor that is elsewhere, and its place without gaps."""
        if self.resident(tensor) is not None:
            return
        space, start = self.places[tensor]
        outside, local = (space, start + offset), (Space.SCRATCHPAD, address)
        packed = packed_steps([count for count, _ in axes])
        loops = [(count, step, tight) for (count, step), tight in zip(axes, packed, strict=True)]
        if load:
            self.emitter.move(outside, local, 1, loops)
        else:
            self.emitter.move(local, outside, 1, [(n, tight, step) for n, step, tight in loops])


def _block(shape: tuple[int, ...], image: int, part: Part) -> tuple[int, Axes]:
    """Return the first byte and the axes of a part of one image."""
    _, height, width, depth = shape
    rows, columns, channels = part
    pixel = (image * height + rows.start) * width + columns.start
    axes = [(len(rows), width * depth), (len(columns), depth), (len(channels), 1)]
    return pixel * depth + channels.start, axes


def fits(sizes: Sequence[int]) -> int:
    """Return the room that buffers of these sizes take."""
    return sum(aligned(size) for size in sizes)
