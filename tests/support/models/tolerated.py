"""Models that look wrong or extreme, and whose result is defined all the same."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.support.models.refusals import (
    BY_NAME,
    INT32_INDEX,
    LEAKY,
    bilinear,
    gathered,
    nearest,
    reduced,
    resized,
    row_of,
    strided,
)
from tests.support.models.single import (
    NINE,
    WINDOW,
    binary,
    convolution,
    dense,
    depthwise,
    moved,
    one_operator,
    softmax,
    transposed,
    unary,
    weights_of,
)


def codes(*shape: int, value: int) -> np.ndarray:
    return np.full(shape, value, np.int8)


BOTH = {"align_corners": True, "half_pixel_centers": True}
TEN = (2, *NINE[0])
LONG = 80_000  # taps; 80000 * 127 * 255 is beyond int32
WRAPS: dict[str, Any] = {"scales": (0.5, 2.0**20), "zero_points": (-128, 0)}


def built(make: Callable[..., bytes], *arguments: Any, **more: Any) -> Callable[[str], partial]:
    """Return by the operator's name what builds its model, as rows of refusals do."""
    return lambda operator: partial(make, *((operator,) * (make in BY_NAME)), *arguments, **more)


_TOLERATED: dict[str, Callable[[str], partial]] = {
    "DEPTHWISE_CONV_2D filter zero point": built(
        depthwise, weights=weights_of((1, 1, 1, 3), [0.5, 0.25, 0.125], 5, 3)
    ),
    "DEPTHWISE_CONV_2D bias without scale": built(
        depthwise, bias=(np.array([5, -7, 9], np.int32), None, 0, 0)
    ),
    "DEPTHWISE_CONV_2D other depth multiplier": built(depthwise, depth_multiplier=7),
    "CONV_2D scales along an axis of the same size": built(
        convolution, weights=weights_of((2, 1, 1, 2), [0.5, 0.25], axis=3), depth=2
    ),
    "CONV_2D bias without scale": built(
        convolution, bias=(np.array([5, -7], np.int32), None, 0, 0)
    ),
    "FULLY_CONNECTED filter zero points per channel": built(
        dense, weights=weights_of((2, 4), [0.5, 0.25], 7)
    ),
    "FULLY_CONNECTED bias zero point": built(dense, bias=(np.array([3, 4], np.int32), 0.25, 5, 0)),
    "FULLY_CONNECTED small product without bias scale": built(
        dense, weights=weights_of((2, 4), 0.01), bias=(np.array([5, -7], np.int32), None, 0, 0)
    ),
    "FULLY_CONNECTED accumulator that wraps": built(
        moved, (1, LONG), (1, 1), (codes(1, LONG, value=127), 0.5, 0, 0), **WRAPS
    ),
    "CONV_2D accumulator that wraps": built(
        moved,
        (1, 1, 1, LONG),
        (1, 1, 1, 1),
        (codes(1, 1, 1, LONG, value=127), 0.5, 0, 0),
        np.zeros(1, np.int32),
        **WRAPS,
        options=WINDOW,
    ),
    "ADD fused TANH": built(
        binary, (0.5, 0.25, 0.5), options={"fused_activation_function": "TANH"}
    ),
    "ADD of equal shapes of rank 9": built(
        one_operator, [NINE[0]] * 2, NINE[0], scales=(0.5, 0.25, 0.5)
    ),
    "QUANTIZE left shift of 31": built(unary, (2.0**15, 2.0**-15)),
    "LOGISTIC output zero point": built(unary, (0.5, 1 / 256), (0, 5)),
    "SOFTMAX of rank 1": built(
        moved, (5,), (5,), scales=(0.1, 1 / 256), zero_points=(0, -128), options={"beta": 1.0}
    ),
    "SOFTMAX output scale within 0.1 %": built(softmax, out=1.0009 / 256),
    "SOFTMAX of 511 equal logits": built(softmax, length=511),
    "SOFTMAX of 8000 logits that differ": built(softmax, scale=10.0, length=8000),
    "MEAN scalar axis": built(moved, (2, 2), (2,), 1),
    "MEAN multiplier that flushes to 0": built(
        moved, (2, 2), (2,), [1], scales=(2.0**-20, 2.0**15)
    ),
    "MEAN of 70000 elements": built(
        moved, (700, 100), (1,), [0, 1], scales=(0.5, 0.01), zero_points=(127, 100)
    ),
    "RESHAPE to a scalar": built(moved, (1, 1), (), options={"new_shape": [0]}),
    "CONCATENATION of rank 9": built(
        one_operator, [NINE[0]] * 2, (*(1,) * 8, 4), options={"axis": -1}
    ),
    "MAXIMUM of equal shapes of rank 9": built(one_operator, [NINE[0]] * 2, NINE[0]),
    "LESS of equal shapes of rank 9": built(one_operator, [NINE[0]] * 2, NINE[0], dtype=np.bool_),
    "PRELU of equal shapes of rank 9": built(one_operator, [NINE[0]] * 2, NINE[0]),
    "SLICE of rank 10": built(moved, TEN, (*(1,) * 9, 2), [1, *[0] * 9], [-1] * 10),
    "STRIDED_SLICE of rank 10": built(
        strided, [1, *[0] * 9], [2, *[1] * 8, 2], [1] * 10, TEN, shrink_axis_mask=1
    ),
    "REDUCE_MIN of rank 10": built(moved, TEN, NINE[0], [0]),
    "ARG_MAX of rank 9": built(moved, NINE[0], (1,) * 8, -1, **INT32_INDEX),
    "ARG_MAX of one dimension": built(moved, (4,), (), 0, **INT32_INDEX),
    "ARG_MIN axis of int64": built(moved, (2, 3), (2,), np.array([-1]), **INT32_INDEX),
    "REDUCE_MAX axes repeated": built(reduced, [0, -2, 0]),
    "L2_NORMALIZATION of rank 5": built(
        moved, (1, 1, 1, 2, 3), (1, 1, 1, 2, 3), scales=(0.5, 1 / 128)
    ),
    "L2_NORMALIZATION longest row with equal logits": built(
        row_of, 33_025, (0.5, 1 / 128), (-128, 0)
    ),
    "LOG_SOFTMAX of 4095 equal logits": built(row_of, 4095, (0.5, 1 / 16), (0, 127)),
    "LOG_SOFTMAX smallest input scale": built(unary, (2.0**-26 * (1 + 2.0**-23), 1 / 16), (0, 127)),
    "LEAKY_RELU slope of 0": built(unary, (0.5, 0.5), options={"alpha": 0.0}),
    "LEAKY_RELU that flushes to 0": built(unary, (2.0**-20, 2.0**15), options=LEAKY),
    "TRANSPOSE_CONV filter zero point": built(transposed, weights=weights_of((1, 2, 2, 1), 2, 5)),
    "TRANSPOSE_CONV output with a rim": built(transposed, (1, 5, 5, 1), stride_h=2, stride_w=2),
    "TRANSPOSE_CONV scales along an axis of the same size": built(
        transposed, (1, 3, 3, 2), weights=weights_of((2, 2, 2, 1), [2.0, 1.0], axis=1)
    ),
    "TRANSPOSE_CONV fused RELU6": built(transposed, fused_activation_function="RELU6"),
    "GATHER scalar index": built(gathered, 1),
    "GATHER batch dimensions from the end": built(gathered, [[1], [0]], axis=1, batch_dims=-1),
    "GATHER as many batch dimensions as the indices have": built(
        gathered, [1, 0], axis=1, batch_dims=1
    ),
    "SQUEEZE dimension named twice": built(
        moved, (1, 2, 1), (1, 2), options={"squeeze_dims": [-1, 2]}
    ),
    "SPACE_TO_BATCH_ND negative paddings": built(
        moved, (1, 4, 2, 1), (4, 1, 1, 1), [2, 2], [[-1, -1], [0, 0]]
    ),
    "RESIZE_NEAREST_NEIGHBOR both options": built(nearest, [3, 3], **BOTH),
    "RESIZE_NEAREST_NEIGHBOR one output with both options": built(nearest, [1, 1], **BOTH),
    "RESIZE_BILINEAR one output with aligned corners": built(bilinear, [1, 1], align_corners=True),
    **{
        f"RESIZE_BILINEAR {size} to {count}": built(resized, [count, 1], (1, size, 1, 1))
        for size, count in ((1, 54), (2, 64), (3, 88), (4, 100), (8, 128), (16, 200), (64, 415))
    },
    "RESIZE_BILINEAR 1 to 2048 with aligned corners": built(
        bilinear, [2048, 1], align_corners=True
    ),
    "STRIDED_SLICE shrinks at a stride of 2": built(
        strided, [2, 0], [0, 5], [2, 1], shrink_axis_mask=1
    ),
    "STRIDED_SLICE shrinks before the first": built(
        strided, [-9, 0], [5, 5], [1, 1], shrink_axis_mask=1
    ),
    "STRIDED_SLICE shrinks with masks": built(
        strided, [2, 0], [5, 5], [1, 1], shrink_axis_mask=1, begin_mask=1, end_mask=1
    ),
    "STRIDED_SLICE new axis that shrinks": built(
        strided, [0, 1, 0], [0, 3, 5], [1, 1, 1], new_axis_mask=1, shrink_axis_mask=1
    ),
    "STRIDED_SLICE ellipsis for no dimension": built(
        strided, [1, 0, 1], [2, 0, 2], [1, 1, 1], ellipsis_mask=2
    ),
    "STRIDED_SLICE ellipsis that is a new axis": built(
        strided, [0, 1], [0, 3], [1, 1], ellipsis_mask=1, new_axis_mask=1
    ),
    "STRIDED_SLICE fewer entries": built(strided, [1], [3], [1]),
    "STRIDED_SLICE more entries": built(strided, [1, 0], [3, 1], [1, 1], (4,)),
    "STRIDED_SLICE ends from begin": built(
        strided, [-3, 2], [2, 3], [1, 1], (6, 5), offset=True, begin_mask=2
    ),
}
TOLERATED = {rule: of(rule.split()[0]) for rule, of in _TOLERATED.items()}
"""Makers by what is odd about the model."""
