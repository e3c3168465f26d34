"""Models that look wrong or extreme, and whose result is defined all the same."""

from collections.abc import Callable
from functools import partial

import numpy as np

from tests.support.models.single import (
    NINE,
    WINDOW,
    binary,
    convolution,
    dense,
    depthwise,
    one_operator,
    softmax,
    unary,
    weights_of,
)


def codes(*shape: int, value: int) -> np.ndarray:
    return np.full(shape, value, np.int8)


LONG = 80_000  # taps; 80000 * 127 * 255 is beyond int32

TOLERATED: dict[str, Callable[[], bytes]] = {
    "DEPTHWISE_CONV_2D filter zero point": partial(
        depthwise, weights=weights_of((1, 1, 1, 3), [0.5, 0.25, 0.125], 5, 3)
    ),
    "DEPTHWISE_CONV_2D bias without scale": partial(
        depthwise, bias=(np.array([5, -7, 9], np.int32), None, 0, 0)
    ),
    "DEPTHWISE_CONV_2D other depth multiplier": partial(depthwise, depth_multiplier=7),
    "CONV_2D scales along an axis of the same size": partial(
        convolution, weights=weights_of((2, 1, 1, 2), [0.5, 0.25], axis=3), depth=2
    ),
    "CONV_2D bias without scale": partial(
        convolution, bias=(np.array([5, -7], np.int32), None, 0, 0)
    ),
    "FULLY_CONNECTED filter zero points per channel": partial(
        dense, weights=weights_of((2, 4), [0.5, 0.25], 7)
    ),
    "FULLY_CONNECTED bias zero point": partial(
        dense, bias=(np.array([3, 4], np.int32), 0.25, 5, 0)
    ),
    "FULLY_CONNECTED small product without bias scale": partial(
        dense, weights=weights_of((2, 4), 0.01), bias=(np.array([5, -7], np.int32), None, 0, 0)
    ),
    "FULLY_CONNECTED accumulator that wraps": partial(
        one_operator,
        "FULLY_CONNECTED",
        [(1, LONG)],
        (1, 1),
        scales=(0.5, 2.0**20),
        zero_points=(-128, 0),
        constants=((codes(1, LONG, value=127), 0.5, 0, 0),),
    ),
    "CONV_2D accumulator that wraps": partial(
        one_operator,
        "CONV_2D",
        [(1, 1, 1, LONG)],
        (1, 1, 1, 1),
        scales=(0.5, 2.0**20),
        zero_points=(-128, 0),
        constants=((codes(1, 1, 1, LONG, value=127), 0.5, 0, 0), np.zeros(1, np.int32)),
        options=WINDOW,
    ),
    "ADD fused TANH": partial(
        binary, "ADD", (0.5, 0.25, 0.5), options={"fused_activation_function": "TANH"}
    ),
    "ADD of equal shapes of rank 9": partial(
        one_operator, "ADD", [NINE[0], NINE[0]], NINE[0], scales=(0.5, 0.25, 0.5)
    ),
    "QUANTIZE left shift of 31": partial(unary, "QUANTIZE", (2.0**15, 2.0**-15)),
    "LOGISTIC output zero point": partial(unary, "LOGISTIC", (0.5, 1 / 256), (0, 5)),
    "SOFTMAX of rank 1": partial(
        one_operator,
        "SOFTMAX",
        [(5,)],
        (5,),
        scales=(0.1, 1 / 256),
        zero_points=(0, -128),
        options={"beta": 1.0},
    ),
    "SOFTMAX output scale within 0.1 %": partial(softmax, out=1.0009 / 256),
    "SOFTMAX of 511 equal logits": partial(softmax, length=511),
    "SOFTMAX of 8000 logits that differ": partial(softmax, scale=10.0, length=8000),
    "MEAN scalar axis": partial(
        one_operator, "MEAN", [(2, 2)], (2,), constants=(np.array(1, np.int32),)
    ),
    "MEAN multiplier that flushes to 0": partial(
        one_operator,
        "MEAN",
        [(2, 2)],
        (2,),
        scales=(2.0**-20, 2.0**15),
        constants=(np.array([1], np.int32),),
    ),
    "MEAN of 70000 elements": partial(
        one_operator,
        "MEAN",
        [(700, 100)],
        (1,),
        scales=(0.5, 0.01),
        zero_points=(127, 100),
        constants=(np.array([0, 1], np.int32),),
    ),
    "RESHAPE to a scalar": partial(
        one_operator, "RESHAPE", [(1, 1)], (), options={"new_shape": [0]}
    ),
}
"""Makers by what is odd about the model."""
