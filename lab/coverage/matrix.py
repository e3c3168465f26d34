"""Points of operators with weights, and of pools."""

import numpy as np

from lab.coverage.points import (
    Point,
    Sample,
    activation,
    batch,
    channels,
    codes,
    either,
    flags,
    one_of,
    rank,
    requantization_kept,
    requantized,
    traced,
    windows,
    zero_points,
)
from lab.coverage.requantizations import SATURATIONS, SINGLE_SHIFTS, TIES


def _filter_size(s: Sample) -> tuple[int, int]:
    return s.input(1).shape[1], s.input(1).shape[2]


def _pool_size(s: Sample) -> tuple[int, int]:
    return s.option("filter_height"), s.option("filter_width")


def _weights(bias: int | None) -> list[Point]:
    """Return scales, extreme codes and bias of an operator with weights."""

    def scales(s: Sample) -> int:
        quantization = s.input(1).quantization
        assert quantization is not None
        return quantization.scale.size

    points = [
        either("filter scales", "one", "per channel", lambda s: scales(s) == 1),
        flags(
            "weights",
            lowest=lambda s: np.any(s.array(1) == -128),
            minus_127=lambda s: np.any(s.array(1) == -127),
            highest=lambda s: np.any(s.array(1) == 127),
        ),
    ]
    if bias is not None:
        points.append(either("bias", "absent", "present", lambda s: s.tensor(bias) is None))
    return points


def _matrix(source: int = 0) -> list[Point]:
    return [
        *zero_points(source),
        traced("saturation", SATURATIONS),
        activation(),
        channels("output channels and lanes", None, "lanes"),
        channels("input channels and width", source, "width"),
    ]


def _pairs() -> list[Point]:
    return [point for point in requantized() if point.name != "saturation"]


_POOL = [
    *zero_points(0),
    *codes(),
    *windows(_pool_size),
    batch(),
    activation(),
    requantization_kept(),
    channels("channels and lanes", None, "lanes"),
]

_CONVOLUTION = [*_matrix(), *_pairs(), batch(), traced("overflow", ("bias", "left shift"))]


def _constants(s: Sample) -> str:
    return next((f"input {p}" for p in (0, 1) if s.input(p).data is not None), "none")


MATRIX: dict[str, list[Point]] = {
    "BATCH_MATMUL": [
        *zero_points(0, 1),
        *_pairs(),
        traced("saturation", SATURATIONS),
        rank((2, 3, 4, 5)),
        one_of("adj_x", (False, True), lambda s: s.option("adj_x")),
        one_of("adj_y", (False, True), lambda s: s.option("adj_y")),
        one_of("constant", ("none", "input 0", "input 1"), _constants),
        either(
            "axes before the matrices",
            "equal",
            "broadcast",
            lambda s: s.input(0).shape[:-2] == s.input(1).shape[:-2],
        ),
        channels("columns and lanes", None, "lanes"),
    ],
    "CONV_2D": [
        *_CONVOLUTION,
        *_weights(None),
        *windows(_filter_size, dilated=True),
        either("groups", "one", "several", lambda s: s.input(0).shape[3] == s.input(1).shape[3]),
    ],
    "DEPTHWISE_CONV_2D": [
        *_CONVOLUTION,
        *_weights(2),
        *windows(_filter_size, dilated=True),
        one_of("depth multiplier", (1, 2, 3), lambda s: s.option("depth_multiplier")),
    ],
    "TRANSPOSE_CONV": [
        *_matrix(2),
        *_pairs(),
        *_weights(3),
        one_of("padding kind", ("SAME", "VALID"), lambda s: s.option("padding")),
        one_of("stride of rows", (1, 2, 3), lambda s: s.option("stride_h")),
        one_of("stride of columns", (1, 2, 3), lambda s: s.option("stride_w")),
        batch(2),
        flags(
            "window and stride",
            windows_overlap=lambda s: _filter_size(s)[0] > s.option("stride_h"),
            windows_touch=lambda s: _filter_size(s)[0] == s.option("stride_h"),
            rows_without_a_window=lambda s: _filter_size(s)[0] < s.option("stride_h"),
        ),
    ],
    "FULLY_CONNECTED": [
        *_matrix(),
        *_weights(2),
        traced("single shift", SINGLE_SHIFTS),
        traced("tie", TIES),
        rank((2, 3)),
        either("rows", "one", "several", lambda s: s.result().size == s.input(1).shape[0]),
        one_of("keep_num_dims", (False, True), lambda s: s.option("keep_num_dims")),
    ],
    "AVERAGE_POOL_2D": [*_POOL, traced("tie", TIES), traced("saturation", SATURATIONS)],
    "MAX_POOL_2D": [*_POOL, traced("saturation", SATURATIONS)],
}
"""Points by operator."""
