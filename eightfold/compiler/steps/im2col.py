"""Strips of patches: im2col by the mover, so that K is packed over whole windows.

Few input channels leave most of a vector empty when K is taken row by row of the kernel. The mover
copies, for every output column, the input columns that its windows see, all rows one below the
other: a strip. In a strip every window is one run of bytes, and windows of neighbouring rows
overlap, so only the columns are copied more than once.
"""

from dataclasses import dataclass
from functools import cached_property

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.tile import Tile
from eightfold.compiler.steps.axis import LONGEST, Axis, alike
from eightfold.compiler.steps.dense import Dense, emit_dense
from eightfold.config import AcceleratorConfig
from eightfold.isa import Space


@dataclass(frozen=True)
class Im2col:
    """Strips of a dense kernel over one image."""

    kernel: Dense

    @cached_property
    def rows(self) -> range:
        """Input rows of a strip, the padding included."""
        return self.kernel.rows.span(range(self.kernel.rows.outputs))

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
        return self.kernel.columns.outputs * self.strip

    def pays(self, config: AcceleratorConfig) -> bool:
        """Return whether strips save cycles, and leave most of the scratchpad."""
        kernel = self.kernel
        if kernel.rows.dilation != 1 or kernel.columns.dilation != 1:
            return False
        if max(len(self.rows), kernel.columns.outputs) > LONGEST:
            return False
        positions = kernel.rows.outputs * kernel.columns.outputs
        groups = -(-kernel.outputs // config.lanes)
        ky, kx, kc = kernel.passes(config, kernel.depth)
        direct = ky * kx * kc * positions * groups
        packed = -(-kernel.weights[0].size // config.width) * positions * groups
        fill = self.room // config.vector
        moved = kernel.columns.outputs * len(self.rows) * -(-self.line // config.vector)
        return 10 * (packed + moved + fill) < 9 * direct and self.room <= config.scratchpad // 2

    def emit(self, emitter: Emitter, source: Tile, target: Tile, room: int) -> None:
        """Emit everything for one image, with the strips at the scratchpad address ``room``."""
        kernel = self.kernel
        height, width = kernel.rows.outputs, kernel.columns.outputs
        emitter.move((Space.FILL, 0), (Space.SCRATCHPAD, room), self.room, (), kernel.fill)
        for columns in alike(range(width), self._clipped):
            self._copy(emitter, source, room, columns)
        flat = Dense(
            weights=kernel.weights.reshape(kernel.outputs, 1, 1, -1),
            parameters=kernel.parameters,
            rows=Axis(size=height, outputs=height),
            columns=Axis(size=width, outputs=width),
            fill=kernel.fill,
        )
        windows = Tile(
            address=room,
            rows=range(height),
            columns=range(width),
            channels=range(self.strip),  # of which a window has the first
            row_pitch=kernel.rows.stride * self.line,
            pixel_pitch=self.strip,
        )
        emit_dense(emitter, flat, windows, target, (range(height), range(width)))

    def _clipped(self, column: int) -> tuple[int, int]:
        """Return how many columns of a window lie left and right of the input."""
        axis = self.kernel.columns
        span = axis.span(range(column, column + 1))
        left = min(max(0, -span.start), len(span))
        return left, min(max(0, span.stop - axis.size), len(span) - left)

    def _copy(self, emitter: Emitter, source: Tile, room: int, columns: range) -> None:
        """Copy what strips that lack the same columns have of the input."""
        y, x = self.kernel.rows, self.kernel.columns
        depth = self.kernel.depth
        left, right = self._clipped(columns.start)
        width = x.kernel - left - right
        rows = range(max(self.rows.start, 0), min(self.rows.stop, y.size))
        if width <= 0 or not rows:
            return
        start = x.start(columns.start) + left
        into = room + columns.start * self.strip + (rows.start - self.rows.start) * self.line
        emitter.move(
            (Space.SCRATCHPAD, source.at(rows.start, start)),
            (Space.SCRATCHPAD, into + left * depth),
            width * depth,
            [
                (len(columns), x.stride * source.pixel_pitch, self.strip),
                (len(rows), source.row_pitch, self.line),
            ],
        )
