"""Models at which LiteRT stops, each built to break one rule and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from eightfold.common.errors import InputError
from eightfold.model import Graph, read_model
from eightfold.operators import prepare
from eightfold.run.reference.oracle import OracleAborted, OracleRejected
from tests.support.models.single import (
    NINE,
    biases,
    binary,
    convolution,
    dense,
    depthwise,
    moved,
    one_operator,
    pool,
    product,
    softmax,
    transposed,
    unary,
    weights_of,
)


@dataclass(frozen=True)
class Refusal:
    """A model, how LiteRT ends, and what golden's message says."""

    make: Callable[[], bytes]
    outcome: type[OracleRejected] | type[OracleAborted] | None
    """None where LiteRT computes something."""

    message: str
    fill: float | None = None
    """What every element of the inputs is; None is random."""


Row = Callable[[str], Refusal]
"""A refusal by the operator that refuses."""


def row(
    outcome: type[OracleRejected] | type[OracleAborted] | None,
    message: str,
    make: Callable[..., bytes],
    *arguments: Any,
    fill: float | None = None,
    **more: Any,
) -> Row:
    """Return a refusal of what ``make`` builds, of the operator where it takes its name."""

    def of(operator: str) -> Refusal:
        name = (operator,) if make in BY_NAME else ()
        return Refusal(partial(make, *name, *arguments, **more), outcome, message, fill)

    return of


rejected = partial(row, OracleRejected)
aborted = partial(row, OracleAborted)
undefined = partial(row, None)


def load_any_shape(model: bytes) -> Graph:
    """Return the graph of a model as if its file left the shapes of all results open.

    Raises `InputError`, whose cause is golden's error, if an operator does not pass.
    """
    graph = read_model(model)
    results = {index for operator in graph.operators for index in operator.outputs}
    tensors = tuple(replace(tensor, stated=tensor.index not in results) for tensor in graph.tensors)
    prepared, refusals = prepare(replace(graph, tensors=tensors))
    for refusal in refusals:
        raise InputError(str(refusal)) from refusal.cause
    return prepared


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


def row_of(
    name: str, length: int, scales: tuple[float, float], zero_points: tuple[int, int]
) -> bytes:
    return moved(name, (1, length), (1, length), scales=scales, zero_points=zero_points)


OVERFLOW = {"fused_activation_function": "RELU6"}
HALF = (0.5, 0.5)
FIVE = {"new_shape": [5]}
BLOCK = {"block_size": 2}
NO_PADS = [[0, 0], [0, 0]]


joined = partial(one_operator, "CONCATENATION", output=(4, 2), options={"axis": 0})
packed = partial(one_operator, "PACK", output=(2, 2), options={"axis": 0, "values_count": 2})
SQUARES, PAIRS = [(2, 2)] * 2, [(2,)] * 2


def split(axis: int = 1, shape=(2, 4)) -> bytes:
    options = {"num_splits": 2}
    return moved("SPLIT", shape, (2, 2), axis, order=(1, 0), outputs=2, options=options)


def split_v(sizes: list, axis: int = 1) -> bytes:
    options = {"num_splits": 2}
    return moved("SPLIT_V", (2, 4), (2, 2), sizes, axis, outputs=2, options=options)


unpacked = partial(moved, "UNPACK", (2, 3), (3,), outputs=2, options={"num": 2, "axis": 0})


def filled(value: tuple, paddings=NO_PADS, shape=(2, 2), **more) -> bytes:
    return moved("PADV2", shape, shape, paddings, value, **more)


SEVEN = (np.int8(7), 0.5, 0, 0)


def gathered(indices: list | int, **options) -> bytes:
    return moved("GATHER", (2, 3), (1, 3), indices, options=options)


def scattered(indices: list, updates: tuple[int, ...], *shape: int) -> bytes:
    constants = (np.array(indices, np.int32), np.array(shape, np.int32))
    return one_operator("SCATTER_ND", [updates], shape, order=(1, 0, 2), constants=constants)


def updated(start: list, update: tuple[int, ...], shape: tuple[int, ...] = (3, 4)) -> bytes:
    constants = (np.array(start, np.int32),)
    return one_operator("DYNAMIC_UPDATE_SLICE", [shape, update], shape, constants=constants)


