"""Depthwise windows on the matrix engine: a lane is a channel, the window slides along the rows.

Every input vector passes once, row by row. The window's rows are the newest vector and those one
and two lines back; its columns are the ones before. A kernel that does not fit the window is split
into passes that add up in the partial sums.

**Side by side**: windows of neighbouring output columns may be channels of their own. Where
a tensor has fewer channels than there are lanes, a vector that begins at a pixel has the pixels
behind it too. If what ``f`` neighbouring outputs see lies ``f`` pixels side by side, for
every tap, one vector does for all of them: the weights are repeated ``f`` times, and of the columns
every ``f``-th one is streamed, once for each tap. In NHWC the results lie as before.

**Pairs**: of a tensor with half as many channels as a group has lanes, a vector has two pixels, and
the window of a lane takes its channel's bytes of both (``pairs`` of MATRIX). A row is streamed in
half as many vectors, and the two halves of the lanes compute neighbouring outputs; with a stride of
2 one half computes, an output for each vector.

With a stride ``s`` neighbouring outputs see pixels ``s`` columns apart. Therefore the columns of an
image may be sorted into planes (W / s columns each): first all columns x with x mod s = 0, of every
row, then those with 1, and so on. The taps of one plane make a pass or more, and the planes add up
in the partial sums.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Tile, parts
from eightfold.compiler.steps.dense import WHOLE, Ends, Kernel, Outputs, positions, walk
from eightfold.compiler.steps.windowed import Axis
from eightfold.estimate.cost import MATRIX_APART
from eightfold.isa import MIN_LINE
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

LONGEST_SCAN, LONGEST_STEP = (1 << 16) - 1, (1 << 8) - 1
"""Vectors of a row, and from one that fires to the next."""


@dataclass(frozen=True, kw_only=True)
class Depthwise(Kernel):
    """A depthwise kernel: ``weights`` (kh, kw, channels).

    ``pixels``: how many neighbours the channels are of, side by side. ``beside``: of pairs, the
    weights that the vector's other pixel meets, of the same shape.
    """

    pixels: int = 1
    beside: np.ndarray | None = None

    def window(self, rows: range, columns: range) -> "Depthwise":
        """Return the kernel of some of its rows and columns, in their places."""
        return replace(
            self,
            weights=self.weights[rows.start : rows.stop, columns.start : columns.stop],
            rows=self.rows.some(rows),
            columns=self.columns.some(columns),
        )

    def some(self, channels: range) -> "Depthwise":
        part = slice(channels.start, channels.stop)
        parameters = {name: values[part] for name, values in self.parameters.items()}
        return replace(self, weights=self.weights[:, :, part], parameters=parameters)

    def emit(
        self, emitter: Emitter, source: Tile, target: Tile, outputs: Outputs, part: Ends = WHOLE
    ) -> None:
        config = emitter.config
        group = min(config.lanes, config.width)
        for scan in scans(config, emitter.memory, self, outputs):
            if group == config.lanes:
                _emit_scan(emitter, self, scan, source, target, part)
                continue
            # Lanes without a byte of their own: a command for each group.
            for local in parts(range(self.outputs), group):
                behind = source.channels.start
                channels = range(behind + local.start, behind + local.stop)
                into = target.channels.start
                results = target.slice(range(into + local.start, into + local.stop))
                _emit_scan(emitter, self.some(local), scan, source.slice(channels), results, part)


@dataclass(frozen=True, kw_only=True)
class Scan:
    """How the input streams past the window for some output rows and columns.

    ``rows`` and ``columns`` are the kernel's; ``taps`` are its rows and columns per pass. ``skip``
    left padding columns are not streamed, because the end of the row before, also padding, stands
    for them; then ``skip`` vectors lead. With a single row or column of taps only every
    ``stride``-th one is streamed.
    """

    rows: Axis
    columns: Axis
    outputs: Outputs
    taps: tuple[int, int]
    skip: int

    @cached_property
    def passes(self) -> tuple[int, int]:
        """Passes over kernel rows and columns."""
        y, x = self.rows, self.columns
        return -(-y.kernel // self.taps[0]), -(-x.kernel // self.taps[1])

    @cached_property
    def reach(self) -> tuple[int, int]:
        """Streamed rows and columns from the first to the last tap of an output."""
        y, x = self.rows, self.columns
        return (self.taps[0] - 1) * y.dilation, (self.taps[1] - 1) * x.dilation

    @cached_property
    def strides(self) -> tuple[int, int]:
        """Streamed rows and columns from one output to the next; any, if there is one column."""
        y, x = self.rows, self.columns
        columns = x.stride if self.taps[1] > 1 else 1
        return y.stride if self.taps[0] > 1 else 1, columns if len(self.outputs[1]) > 1 else 255

    @cached_property
    def size(self) -> tuple[int, int]:
        """Rows, and vectors per row, that are streamed."""
        rows = (len(self.outputs[0]) - 1) * self.strides[0] + self.reach[0] + 1
        columns = (len(self.outputs[1]) - 1) * self.strides[1] + self.reach[1] + 1 - self.skip
        if self.taps[0] > 1 and len(self.outputs[1]) == 1:  # one column may be followed by others
            columns = max(columns, -(-MIN_LINE // self.rows.dilation))
        if self.skip:
            x = self.columns
            first = x.start(self.outputs[1].start) + self.skip
            columns = max(columns, x.size + self.skip - first)
        return rows, columns

    @cached_property
    def line(self) -> int:
        """Vectors between two rows of the window."""
        return self.rows.dilation * self.size[1] if self.taps[0] > 1 else MIN_LINE

    @property
    def countable(self) -> bool:
        """Whether vectors, strides and what leads fit their fields."""
        return max(self.size) <= LONGEST_SCAN and max(*self.strides, self.skip) <= LONGEST_STEP

    @property
    def fires(self) -> int:
        """Vectors of a row that complete an output; with ``skip`` there may be too many."""
        return (self.size[1] - 1 - self.reach[1] + self.skip) // self.strides[1] + 1

    def beats(self, lanes: int) -> int:
        """Return the vectors of all passes of one channel group."""
        one = self.skip + self.size[0] * self.size[1]
        return self.passes[0] * self.passes[1] * max(one, lanes)


@lru_cache(maxsize=4096)  # networks repeat their layers, and the search for cascades their strips
def choose_scan(
    config: AcceleratorConfig,
    y: Axis,
    x: Axis,
    pixels: int,
    pairs: bool,
    outputs: Outputs,
    sums: int,
) -> Scan | None:
    """Return the scan with the fewest vectors; None if all need more than ``sums`` partial sums.

    ``y`` and ``x`` are the kernel's rows and columns; of ``pairs`` one pass has all columns. One
    row of taps per pass needs no line, so a row too long for the lines takes more passes.
    """
    candidates: list[tuple[int, Scan]] = []
    left = max(0, -x.start(outputs[1].start))
    window_rows, window_columns = config.window_rows, config.window_columns
    for rows in range(1, min(y.kernel, window_rows) + 1):
        for columns in range(x.kernel if pairs else 1, x.kernel + 1):
            if (columns - 1) * x.dilation >= window_columns:
                break
            # With more padding than taps, as TPU-MLIR may have it, a row would begin by firing.
            # Of several pixels some are inside of the input where the first is left of it.
            skips = columns >= x.kernel > 1 and left <= (columns - 1) * x.dilation
            skips = skips and pixels == 1
            for skip in {0, left} if skips else {0}:
                scan = Scan(rows=y, columns=x, outputs=outputs, taps=(rows, columns), skip=skip)
                if not scan.countable:
                    continue
                several = scan.passes != (1, 1)
                count = len(outputs[0]) * len(outputs[1])
                if (
                    scan.fires == len(outputs[1])
                    and MIN_LINE <= scan.line <= config.line_depth
                    and not (several and count > sums)
                ):
                    candidates.append((scan.beats(config.lanes), scan))
    return min(candidates, key=lambda item: item[0])[1] if candidates else None


def scans(
    config: AcceleratorConfig, memory: MemoryTiming, kernel: Depthwise, outputs: Outputs
) -> list[Scan]:
    """Return scans that cover ``outputs``: one, or several that fit the partial sums.

    Passes of fewer vectors may save more than what neighbouring scans stream twice.
    """
    count = len(outputs[0]) * len(outputs[1])
    pairs = kernel.beside is not None
    known = config, kernel.rows, kernel.columns, kernel.pixels, pairs, outputs
    whole = choose_scan(*known, config.psum_depth)
    if whole is not None:
        least = choose_scan(*known, count) if count > config.psum_depth else whole
        if least is None or least.beats(config.lanes) >= whole.beats(config.lanes):
            return [whole]
    smaller = positions(outputs, config.psum_depth)
    several = [scan for part in smaller for scan in scans(config, memory, kernel, part)]
    if whole is None:
        return several
    return min(([whole], several), key=lambda way: cycles(config, memory, kernel.outputs, way))


def cycles(
    config: AcceleratorConfig, memory: MemoryTiming, depth: int, each: Iterable[Scan]
) -> int:
    """Return the cycles of scans of one channel group, about: vectors, weights, between commands.

    Weights come while others are used, but there may be a network's worth of them in the way.
    """
    found = 0
    for scan in each:
        words = scan.passes[0] * scan.passes[1] * min(depth, config.lanes)
        fetch = memory.cycles(words * config.weight_word // config.port, config.port)
        found += scan.beats(config.lanes) + fetch + MATRIX_APART
    return found


def _emit_scan(
    emitter: Emitter, kernel: Depthwise, scan: Scan, source: Tile, target: Tile, part: Ends
) -> None:
    config = emitter.config
    y, x = scan.rows, scan.columns
    rows, columns = scan.outputs
    start = y.start(rows.start), x.start(columns.start) + scan.skip
    row_steps = scan.taps[0] * y.dilation, 1 if scan.taps[0] > 1 else y.stride
    column_steps = scan.taps[1] * x.dilation, 1 if scan.taps[1] > 1 else x.stride
    command = walk(source, start, scan.size, row_steps, column_steps).with_fields(
        ky=scan.passes[0],
        kx=scan.passes[1],
        columns=len(source.columns) * source.pixel_pitch,
        depthwise=1,
        pairs=int(kernel.beside is not None),
        lead=scan.skip,
        line=scan.line,
        fire_y0=scan.reach[0],
        fire_x0=scan.reach[1] - scan.skip,
        fire_y_step=scan.strides[0],
        fire_x_step=scan.strides[1],
        group_step=config.lanes,
    )
    streamed = replace(y, kernel=scan.passes[0] * scan.taps[0])  # the last ones weigh 0
    reads = source.interval(streamed.span(rows), beyond=config.vector)
    buffers = _buffers(config, kernel, scan)
    kernel.emit_command(emitter, buffers, command, reads, target, scan.outputs, part)


def _buffers(config: AcceleratorConfig, kernel: Depthwise, scan: Scan) -> Iterator[np.ndarray]:
    """Yield the weight buffers in the order of their passes: the newest vector has tap 0."""
    buffers = list(_taps(config, kernel.weights, scan, kernel.columns.dilation))
    if kernel.beside is None:
        yield from buffers
        return
    others = _taps(config, kernel.beside, scan, kernel.columns.dilation)
    middle = config.window_columns // 2
    for buffer, other in zip(buffers, others, strict=True):
        # Weights are 0 where a tap has none of its pixel's bytes, see `PixelPairs`.
        yield buffer + np.roll(other, middle, axis=1)


def _taps(
    config: AcceleratorConfig, weights: np.ndarray, scan: Scan, dilation: int
) -> Iterator[np.ndarray]:
    """Yield weights at the taps of a pass, for each group and pass: shape (channels, width)."""
    kh, kw, depth = weights.shape
    (tap_rows, tap_columns), (ky, kx) = scan.taps, scan.passes
    padded = np.zeros((ky * tap_rows, kx * tap_columns, depth), dtype=np.int8)
    padded[:kh, :kw] = weights
    taps = [
        (i, j, (tap_rows - 1 - i) * config.window_columns + (tap_columns - 1 - j) * dilation)
        for i in range(tap_rows)
        for j in range(tap_columns)
    ]
    for first in range(0, depth, config.lanes):
        lanes = padded[:, :, first : first + config.lanes]
        for y in range(0, ky * tap_rows, tap_rows):
            for x in range(0, kx * tap_columns, tap_columns):
                buffer = np.zeros((lanes.shape[2], config.width), dtype=np.int8)
                for i, j, tap in taps:
                    buffer[:, tap] = lanes[y + i, x + j]
                yield buffer


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


@dataclass(frozen=True, kw_only=True)
class PixelPairs:
    """A depthwise kernel on vectors of two pixels; see `find`."""

    kernel: Depthwise
    outputs: Outputs

    @classmethod
    def find(
        cls, config: AcceleratorConfig, kernel: Depthwise, outputs: Outputs
    ) -> "PixelPairs | None":
        """Return the way to compute ``outputs`` with pairs, if there is one.

        Column o of the outputs and tap t see column ``o * stride + t * dilation - before``, which
        is pixel c mod 2 of vector c div 2. Vectors of pixels that are a lane's own stay in the
        window for half of its columns, those of the others for the other half.
        """
        x = kernel.columns
        results = 2 // x.stride
        blocks, rest = divmod(len(outputs[1]), max(1, results))
        if kernel.outputs != config.pixel or not results or rest or x.size % 2:
            return None
        first = outputs[1].start * x.stride - x.before
        places = {
            (p, t): divmod(first + p + t * x.dilation, 2)
            for p in range(results)
            for t in range(x.kernel)
        }
        vectors = [vector for vector, _ in places.values()]
        oldest, newest = min(vectors), max(vectors)
        middle = config.window_columns // 2
        own, beside = (
            np.zeros((len(kernel.weights), newest - oldest + 1, results * kernel.outputs), np.int8)
            for _ in range(2)
        )
        for (p, t), (vector, pixel) in places.items():
            columns = middle if pixel == p else config.window_columns - middle
            if newest - vector >= columns:
                return None
            channels = slice(p * kernel.outputs, (p + 1) * kernel.outputs)
            meets = own if pixel == p else beside
            meets[:, vector - oldest, channels] = kernel.weights[:, t]
        wide = replace(
            kernel,
            weights=own,
            beside=beside,
            parameters={name: np.tile(v, results) for name, v in kernel.parameters.items()},
            columns=Axis(size=x.size // 2, kernel=own.shape[1], before=-oldest, outputs=blocks),
        )
        return cls(kernel=wide, outputs=(outputs[0], range(blocks)))

    def cycles(self, config: AcceleratorConfig, memory: MemoryTiming) -> int:
        """Return the cycles of all commands, about."""
        each = scans(config, memory, self.kernel, self.outputs)
        return cycles(config, memory, self.kernel.outputs, each)

    def emit(self, emitter: Emitter, source: Tile, target: Tile, first: int) -> None:
        """Emit the commands; ``first`` is the target's first column."""
        pixel = len(source.channels)
        channels = source.channels.start
        pairs = replace(
            source,
            columns=range(source.columns.start // 2, source.columns.stop // 2),
            channels=range(channels, channels + 2 * pixel),
            pixel_pitch=2 * pixel,
        )
        wide = replace(
            target,
            address=target.at(target.rows.start, first),
            columns=self.outputs[1],
            channels=range(self.kernel.outputs),
            pixel_pitch=self.kernel.outputs,
        )
        self.kernel.emit(emitter, pairs, wide, self.outputs)


def best_side_by_side(
    config: AcceleratorConfig,
    memory: MemoryTiming,
    kernel: Depthwise,
    outputs: Outputs,
    count: int = 1,
) -> SideBySide | PixelPairs:
    """Return the way of the fewest cycles for an input of ``count`` planes, 1 if it has none.

    One column at a time unless more save a twentieth.
    """
    single = SideBySide(kernel=kernel, outputs=outputs, count=count)
    most = (
        min(config.lanes, config.width) // kernel.outputs if kernel.columns.stride == count else 1
    )
    factors = [factor for factor in range(2, most + 1) if len(outputs[1]) % factor == 0]
    several: list[SideBySide | PixelPairs] = [replace(single, factor=n) for n in factors]
    pairs = PixelPairs.find(config, kernel, outputs) if count == 1 else None
    several += [pairs] if pairs else []
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
    even = source.columns.start % 2 == len(source.columns) % 2 == 0
    if isinstance(way, PixelPairs) and even:
        way.emit(emitter, source, target, outputs[1].start)
    elif isinstance(way, SideBySide) and (way.factor, way.count) != (1, 1):
        way.emit(emitter, source, target)
    else:
        assert count == 1
        kernel.emit(emitter, source, target, outputs)
