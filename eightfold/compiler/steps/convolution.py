"""CONV_2D and FULLY_CONNECTED: every result channel needs every input channel of its group."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits, halvings, parts
from eightfold.compiler.emit.tile import Tile
from eightfold.compiler.steps.dense import Channels, Dense, emit_dense
from eightfold.compiler.steps.im2col import Im2col
from eightfold.compiler.steps.windowed import Part, Windowed, seen
from eightfold.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Convolution(Windowed):
    """CONV_2D, one group of channels or several, and FULLY_CONNECTED as a 1x1 window.

    ``weights`` int8 (outputs, kh, kw, depth); output channel c reads input group
    ``c // (outputs / groups)``.
    """

    weights: np.ndarray
    parameters: Channels
    fill: int

    @property
    def groups(self) -> int:
        """Groups of input channels."""
        return self.source_shape[3] // self.weights.shape[3]

    @property
    def kernel(self) -> Dense:
        """All output channels."""
        return Dense(
            weights=self.weights,
            parameters=self.parameters,
            rows=self.rows,
            columns=self.columns,
            fill=self.fill,
        )

    def room(self, config: AcceleratorConfig) -> int:
        """Return the bytes of scratchpad that strips of patches take, 0 if they do not pay."""
        strips = Im2col(self.kernel)
        return strips.room if self.groups == 1 and strips.pays(config) else 0

    def input_channels(self, channels: range) -> range:
        """Return all: a part needs every input channel of its groups."""
        return range(self.source_shape[3])

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands; where one position's window does not fit, K in slices."""
        resident = all(staging.resident(tensor) is not None for tensor in self.uses)
        if resident and self.room(emitter.config):
            self._emit_strips(emitter, staging)
            return
        try:
            super().emit(emitter, staging)
        except NoRoomError:
            self._emit_slices(emitter, staging)

    def emit_part(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        """Emit the commands for a part, one channel group after the other."""
        for channels, depth in self._by_group(part[2]):
            kernel = self.kernel.some(channels, range(self.weights.shape[3]))
            emit_dense(emitter, kernel, source.slice(depth), target.slice(channels), part[:2])

    def _emit_strips(self, emitter: Emitter, staging: Staging) -> None:
        whole = (range(0), range(0), range(0))
        for image in range(self.source_shape[0]):
            source = staging.load_tile(self.source, self.source_shape, image, whole)
            address = staging.resident(self.target)
            assert address is not None
            target = Tile.resident(address, self.target_shape, image)
            Im2col(self.kernel).emit(emitter, source, target, staging.room[0])

    def _by_group(self, channels: range) -> Iterator[tuple[range, range]]:
        """Yield (output channels, input channels) of every group that ``channels`` touch."""
        outputs = len(self.weights) // self.groups
        depth = self.weights.shape[3]
        for group in range(channels.start // outputs, (channels.stop - 1) // outputs + 1):
            first = max(channels.start, group * outputs)
            last = min(channels.stop, (group + 1) * outputs)
            yield range(first, last), range(group * depth, (group + 1) * depth)

    def _emit_slices(self, emitter: Emitter, staging: Staging) -> None:
        """Emit one position at a time: for every lane group, K in slices that fit."""
        config = emitter.config
        for image in range(self.source_shape[0]):
            for row in range(self.rows.outputs):
                for column in range(self.columns.outputs):
                    place = (range(row, row + 1), range(column, column + 1))
                    for channels in parts(range(len(self.weights)), config.lanes):
                        for outputs, depth in self._by_group(channels):
                            part = (*place, outputs)
                            self.near(part)._slices(emitter, staging, image, part, depth)

    def _slices(
        self, emitter: Emitter, staging: Staging, image: int, part: Part, depth: range
    ) -> None:
        """Emit the slices of one position and lane group, whose result is kept beside the room."""
        inner, target = self.beside_result(emitter, staging, image, part)
        rows, columns = self.rows.inputs(part[0]), self.columns.inputs(part[1])
        window = len(rows) * len(columns)
        size = next((s for s in halvings(len(depth)) if 2 * fits([s * window]) <= inner.room[1]), 0)
        if not size:
            raise NoRoomError
        slices = parts(depth, size)
        for piece in slices:
            inner.begin(fits([len(piece) * window]))
            needed = (rows, columns, piece)
            source = inner.load_tile(self.source, self.source_shape, image, needed)
            source = seen(source, rows, columns).slice(piece)
            local = range(piece.start - depth.start, piece.stop - depth.start)
            ends = (piece is slices[0], piece is slices[-1])
            emit_dense(emitter, self.kernel.some(part[2], local), source, target, part[:2], ends)
        staging.store_tile(self.target, self.target_shape, image, target)


def widened(convolution: Convolution, config: AcceleratorConfig) -> Convolution:
    """Return the convolution whose output channels are those of several neighbouring columns.

    Where the output has fewer channels than there are lanes, ``f`` columns side by side fill them:
    the kernel covers the inputs of all, and has weights of 0 where a column does not look. In NHWC
    the results lie as before. Chosen if it takes fewer vectors.
    """
    best = convolution
    cost = _vectors(convolution, config)
    outputs, kh, kw, depth = convolution.weights.shape
    columns = convolution.columns
    for factor in range(2, config.lanes // outputs + 1):
        if columns.outputs % factor or columns.dilation > 1 or convolution.groups > 1:
            continue
        wide = columns.widened(factor)
        weights = np.zeros((factor, outputs, kh, wide.kernel, depth), dtype=np.int8)
        for i in range(factor):
            start = i * columns.stride
            weights[i, :, :, start : start + kw] = convolution.weights
        n, height, width, _ = convolution.target_shape
        candidate = replace(
            convolution,
            columns=wide,
            target_shape=(n, height, width // factor, outputs * factor),
            weights=weights.reshape(factor * outputs, kh, wide.kernel, depth),
            parameters={name: np.tile(v, factor) for name, v in convolution.parameters.items()},
        )
        if (vectors := _vectors(candidate, config)) < cost:
            best, cost = candidate, vectors
    return best


def _vectors(convolution: Convolution, config: AcceleratorConfig) -> int:
    """Return the vectors of all passes over one image."""
    passes = convolution.kernel.passes(config, convolution.source_shape[3])
    groups = -(-len(convolution.weights) // config.lanes)
    positions = convolution.rows.outputs * convolution.columns.outputs
    return groups * int(np.prod(passes)) * positions
