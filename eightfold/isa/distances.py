"""How far a MATRIX command keeps from results of the commands before it: its ``distance``.

Vectors and results are numbered in the order in which they are read and written. If vector v of a
command reads what the n-th last result of the commands before it has written, then that result is
one of at least n that are not written until it is, and v has to wait: ``distance`` <= v + n.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from eightfold.isa.instructions import Instruction, Matrix
from eightfold.target.config import AcceleratorConfig

FURTHEST = 255
"""The longest distance: of vectors and results beyond it none counts."""

_Spans = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Where the bytes of each vector or result start and stop in the scratchpad."""


def distances(config: AcceleratorConfig, instructions: Sequence[Instruction | None]) -> list[int]:
    """Return the longest ``distance`` of every MATRIX, 0 for what is none or has none before it."""
    found = [0] * len(instructions)
    results = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for index, matrix in enumerate(instructions):
        if isinstance(matrix, Matrix):
            found[index] = _distance(_first_vectors(config, matrix), results)
            own = _last_results(config, matrix)
            starts, stops = (
                np.concatenate(each)[-FURTHEST:] for each in zip(results, own, strict=True)
            )
            results = starts, stops
    return found


def _distance(vectors: _Spans, results: _Spans) -> int:
    count = len(results[0])
    starts, stops = vectors[0][:, None], vectors[1][:, None]
    if not count or starts.min() >= results[1].max() or stops.max() <= results[0].min():
        return min(count, 1) * FURTHEST
    common = (starts < results[1]) & (results[0] < stops) & (starts < stops)
    numbers = np.flatnonzero(common.any(axis=1))
    behind = 1 + np.argmax(common[numbers, ::-1], axis=1)
    return int(min([FURTHEST, *(numbers + behind)]))


@lru_cache(maxsize=4096)  # a stream is looked at for its estimate and for its words
def _first_vectors(config: AcceleratorConfig, c: Matrix) -> _Spans:
    """Return the bytes of a command's first vectors that do not read as fill."""
    passes, places = np.divmod(np.arange(min(c.passes * c.vectors, FURTHEST)), c.vectors)
    group, ky, kx, kc = np.unravel_index(passes, (c.groups, c.ky, c.kx, c.kc))
    y, x = np.divmod(np.maximum(places - c.lead, 0), c.x)
    number = c.row0 + ky * c.ky_rows + y * c.y_rows
    row = c.base + group * c.group_step + ky * c.ky_step + y * c.y_step
    column = c.column0 + kx * c.kx_step + kc * config.width + x * c.x_step
    size = _lanes(config, c, group) if c.depthwise else config.width
    low, high = np.maximum(column, 0), np.minimum(column + size, c.columns)
    inside = (places >= c.lead) & (number >= 0) & (number < c.rows)
    return row + low, row + np.where(inside, high, low)


@lru_cache(maxsize=4096)
def _last_results(config: AcceleratorConfig, c: Matrix) -> _Spans:
    """Return the bytes of a command's last results."""
    shape = c.groups, len(c.firing_rows), len(c.firing_columns)
    count = int(np.prod(shape)) if c.last else 0
    group, y, x = np.unravel_index(np.arange(max(0, count - FURTHEST), count), shape)
    starts = c.target + group * c.target_group + y * c.target_y + x * c.target_x
    return starts, starts + _lanes(config, c, group)


def _lanes(config: AcceleratorConfig, c: Matrix, group: NDArray[np.int64]) -> NDArray[np.int64]:
    full = min(config.lanes, config.width) if c.depthwise else config.lanes
    return np.where(group == c.groups - 1, c.last_lanes, full)
