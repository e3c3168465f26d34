"""Operators that slide a window over NHWC images: geometry along an axis, parts that fit."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Self

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Part, Tile, halvings, part_bytes, parts
from eightfold.compiler.emit.staging import Staging
from eightfold.compiler.steps.step import UnaryStep
from eightfold.golden.windows import Window
from eightfold.target.config import AcceleratorConfig

LONGEST = (1 << 15) - 1
"""Most rows or columns of a tensor that a command sees: their numbers have 16 bits and a sign."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a window; ``before`` is the padding in front of the ``size`` inputs."""

    size: int
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    outputs: int

    @classmethod
    def of(cls, window: Window, axis: int, size: int) -> "Axis":
        """Return axis 0 (vertical) or 1 (horizontal) of ``window`` over ``size`` inputs."""
        return cls(
            size=size,
            kernel=window.kernel[axis],
            stride=window.stride[axis],
            dilation=window.dilation[axis],
            before=window.pads(axis, size)[0],
            outputs=window.output_size(axis, size),
        )

    def start(self, output: int) -> int:
        """Return the input coordinate of an output's first tap; may lie in the padding."""
        return output * self.stride - self.before

    def span(self, outputs: range) -> range:
        """Return the inputs from the first to the last tap of ``outputs``, the padding included."""
        last = self.start(outputs[-1]) + (self.kernel - 1) * self.dilation
        return range(self.start(outputs[0]), last + 1)

    def inputs(self, outputs: range) -> range:
        """Return `span` without the padding; one input if nothing is left."""
        span = self.span(outputs)
        first = min(max(span.start, 0), self.size - 1)
        return range(first, max(min(span.stop, self.size), first + 1))

    def taps_inside(self, output: int) -> int:
        """Return how many taps of an output lie inside the input."""
        start = self.start(output)
        if not self.dilation:
            return self.kernel * (0 <= start < self.size)
        before = max(0, -(start // self.dilation))
        behind = max(0, -((self.size - start) // -self.dilation))
        return max(0, min(self.kernel, behind) - before)

    def some(self, taps: range) -> "Axis":
        """Return the axis of a kernel that has only these taps of this one."""
        return replace(self, kernel=len(taps), before=self.before - taps.start * self.dilation)

    def trimmed(self) -> "Axis":
        """Return the axis without the taps at both ends that lie in the padding of every output."""
        first = max(0, -(self.start(self.outputs - 1) // self.dilation))
        last = min(self.kernel - 1, (self.size - 1 - self.start(0)) // self.dilation)
        return self.some(range(first, last + 1))

    def near(self, outputs: range) -> "Axis":
        """Return the axis for these outputs, without long steps that none of them takes."""
        long = min(self.size, LONGEST)
        stride = 1 if len(outputs) == 1 and self.stride > long else self.stride
        dilation = 1 if self.kernel == 1 and self.dilation > long else self.dilation
        before = outputs.start * stride - self.start(outputs.start)
        return replace(self, stride=stride, dilation=dilation, before=before)

    def countable(self, outputs: range) -> list[range]:
        """Return the outputs in parts of which a command sees `LONGEST` inputs at most.

        Or one output each, whose taps may reach further.
        """
        reach = (self.kernel - 1) * self.dilation
        size = max(1, (LONGEST - 1 - reach) // self.stride + 1)
        return [outputs[start : start + size] for start in range(0, len(outputs), size)]

    def every(self, count: int, first: int) -> "Axis":
        """Return the axis of every ``count``-th output from ``first`` on; there is one at least."""
        return replace(
            self,
            stride=self.stride * count,
            before=-self.start(first),
            outputs=len(range(first, self.outputs, count)),
        )

    def widened(self, factor: int) -> "Axis":
        """Return the axis of a kernel that covers ``factor`` neighbouring outputs at once."""
        return replace(
            self,
            kernel=self.kernel + (factor - 1) * self.stride,
            stride=self.stride * factor,
            outputs=self.outputs // factor,
        )


def alike(outputs: range, key: Callable[[int], Hashable]) -> Iterator[range]:
    """Yield the longest runs of neighbouring outputs with the same ``key``."""
    for _, run in groupby(outputs, key):
        members = list(run)
        yield range(members[0], members[-1] + 1)


def seen(source: Tile, rows: range, columns: range) -> Tile:
    """Return a tile whose rows and columns a command can count: those needed, if they are many."""
    if max(len(source.rows), len(source.columns)) <= LONGEST:
        return source
    return source.crop(rows, columns)


@dataclass(frozen=True, kw_only=True)
class Windowed(UnaryStep):
    """Geometry that all windowed operators share: tensors (N, H, W, C), an axis each way."""

    source_shape: tuple[int, int, int, int]
    target_shape: tuple[int, int, int, int]
    rows: Axis
    columns: Axis

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        for image in range(self.source_shape[0]):
            for part in self._parts(emitter, staging):
                staging.begin(self._room(staging, part))
                inputs = self._inputs(part)
                source = staging.load_tile(self.source, self.source_shape, image, inputs)
                target = staging.result_tile(self.target, self.target_shape, image, part)
                self.emit_tiles(emitter, source, target, part)
                staging.store_tile(self.target, self.target_shape, image, target)

    def emit_tiles(self, emitter: Emitter, source: Tile, target: Tile, part: Part) -> None:
        """Emit the commands for a part, whose inputs are in ``source``, in pieces that count."""
        rows, columns = self.rows.countable(part[0]), self.countable_columns(part[1])
        channels = parts(part[2], self.most_channels(emitter.config))
        for piece in product(rows, columns, channels):
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

    def _inputs(self, part: Part) -> Part:
        rows, columns, channels = part
        return self.rows.inputs(rows), self.columns.inputs(columns), self.input_channels(channels)

    def _room(self, staging: Staging, part: Part) -> int:
        return staging.needed(self.uses, map(part_bytes, (self._inputs(part), part)))

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

        def room(candidate: tuple[int, int, int]) -> int:
            rows, columns, channels = map(range, candidate)
            return self._room(staging, (rows, columns, channels))

        sizes = staging.largest(candidates, room, size)
        rows, columns, channels = map(parts, map(range, size), sizes)
        yield from product(rows, columns, channels)
