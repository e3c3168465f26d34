"""Depthwise windows of neighbouring output columns side by side, as channels of their own.

Where a tensor has fewer channels than there are lanes, a vector that begins at a pixel has the
pixels behind it too. If what ``f`` neighbouring outputs see lies ``f`` pixels side by side, for
every tap, one vector does for all of them: the weights are repeated ``f`` times, and of the columns
every ``f``-th one is streamed, once for each tap. In NHWC the results lie as before.

With a stride ``s`` neighbouring outputs see pixels ``s`` columns apart. Therefore the columns of an
image may be sorted into planes (W / s columns each): first all columns x with x mod s = 0, of every
row, then those with 1, and so on. The taps of one plane make a pass or more, and the planes add up
in the partial sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Tile
from eightfold.compiler.steps.dense import Outputs, positions
from eightfold.compiler.steps.depthwise import Depthwise, cycles, scans
from eightfold.compiler.steps.windowed import Axis
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming


def planes(image: Tile, count: int) -> list[Tile]:
    """Return the planes of a whole image, whose columns are numbered from 0."""
    found = []
    address = image.address
    for plane in range(count):
        columns = range(len(image.columns[plane::count]))
        found.append(Tile.packed(address, image.rows, columns, image.channels))
        address += len(image.rows) * found[-1].row_pitch
    return found


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """A depthwise kernel on ``factor`` columns of ``outputs`` at once.

    The input has ``count`` planes, 1 if it lies as in NHWC. With a factor above 1 that is the
    stride, and the factor divides the number of columns.
    """

    kernel: Depthwise
    outputs: Outputs
    count: int = 1
    factor: int = 1

    @cached_property
    def parts(self) -> list[tuple[int, Depthwise]]:
        """The planes that some tap lies in, by number, with the kernel of these taps.

        Column o of the outputs and tap t see column ``o * stride + t * dilation - before``. In
        plane p that is number ``(o * stride + t * dilation - before - p) / count``.
        """
        x = self.kernel.columns
        first = self.outputs[1].start
        found = []
        for plane in range(self.count):
            offsets = [t * x.dilation - x.before - plane for t in range(x.kernel)]
            taps = [t for t, offset in enumerate(offsets) if offset % self.count == 0]
            if not taps:
                continue
            steps = [(offsets[t] + first * x.stride) // self.count for t in taps]
            columns = Axis(
                size=len(range(plane, x.size, self.count)),
                kernel=len(taps),
                stride=x.stride // self.count * self.factor,
                dilation=steps[1] - steps[0] if len(taps) > 1 else 1,
                before=-steps[0],
                outputs=len(self.outputs[1]) // self.factor,
            )
            found.append((plane, self._repeated(taps, columns)))
        return found

    def _repeated(self, taps: list[int], columns: Axis) -> Depthwise:
        kernel = self.kernel
        weights = np.tile(kernel.weights[:, taps], (1, 1, self.factor))
        parameters = {name: np.tile(v, self.factor) for name, v in kernel.parameters.items()}
        changed = {"weights": weights, "parameters": parameters, "columns": columns}
        return replace(kernel, **changed, pixels=self.factor)

    def pieces(self, config: AcceleratorConfig) -> Iterator[Outputs]:
        """Yield rows and blocks of columns; those of several planes fit the partial sums."""
        blocks = range(len(self.outputs[1]) // self.factor)
        limit = None if len(self.parts) == 1 else config.psum_depth
        yield from positions((self.outputs[0], blocks), limit)

    def cycles(self, config: AcceleratorConfig, memory: MemoryTiming) -> int:
        """Return the cycles of all commands, about."""
        return sum(
            cycles(config, memory, kernel.outputs, scans(config, memory, kernel, piece))
            for piece in self.pieces(config)
            for _, kernel in self.parts
        )

    def emit(self, emitter: Emitter, source: Tile, target: Tile) -> None:
        """Emit the commands."""
        columns = self.outputs[1]
        wide = replace(
            target,
            address=target.at(target.rows.start, columns.start),
            columns=range(len(columns) // self.factor),
            channels=range(self.factor * self.kernel.outputs),
            pixel_pitch=self.factor * target.pixel_pitch,
        )
        sources = [source] if self.count == 1 else planes(source, self.count)
        for piece in self.pieces(emitter.config):
            for number, (plane, kernel) in enumerate(self.parts):
                ends = (number == 0, number == len(self.parts) - 1)
                kernel.emit(emitter, sources[plane], wide, piece, ends)


def best_side_by_side(
    config: AcceleratorConfig,
    memory: MemoryTiming,
    kernel: Depthwise,
    outputs: Outputs,
    count: int = 1,
) -> SideBySide:
    """Return the way of the fewest cycles for an input of ``count`` planes, 1 if it has none.

    One column at a time unless more save a twentieth.
    """
    single = SideBySide(kernel=kernel, outputs=outputs, count=count)
    most = (
        min(config.lanes, config.width) // kernel.outputs if kernel.columns.stride == count else 1
    )
    factors = [factor for factor in range(2, most + 1) if len(outputs[1]) % factor == 0]
    several = [replace(single, factor=factor) for factor in factors]
    if several:
        best = min(several, key=lambda way: way.cycles(config, memory))
        if 20 * best.cycles(config, memory) < 19 * single.cycles(config, memory):
            return best
    return single


def emit_side_by_side(
    emitter: Emitter,
    kernel: Depthwise,
    source: Tile,
    target: Tile,
    outputs: Outputs,
    count: int = 1,
) -> None:
    """Emit the commands for ``outputs`` of one image, as many columns at once as pays.

    One, if pixels lie apart; those of planes do not.
    """
    way = None
    if {source.pixel_pitch, target.pixel_pitch} == {kernel.outputs}:
        way = best_side_by_side(emitter.config, emitter.memory, kernel, outputs, count)
    if way is None or way.factor == way.count == 1:
        assert count == 1
        kernel.emit(emitter, source, target, outputs)
    else:
        way.emit(emitter, source, target)
