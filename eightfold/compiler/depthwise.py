"""DEPTHWISE_CONV_2D on the lanes: a lane is a channel, the window slides down columns of a strip.

A strip is ``R`` input rows. Its columns are streamed one after the other, top to bottom, one byte
per lane and beat. The byte of tap (ky, kx) then lies ``(kx_last - kx) * R + (ky_last - ky)`` beats
behind the newest one, for every output of the strip alike, so the weights stand still while the
operand registers, which shift by one tap per beat, slide the window. All taps of a pass must lie
within ``width`` beats; a kernel that does not fit is split into passes that add up in the partial
sums. Rows and columns may change places, whichever takes fewer beats.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eightfold.compiler.axis import Axis
from eightfold.compiler.program import Beats, Streams, ends_of
from eightfold.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Split:
    """How outputs are tiled and the kernel is split: ``out_*`` per tile, ``taps_*`` per pass."""

    out_rows: int
    out_columns: int
    taps_rows: int
    taps_columns: int


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Kernel rows ``ky`` and columns ``kx`` that one weight buffer holds."""

    ky: range
    kx: range


def passes(rows: Axis, columns: Axis, split: Split) -> list[Pass]:
    """Return the kernel's parts, in the order in which they are added up."""
    return [
        Pass(
            ky=range(y, min(y + split.taps_rows, rows.kernel)),
            kx=range(x, min(x + split.taps_columns, columns.kernel)),
        )
        for y in range(0, rows.kernel, split.taps_rows)
        for x in range(0, columns.kernel, split.taps_columns)
    ]


def choose_split(config: AcceleratorConfig, rows: Axis, columns: Axis) -> tuple[Split, int]:
    """Return the split that takes the fewest beats for one channel group, and that number."""
    best: tuple[int, Split] | None = None
    for taps_rows in range(1, rows.kernel + 1):
        for taps_columns in range(1, columns.kernel + 1):
            for out_rows in range(1, rows.outputs + 1):
                split = _split(config, rows, columns, taps_rows, taps_columns, out_rows)
                if split is None:
                    break
                cost = _beats(config, rows, columns, split)
                if best is None or cost < best[0]:
                    best = cost, split
    assert best is not None, "one tap of one output always fits"
    return best[1], best[0]


