"""CONV_2D and FULLY_CONNECTED: every result channel needs every input channel of its group.

Few input channels leave most of a vector empty when K is taken row by row of the kernel. Strips of
patches are im2col by the mover, so that K is packed over whole windows: it copies, for every output
column, the input columns that its windows see, all rows one below the other. In a strip every
window is one run of bytes, and windows of neighbouring rows overlap, so only the columns are copied
more than once. The matrix engine walks down the strips, one after the other: what is above and
below of the input is beside its row of bytes, and so padding.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Part, Tile, halvings, parts
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.steps.arriving import (
    Options,
    PipelinePart,
    Plan,
    Search,
    emit_pipelined,
    growing,
)
from eightfold.compiler.steps.dense import Channels, Dense, Summed
from eightfold.compiler.steps.windowed import LONGEST, Axis, alike
from eightfold.isa import Space
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming


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
        kernel, positions = self.kernel, len(self.outputs) * len(self.columns)
        packed = -(-kernel.weights[0].size // config.width) * -(-kernel.outputs // config.lanes)
        return packed * positions, kernel.vectors(config, kernel.depth, positions)

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
        x, depth = self.kernel.columns, self.kernel.depth
        for part in alike(columns, self.clipped):
            left, right = self.clipped(part.start)
            width = x.kernel - left - right
            if width <= 0:
                continue
            start = x.start(part.start) + left
            into = room + part.start * self.strip + left * depth
            emitter.move(
                (space, source.at(self.rows.start, start)),
                (Space.SCRATCHPAD, into),
                width * depth,
                [
                    (len(part), x.stride * source.pixel_pitch, self.strip),
                    (len(self.rows), source.row_pitch, self.line),
                ],
            )

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
        flat.emit(emitter, windows, down, (columns, self.outputs))

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


@dataclass(frozen=True, kw_only=True)
class Convolution(Summed):
    """CONV_2D, one group of channels or several, and FULLY_CONNECTED as a 1x1 window.

    ``weights`` int8 (outputs, kh, kw, depth); output channel c reads input group
    ``c // (outputs / groups)``. ``given``: whether memory has the source from the beginning;
    ``narrow``: the convolution of which this one computes several columns at once, if it does.
    """

    weights: np.ndarray
    parameters: Channels
    fill: int
    given: bool = False
    narrow: "Convolution | None" = None
    awaits = True  # work starts on the first rows

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

    def told(self, given: Collection[int]) -> "Convolution":
        """Return the convolution, told whether memory has its source from the beginning."""
        return replace(self, given=self.source in given)

    @property
    def strips(self) -> Im2col:
        """Strips of patches of all rows."""
        return Im2col(self.kernel, range(self.rows.outputs))

    def room(self, config: AcceleratorConfig) -> int:
        """Return the bytes of scratchpad that strips of patches take, 0 if they do not pay."""
        strips = self.strips
        if self.groups > 1 or not strips.possible or strips.room > config.scratchpad // 2:
            return 0
        packed, direct = strips.vectors(config)
        return strips.room if (self.given and packed < direct) or strips.pays(config) else 0

    def input_channels(self, channels: range) -> range:
        """Return all: a part needs every input channel of its groups."""
        return range(self.source_shape[3])

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands; where one position's window does not fit, K in slices."""
        resident = not staging.outside(self.uses)
        if resident and self.source in staging.arrivals:
            self._emit_arriving(emitter, staging)
            return
        staging.arrive_all()
        if resident and self.strips.pays(emitter.config) and staging.room[1] >= self.strips.room:
            for image in range(self.source_shape[0]):
                source, target = self._tiles(staging, image)
                self.strips.emit(emitter, source, target, staging.room[0])
            return
        super().emit(emitter, staging)

    def emit_part(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        """Emit the commands for a part, one channel group after the other."""
        for channels, depth in self._by_group(part[2]):
            kernel = self.kernel.some(channels, range(self.weights.shape[3]))
            kernel.emit(emitter, source.slice(depth), target.slice(channels), part[:2])

    def _tiles(self, staging: Staging, image: int) -> tuple[Tile, Tile]:
        """Return where an image and its result are, both in the scratchpad."""
        source, target = staging.resident(self.source), staging.resident(self.target)
        assert source is not None
        assert target is not None
        return (
            Tile.resident(source, self.source_shape, image),
            Tile.resident(target, self.target_shape, image),
        )

    def _emit_arriving(self, emitter: Emitter, staging: Staging) -> None:
        """Emit parts while the input arrives, by a plan that takes few cycles."""
        config, memory = emitter.config, emitter.memory
        if (config, memory) not in self._plans:

            def trial(other: Emitter, plan: Plan) -> None:
                arrivals = {tensor: replace(a) for tensor, a in staging.arrivals.items()}
                self._emit_plan(replace(staging, emitter=other, arrivals=arrivals), plan)

            search = Search(config, memory, trial, staging.following)
            known = [plans[0] for (other, _), plans in self._plans.items() if other == config]
            starts = list(self._starts(config))
            self._plans[config, memory] = search.best(starts, self._options(config), known)
        plans = self._plans[config, memory]
        emitter.undecided |= len(plans) > 1
        self._emit_plan(staging, plans[-1 if emitter.second else 0])

    @cached_property
    def _plans(self) -> dict[tuple[AcceleratorConfig, MemoryTiming], list[Plan]]:
        """The best plans that were found so far, two where they are rivals."""
        return {}

    def _starts(self, config: AcceleratorConfig) -> Iterator[Plan]:
        """Yield plans to begin with: without strips, in many parts or one, which loads its weights
        once; with strips for many rows or all; all at once, on strips of an input that is there.
        """
        rows = self.rows.outputs
        lanes = config.lanes
        positions = rows * self.columns.outputs
        few = Plan(direct=rows, first=min(lanes, positions), most=positions)
        yield few
        yield replace(few, first=positions)
        four = min(4 * lanes, positions)
        yield replace(few, first=four, most=four, ahead=2)
        if self.room(config):
            for direct in (0, rows // 4, rows * 3 // 8):
                yield replace(few, direct=direct, strip=4 * lanes, ahead=1)
            yield replace(few, direct=0, strip=positions, near=self.columns.outputs)

    def _options(self, config: AcceleratorConfig) -> Options:
        """Return what to try for the fields of a plan.

        Loading weights takes a cycle per lane, so that smaller parts would wait for them.
        """
        sizes = {"most": (2, 3, 4, 6, 8, 16), "first": (1, 2, 4, 8)}
        if self.room(config):
            sizes["strip"] = (2, 3, 4, 8, 16)
        positions = self.rows.outputs * self.columns.outputs
        options = {
            name: [min(n * config.lanes, positions) for n in each] for name, each in sizes.items()
        }
        options["ahead"] = [0, 1, 2, 3, 5]
        if self.room(config):
            options["near"] = [0, 1, 2, self.columns.outputs]
        return options

    def _emit_plan(self, staging: Staging, plan: Plan) -> None:
        for image in range(self.source_shape[0]):
            pieces = [
                *self._direct_pieces(staging, image, plan),
                *self._strip_pieces(staging, image, plan),
            ]
            emit_pipelined(pieces, plan.ahead)

    def _direct_pieces(self, staging: Staging, image: int, plan: Plan) -> Iterator[PipelinePart]:
        """Yield the parts that are computed on the input itself."""
        _, height, width, depth = self.source_shape
        _, _, columns, channels = self.target_shape
        source, target = self._tiles(staging, image)
        first, most = (-(-size // columns) for size in (plan.first, plan.most))
        for rows in growing(range(plan.direct), first, most):
            stop = (image * height + self.rows.inputs(rows).stop) * width * depth
            part = (rows, range(columns), range(channels))
            yield (
                partial(staging.arrive, self.source, stop),
                partial(self.emit_tiles, staging.emitter, source, target, part),
            )

    def _strip_pieces(self, staging: Staging, image: int, plan: Plan) -> Iterator[PipelinePart]:
        """Yield the parts that are computed on strips, those that lack no columns first."""
        rows = range(plan.direct, self.rows.outputs)
        if not rows:
            return
        strips = Im2col(self.kernel, rows)
        emitter = staging.emitter
        room = staging.room[0]
        space, address = staging.arrivals[self.source].source
        memory = Tile.resident(address, self.source_shape, image)
        there, target = self._tiles(staging, image)

        def bring(number: int, columns: range) -> None:
            padded = any(map(any, map(strips.clipped, columns)))
            if not number and padded:
                strips.fill(emitter, room)
            if number < plan.near:
                staging.arrive(self.source)
                strips.copy(emitter, Space.SCRATCHPAD, there, room, columns)
            else:
                strips.copy(emitter, space, memory, room, columns)
            if not number and not padded:
                strips.fill(emitter, room)

        whole = [column for column in strips.columns if not any(strips.clipped(column))]
        size = max(1, plan.strip // len(rows))
        begin = whole[0] if whole and size < len(strips.columns) else 0
        columns = [*parts(strips.columns[begin:], size), *parts(strips.columns[:begin], size)]
        for number, part in enumerate(columns):
            yield (
                partial(bring, number, part),
                partial(strips.multiply, emitter, target, room, part),
            )

    def _by_group(self, channels: range) -> Iterator[tuple[range, range]]:
        """Yield (output channels, input channels) of every group that ``channels`` touch."""
        outputs = len(self.weights) // self.groups
        depth = self.weights.shape[3]
        for group in range(channels.start // outputs, (channels.stop - 1) // outputs + 1):
            first = max(channels.start, group * outputs)
            last = min(channels.stop, (group + 1) * outputs)
            yield range(first, last), range(group * depth, (group + 1) * depth)

    def channel_groups(self, config: AcceleratorConfig) -> list[range]:
        groups = parts(range(len(self.weights)), config.lanes)
        return [outputs for channels in groups for outputs, _ in self._by_group(channels)]

    def slices(self, part: Part, room: int | None) -> Iterator[tuple[Dense, Part]]:
        """Yield some input channels at a time."""
        ((_, depth),) = self._by_group(part[2])
        rows, columns = self.rows.inputs(part[0]), self.columns.inputs(part[1])
        sizes = halvings(len(depth))
        window = len(rows) * len(columns)
        size = next((s for s in sizes if room is None or fits([s * window]) <= room), 0)
        if not size:
            raise NoRoomError
        for piece in parts(depth, size):
            local = range(piece.start - depth.start, piece.stop - depth.start)
            yield self.kernel.some(part[2], local), (rows, columns, piece)


def widened(convolution: Convolution, config: AcceleratorConfig) -> Convolution:
    """Return the convolution whose output channels are those of several neighbouring columns.

    Where the output has fewer channels than there are lanes, ``f`` columns side by side fill them:
    the kernel covers the inputs of all, and has weights of 0 where a column does not look. In NHWC
    the results lie as before. Chosen if it takes fewer vectors.
    """
    best = convolution
    cost = vectors(convolution, config)
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
            narrow=convolution,
        )
        if (count := vectors(candidate, config)) < cost:
            best, cost = candidate, count
    return best


def vectors(convolution: Convolution, config: AcceleratorConfig) -> int:
    """Return the vectors of all passes over one image."""
    positions = convolution.rows.outputs * convolution.columns.outputs
    return convolution.kernel.vectors(config, convolution.source_shape[3], positions)
