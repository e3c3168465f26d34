"""Dense windows on the matrix engine: a lane is an output channel, K is in im2col order.

K is packed over (kx, channel) where the input has all channels of the kernel side by side, so that
a kernel row is one run of bytes; a tail of K is covered by weights of 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Tile, parts
from eightfold.compiler.steps.windowed import Axis
from eightfold.isa import Matrix
from eightfold.isa.issued import Interval
from eightfold.target.config import AcceleratorConfig

Channels = Mapping[str, np.ndarray]
"""Fields of `isa.REQUANTIZE_LAYOUT` per output channel."""


Outputs = tuple[range, range]
"""Rows and columns of a result."""

Ends = tuple[bool, bool]
"""Whether sums start with a command, and whether they end with it."""


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A convolution's kernel: int8 ``weights``, parameters, geometry.

    ``fill`` is the byte that stands for padding.
    """

    weights: np.ndarray
    parameters: Channels
    rows: Axis
    columns: Axis
    fill: int

    @property
    def outputs(self) -> int:
        """Output channels."""
        return len(self.parameters["bias"])

    def emit(
        self,
        emitter: Emitter,
        buffers: Iterable[np.ndarray],
        command: Matrix,
        reads: Interval,
        target: Tile,
        outputs: Outputs,
        part: Ends,
    ) -> None:
        """Emit a command that reads what it says, with its constants and results."""
        config = emitter.config
        rows, columns = outputs
        emitter.weights(buffers)
        if part[1]:
            emitter.parameters(self.parameters)
        command = command.with_fields(
            groups=-(-self.outputs // config.lanes),
            last_lanes=(self.outputs - 1) % config.lanes + 1,
            fill=self.fill,
            first=part[0],
            last=part[1],
            target=target.at(rows.start, columns.start),
            target_group=config.lanes,
            target_y=target.row_pitch,
            target_x=target.pixel_pitch,
        )
        emitter.matrix(command, reads, target.written(rows) if part[1] else None)


class Dense(Kernel):
    """A kernel whose weights are (outputs, kh, kw, depth)."""

    @property
    def depth(self) -> int:
        """Input channels."""
        return self.weights.shape[3]

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
    outputs: Outputs,
    part: Ends = (True, True),
) -> None:
    """Emit the commands for the output rows and columns ``outputs`` of one image.

    With more than one pass, as many positions at a time as there are partial sums. ``part`` is
    (first, last): whether the sums start here, and whether they end here; if not both, all
    positions and channels must fit the partial sums.
    """
    config = emitter.config
    y, x = kernel.rows, kernel.columns
    passes = kernel.passes(config, source.pixel_pitch)
    one_pass = np.prod(passes) == 1 and all(part)
    buffers = list(kernel.buffers(config, source.pixel_pitch))
    for some in positions(outputs, None if one_pass else config.psum_depth):
        rows, columns = some
        start = y.start(rows.start), x.start(columns.start)
        counts = len(rows), len(columns)
        command = walk(source, start, counts, (y.dilation, y.stride), (x.dilation, x.stride))
        command = command.with_fields(ky=passes[0], kx=passes[1], kc=passes[2])
        kernel.emit(emitter, buffers, command, source.interval(y.span(rows)), target, some, part)


def walk(
    source: Tile,
    start: tuple[int, int],
    counts: tuple[int, int],
    rows: tuple[int, int],
    columns: tuple[int, int],
) -> Matrix:
    """Return a command with the input's addresses, from a row and a column on.

    ``counts``: rows of vectors, and vectors of a row. ``rows`` and ``columns``: how many it is from
    one of the kernel's to the next, and from one vector to the next.
    """
    row, column = start
    return Matrix(
        y=counts[0],
        x=counts[1],
        base=source.at(row, source.columns.start),
        ky_step=rows[0] * source.row_pitch,
        y_step=rows[1] * source.row_pitch,
        column0=(column - source.columns.start) * source.pixel_pitch,
        kx_step=columns[0] * source.pixel_pitch,
        x_step=columns[1] * source.pixel_pitch,
        # Of the last pixel only the source's channels: those behind them may be written meanwhile.
        columns=(len(source.columns) - 1) * source.pixel_pitch + len(source.channels),
        row0=row - source.rows.start,
        rows=len(source.rows),
        ky_rows=rows[0],
        y_rows=rows[1],
    )


def positions(outputs: Outputs, limit: int | None) -> Iterator[Outputs]:
    """Yield (rows, columns) that cover ``outputs``, at most ``limit`` positions at a time."""
    rows, columns = outputs
    if limit is None:
        yield outputs
        return
    width = min(len(columns), limit)
    height = max(1, limit // width)
    height = -(-len(rows) // -(-len(rows) // height))  # parts of nearly equal size
    yield from product(parts(rows, height), parts(columns, width))
