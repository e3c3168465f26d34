"""CONV_2D and FULLY_CONNECTED on the lanes: a lane is an output channel, K is in im2col order."""

import numpy as np

from eightfold.compiler.axis import Axis
from eightfold.compiler.program import Beats, Streams, ends_of
from eightfold.config import AcceleratorConfig


def patches(shape: tuple[int, ...], rows: Axis, columns: Axis, channels: range) -> np.ndarray:
    """Return the im2col matrix of flat input indices, int64 (pixels, taps); -1 is padding.

    ``shape`` is the input's (N, H, W, C); pixels run over (n, oy, ox), taps over (ky, kx, channel).
    """
    n, height, width, depth = shape
    y = rows.taps[None, :, None, :, None, None]
    x = columns.taps[None, None, :, None, :, None]
    batch = np.arange(n)[:, None, None, None, None, None]
    channel = np.array(channels)[None, None, None, None, None, :]
    index = ((batch * height + y) * width + x) * depth + channel
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    pixels = n * rows.outputs * columns.outputs
    return np.where(inside, index, -1).reshape(pixels, -1)


def dense(
    config: AcceleratorConfig,
    source: np.ndarray,
    weights: np.ndarray,
    first_channel: int,
    output_channels: int,
) -> Streams:
    """Tile ``source`` (pixels, K) times ``weights`` (channels, K) transposed over the lanes.

    For each group of ``lanes`` channels, for each tile of pixels whose partial sums fit, for each
    chunk of ``width`` taps: swap in the chunk's weights, then stream the tile's vectors. Output
    channel c of pixel p goes to ``p * output_channels + first_channel + c``.
    """
    lanes, width = config.lanes, config.width
    pixels, taps = source.shape
    chunks = max(1, -(-taps // width))
    tile = config.psum_depth if chunks > 1 else max(pixels, 1)
    source = np.pad(source, ((0, 0), (0, chunks * width - taps)), constant_values=-1)
    weights = np.pad(weights, ((0, 0), (0, chunks * width - taps)))

    words: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    beats: list[Beats] = []
    destination: list[np.ndarray] = []
    groups = [np.arange(c, min(c + lanes, len(weights))) for c in range(0, len(weights), lanes)]
    for group in groups:
        for start in range(0, pixels, tile):
            pixel = np.arange(start, min(start + tile, pixels))
            for chunk in range(chunks):
                columns = slice(chunk * width, (chunk + 1) * width)
                words.append(weights[group, columns])
                ends.append(ends_of(group))
                beats.append(
                    _pass(source[pixel, columns], chunk == 0, chunk == chunks - 1, start == 0)
                )
            target = np.full((len(pixel), lanes), -1, dtype=np.int64)
            target[:, : len(group)] = pixel[:, None] * output_channels + first_channel + group
            destination.append(target)
    return Streams(
        weights=np.concatenate(words),
        weights_last=np.concatenate(ends),
        channels=first_channel + np.concatenate(groups),
        channels_last=np.concatenate([ends_of(group) for group in groups]),
        beats=Beats.concatenate(beats),
        destination=np.concatenate(destination),
    )


def _pass(source: np.ndarray, first: bool, last: bool, new_group: bool) -> Beats:
    """Return the beats of one weight buffer over one tile of pixels."""
    count = len(source)
    at_start = np.arange(count) == 0
    return Beats(
        source=source,
        depthwise=np.zeros(count, dtype=bool),
        fire=np.ones(count, dtype=bool),
        first=np.full(count, first),
        last=np.full(count, last),
        next_weights=at_start,
        next_parameters=at_start & first & new_group,
        slot=np.arange(count) if not (first and last) else np.zeros(count, dtype=np.int64),
    )