def _split(
    config: AcceleratorConfig,
    rows: Axis,
    columns: Axis,
    taps_rows: int,
    taps_columns: int,
    out_rows: int,
) -> Split | None:
    """Return the split if its window fits the operand registers and its tile the partial sums."""
    strip = _strip(rows, taps_rows, out_rows)
    column_step = strip if taps_columns > 1 else 0
    age = (taps_columns - 1) * columns.dilation * column_step + (taps_rows - 1) * rows.dilation
    if age >= config.width:
        return None
    whole_kernel = taps_rows == rows.kernel and taps_columns == columns.kernel
    out_columns = columns.outputs
    if not whole_kernel:
        out_columns = min(out_columns, config.psum_depth // out_rows)
    if out_columns == 0:
        return None
    return Split(
        out_rows=out_rows,
        out_columns=out_columns,
        taps_rows=taps_rows,
        taps_columns=taps_columns,
    )


def _strip(rows: Axis, taps_rows: int, out_rows: int) -> int:
    """Input rows that ``out_rows`` outputs of a pass with ``taps_rows`` kernel rows span."""
    return (out_rows - 1) * rows.stride + (taps_rows - 1) * rows.dilation + 1


def _beats(config: AcceleratorConfig, rows: Axis, columns: Axis, split: Split) -> int:
    """Beats of one image and channel group; a pass is at least as long as its weights' loading."""
    total = 0
    for row in range(0, rows.outputs, split.out_rows):
        out_rows = min(split.out_rows, rows.outputs - row)
        for column in range(0, columns.outputs, split.out_columns):
            out_columns = min(split.out_columns, columns.outputs - column)
            for part in passes(rows, columns, split):
                streamed = len(_columns(columns, part, range(column, column + out_columns)))
                strip = _strip(rows, len(part.ky), out_rows)
                total += max(strip * streamed, config.lanes)
    return total


def _columns(columns: Axis, part: Pass, outputs: range) -> np.ndarray:
    """Input columns to stream: all in between, if a window spans several of them."""
    taps = columns.taps[outputs.start : outputs.stop, part.kx.start : part.kx.stop]
    return np.arange(taps[0, 0], taps[-1, -1] + 1) if len(part.kx) > 1 else taps[:, 0]


def depthwise(
    config: AcceleratorConfig,
    shape: tuple[int, ...],
    weights: np.ndarray,
    rows: Axis,
    columns: Axis,
) -> Streams:
    """Tile a depthwise convolution over the lanes.

    ``shape`` is the input's (N, H, W, Ci); ``weights``, int8 (kh, kw, O), output channel c reads
    input channel ``c // (O // Ci)``.
    """
    straight, cost = choose_split(config, rows, columns)
    turned, turned_cost = choose_split(config, columns, rows)
    n, height, width, depth = shape
    strides = np.array([height * width * depth, width * depth, depth])
    if turned_cost < cost:
        weights, rows, columns, split = weights.transpose(1, 0, 2), columns, rows, turned
        in_strides, sizes = strides[[0, 2, 1]], (width, height)
        out_strides = np.array([rows.outputs * columns.outputs, 1, rows.outputs])
    else:
        split, in_strides, sizes = straight, strides, (height, width)
        out_strides = np.array([rows.outputs * columns.outputs, columns.outputs, 1])

    channels = weights.shape[2]
    lanes = min(config.lanes, config.width)
    groups = [np.arange(c, min(c + lanes, channels)) for c in range(0, channels, lanes)]
    parts: list[Streams] = []
    for group in groups:
        start_of_group = True
        for image in range(n):
            for tile in _tiles(rows, columns, split):
                plane = _Plane(
                    config=config,
                    rows=rows,
                    columns=columns,
                    sizes=sizes,
                    base=image * int(in_strides[0]) + group // (channels // depth),
                    strides=(int(in_strides[1]), int(in_strides[2])),
                )
                target = (image * out_strides[0] + _outputs(tile, out_strides)) * channels
                kernel = passes(rows, columns, split)
                parts.append(_tile(plane, kernel, weights, group, tile, target, start_of_group))
                start_of_group = False
    return Streams.concatenate(parts)


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """Where the bytes of one image and channel group lie; ``base`` has one entry per channel."""

    config: AcceleratorConfig
    rows: Axis
    columns: Axis
    sizes: tuple[int, int]
    base: np.ndarray
    strides: tuple[int, int]

    def source(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return flat indices of the group's bytes at (y, x), padded to the vector's width."""
        inside = (y >= 0) & (y < self.sizes[0]) & (x >= 0) & (x < self.sizes[1])
        index = self.base[None, :] + (y * self.strides[0] + x * self.strides[1])[:, None]
        vector = np.full((len(y), self.config.width), -1, dtype=np.int64)
        vector[:, : len(self.base)] = np.where(inside[:, None], index, -1)
        return vector


def _tiles(rows: Axis, columns: Axis, split: Split) -> Iterator[tuple[range, range]]:
    for row in range(0, rows.outputs, split.out_rows):
        for column in range(0, columns.outputs, split.out_columns):
            yield (
                range(row, min(row + split.out_rows, rows.outputs)),
                range(column, min(column + split.out_columns, columns.outputs)),
            )


def _outputs(tile: tuple[range, range], strides: np.ndarray) -> np.ndarray:
    """Return the output pixels of a tile in the order in which they fire: column by column."""
    grid = np.array(tile[0])[None, :] * strides[1] + np.array(tile[1])[:, None] * strides[2]
    return grid.reshape(-1)


def _tile(
    plane: _Plane,
    kernel: list[Pass],
    weights: np.ndarray,
    group: np.ndarray,
    tile: tuple[range, range],
    target: np.ndarray,
    start_of_group: bool,
) -> Streams:
    """Return the streams of one tile: every pass of the kernel over the tile's columns."""
    words, ends, beats = [], [], []
    for index, part in enumerate(kernel):
        strip = _strip(plane.rows, len(part.ky), len(tile[0]))
        words.append(_taps(plane, weights[:, :, group], part, strip))
        ends.append(ends_of(group))
        beats.append(
            _stream(
                plane,
                part,
                tile,
                first=index == 0,
                last=index == len(kernel) - 1,
                new_group=start_of_group and index == 0,
                keep=len(kernel) > 1,
            )
        )
    destination = np.full((len(target), plane.config.lanes), -1, dtype=np.int64)
    destination[:, : len(group)] = target[:, None] + group[None, :]
    return Streams(
        weights=np.concatenate(words),
        weights_last=np.concatenate(ends),
        channels=group if start_of_group else group[:0],
        channels_last=ends_of(group) if start_of_group else ends_of(group)[:0],
        beats=Beats.concatenate(beats),
        destination=destination,
    )


def _taps(plane: _Plane, weights: np.ndarray, part: Pass, strip: int) -> np.ndarray:
    """Return the lanes' weights, int8 (channels, width): each at its byte's age in beats."""
    taps = np.zeros((weights.shape[2], plane.config.width), dtype=np.int8)
    for ky in part.ky:
        for kx in part.kx:
            age = (part.kx[-1] - kx) * plane.columns.dilation * strip
            age += (part.ky[-1] - ky) * plane.rows.dilation
            taps[:, age] = weights[ky, kx]
    return taps


def _stream(
    plane: _Plane,
    part: Pass,
    tile: tuple[range, range],
    *,
    first: bool,
    last: bool,
    new_group: bool,
    keep: bool,
) -> Beats:
    """Return one pass's beats: its columns top to bottom; a beat on a window's last byte fires."""
    out_rows, out_columns = tile
    top = int(plane.rows.taps[out_rows.start, part.ky.start])
    strip = _strip(plane.rows, len(part.ky), len(out_rows))
    x = _columns(plane.columns, part, out_columns)
    row_fires = np.isin(
        np.arange(top, top + strip),
        plane.rows.taps[out_rows.start : out_rows.stop, part.ky.stop - 1],
    )
    column_fires = np.isin(
        x, plane.columns.taps[out_columns.start : out_columns.stop, part.kx.stop - 1]
    )
    fire = (column_fires[:, None] & row_fires[None, :]).reshape(-1)
    count = len(fire)
    at_start = np.arange(count) == 0
    return Beats(
        source=plane.source(np.tile(np.arange(top, top + strip), len(x)), np.repeat(x, strip)),
        depthwise=np.ones(count, dtype=bool),
        fire=fire,
        first=np.full(count, first),
        last=np.full(count, last),
        next_weights=at_start,
        next_parameters=at_start & new_group,
        slot=np.where(fire, np.cumsum(fire) - 1, 0) if keep else np.zeros(count, dtype=np.int64),
    )
