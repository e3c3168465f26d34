"""Models at which LiteRT stops, each built to break one rule and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from eightfold.run.reference.oracle import OracleAborted, OracleRejected
from tests.support.models.single import (
    NINE,
    binary,
    convolution,
    dense,
    depthwise,
    one_operator,
    padded,
    pool,
    softmax,
    unary,
    weights_of,
)

Outcome = type[OracleRejected] | type[OracleAborted]


@dataclass(frozen=True)
class Refusal:
    """A model, how LiteRT ends, and what golden's message says."""

    make: Callable[[], bytes]
    outcome: Outcome
    message: str
    fill: float | None = None
    """What every element of the inputs is; None is random."""


OVERFLOW = {"fused_activation_function": "RELU6"}

REFUSALS: dict[str, Refusal] = {
    "ADD output multiplier 1": Refusal(
        partial(binary, "ADD", (0.5, 0.25, 2.0**-20)), OracleAborted, "multiplier"
    ),
    "ADD output multiplier above 1": Refusal(
        partial(binary, "ADD", (0.5, 0.25, 2.0**-22)), OracleAborted, "multiplier"
    ),
    "ADD broadcast of rank 9": Refusal(
        partial(one_operator, "ADD", NINE, NINE[0]), OracleAborted, "rank 8"
    ),
    "ADD shapes that do not broadcast": Refusal(
        partial(one_operator, "ADD", [(2, 3), (2, 2)], (2, 3)), OracleRejected, "do not broadcast"
    ),
    "ADD bound outside int32": Refusal(
        partial(binary, "ADD", (1e-12, 1e-12, 1e-10), options=OVERFLOW),
        OracleRejected,
        "leaves int32",
    ),
    "SUB output multiplier 1": Refusal(
        partial(binary, "SUB", (0.5, 0.25, 2.0**-20)), OracleAborted, "multiplier"
    ),
    "MUL broadcast of rank 9": Refusal(
        partial(one_operator, "MUL", NINE, NINE[0]), OracleAborted, "rank 8"
    ),
    "CONV_2D without bias": Refusal(
        partial(convolution, bias=None), OracleRejected, "needs a bias"
    ),
    "CONV_2D bias of int64": Refusal(
        partial(convolution, bias=(np.zeros(2, np.int64), 0.25, 0, 0)), OracleRejected, "int32"
    ),
    "CONV_2D bias zero point": Refusal(
        partial(convolution, bias=(np.zeros(2, np.int32), 0.25, 1, 0)), OracleRejected, "bias"
    ),
    "CONV_2D filter zero point": Refusal(
        partial(convolution, weights=weights_of((2, 1, 1, 3), 0.5, 1)), OracleRejected, "filter"
    ),
    "CONV_2D scales of another number": Refusal(
        partial(convolution, weights=weights_of((2, 1, 1, 3), [0.5, 0.25, 0.5], axis=3)),
        OracleRejected,
        "3 filter scales",
    ),
    "CONV_2D groups that do not divide": Refusal(
        partial(convolution, depth=4), OracleRejected, "groups"
    ),
    "CONV_2D stride 0": Refusal(partial(convolution, stride_w=0), OracleRejected, "stride"),
    "CONV_2D dilation 0": Refusal(
        partial(convolution, dilation_h_factor=0), OracleRejected, "dilation"
    ),
    "CONV_2D filter beyond the input": Refusal(
        partial(convolution, weights=weights_of((2, 4, 4, 3), 0.5)), OracleRejected, "fit"
    ),
    "DEPTHWISE_CONV_2D filter of two batches": Refusal(
        partial(depthwise, weights=weights_of((2, 1, 1, 3), 0.5)),
        OracleRejected,
        "first size of 1",
    ),
    "DEPTHWISE_CONV_2D outputs no multiple": Refusal(
        partial(depthwise, weights=weights_of((1, 1, 1, 4), 0.5)),
        OracleRejected,
        "no multiple",
    ),
    "DEPTHWISE_CONV_2D bias zero point": Refusal(
        partial(depthwise, bias=(np.zeros(3, np.int32), 0.25, 4, 0)), OracleRejected, "bias"
    ),
    "DEPTHWISE_CONV_2D bias of int64": Refusal(
        partial(depthwise, bias=(np.zeros(3, np.int64), 0.25, 0, 0)), OracleRejected, "int32"
    ),
    "DEPTHWISE_CONV_2D scales of another number": Refusal(
        partial(depthwise, weights=weights_of((1, 1, 2, 3), [0.5, 0.25], axis=2)),
        OracleRejected,
        "2 filter scales",
    ),
    "DEPTHWISE_CONV_2D stride 0": Refusal(partial(depthwise, stride_h=0), OracleRejected, "stride"),
    "DEPTHWISE_CONV_2D filter beyond the input": Refusal(
        partial(depthwise, weights=weights_of((1, 4, 4, 3), 0.5)), OracleRejected, "fit"
    ),
    "FULLY_CONNECTED filter of rank 3": Refusal(
        partial(dense, weights=weights_of((2, 2, 2), 0.5)), OracleRejected, "rank 2"
    ),
    "FULLY_CONNECTED bias of another size": Refusal(
        partial(dense, bias=(np.zeros(3, np.int32), 0.25, 0, 0)), OracleRejected, "int32 of 2"
    ),
    "FULLY_CONNECTED bias without scale": Refusal(
        partial(dense, bias=(np.zeros(2, np.int32), None, 0, 0)), OracleRejected, "bias scale"
    ),
    "FULLY_CONNECTED bias scale": Refusal(
        partial(dense, bias=(np.zeros(2, np.int32), 0.27, 0, 0)), OracleRejected, "bias scale"
    ),
    "FULLY_CONNECTED scales along axis 1": Refusal(
        partial(dense, weights=weights_of((2, 4), [0.5] * 4, axis=1)), OracleRejected, "axis"
    ),
    "FULLY_CONNECTED fused TANH": Refusal(
        partial(dense, fused_activation_function="TANH"), OracleRejected, "TANH"
    ),
    "FULLY_CONNECTED last size with keep_num_dims": Refusal(
        partial(dense, inputs=8, keep_num_dims=True), OracleRejected, "last size"
    ),
    "LOGISTIC output scale": Refusal(
        partial(unary, "LOGISTIC", (0.5, 1 / 128)), OracleRejected, "1/256"
    ),
    "AVERAGE_POOL_2D stride 0": Refusal(
        partial(pool, "AVERAGE_POOL_2D", stride_h=0), OracleRejected, "stride"
    ),
    "SOFTMAX output scale": Refusal(partial(softmax, out=1 / 255), OracleRejected, "1/256"),
    "SOFTMAX output zero point": Refusal(partial(softmax, zero_point=-127), OracleRejected, "-128"),
    "SOFTMAX tiny input scale": Refusal(
        partial(softmax, scale=2.0**-26), OracleAborted, "multiplier"
    ),
    "SOFTMAX of 512 equal logits": Refusal(
        partial(softmax, length=512), OracleAborted, "512", fill=7
    ),
    "MEAN axis out of range": Refusal(
        partial(one_operator, "MEAN", [(2, 2)], (2,), constants=(np.array([2], np.int32),)),
        OracleRejected,
        "axes",
    ),
    "PAD of rank 6": Refusal(
        partial(padded, (1, 1, 1, 1, 1, 1), [[0, 0]] * 6), OracleRejected, "rank 5"
    ),
    "PAD negative": Refusal(partial(padded, (2, 2), [[0, -1], [0, 0]]), OracleRejected, "negative"),
    "PAD pairs missing": Refusal(partial(padded, (2, 2), [[0, 1]]), OracleRejected, "pairs"),
    "RESHAPE to another size": Refusal(
        partial(one_operator, "RESHAPE", [(2, 2)], (5,), options={"new_shape": [5]}),
        OracleRejected,
        "do not fit",
    ),
    "RESHAPE with two unknown sizes": Refusal(
        partial(one_operator, "RESHAPE", [(2, 2)], (2, 2), options={"new_shape": [-1, -1]}),
        OracleRejected,
        "not complete",
    ),
}
"""Refusals by the rule that the model breaks."""

