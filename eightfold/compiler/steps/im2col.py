"""Strips of patches: im2col by the mover, so that K is packed over whole windows.

Few input channels leave most of a vector empty when K is taken row by row of the kernel. The mover
copies, for every output column, the input columns that its windows see, all rows one below the
other: a strip. In a strip every window is one run of bytes, and windows of neighbouring rows
overlap, so only the columns are copied more than once. The matrix engine walks down the strips, one
after the other: what is above and below of the input is beside its row of bytes, and so padding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.tile import Tile
from eightfold.compiler.steps.dense import Dense, emit_dense
from eightfold.compiler.steps.windowed import LONGEST, Axis, alike
from eightfold.isa import Space
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Im2col:
    """Strips of a dense kernel over one image, for its output rows ``outputs``."""

    kernel: Dense
    outputs: range

    @cached_property
    def rows(self) -> range:
        """Input rows of a strip."""
        return self.kernel.rows.inputs(self.outputs)

    @property
    def columns(self) -> range:
        """Output columns, with a strip each."""
        return range(self.kernel.columns.outputs)

    @property
    def line(self) -> int:
        """Bytes of a kernel row."""
        return self.kernel.weights.shape[2] * self.kernel.depth

    @property
    def strip(self) -> int:
        """Bytes of a strip."""
        return len(self.rows) * self.line

    @property
    def room(self) -> int:
        """Bytes of scratchpad for all strips."""
        return len(self.columns) * self.strip

    @property
    def possible(self) -> bool:
        """Whether commands can count what strips have."""
        y, x = self.kernel.rows, self.kernel.columns
        return y.dilation == x.dilation == 1 and max(len(self.rows), len(self.columns)) <= LONGEST

    def vectors(self, config: AcceleratorConfig) -> tuple[int, int]:
        """Return the vectors of all passes, with and without strips."""
        positions = len(self.outputs) * len(self.columns) * -(-self.kernel.outputs // config.lanes)
        ky, kx, kc = self.kernel.passes(config, self.kernel.depth)
        packed = -(-self.kernel.weights[0].size // config.width)
        return packed * positions, ky * kx * kc * positions

    def pays(self, config: AcceleratorConfig) -> bool:
        """Return whether strips of what the scratchpad has save cycles, and leave most of it."""
        if not self.possible:
            return False
        packed, direct = self.vectors(config)
        moved = len(self.columns) * len(self.rows) * -(-self.line // config.vector)
        clipped = sum(len(part) for part in self._clipped_parts(self.columns))
        fill = clipped * self.strip // config.vector
        return 10 * (packed + moved + fill) < 9 * direct and self.room <= config.scratchpad // 2

    def emit(self, emitter: Emitter, source: Tile, target: Tile, room: int) -> None:
        """Emit everything for an image in the scratchpad, with the strips at address ``room``."""
        self.fill(emitter, room)
        self.copy(emitter, Space.SCRATCHPAD, source, room, self.columns)
        self.multiply(emitter, target, room, self.columns)

    def fill(self, emitter: Emitter, room: int) -> None:
        """Fill strips that lack columns of the input with padding."""
        for columns in self._clipped_parts(self.columns):
            into = (Space.SCRATCHPAD, room + columns.start * self.strip)
            size = len(columns) * self.strip
            emitter.move((Space.FILL, 0), into, size, (), self.kernel.fill)

    def copy(self, emitter: Emitter, space: Space, source: Tile, room: int, columns: range) -> None:
        """Copy what some strips have of the input, whose ``source`` addresses are in a space."""
        for part in alike(columns, self.clipped):
            self._copy(emitter, space, source, room, part)

    def multiply(self, emitter: Emitter, target: Tile, room: int, columns: range) -> None:
        """Emit the commands for some strips."""
        kernel = self.kernel
        rows = self.kernel.rows
        flat = Dense(
            weights=kernel.weights.reshape(kernel.outputs, 1, 1, -1),
            parameters=kernel.parameters,
            rows=Axis(size=len(self.columns), outputs=len(self.columns)),
            columns=Axis(
                size=len(self.rows),
                stride=rows.stride,
                before=rows.before + self.rows.start,
                outputs=rows.outputs,
            ),
            fill=kernel.fill,
        )
        windows = Tile(
            address=room,
            rows=self.columns,
            columns=range(len(self.rows)),
            channels=range(self.line),
            row_pitch=self.strip,
            pixel_pitch=self.line,
        )
        down = target.crop(self.outputs, columns).transposed()
        emit_dense(emitter, flat, windows, down, (columns, self.outputs))

    def clipped(self, column: int) -> tuple[int, int]:
        """Return how many columns of a window lie left and right of the input."""
        axis = self.kernel.columns
        span = axis.span(range(column, column + 1))
        left = min(max(0, -span.start), len(span))
        return left, min(max(0, span.stop - axis.size), len(span) - left)

    def _clipped_parts(self, columns: range) -> Iterator[range]:
        """Yield neighbouring columns whose windows lie partly outside of the input."""
        for part in alike(columns, lambda column: any(self.clipped(column))):
            if any(self.clipped(part.start)):
                yield part

    def _copy(
        self, emitter: Emitter, space: Space, source: Tile, room: int, columns: range
    ) -> None:
        """Copy what strips that lack the same columns have of the input."""
        x, depth = self.kernel.columns, self.kernel.depth
        left, right = self.clipped(columns.start)
        width = x.kernel - left - right
        if width <= 0:
            return
        start = x.start(columns.start) + left
        into = room + columns.start * self.strip + left * depth
        emitter.move(
            (space, source.at(self.rows.start, start)),
            (Space.SCRATCHPAD, into),
            width * depth,
            [
                (len(columns), x.stride * source.pixel_pitch, self.strip),
                (len(self.rows), source.row_pitch, self.line),
            ],
        )
