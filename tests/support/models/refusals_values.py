"""Refusals of operators that compute with values; see `tests.support.models.refusals`."""

from functools import partial

import numpy as np

from eightfold.run.reference.oracle import OracleAborted, OracleRejected
from tests.support.models.refusals import Refusal
from tests.support.models.single import (
    NINE,
    binary,
    moved,
    one_operator,
    transposed,
    unary,
    weights_of,
)

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


REFUSALS: dict[str, Refusal] = {
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
"""Models that LiteRT runs although no number follows; golden's message, and the inputs' value."""
