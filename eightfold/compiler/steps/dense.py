"""Dense windows on the matrix engine: a lane is an output channel, K is in im2col order.

K is packed over (kx, channel) where the input has all channels of the kernel side by side, so that
a kernel row is one run of bytes; a tail of K is covered by weights of 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.tile import Tile
from eightfold.compiler.steps.windowed import Axis
from eightfold.isa import Matrix
from eightfold.target.config import AcceleratorConfig

Channels = Mapping[str, np.ndarray]
"""Fields of `isa.REQUANTIZE_LAYOUT` per output channel."""


@dataclass(frozen=True, kw_only=True)
class Dense:
    """A convolution's kernel: ``weights`` int8 (outputs, kh, kw, depth), parameters, geometry.

    ``fill`` is the byte that stands for padding.
    """

    weights: np.ndarray
    parameters: Channels
    rows: Axis
    columns: Axis
    fill: int

    @property
    def depth(self) -> int:
        """Input channels."""
        return self.weights.shape[3]

    @property
    def outputs(self) -> int:
        """Output channels."""
        return len(self.weights)

    def some(self, outputs: range, depth: range) -> "Dense":
        """Return the part of the kernel for some output and some input channels."""
        weights = self.weights[outputs.start : outputs.stop, :, :, depth.start : depth.stop]
        parameters = {n: v[outputs.start : outputs.stop] for n, v in self.parameters.items()}
        return replace(self, weights=weights, parameters=parameters)

    def merged(self, pixel_pitch: int) -> bool:
        """Return whether a kernel row is one run of bytes."""
        return pixel_pitch == self.depth and self.columns.dilation == 1

    def passes(self, config: AcceleratorConfig, pixel_pitch: int) -> tuple[int, int, int]:
        """Return the iterations of ky, kx and kc."""
        _, kh, kw, depth = self.weights.shape
        if self.merged(pixel_pitch):
            return kh, 1, -(-kw * depth // config.width)
        return kh, kw, -(-depth // config.width)

    def buffers(self, config: AcceleratorConfig, pixel_pitch: int) -> Iterator[np.ndarray]:
        """Yield the weight buffers in the order of their passes."""
        ky, kx, kc = self.passes(config, pixel_pitch)
        taps = self.weights.reshape(self.outputs, ky, kx, -1)
        padded = np.zeros((self.outputs, ky, kx, kc * config.width), dtype=np.int8)
        padded[..., : taps.shape[3]] = taps
        order = padded.reshape(self.outputs, ky * kx * kc, config.width).transpose(1, 0, 2)
        for first in range(0, self.outputs, config.lanes):
            yield from order[:, first : first + config.lanes]


def emit_dense(
    emitter: Emitter,
    kernel: Dense,
    source: Tile,
    target: Tile,
    outputs: tuple[range, range],
    part: tuple[bool, bool] = (True, True),
) -> None:
    """Emit the commands for the output rows and columns ``outputs`` of one image.

    With more than one pass, as many positions at a time as there are partial sums. ``part`` is
    (first, last): whether the sums start here, and whether they end here; if not both, all
    positions and channels must fit the partial sums.
    """
    config = emitter.config
    passes = kernel.passes(config, source.pixel_pitch)
    one_pass = np.prod(passes) == 1 and all(part)
    buffers = list(kernel.buffers(config, source.pixel_pitch))
    for rows, columns in positions(outputs, None if one_pass else config.psum_depth):
        emitter.weights(buffers)
        if part[1]:
            emitter.parameters(kernel.parameters)
        command = _walk(kernel, source, rows, columns).with_fields(
            groups=-(-kernel.outputs // config.lanes),
            last_lanes=(kernel.outputs - 1) % config.lanes + 1,
            ky=passes[0],
            kx=passes[1],
            kc=passes[2],
            fill=kernel.fill,
            first=part[0],
            last=part[1],
        )
        command = to_target(command, target, rows.start, columns.start, config.lanes)
        written = target.written(rows) if part[1] else None
        emitter.matrix(command, source.interval(kernel.rows.span(rows)), written)


def _walk(kernel: Dense, source: Tile, rows: range, columns: range) -> Matrix:
    """Return a command with the input's addresses: one vector per position and pass."""
    row, column = kernel.rows.start(rows.start), kernel.columns.start(columns.start)
    y, x = kernel.rows, kernel.columns
    return Matrix(
        y=len(rows),
        x=len(columns),
        base=source.at(row, source.columns.start),
        ky_step=y.dilation * source.row_pitch,
        y_step=y.stride * source.row_pitch,
        column0=(column - source.columns.start) * source.pixel_pitch,
        kx_step=x.dilation * source.pixel_pitch,
        x_step=x.stride * source.pixel_pitch,
        # Of the last pixel only the source's channels: those behind them may be written meanwhile.
        columns=(len(source.columns) - 1) * source.pixel_pitch + len(source.channels),
        row0=row - source.rows.start,
        rows=len(source.rows),
        ky_rows=y.dilation,
        y_rows=y.stride,
    )


def to_target(command: Matrix, target: Tile, row: int, column: int, group: int) -> Matrix:
    """Return a command with the results' addresses, for the first position at (row, column)."""
    return command.with_fields(
        target=target.at(row, column),
        target_group=group,
        target_y=target.row_pitch,
        target_x=target.pixel_pitch,
    )


def positions(outputs: tuple[range, range], limit: int | None) -> Iterator[tuple[range, range]]:
    """Yield (rows, columns) that cover ``outputs``, at most ``limit`` positions at a time."""
    rows, columns = outputs
    if limit is None:
        yield outputs
        return
    width = min(len(columns), limit)
    height = max(1, limit // width)
    height = -(-len(rows) // -(-len(rows) // height))  # parts of nearly equal size
    for row in range(rows.start, rows.stop, height):
        for column in range(columns.start, columns.stop, width):
            yield (
                range(row, min(row + height, rows.stop)),
                range(column, min(column + width, columns.stop)),
            )
