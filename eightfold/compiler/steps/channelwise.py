"""Depthwise convolution and pools: a result channel needs the input channel of the same number."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Part, Tile, halvings, part_bytes, parts
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.steps.dense import Channels, Outputs, Summed
from eightfold.compiler.steps.depthwise import Depthwise, emit_side_by_side
from eightfold.compiler.steps.elementwise import RUN
from eightfold.compiler.steps.windowed import LONGEST, Axis, Windowed, alike
from eightfold.estimate.cost import LATENCY, matrix_cycles
from eightfold.isa import Engine, Matrix, Reduce, Requantize, Vector
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class SummedByChannel(Summed):
    """What a depthwise kernel computes; a window that does not fit is summed up in slices."""

    @abstractmethod
    def kernel(self, output: tuple[int, int], channels: range) -> Depthwise:
        """Return the kernel of an output (row, column) for some channels."""

    def channel_groups(self, config: AcceleratorConfig) -> list[range]:
        return parts(range(self.target_shape[3]), min(config.lanes, config.width))

    def _parts(self, emitter: Emitter, staging: Staging) -> Iterator[Part]:
        if max(self.rows.kernel, self.columns.kernel) > LONGEST:
            raise NoRoomError
        return super()._parts(emitter, staging)

    def slices(self, part: Part, room: int | None) -> Iterator[tuple[Depthwise, Part]]:
        """Yield some rows of the kernel at a time, or some columns of one."""
        kernel = range(self.rows.kernel), range(self.columns.kernel)
        height, width = self._taps(part[2], room)
        whole = self.kernel((part[0][0], part[1][0]), part[2])
        for taps in product(parts(kernel[0], height), parts(kernel[1], width)):
            piece = whole.window(*taps)
            yield piece, (piece.rows.inputs(part[0]), piece.columns.inputs(part[1]), part[2])

    def _taps(self, channels: range, room: int | None) -> tuple[int, int]:
        """Return kernel rows and columns whose inputs fit the room, if any."""
        whole = self.rows.kernel, self.columns.kernel
        sizes = [
            *((height, whole[1]) for height in halvings(whole[0])),
            *((1, width) for width in halvings(whole[1])),
        ]
        for height, width in sizes:
            rows, columns = self.rows.some(range(height)), self.columns.some(range(width))
            spans = rows.span(range(1)), columns.span(range(1))
            fit = room is None or fits([part_bytes((*spans, channels))]) <= room
            if fit and max(height, width) <= LONGEST:
                return height, width
        raise NoRoomError


def emit_pool(
    emitter: Emitter, step: Windowed, source: Tile, target: Tile, outputs: Outputs, command: Vector
) -> None:
    """Emit ``command`` for the windows of the output rows and columns of one image."""
    y, x = step.rows, step.columns
    row, column = y.start(outputs[0].start), x.start(outputs[1].start)
    command = command.with_fields(
        run=len(source.channels),
        count1=len(outputs[0]),
        count0=len(outputs[1]),
        window1=y.kernel,
        window0=x.kernel,
        source_a=source.at(row, column),
        a_step1=y.stride * source.row_pitch,
        a_step0=x.stride * source.pixel_pitch,
        a_window1=y.dilation * source.row_pitch,
        a_window0=x.dilation * source.pixel_pitch,
        target=target.at(outputs[0].start, outputs[1].start),
        target_step1=target.row_pitch,
        target_step0=target.pixel_pitch,
        row0=row - source.rows.start,
        rows=len(source.rows),
        row_step=y.stride,
        row_window=y.dilation,
        column0=column - source.columns.start,
        columns=len(source.columns),
        column_step=x.stride,
        column_window=x.dilation,
    )
    emitter.vector(command, [source.written(y.span(outputs[0]))], target.written(outputs[0]))


def _windows(reduce: Reduce, fill: int, requantize: Requantize) -> Vector:
    """Return what is done with each window; ``fill`` is what changes nothing."""
    return Vector(run=1, source_a=0, target=0, reduce=reduce, fill=fill, requantize=requantize)


@dataclass(frozen=True, kw_only=True)
class DepthwiseConvolution(SummedByChannel):
    """DEPTHWISE_CONV_2D with as many outputs as inputs, int8 ``weights`` (kh, kw, channels).

    The columns of the source lie in so many ``planes`` (`eightfold.compiler.steps.depthwise`).
    """

    weights: np.ndarray
    parameters: Channels
    fill: int
    planes: int = 1

    def kernel(self, output: tuple[int, int], channels: range) -> Depthwise:
        """Return the kernel of some channels, the same for every output."""
        kernel = Depthwise(
            weights=self.weights,
            parameters=self.parameters,
            rows=self.rows,
            columns=self.columns,
            fill=self.fill,
        )
        return kernel.some(channels)

    def emit_part(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        kernel = self.kernel((0, 0), part[2])
        emit_side_by_side(emitter, kernel, source.slice(part[2]), target, part[:2], self.planes)


@dataclass(frozen=True, kw_only=True)
class SumPool(SummedByChannel):
    """Sums of windows, requantized by ``parameters(count)``, the number of taps inside the input.

    A depthwise convolution with weights of 1, in which padding counts 0.
    """

    parameters: dict[int, dict[str, int]]

    def kernel(self, output: tuple[int, int], channels: range) -> Depthwise:
        """Return a kernel of weights 1 with the parameters of one output."""
        count = self.rows.taps_inside(output[0]) * self.columns.taps_inside(output[1])
        return Depthwise(
            weights=np.ones((self.rows.kernel, self.columns.kernel, len(channels)), np.int8),
            parameters={n: np.full(len(channels), v) for n, v in self.parameters[count].items()},
            rows=self.rows,
            columns=self.columns,
            fill=0,
        )

    def emit_part(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        """Emit the commands for a part: one for each region with the same count."""
        channels = part[2]
        if len(part[0]) == len(part[1]) == 1:
            channels = self._beside(emitter, source, target, part)
        for rows in alike(part[0], self.rows.taps_inside):
            for columns in alike(part[1], self.columns.taps_inside):
                kernel = self.kernel((rows[0], columns[0]), channels)
                near = source.slice(channels)
                emit_side_by_side(emitter, kernel, near, target.slice(channels), (rows, columns))

    def _beside(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> range:
        """Leave channels to the vector engine, beside the convolution before; return the others.

        The convolution has computed one group of lanes after the other. Its command is cut in
        groups, and while the next one is computed, the vector engine sums up the one before.
        """
        config, lanes = emitter.config, emitter.config.lanes
        whole = emitter.issued[-1]
        c = whole.instruction
        taps = self.rows.kernel * self.columns.kernel
        beats = taps * -(-lanes // config.vector_lanes)
        if not (
            isinstance(c, Matrix)
            and whole.step != emitter.step
            and not c.depthwise
            and whole.writes == (source.written(source.rows),)
            and (c.target_group, c.target_x) == (lanes, source.pixel_pitch)
            and c.channels(lanes) == len(part[2]) == source.pixel_pitch
            and matrix_cycles(c, config) >= c.groups * beats
            and (c.groups - 1) * taps > LATENCY[Engine.MATRIX] + LATENCY[Engine.VECTOR]
        ):
            return part[2]
        groups = [range(start, start + lanes) for start in range(0, len(part[2]), lanes)]
        emitter.issued[-1:] = [
            replace(
                whole,
                instruction=c.with_fields(
                    groups=1,
                    last_lanes=lanes if group.stop < len(part[2]) else c.last_lanes,
                    base=c.base + number * c.group_step,
                    target=c.target + group.start,
                ),
                writes=(source.slice(group).written(source.rows),),
            )
            for number, group in enumerate(groups)
        ]
        count = self.rows.taps_inside(part[0][0]) * self.columns.taps_inside(part[1][0])
        sums = _windows(Reduce.SUM, 0, Requantize.of(self.parameters[count]))
        for group in groups[:-1]:
            near = source.slice(group), target.slice(group)
            emit_pool(emitter, self, *near, part[:2], sums)
        return range(groups[-1].start, part[2].stop)


def window_counts(rows: Axis, columns: Axis) -> set[int]:
    """Return every number of taps inside the input that a window of a pool has."""
    vertical = {rows.taps_inside(output) for output in range(rows.outputs)}
    horizontal = {columns.taps_inside(output) for output in range(columns.outputs)}
    return {v * h for v in vertical for h in horizontal}


@dataclass(frozen=True, kw_only=True)
class MaximumPool(Windowed):
    """MAX_POOL_2D, clamped to [low, high]."""

    low: int
    high: int

    def emit_part(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        largest = _windows(Reduce.MAXIMUM, -128, Requantize(low=self.low, high=self.high))
        emit_pool(emitter, self, source.slice(part[2]), target, part[:2], largest)

    def countable_columns(self, columns: range) -> list[range]:
        """Return columns in parts that a command can count: VECTOR counts those of the input."""
        return self.columns.countable(columns)

    def most_channels(self, config: AcceleratorConfig) -> int:
        return RUN

    def beats(self, config: AcceleratorConfig) -> int:
        """Return how often the lanes take a part of a pixel, a cycle each."""
        images, height, width, depth = self.target_shape
        taps = self.rows.kernel * self.columns.kernel
        return images * height * width * taps * -(-depth // config.vector_lanes)

    def rows_first(self, between: int) -> "tuple[MaximumPool, MaximumPool]":
        """Return pools of columns of pixels into ``between``, then of rows of these."""
        images, _, width, depth = self.source_shape
        outputs = self.target_shape[1]
        shape = (images, outputs, width, depth)
        rows = Axis(size=outputs, outputs=outputs)
        second = replace(self, source=between, source_shape=shape, rows=rows)
        return self._into(between, shape).of_whole_rows, second

    def columns_first(self, between: int) -> "tuple[MaximumPool, MaximumPool]":
        """Return pools of rows of pixels into ``between``, then of columns of these."""
        images, height, *_ = self.source_shape
        shape = (images, height, *self.target_shape[2:])
        first = replace(self._into(between, shape), rows=Axis(size=height, outputs=height))
        return first, replace(self, source=between, source_shape=shape).of_whole_rows

    def _into(self, between: int, shape: tuple[int, int, int, int]) -> "MaximumPool":
        return replace(self, target=between, target_shape=shape, low=-128, high=127)

    @property
    def of_whole_rows(self) -> "MaximumPool":
        """The pool of columns of pixels alone, which has whole rows for pixels."""
        source, target = (
            (images, rows, 1, width * depth)
            for images, rows, width, depth in (self.source_shape, self.target_shape)
        )
        columns = Axis(size=1, outputs=1)
        return replace(self, source_shape=source, target_shape=target, columns=columns)