mirrored = partial(moved, "MIRROR_PAD", (2, 3), (2, 3))
reversed_axes = partial(moved, "REVERSE_V2", (2, 3, 4), (2, 3, 4))
tiled = partial(moved, "TILE", (2, 3), (2, 3))
broadcast = partial(moved, "BROADCAST_TO", (2, 3), (2, 3))


def batches(name: str, shape=(4, 2, 2, 1), block=(2, 2), margins=NO_PADS, **more) -> bytes:
    return moved(name, shape, shape, list(block), margins, **more)


to_batches = partial(batches, "SPACE_TO_BATCH_ND")
to_space = partial(batches, "BATCH_TO_SPACE_ND")


def resized(name: str, size: list | np.ndarray, shape=(1, 2, 2, 1), **options) -> bytes:
    return moved(name, shape, (1, 3, 3, 1), size, options=options)


bilinear = partial(resized, "RESIZE_BILINEAR")
nearest = partial(resized, "RESIZE_NEAREST_NEIGHBOR")


def strided(begin, end, strides, shape=(4, 5), **options) -> bytes:
    return moved("STRIDED_SLICE", shape, shape, begin, end, strides, options=options)


BY_NAME = (
    *(one_operator, binary, unary, moved, pool, comparison, nine, shapes, reduced, resized),
    row_of,
)
"""Makers that build models of any operator, whose name comes first."""


def by_rule(rows: dict[str, Row]) -> dict[str, Refusal]:
    """Return refusals by their rules, which begin with the operator."""
    return {rule: of(rule.split()[0]) for rule, of in rows.items()}