UNDEFINED: dict[str, tuple[Callable[[], bytes], str]] = {
    "SUB output multiplier above 1": (partial(binary, "SUB", (0.5, 0.25, 2.0**-22)), "below 1"),
    "MUL left shift of 32": (partial(binary, "MUL", (2.0**10, 2.0**10, 2.0**-12)), "shift"),
    "QUANTIZE left shift of 32": (partial(unary, "QUANTIZE", (2.0**16, 2.0**-16)), "shift"),
    "RELU6 bound outside int32": (partial(unary, "RELU6", (1e-12, 1e-12)), "leaves int32"),
    "TANH entry outside int32": (partial(unary, "TANH", (0.5, 1e-12)), "leaves int32"),
    "TANH entry no number": (partial(unary, "TANH", (0.5, 1e-45)), "leaves int32"),
    "FULLY_CONNECTED sum outside int32": (
        partial(
            dense,
            weights=weights_of((2, 4), 2.0**30),
            bias=(np.ones(2, np.int32), 2.0**29, 0, 0),
        ),
        "leaves int32",
    ),
    "FULLY_CONNECTED input no multiple": (partial(dense, inputs=6), "no multiple"),
    "FULLY_CONNECTED bias of int64": (
        partial(dense, bias=(np.zeros(2, np.int64), 0.25, 0, 0)),
        "int64",
    ),
    "CONV_2D output without elements": (
        partial(convolution, weights=weights_of((2, 3, 3, 3), 0.5)),
        "does not fit",
    ),
    "MAX_POOL_2D output without elements": (
        partial(pool, "MAX_POOL_2D", filter_height=4),
        "does not fit",
    ),
    "MAX_POOL_2D window far beyond the input": (
        partial(pool, "MAX_POOL_2D", filter_height=8),
        "does not fit",
    ),
    "AVERAGE_POOL_2D window of 0": (partial(pool, "AVERAGE_POOL_2D", filter_width=0), "kernel"),
}
"""Models that LiteRT runs although no number follows from their arithmetic; golden's message."""
