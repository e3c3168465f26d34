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
    moved,
    one_operator,
    padded,
    pool,
    softmax,
    transposed,
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


COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
LEAKY = {"alpha": 0.5}
INT32_INDEX = {"options": {"output_type": "INT32"}, "dtype": np.int32}


def comparison(name: str, scales: tuple[float, ...]) -> bytes:
    return one_operator(name, [(2, 2)] * 2, (2, 2), scales=scales, dtype=np.bool_)


def nine(name: str, dtype: type = np.int8) -> bytes:
    return one_operator(name, NINE, NINE[0], dtype=dtype)


def shapes(name: str, dtype: type = np.int8) -> bytes:
    return one_operator(name, [(2, 3), (2, 2)], (2, 3), dtype=dtype)


def reduced(name: str, axes: list[int] | np.ndarray = [0], **more) -> bytes:  # noqa: B006
    return moved(name, (2, 3), (3,), axes, **more)


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
    **{
        f"{name} scale 1": Refusal(
            partial(comparison, name, (0.5, 1.0)), OracleAborted, "multiplier"
        )
        for name in COMPARISONS
    },
    "LESS broadcast of rank 9": Refusal(partial(nine, "LESS", np.bool_), OracleAborted, "rank 8"),
    "LESS shapes that do not broadcast": Refusal(
        partial(shapes, "LESS", np.bool_), OracleRejected, "do not broadcast"
    ),
    "MAXIMUM broadcast of rank 9": Refusal(partial(nine, "MAXIMUM"), OracleAborted, "rank 8"),
    "MINIMUM broadcast of rank 9": Refusal(partial(nine, "MINIMUM"), OracleAborted, "rank 8"),
    "MINIMUM shapes that do not broadcast": Refusal(
        partial(shapes, "MINIMUM"), OracleRejected, "do not broadcast"
    ),
    "SUB broadcast of rank 9": Refusal(partial(nine, "SUB"), OracleAborted, "rank 8"),
    "PRELU broadcast of rank 9": Refusal(partial(nine, "PRELU"), OracleAborted, "rank 8"),
    "PRELU alpha larger than the input": Refusal(
        partial(one_operator, "PRELU", [(3,), (2, 3)], (2, 3)), OracleRejected, "larger"
    ),
    "PRELU shapes that do not broadcast": Refusal(
        partial(shapes, "PRELU"), OracleRejected, "do not broadcast"
    ),
    "HARD_SWISH output scale too small": Refusal(
        partial(unary, "HARD_SWISH", (64.0, 0.5)), OracleRejected, "too small"
    ),
    "L2_NORMALIZATION output scale": Refusal(
        partial(unary, "L2_NORMALIZATION", (0.5, 1 / 127)), OracleRejected, "1/128"
    ),
    "L2_NORMALIZATION output zero point": Refusal(
        partial(unary, "L2_NORMALIZATION", (0.5, 1 / 128), (0, 1)), OracleRejected, "zero point 0"
    ),
    "L2_NORMALIZATION fused RELU": Refusal(
        partial(
            unary,
            "L2_NORMALIZATION",
            (0.5, 1 / 128),
            options={"fused_activation_function": "RELU"},
        ),
        OracleRejected,
        "fuse",
    ),
    "LOG_SOFTMAX output scale": Refusal(
        partial(unary, "LOG_SOFTMAX", (0.5, 1 / 17), (0, 127)), OracleRejected, "16/256"
    ),
    "LOG_SOFTMAX output zero point": Refusal(
        partial(unary, "LOG_SOFTMAX", (0.5, 1 / 16), (0, 126)), OracleRejected, "zero point 127"
    ),
    "LOG_SOFTMAX tiny input scale": Refusal(
        partial(unary, "LOG_SOFTMAX", (2.0**-26, 1 / 16), (0, 127)), OracleAborted, "multiplier"
    ),
    **{
        f"{name} axis out of range": Refusal(partial(reduced, name, [2]), OracleRejected, "axes")
        for name in ("SUM", "REDUCE_MAX", "REDUCE_MIN")
    },
    "REDUCE_MAX scales differ": Refusal(
        partial(reduced, "REDUCE_MAX", scales=(0.5, 0.25)), OracleRejected, "same scale"
    ),
    "REDUCE_MIN zero points differ": Refusal(
        partial(reduced, "REDUCE_MIN", zero_points=(0, 1)), OracleRejected, "same scale"
    ),
    "ARG_MAX axis out of range": Refusal(
        partial(reduced, "ARG_MAX", [2], **INT32_INDEX), OracleRejected, "axes"
    ),
    "ARG_MIN negative axis out of range": Refusal(
        partial(reduced, "ARG_MIN", [-3], **INT32_INDEX), OracleRejected, "axes"
    ),
    "ARG_MIN two axes": Refusal(
        partial(reduced, "ARG_MIN", [0, 1], **INT32_INDEX), OracleRejected, "one integer"
    ),
    "TRANSPOSE_CONV output of another size": Refusal(
        partial(transposed, (1, 4, 4, 1)), OracleRejected, "do not give"
    ),
    "TRANSPOSE_CONV output smaller than the filter": Refusal(
        partial(transposed, (1, 1, 1, 1)), OracleRejected, "do not give"
    ),
    "TRANSPOSE_CONV another batch": Refusal(
        partial(transposed, (2, 3, 3, 1)), OracleRejected, "do not fit"
    ),
    "TRANSPOSE_CONV another number of channels": Refusal(
        partial(transposed, (1, 3, 3, 2)), OracleRejected, "do not fit"
    ),
    "TRANSPOSE_CONV filter of another depth": Refusal(
        partial(transposed, source=(1, 2, 2, 2)), OracleRejected, "do not fit"
    ),
    "TRANSPOSE_CONV output shape of rank 3": Refusal(
        partial(transposed, shape=np.array([1, 3, 3], np.int32)), OracleRejected, "rank 4"
    ),
    "TRANSPOSE_CONV stride 0": Refusal(partial(transposed, stride_h=0), OracleRejected, "stride"),
    "TRANSPOSE_CONV bias zero point": Refusal(
        partial(transposed, bias=(np.zeros(1, np.int32), 0.25, 3, 0)), OracleRejected, "bias"
    ),
    "TRANSPOSE_CONV bias of int64": Refusal(
        partial(transposed, bias=(np.zeros(1, np.int64), 0.25, 0, 0)), OracleRejected, "int32"
    ),
    "TRANSPOSE_CONV bias of another size": Refusal(
        partial(transposed, bias=(np.zeros(2, np.int32), 0.25, 0, 0)), OracleRejected, "int32 of 1"
    ),
    "TRANSPOSE_CONV scales of another number": Refusal(
        partial(
            transposed,
            (1, 3, 3, 3),
            weights=weights_of((3, 2, 2, 1), [0.5, 0.25], axis=1),
        ),
        OracleRejected,
        "2 filter scales",
    ),
}
"""Refusals by the rule that the model breaks."""

