"""Windows that are sums, on the matrix engine; the dense ones, with K in im2col order.

In these a lane is an output channel. K is packed over (kx, channel) where the input has all
channels of the kernel side by side, so that a kernel row is one run of bytes; a tail of K is
covered by weights of 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Part, Tile, part_bytes, parts
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.steps.windowed import Axis, Windowed, seen
from eightfold.isa import Matrix
from eightfold.isa.issued import Interval
from eightfold.target.config import AcceleratorConfig

Channels = Mapping[str, np.ndarray]
"""Fields of `isa.REQUANTIZE_LAYOUT` per output channel."""


Outputs = tuple[range, range]
"""Rows and columns of a result."""

Ends = tuple[bool, bool]
"""Whether sums start with a command, and whether they end with it."""

WHOLE: Ends = (True, True)


@dataclass(frozen=True, kw_only=True)
class Kernel(ABC):
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

    @abstractmethod
    def emit(
        self, emitter: Emitter, source: Tile, target: Tile, outputs: Outputs, part: Ends = WHOLE
    ) -> None:
        """Emit the commands for the output rows and columns ``outputs`` of one image.

        ``part`` is (first, last): whether the sums start here, and whether they end here; if not
        both, all positions must fit the partial sums, and the channels fit one group.
        """

    def emit_command(
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
    """A kernel whose weights are (outputs, kh, kw, depth).

    With more than one pass, as many positions at a time as there are partial sums.
    """

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

    def vectors(self, config: AcceleratorConfig, pixel_pitch: int, positions: int) -> int:
        """Return the vectors of all passes for so many positions."""
        groups = -(-self.outputs // config.lanes)
        return groups * prod(self.passes(config, pixel_pitch)) * positions

    def buffers(self, config: AcceleratorConfig, pixel_pitch: int) -> Iterator[np.ndarray]:
        """Yield the weight buffers in the order of their passes."""
        ky, kx, kc = self.passes(config, pixel_pitch)
        taps = self.weights.reshape(self.outputs, ky, kx, -1)
        padded = np.zeros((self.outputs, ky, kx, kc * config.width), dtype=np.int8)
        padded[..., : taps.shape[3]] = taps
        order = padded.reshape(self.outputs, ky * kx * kc, config.width).transpose(1, 0, 2)
        for first in range(0, self.outputs, config.lanes):
            yield from order[:, first : first + config.lanes]

    def emit(
        self, emitter: Emitter, source: Tile, target: Tile, outputs: Outputs, part: Ends = WHOLE
    ) -> None:
        config = emitter.config
        y, x = self.rows, self.columns
        passes = self.passes(config, source.pixel_pitch)
        one_pass = prod(passes) == 1 and all(part)
        buffers = list(self.buffers(config, source.pixel_pitch))
        for some in positions(outputs, None if one_pass else config.psum_depth):
            rows, columns = some
            start = y.start(rows.start), x.start(columns.start)
            counts = len(rows), len(columns)
            command = walk(source, start, counts, (y.dilation, y.stride), (x.dilation, x.stride))
            command = command.with_fields(ky=passes[0], kx=passes[1], kc=passes[2])
            reads = source.interval(y.span(rows))
            self.emit_command(emitter, buffers, command, reads, target, some, part)


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


class Summed(Windowed):
    """Windows that kernels compute; where the inputs of one position do not fit, slice by slice."""

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, in parts, or else one position and some channels at a time."""
        try:
            super().emit(emitter, staging)
        except NoRoomError:
            images, height, width = map(range, self.target_shape[:3])
            groups = self.channel_groups(emitter.config)
            for image, row, column, channels in product(images, height, width, groups):
                part = (range(row, row + 1), range(column, column + 1), channels)
                self.near(part)._emit_slices(emitter, staging, image, part)

    @abstractmethod
    def channel_groups(self, config: AcceleratorConfig) -> Sequence[range]:
        """Return the output channels of which partial sums are kept at once."""

    @abstractmethod
    def slices(self, part: Part, room: int | None) -> Iterator[tuple[Kernel, Part]]:
        """Yield kernels whose sums add up to one position's, and the inputs that each needs.

        These have ``room`` bytes, or are there. Raises NoRoomError if the smallest do not fit.
        """

    def _emit_slices(self, emitter: Emitter, staging: Staging, image: int, part: Part) -> None:
        """Emit the slices of a window, whose result is kept at the end of the room if need be."""
        address, room = staging.room
        if staging.resident(self.target) is None:
            room -= fits([part_bytes(part)])
            target = Tile.packed(address + room, *part)
        else:
            target = staging.result_tile(self.target, self.target_shape, image, part)
        inner = Staging(emitter, staging.places, (address, room))
        outside = inner.resident(self.source) is None
        slices = list(self.slices(part, room // 2 if outside else None))
        for number, (kernel, needed) in enumerate(slices):
            inner.begin(fits([part_bytes(needed)]) if outside else 0)
            source = inner.load_tile(self.source, self.source_shape, image, needed)
            near = seen(source, *needed[:2]).slice(needed[2])
            kernel.emit(emitter, near, target, part[:2], (number == 0, number == len(slices) - 1))
        staging.store_tile(self.target, self.target_shape, image, target)
