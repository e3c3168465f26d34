"""Operators that slide a window over NHWC images, in parts that fit."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Self

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits, halvings, parts
from eightfold.compiler.emit.tile import Tile
from eightfold.compiler.steps.axis import LONGEST, Axis
from eightfold.compiler.steps.step import Step
from eightfold.target.config import AcceleratorConfig

Part = tuple[range, range, range]
"""Rows, columns and channels of a result."""


def seen(source: Tile, rows: range, columns: range) -> Tile:
    """Return a tile whose rows and columns a command can count: those needed, if they are many."""
    if max(len(source.rows), len(source.columns)) <= LONGEST:
        return source
    return source.crop(rows, columns)


@dataclass(frozen=True, kw_only=True)
class Windowed(Step):
    """Geometry that all windowed operators share: tensors (N, H, W, C), an axis each way."""

    source: int
    source_shape: tuple[int, int, int, int]
    target_shape: tuple[int, int, int, int]
    rows: Axis
    columns: Axis

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        return (self.source, self.target)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands.

        Raises
        ------
        NoRoomError
            If the room is too small for the smallest part.
        """
        for image in range(self.source_shape[0]):
            for part in self._parts(emitter, staging):
                staging.begin(self._room(emitter, staging, part))
                inputs = self._inputs(part)
                source = staging.load_tile(self.source, self.source_shape, image, inputs)
                target = staging.result_tile(self.target, self.target_shape, image, part)
                self.emit_tiles(emitter, source, target, part)
                staging.store_tile(self.target, self.target_shape, image, target)

    def emit_tiles(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        """Emit the commands for a part, whose inputs are in ``source``, in pieces that count."""
        for piece in self._countable(emitter.config, part):
            near = seen(source, *self._inputs(piece)[:2])
            self.near(piece).emit_part(emitter, near, target.slice(piece[2]), piece)

    @abstractmethod
    def emit_part(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        """Emit the commands for a part, whose inputs are in ``source``."""

    def input_channels(self, channels: range) -> range:
        """Return the input channels that some output channels need."""
        return channels

    def countable_columns(self, columns: range) -> list[range]:
        """Return columns in parts that a command can count: MATRIX counts those of the result."""
        return parts(columns, LONGEST)

    def most_channels(self, config: AcceleratorConfig) -> int:
        """Return the most channels of a command: groups of lanes are counted."""
        return LONGEST * min(config.lanes, config.width)

    def near(self, part: Part) -> Self:
        """Return the operator for a part alone."""
        return replace(self, rows=self.rows.near(part[0]), columns=self.columns.near(part[1]))

    def _countable(self, config: AcceleratorConfig, part: Part) -> Iterator[Part]:
        """Yield parts of a part whose rows, columns and channels a command can count."""
        channels = parts(part[2], self.most_channels(config))
        yield from product(self.rows.countable(part[0]), self.countable_columns(part[1]), channels)

    def _inputs(self, part: Part) -> Part:
        rows, columns, channels = part
        return self.rows.inputs(rows), self.columns.inputs(columns), self.input_channels(channels)

    def _room(self, emitter: Emitter, staging: Staging, part: Part) -> int:
        sizes = []
        for tensor, piece in ((self.source, self._inputs(part)), (self.target, part)):
            if staging.resident(tensor) is None:
                sizes.append(len(piece[0]) * len(piece[1]) * len(piece[2]))
        return fits(sizes)

    def beside_result(
        self, emitter: Emitter, staging: Staging, image: int, part: Part
    ) -> tuple[Staging, Tile]:
        """Return the result of a part, at the end of the room if need be, and what is left of it.

        For parts whose inputs come one after the other.
        """
        address, room = staging.room
        if staging.resident(self.target) is None:
            room -= fits([len(part[0]) * len(part[1]) * len(part[2])])
            target = Tile.packed(address + room, *part)
        else:
            target = staging.result_tile(self.target, self.target_shape, image, part)
        return Staging(emitter, staging.places, (address, room)), target

    def _parts(self, emitter: Emitter, staging: Staging) -> Iterator[Part]:
        """Yield parts: whole rows if possible, then fewer channels, then fewer columns."""
        _, height, width, depth = self.target_shape
        lanes = min(emitter.config.lanes, emitter.config.width)
        size = (height, width, depth)
        candidates = [
            *((h, width, depth) for h in halvings(height)),
            *((1, width, c) for c in halvings(depth, lanes)),
            *((1, w, min(lanes, depth)) for w in halvings(width)),
        ]
        for candidate in candidates:
            first = (range(candidate[0]), range(candidate[1]), range(candidate[2]))
            room = self._room(emitter, staging, first)
            limit = staging.room[1] if candidate in (size, candidates[-1]) else staging.room[1] // 2
            if room <= limit:
                break
        else:
            raise NoRoomError
        for rows in parts(range(height), candidate[0]):
            for columns in parts(range(width), candidate[1]):
                for channels in parts(range(depth), candidate[2]):
                    yield rows, columns, channels