_REFUSALS: dict[str, Row] = {
    "ADD output multiplier 1": aborted("multiplier", binary, (0.5, 0.25, 2.0**-20)),
    "ADD output multiplier above 1": aborted("multiplier", binary, (0.5, 0.25, 2.0**-22)),
    "ADD broadcast of rank 9": aborted("rank 8", nine),
    "ADD shapes that do not broadcast": rejected("do not broadcast", shapes),
    "ADD bound outside int32": rejected(
        "leaves int32", binary, (1e-12, 1e-12, 1e-10), options=OVERFLOW
    ),
    "SUB output multiplier 1": aborted("multiplier", binary, (0.5, 0.25, 2.0**-20)),
    "MUL broadcast of rank 9": aborted("rank 8", nine),
    "BATCH_MATMUL of a vector": rejected("rank 1", product, (3,), (3, 4)),
    "BATCH_MATMUL of rank 6": rejected("rank 6", product, (1, 1, 1, 1, 2, 3), (3, 4)),
    "BATCH_MATMUL of other lengths": rejected("by columns of 4", product, (2, 3), (4, 3)),
    "BATCH_MATMUL axes that do not broadcast": rejected(
        "before the last two", product, (2, 2, 3), (3, 3, 4)
    ),
    "CONV_2D without bias": rejected("needs a bias", convolution, bias=None),
    "CONV_2D bias of int64": rejected("int32", convolution, bias=biases(2, np.int64)),
    "CONV_2D bias zero point": rejected("bias", convolution, bias=biases(2, zero_point=1)),
    "CONV_2D filter zero point": rejected(
        "filter", convolution, weights=weights_of((2, 1, 1, 3), zero_point=1)
    ),
    "CONV_2D scales of another number": rejected(
        "3 filter scales", convolution, weights=weights_of((2, 1, 1, 3), [0.5, 0.25, 0.5], axis=3)
    ),
    "CONV_2D groups that do not divide": rejected("groups", convolution, depth=4),
    "CONV_2D stride 0": rejected("stride", convolution, stride_w=0),
    "CONV_2D dilation 0": rejected("dilation", convolution, dilation_h_factor=0),
    "CONV_2D filter beyond the input": rejected(
        "fit", convolution, weights=weights_of((2, 4, 4, 3))
    ),
    "DEPTHWISE_CONV_2D filter of two batches": rejected(
        "first size of 1", depthwise, weights=weights_of((2, 1, 1, 3))
    ),
    "DEPTHWISE_CONV_2D outputs no multiple": rejected(
        "no multiple", depthwise, weights=weights_of((1, 1, 1, 4))
    ),
    "DEPTHWISE_CONV_2D bias zero point": rejected("bias", depthwise, bias=biases(3, zero_point=4)),
    "DEPTHWISE_CONV_2D bias of int64": rejected("int32", depthwise, bias=biases(3, np.int64)),
    "DEPTHWISE_CONV_2D scales of another number": rejected(
        "2 filter scales", depthwise, weights=weights_of((1, 1, 2, 3), [0.5, 0.25], axis=2)
    ),
    "DEPTHWISE_CONV_2D stride 0": rejected("stride", depthwise, stride_h=0),
    "DEPTHWISE_CONV_2D filter beyond the input": rejected(
        "fit", depthwise, weights=weights_of((1, 4, 4, 3))
    ),
    "FULLY_CONNECTED filter of rank 3": rejected("rank 2", dense, weights=weights_of((2, 2, 2))),
    "FULLY_CONNECTED bias of another size": rejected("int32 of 2", dense, bias=biases(3)),
    "FULLY_CONNECTED bias without scale": rejected("bias scale", dense, bias=biases(2, scale=None)),
    "FULLY_CONNECTED bias scale": rejected("bias scale", dense, bias=biases(2, scale=0.27)),
    "FULLY_CONNECTED scales along axis 1": rejected(
        "axis", dense, weights=weights_of((2, 4), [0.5] * 4, axis=1)
    ),
    "FULLY_CONNECTED fused TANH": rejected("TANH", dense, fused_activation_function="TANH"),
    "FULLY_CONNECTED last size with keep_num_dims": rejected(
        "last size", dense, inputs=8, keep_num_dims=True
    ),
    "LOGISTIC output scale": rejected("1/256", unary, (0.5, 1 / 128)),
    "AVERAGE_POOL_2D stride 0": rejected("stride", pool, stride_h=0),
    "SOFTMAX output scale": rejected("1/256", softmax, out=1 / 255),
    "SOFTMAX output zero point": rejected("-128", softmax, zero_point=-127),
    "SOFTMAX tiny input scale": aborted("multiplier", softmax, scale=2.0**-26),
    "SOFTMAX of 512 equal logits": aborted("512", softmax, length=512, fill=7),
    "MEAN axis out of range": rejected("axes", moved, (2, 2), (2,), [2]),
    "PAD of rank 6": rejected("rank 5", moved, (1,) * 6, (1,) * 6, [[0, 0]] * 6),
    "PAD negative": rejected("negative", moved, (2, 2), (2, 2), [[0, -1], [0, 0]]),
    "PAD pairs missing": rejected("pairs", moved, (2, 2), (2, 2), [[0, 1]]),
    "RESHAPE to another size": rejected("do not fit", moved, (2, 2), (5,), options=FIVE),
    "RESHAPE with two unknown sizes": rejected(
        "not complete", moved, (2, 2), (2, 2), options={"new_shape": [-1, -1]}
    ),
    **{f"{name} scale 1": aborted("multiplier", comparison, (0.5, 1.0)) for name in COMPARISONS},
    "LESS broadcast of rank 9": aborted("rank 8", nine, np.bool_),
    "LESS shapes that do not broadcast": rejected("do not broadcast", shapes, np.bool_),
    "MAXIMUM broadcast of rank 9": aborted("rank 8", nine),
    "MINIMUM broadcast of rank 9": aborted("rank 8", nine),
    "MINIMUM shapes that do not broadcast": rejected("do not broadcast", shapes),
    "SUB broadcast of rank 9": aborted("rank 8", nine),
    "PRELU broadcast of rank 9": aborted("rank 8", nine),
    "PRELU alpha larger than the input": rejected("larger", one_operator, [(3,), (2, 3)], (2, 3)),
    "PRELU shapes that do not broadcast": rejected("do not broadcast", shapes),
    "HARD_SWISH output scale too small": rejected("too small", unary, (64.0, 0.5)),
    "L2_NORMALIZATION output scale": rejected("1/128", unary, (0.5, 1 / 127)),
    "L2_NORMALIZATION output zero point": rejected("zero point 0", unary, (0.5, 1 / 128), (0, 1)),
    "L2_NORMALIZATION fused RELU": rejected(
        "fuse", unary, (0.5, 1 / 128), options={"fused_activation_function": "RELU"}
    ),
    "LOG_SOFTMAX output scale": rejected("16/256", unary, (0.5, 1 / 17), (0, 127)),
    "LOG_SOFTMAX output zero point": rejected("zero point 127", unary, (0.5, 1 / 16), (0, 126)),
    "LOG_SOFTMAX tiny input scale": aborted("multiplier", unary, (2.0**-26, 1 / 16), (0, 127)),
    **{
        f"{name} axis out of range": rejected("axes", reduced, [2])
        for name in ("SUM", "REDUCE_MAX", "REDUCE_MIN")
    },
    "REDUCE_MAX scales differ": rejected("same scale", reduced, scales=(0.5, 0.25)),
    "REDUCE_MIN zero points differ": rejected("same scale", reduced, zero_points=(0, 1)),
    "ARG_MAX axis out of range": rejected("axes", reduced, [2], **INT32_INDEX),
    "ARG_MIN negative axis out of range": rejected("axes", reduced, [-3], **INT32_INDEX),
    "ARG_MIN two axes": rejected("one integer", reduced, [0, 1], **INT32_INDEX),
    "TRANSPOSE_CONV output of another size": rejected("do not give", transposed, (1, 4, 4, 1)),
    "TRANSPOSE_CONV output smaller than the filter": rejected(
        "do not give", transposed, (1, 1, 1, 1)
    ),
    "TRANSPOSE_CONV another batch": rejected("do not fit", transposed, (2, 3, 3, 1)),
    "TRANSPOSE_CONV another number of channels": rejected("do not fit", transposed, (1, 3, 3, 2)),
    "TRANSPOSE_CONV filter of another depth": rejected(
        "do not fit", transposed, source=(1, 2, 2, 2)
    ),
    "TRANSPOSE_CONV output shape of rank 3": rejected(
        "rank 4", transposed, shape=np.array([1, 3, 3], np.int32)
    ),
    "TRANSPOSE_CONV stride 0": rejected("stride", transposed, stride_h=0),
    "TRANSPOSE_CONV bias zero point": rejected("bias", transposed, bias=biases(1, zero_point=3)),
    "TRANSPOSE_CONV bias of int64": rejected("int32", transposed, bias=biases(1, np.int64)),
    "TRANSPOSE_CONV bias of another size": rejected("int32 of 1", transposed, bias=biases(2)),
    "TRANSPOSE_CONV scales of another number": rejected(
        "2 filter scales",
        transposed,
        (1, 3, 3, 3),
        weights=weights_of((3, 2, 2, 1), [0.5, 0.25], axis=1),
    ),
    "CONCATENATION fused RELU": rejected(
        "fuse", joined, SQUARES, options={"axis": 0, "fused_activation_function": "RELU"}
    ),
    "CONCATENATION axis out of range": rejected("axis 2", joined, SQUARES, options={"axis": 2}),
    "CONCATENATION input scales differ": rejected(
        "same scale", joined, SQUARES, scales=(0.5, 0.25, 0.5)
    ),
    "CONCATENATION input zero points differ": rejected(
        "same scale", joined, SQUARES, zero_points=(0, 3, 0)
    ),
    "CONCATENATION output scale differs": rejected(
        "same scale", joined, SQUARES, scales=(0.5, 0.5, 0.25)
    ),
    "CONCATENATION ranks differ": rejected("do not join", joined, [(2, 2), (4,)]),
    "CONCATENATION sizes differ": rejected("do not join", joined, [(2, 2), (2, 3)]),
    "CONCATENATION of scalars": rejected("axis 0", joined, [(), ()]),
    "PACK scales differ": rejected("same scale", packed, PAIRS, scales=(0.5, 0.25, 0.5)),
    "PACK output zero point differs": rejected("same scale", packed, PAIRS, zero_points=(0, 0, 1)),
    "PACK axis out of range": rejected(
        "axis 2", packed, PAIRS, options={"axis": 2, "values_count": 2}
    ),
    "PACK negative axis out of range": rejected(
        "axis -3", packed, PAIRS, options={"axis": -3, "values_count": 2}
    ),
    "PACK shapes differ": rejected("differ", packed, [(2,), (3,)]),
    "SPLIT not even": rejected("equal parts", split, shape=(2, 3)),
    "SPLIT axis out of range": rejected("axis 2", split, 2),
    "SPLIT_V sizes too small": rejected("add up to 4", split_v, [1, 2]),
    "SPLIT_V two unknown sizes": rejected("add up to 4", split_v, [-1, -1]),
    "SPLIT_V nothing left": rejected("add up to 4", split_v, [5, -1]),
    "SPLIT_V negative size": rejected("add up to 4", split_v, [-2, 6]),
    "SPLIT_V axis out of range": rejected("axis 2", split_v, [2, 2], 2),
    "SPLIT_V another number": rejected("2 outputs, but 1 sizes", split_v, [4]),
    "SPLIT_V sizes of rank 2": rejected("must be a vector", split_v, [[2, 2]]),
    "UNPACK scales differ": rejected("same scale", unpacked, scales=(0.5, 0.25)),
    "UNPACK zero points differ": rejected("same scale", unpacked, zero_points=(0, 1)),
    "UNPACK axis out of range": rejected("axis 2", unpacked, options={"num": 2, "axis": 2}),
    "UNPACK another number": rejected("3 slices", unpacked, options={"num": 2, "axis": 1}),
    "PADV2 scale of the value": rejected("same scale", filled, (np.int8(7), 0.25, 0, 0)),
    "PADV2 zero point of the value": rejected("same scale", filled, (np.int8(7), 0.5, 1, 0)),
    "PADV2 two values": rejected("one element", filled, (np.array([7, 8], np.int8), 0.5, 0, 0)),
    "PADV2 of rank 6": rejected("rank 5", filled, SEVEN, [[0, 0]] * 6, (1,) * 6),
    "PADV2 negative": rejected("negative", filled, SEVEN, [[0, -1], [0, 0]]),
    "SQUEEZE size not 1": rejected("not all 1", moved, (1, 2), (2,), options={"squeeze_dims": [1]}),
    "SQUEEZE dimension out of range": rejected(
        "not all 1", moved, (1, 2), (2,), options={"squeeze_dims": [2]}
    ),
    "SQUEEZE of rank 9": rejected("rank 8", moved, NINE[0], (2,)),
    "EXPAND_DIMS axis out of range": rejected("axis 3", moved, (2, 3), (6,), 3),
    "EXPAND_DIMS negative axis out of range": rejected("axis -4", moved, (2, 3), (6,), -4),
    "EXPAND_DIMS two axes": rejected("one integer", moved, (2, 3), (6,), [0, 1]),
    "EXPAND_DIMS zero points differ": rejected(
        "same scale", moved, (2, 3), (1, 2, 3), 0, zero_points=(0, 4)
    ),
    "TRANSPOSE of rank 9": rejected("rank 8", moved, NINE[0], NINE[0], list(range(9))),
    "TRANSPOSE entry out of range": rejected("does not permute", moved, (2, 3), (3, 2), [2, 0]),
    "TRANSPOSE entry missing": rejected("does not permute", moved, (2, 3), (3, 2), [0]),
    "SLICE begin negative": rejected("do not fit", moved, (4,), (1,), [-1], [1]),
    "SLICE begin beyond the end": rejected("do not fit", moved, (4,), (1,), [5], [-1]),
    "SLICE size of -2": rejected("do not fit", moved, (4,), (1,), [0], [-2]),
    "SLICE beyond the end": rejected("do not fit", moved, (4,), (3,), [2], [3]),
    "SLICE numbers missing": rejected("needs 2", moved, (2, 4), (1, 4), [1], [1]),
    "STRIDED_SLICE stride 0": rejected("must not be 0", strided, [0, 0], [1, 1], [1, 0]),
    "STRIDED_SLICE stride -2^31": rejected(
        "must not be -2147483648", strided, [3, 0], [0, 1], [-(1 << 31), 1]
    ),
    "STRIDED_SLICE numbers differ": rejected("as many", strided, [0, 0], [1], [1, 1]),
    "GATHER negative index": rejected("0..1", gathered, [-1]),
    "GATHER index beyond the end": rejected("0..1", gathered, [2]),
    "GATHER axis out of range": rejected("axis 2", gathered, [0], axis=2),
    "GATHER batch dimensions beyond the axis": rejected(
        "batch_dims", gathered, [[1], [0]], axis=0, batch_dims=1
    ),
    "GATHER batches differ": rejected("differ", gathered, [[1]], axis=1, batch_dims=1),
    "GATHER of a scalar": rejected("axis 0", moved, (), (1,), [0]),
    "GATHER_ND negative index": rejected("0..", moved, (2, 3), (1,), [[1, -1]]),
    "GATHER_ND index beyond the end": rejected("0..", moved, (2, 3), (1,), [[0, 3]]),
    "GATHER_ND too many coordinates": rejected(
        "3 coordinates in rank 2", moved, (2, 3), (1,), [[0, 0, 0]]
    ),
    "GATHER_ND of a scalar": rejected("scalar", moved, (), (), [0]),
    "GATHER_ND at a scalar": rejected("scalar", moved, (2, 3), (3,), 0),
    "SCATTER_ND negative index": rejected("0..", scattered, [[1, -1]], (1,), 2, 3),
    "SCATTER_ND index beyond the end": rejected("0..", scattered, [[0, 3]], (1,), 2, 3),
    "SCATTER_ND updates of another size": rejected("not ", scattered, [[1], [0]], (2, 2), 2, 3),
    "SCATTER_ND updates of another rank": rejected("not ", scattered, [[1], [0]], (2,), 2, 3),
    "SCATTER_ND too many coordinates": rejected(
        "2 coordinates in rank 1", scattered, [[1, 0]], (1,), 3
    ),
    "SCATTER_ND of a scalar": rejected("scalar", scattered, [1], (), 3),
    "SCATTER_ND at a scalar": rejected("scalar", scattered, 1, (1,), 3),
    "DYNAMIC_UPDATE_SLICE update too long": rejected("does not fit", updated, [0, 0], (4, 2)),
    "DYNAMIC_UPDATE_SLICE update of another rank": rejected("does not fit", updated, [0, 0], (2,)),
    "DYNAMIC_UPDATE_SLICE starts missing": rejected("does not fit", updated, [0], (2, 2)),
    "DYNAMIC_UPDATE_SLICE starts of rank 2": rejected("does not fit", updated, [[0, 0]], (2, 2)),
    "DYNAMIC_UPDATE_SLICE of rank 9": rejected("rank 8", updated, [0] * 9, (1,) * 9, (1,) * 9),
    "MIRROR_PAD zero points differ": rejected(
        "same scale", mirrored, [[0, 0], [0, 0]], zero_points=(0, 1)
    ),
    "MIRROR_PAD scales differ": rejected(
        "same scale", mirrored, [[0, 0], [0, 0]], scales=(0.5, 0.25)
    ),
    "MIRROR_PAD reflects more than there is": rejected("REFLECT", mirrored, [[0, 0], [0, 3]]),
    "MIRROR_PAD repeats more than there is": rejected(
        "SYMMETRIC", mirrored, [[3, 0], [0, 0]], options={"mode": "SYMMETRIC"}
    ),
    "MIRROR_PAD negative": rejected("0 to", mirrored, [[0, 0], [-1, 1]]),
    "MIRROR_PAD pairs missing": rejected("2 pairs", mirrored, [[0, 0]]),
    "REVERSE_V2 axis out of range": rejected("rank 3", reversed_axes, [3]),
    "REVERSE_V2 axes apart": rejected("next to", reversed_axes, [0, 2]),
    "REVERSE_V2 axis named twice": rejected("next to", reversed_axes, [1, 1]),
    "REVERSE_V2 no axis": aborted("needs an axis", reversed_axes, []),
    "REVERSE_V2 axis that is a scalar": rejected("vector", reversed_axes, 1),
    "REVERSE_V2 of rank 9": rejected("rank 8", moved, NINE[0], NINE[0], [1]),
    "TILE negative": rejected("none negative", tiled, [-1, 1]),
    "TILE multiples missing": rejected("multiples must be 2", tiled, [2]),
    "BROADCAST_TO another size": rejected("does not broadcast", broadcast, [2, 4]),
    "BROADCAST_TO fewer axes": rejected("does not broadcast", broadcast, [3]),
    "BROADCAST_TO negative size": rejected("does not broadcast", broadcast, [-1, 2, 3]),
    "BROADCAST_TO shape of rank 2": rejected("vector", broadcast, [[2, 3]]),
    "SPACE_TO_DEPTH not divisible": rejected(
        "do not divide", moved, (1, 3, 4, 2), (1, 1, 2, 8), options=BLOCK
    ),
    "SPACE_TO_DEPTH block of 0": rejected(
        "at least 1", moved, (1, 2, 4, 2), (1,), options={"block_size": 0}
    ),
    "DEPTH_TO_SPACE not divisible": rejected(
        "no multiple", moved, (1, 1, 2, 6), (1, 2, 4, 1), options=BLOCK
    ),
    "DEPTH_TO_SPACE of rank 3": rejected("rank must be 4", moved, (1, 2, 8), (1,), options=BLOCK),
    "SPACE_TO_BATCH_ND not divisible": rejected("do not divide", to_batches, (1, 3, 2, 1)),
    "SPACE_TO_BATCH_ND zero points differ": rejected("same scale", to_batches, zero_points=(0, 1)),
    "SPACE_TO_BATCH_ND scales differ": rejected("same scale", to_batches, scales=(0.5, 0.25)),
    "SPACE_TO_BATCH_ND of rank 2": rejected("rank 3 or 4", to_batches, (1, 4)),
    "SPACE_TO_BATCH_ND of rank 5": rejected("rank 3 or 4", to_batches, (1, 2, 2, 1, 1)),
    "SPACE_TO_BATCH_ND one block": rejected("2 blocks", to_batches, block=[2]),
    "SPACE_TO_BATCH_ND block of 0": rejected("2 blocks", to_batches, block=[0, 1]),
    "BATCH_TO_SPACE_ND not divisible": rejected("do not divide", to_space, (3, 1, 1, 1)),
    "BATCH_TO_SPACE_ND zero points differ": rejected("same scale", to_space, zero_points=(0, 1)),
    "BATCH_TO_SPACE_ND scales differ": rejected("same scale", to_space, scales=(0.5, 0.25)),
    "BATCH_TO_SPACE_ND negative crop": rejected("negative", to_space, margins=[[-1, 0], [0, 0]]),
    "BATCH_TO_SPACE_ND crops beyond the end": rejected("crops", to_space, margins=[[3, 2], [0, 0]]),
    "RESIZE_BILINEAR both options": rejected(
        "not both", bilinear, [3, 3], align_corners=True, half_pixel_centers=True
    ),
    "RESIZE_BILINEAR size of 0": rejected("new size", bilinear, [0, 3]),
    "RESIZE_BILINEAR three sizes": rejected("new size", bilinear, [3, 3, 3]),
    "RESIZE_BILINEAR of rank 3": rejected("rank 4", bilinear, [3, 3], (2, 2, 1)),
    "RESIZE_NEAREST_NEIGHBOR of rank 3": rejected("rank 4", nearest, [3, 3], (2, 2, 1)),
    "RESIZE_NEAREST_NEIGHBOR three sizes": rejected("new size", nearest, [3, 3, 3]),
    "RSQRT of a negative number": rejected("code -1, below the zero", unary, HALF, fill=-1),
    "SQRT of a negative number": rejected("code -1, below", unary, HALF, fill=-1),
}
REFUSALS = by_rule(_REFUSALS)
"""Refusals by the rule that the model breaks."""