UNDEFINED: dict[str, tuple] = {
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
    **{
        f"{name} scale above 1": (partial(comparison, name, (1.5, 0.5)), "below 1")
        for name in COMPARISONS
    },
    "L2_NORMALIZATION row that overflows": (
        partial(
            one_operator,
            "L2_NORMALIZATION",
            [(1, 33_026)],
            (1, 33_026),
            scales=(0.5, 1 / 128),
            zero_points=(-128, 0),
        ),
        r"less than 2\^31",
        127,
    ),
    "LOG_SOFTMAX of 4096 equal logits": (
        partial(
            one_operator,
            "LOG_SOFTMAX",
            [(1, 4096)],
            (1, 4096),
            scales=(0.5, 1 / 16),
            zero_points=(0, 127),
        ),
        "less than 4096",
        7,
    ),
    "LEAKY_RELU slope not a number": (
        partial(unary, "LEAKY_RELU", (0.5, 0.5), options={"alpha": float("nan")}),
        "finite",
    ),
    "LEAKY_RELU left shift of 32": (
        partial(unary, "LEAKY_RELU", (2.0**16, 2.0**-16), options=LEAKY),
        "shift",
    ),
    "PRELU left shift of 32": (partial(binary, "PRELU", (2.0**16, 0.5, 2.0**-16)), "shift"),
    "SUM left shift of 32": (
        partial(reduced, "SUM", scales=(2.0**16, 2.0**-16)),
        "shift",
    ),
    "HARD_SWISH input scale beyond int32": (
        partial(unary, "HARD_SWISH", (2.0**24, 2.0**20)),
        "too large",
    ),
    "QUANTIZE of not a number": (
        partial(one_operator, "QUANTIZE", [(2,)], (2,), source_dtype=np.float32),
        "fits int32",
        float("nan"),
    ),
    "QUANTIZE of a float outside int32": (
        partial(one_operator, "QUANTIZE", [(2,)], (2,), source_dtype=np.float32),
        "fits int32",
        -1.1e9,
    ),
}
"""Models that LiteRT runs although no number follows from their arithmetic; golden's message."""
