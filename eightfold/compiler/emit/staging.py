"""An operator's tensors where its commands can reach them: in the scratchpad, whole or in parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.memory import aligned
from eightfold.compiler.emit.tile import Tile
from eightfold.isa import Space
from eightfold.isa.issued import Issued

Place = tuple[Space, int]
"""Where a tensor starts: a space and a byte offset."""


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
        if (address := self.resident(tensor)) is not None:
            return address + offset
        space, start = self.places[tensor]
        address = self.take(size)
        self.emitter.move((space, start + offset), (Space.SCRATCHPAD, address), size)
        return address

    def store(self, tensor: int, offset: int, size: int, address: int) -> None:
        """Write ``size`` bytes back to a tensor that is not in the scratchpad."""
        if self.resident(tensor) is None:
            space, start = self.places[tensor]
            self.emitter.move((Space.SCRATCHPAD, address), (space, start + offset), size)

    def load_block(
        self, tensor: int, offset: int, axes: Sequence[tuple[int, int]]
    ) -> tuple[int, list[int]]:
        """Return address and steps of a block of a tensor, loaded without gaps if need be.

        ``axes``: (count, bytes from one to the next), outermost first.
        """
        if (address := self.resident(tensor)) is not None:
            return address + offset, [step for _, step in axes]
        space, start = self.places[tensor]
        address = self.take(prod(count for count, _ in axes))
        _copy_block(self.emitter, (space, start + offset), (Space.SCRATCHPAD, address), axes)
        return address, packed_steps(axes)

    def result_block(
        self, tensor: int, offset: int, axes: Sequence[tuple[int, int]]
    ) -> tuple[int, list[int]]:
        """Return address and steps for a block of a result."""
        if (address := self.resident(tensor)) is not None:
            return address + offset, [step for _, step in axes]
        return self.take(prod(count for count, _ in axes)), packed_steps(axes)

    def store_block(
        self, tensor: int, offset: int, axes: Sequence[tuple[int, int]], address: int
    ) -> None:
        """Write a result's block back, unless it is in its place."""
        if self.resident(tensor) is None:
            space, start = self.places[tensor]
            local = (Space.SCRATCHPAD, address)
            _copy_block(self.emitter, local, (space, start + offset), axes, load=False)

    def load_tile(
        self,
        tensor: int,
        shape: tuple[int, ...],
        image: int,
        part: tuple[range, range, range],
    ) -> Tile:
        """Return rows, columns and channels of one image of a tensor, loaded if need be."""
        if (address := self.resident(tensor)) is not None:
            return Tile.resident(address, shape, image)
        tile = Tile.packed(self.take(_bytes(part)), *part)
        self._copy_tile(tensor, shape, image, tile, load=True)
        return tile

    def result_tile(
        self,
        tensor: int,
        shape: tuple[int, ...],
        image: int,
        part: tuple[range, range, range],
    ) -> Tile:
        """Return where a part of one image of a result is to be written."""
        if (address := self.resident(tensor)) is not None:
            return Tile.resident(address, shape, image).slice(part[2])
        return Tile.packed(self.take(_bytes(part)), *part)

    def store_tile(self, tensor: int, shape: tuple[int, ...], image: int, tile: Tile) -> None:
        """Write a result's tile back, unless it is in its place."""
        if self.resident(tensor) is None:
            self._copy_tile(tensor, shape, image, tile, load=False)

    def _copy_tile(
        self, tensor: int, shape: tuple[int, ...], image: int, tile: Tile, load: bool
    ) -> None:
        _, height, width, depth = shape
        space, start = self.places[tensor]
        pixel = (image * height + tile.rows.start) * width + tile.columns.start
        memory = (space, start + pixel * depth + tile.channels.start)
        local = (Space.SCRATCHPAD, tile.address)
        loops = [
            (len(tile.rows), width * depth, tile.row_pitch),
            (len(tile.columns), depth, tile.pixel_pitch),
        ]
        if not load:
            memory, local = local, memory
            loops = [(count, there, here) for count, here, there in loops]
        self.emitter.move(memory, local, len(tile.channels), loops)


def _bytes(part: tuple[range, range, range]) -> int:
    return len(part[0]) * len(part[1]) * len(part[2])


def packed_steps(axes: Sequence[tuple[int, int]]) -> list[int]:
    """Return the steps of axes (count, any step) without gaps."""
    return [prod(count for count, _ in axes[i + 1 :]) for i in range(len(axes))]


def _copy_block(
    emitter: Emitter,
    source: Place,
    target: Place,
    axes: Sequence[tuple[int, int]],
    load: bool = True,
) -> None:
    """Copy a block; the side that is not in the scratchpad has the steps of ``axes``."""
    loops = [
        (count, step, packed)
        for (count, step), packed in zip(axes, packed_steps(axes), strict=True)
    ]
    if not load:
        loops = [(count, packed, step) for count, step, packed in loops]
    emitter.move(source, target, 1, loops)


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


def fits(sizes: Sequence[int]) -> int:
    """Return the room that buffers of these sizes take."""
    return sum(aligned(size) for size in sizes)