_UNDEFINED: dict[str, Row] = {
    "SUB output multiplier above 1": undefined("below 1", binary, (0.5, 0.25, 2.0**-22)),
    "MUL left shift of 32": undefined("shift", binary, (2.0**10, 2.0**10, 2.0**-12)),
    "QUANTIZE left shift of 32": undefined("shift", unary, (2.0**16, 2.0**-16)),
    "RELU6 bound outside int32": undefined("leaves int32", unary, (1e-12, 1e-12)),
    "TANH entry outside int32": undefined("leaves int32", unary, (0.5, 1e-12)),
    "SQRT result outside int32": undefined("leaves int32", unary, (0.5, 1e-12), fill=5),
    "RSQRT right shift above 31": undefined("shift", unary, (1.0, 2.0**14), fill=5),
    "TANH entry no number": undefined("leaves int32", unary, (0.5, 1e-45)),
    "BATCH_MATMUL multiplier outside float32": undefined(
        "finite", product, (2, 3), (3, 4), scales=(1e30, 1e30, 1.0)
    ),
    "FULLY_CONNECTED sum outside int32": undefined(
        "leaves int32",
        dense,
        weights=weights_of((2, 4), 2.0**30),
        bias=(np.ones(2, np.int32), 2.0**29, 0, 0),
    ),
    "FULLY_CONNECTED input no multiple": undefined("no multiple", dense, inputs=6),
    "FULLY_CONNECTED bias of int64": undefined("int64", dense, bias=biases(2, np.int64)),
    "CONV_2D output without elements": undefined(
        "does not fit", convolution, weights=weights_of((2, 3, 3, 3))
    ),
    "MAX_POOL_2D output without elements": undefined("does not fit", pool, filter_height=4),
    "MAX_POOL_2D window far beyond the input": undefined("does not fit", pool, filter_height=8),
    "AVERAGE_POOL_2D window of 0": undefined("kernel", pool, filter_width=0),
    **{
        f"{name} scale above 1": undefined("below 1", comparison, (1.5, 0.5))
        for name in COMPARISONS
    },
    "L2_NORMALIZATION row that overflows": undefined(
        r"less than 2\^31", row_of, 33_026, (0.5, 1 / 128), (-128, 0), fill=127
    ),
    "LOG_SOFTMAX of 4096 equal logits": undefined(
        "less than 4096", row_of, 4096, (0.5, 1 / 16), (0, 127), fill=7
    ),
    "LEAKY_RELU slope not a number": undefined("finite", unary, HALF, options={"alpha": np.nan}),
    "LEAKY_RELU left shift of 32": undefined("shift", unary, (2.0**16, 2.0**-16), options=LEAKY),
    "PRELU left shift of 32": undefined("shift", binary, (2.0**16, 0.5, 2.0**-16)),
    "SUM left shift of 32": undefined("shift", reduced, scales=(2.0**16, 2.0**-16)),
    "HARD_SWISH input scale beyond int32": undefined("too large", unary, (2.0**24, 2.0**20)),
    "QUANTIZE of not a number": undefined(
        "fits int32", one_operator, [(2,)], (2,), source_dtype=np.float32, fill=float("nan")
    ),
    "QUANTIZE of a float outside int32": undefined(
        "fits int32", one_operator, [(2,)], (2,), source_dtype=np.float32, fill=-1.1e9
    ),
    "TRANSPOSE dimension named twice": undefined("twice", moved, (2, 3), (2, 2), [0, 0]),
    "STRIDED_SLICE shrinks beyond the end": undefined(
        "no element", strided, [4, 0], [5, 5], [1, 1], shrink_axis_mask=1
    ),
    "STRIDED_SLICE shrinks backward": undefined(
        "backward", strided, [2, 0], [0, 5], [-1, 1], shrink_axis_mask=1
    ),
    "STRIDED_SLICE end from begin beyond the end": undefined(
        "not inside", strided, [2, 0], [3, 5], [1, 1], offset=True
    ),
    "STRIDED_SLICE end from begin before the first": undefined(
        "not inside", strided, [3, 0], [-4, 5], [-1, 1], offset=True
    ),
    "STRIDED_SLICE two ellipses": undefined(
        "one ellipsis", strided, [0, 0], [0, 0], [1, 1], ellipsis_mask=3
    ),
    **{
        f"RESIZE_BILINEAR {size} to {count} reads beyond the end": undefined(
            "beyond the input's end", resized, [count, 1], (1, size, 1, 1)
        )
        # The first counts that fail, of the reference's own table of such sizes.
        for size, count in ((1, 55), (2, 65), (3, 89), (4, 101), (8, 129), (16, 201), (64, 416))
    },
}
UNDEFINED = by_rule(_UNDEFINED)
"""Models that LiteRT runs although no number follows from their arithmetic; golden's message."""
