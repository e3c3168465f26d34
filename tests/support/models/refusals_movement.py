"""Refusals of operators that copy codes; see `tests.support.models.refusals`."""

from functools import partial

import numpy as np

from eightfold.run.reference.oracle import OracleRejected
from tests.support.models.refusals import Refusal
from tests.support.models.single import NINE, moved, one_operator

BLOCK = {"block_size": 2}
NO_PADS = [[0, 0], [0, 0]]


def rejected(message: str, make, *arguments, **more) -> Refusal:
    return Refusal(partial(make, *arguments, **more), OracleRejected, message)


def joined(shapes=((2, 2), (2, 2)), scales=(0.5,) * 3, zero_points=(0,) * 3, **options) -> bytes:
    return one_operator(
        "CONCATENATION",
        list(shapes),
        (4, 2),
        scales=scales,
        zero_points=zero_points,
        options={"axis": 0} | options,
    )


def packed(shapes=((2,), (2,)), scales=(0.5,) * 3, zero_points=(0,) * 3, **options) -> bytes:
    return one_operator(
        "PACK",
        list(shapes),
        (2, 2),
        scales=scales,
        zero_points=zero_points,
        options={"axis": 0, "values_count": 2} | options,
    )


def split(axis: int = 1, shape=(2, 4), **options) -> bytes:
    return moved(
        "SPLIT", shape, (2, 2), axis, order=(1, 0), outputs=2, options={"num_splits": 2} | options
    )


def unpacked(scales=(0.5, 0.5), zero_points=(0, 0), **options) -> bytes:
    return moved(
        "UNPACK",
        (2, 3),
        (3,),
        scales=scales,
        zero_points=zero_points,
        outputs=2,
        options={"num": 2, "axis": 0} | options,
    )


def filled(value: tuple, paddings=NO_PADS, shape=(2, 2), **more) -> bytes:
    return moved("PADV2", shape, shape, paddings, value, **more)


SEVEN = (np.int8(7), 0.5, 0, 0)


def gathered(indices: list | int, **options) -> bytes:
    return moved("GATHER", (2, 3), (1, 3), indices, options=options)


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


REFUSALS: dict[str, Refusal] = {
    "CONCATENATION fused RELU": rejected("fuse", joined, fused_activation_function="RELU"),
    "CONCATENATION axis out of range": rejected("axis 2", joined, axis=2),
    "CONCATENATION input scales differ": rejected("same scale", joined, scales=(0.5, 0.25, 0.5)),
    "CONCATENATION input zero points differ": rejected("same scale", joined, zero_points=(0, 3, 0)),
    "CONCATENATION output scale differs": rejected("same scale", joined, scales=(0.5, 0.5, 0.25)),
    "CONCATENATION ranks differ": rejected("do not join", joined, ((2, 2), (4,))),
    "CONCATENATION sizes differ": rejected("do not join", joined, ((2, 2), (2, 3))),
    "CONCATENATION of scalars": rejected("axis 0", joined, ((), ())),
    "PACK scales differ": rejected("same scale", packed, scales=(0.5, 0.25, 0.5)),
    "PACK output zero point differs": rejected("same scale", packed, zero_points=(0, 0, 1)),
    "PACK axis out of range": rejected("axis 2", packed, axis=2),
    "PACK negative axis out of range": rejected("axis -3", packed, axis=-3),
    "PACK shapes differ": rejected("differ", packed, ((2,), (3,))),
    "SPLIT not even": rejected("equal parts", split, shape=(2, 3)),
    "SPLIT axis out of range": rejected("axis 2", split, 2),
    "UNPACK scales differ": rejected("same scale", unpacked, scales=(0.5, 0.25)),
    "UNPACK zero points differ": rejected("same scale", unpacked, zero_points=(0, 1)),
    "UNPACK axis out of range": rejected("axis 2", unpacked, axis=2),
    "UNPACK another number": rejected("3 slices", unpacked, axis=1),
    "PADV2 scale of the value": rejected("same scale", filled, (np.int8(7), 0.25, 0, 0)),
    "PADV2 zero point of the value": rejected("same scale", filled, (np.int8(7), 0.5, 1, 0)),
    "PADV2 two values": rejected("one element", filled, (np.array([7, 8], np.int8), 0.5, 0, 0)),
    "PADV2 of rank 6": rejected("rank 5", filled, SEVEN, [[0, 0]] * 6, (1,) * 6),
    "PADV2 negative": rejected("negative", filled, SEVEN, [[0, -1], [0, 0]]),
    "SQUEEZE size not 1": rejected(
        "not all 1", moved, "SQUEEZE", (1, 2), (2,), options={"squeeze_dims": [1]}
    ),
    "SQUEEZE dimension out of range": rejected(
        "not all 1", moved, "SQUEEZE", (1, 2), (2,), options={"squeeze_dims": [2]}
    ),
    "SQUEEZE of rank 9": rejected("rank 8", moved, "SQUEEZE", NINE[0], (2,)),
    "EXPAND_DIMS axis out of range": rejected("axis 3", moved, "EXPAND_DIMS", (2, 3), (6,), 3),
    "EXPAND_DIMS negative axis out of range": rejected(
        "axis -4", moved, "EXPAND_DIMS", (2, 3), (6,), -4
    ),
    "EXPAND_DIMS two axes": rejected("one integer", moved, "EXPAND_DIMS", (2, 3), (6,), [0, 1]),
    "EXPAND_DIMS zero points differ": rejected(
        "same scale", moved, "EXPAND_DIMS", (2, 3), (1, 2, 3), 0, zero_points=(0, 4)
    ),
    "TRANSPOSE of rank 9": rejected("rank 8", moved, "TRANSPOSE", NINE[0], NINE[0], list(range(9))),
    "TRANSPOSE entry out of range": rejected(
        "does not permute", moved, "TRANSPOSE", (2, 3), (3, 2), [2, 0]
    ),
    "TRANSPOSE entry missing": rejected(
        "does not permute", moved, "TRANSPOSE", (2, 3), (3, 2), [0]
    ),
    "SLICE begin negative": rejected("do not fit", moved, "SLICE", (4,), (1,), [-1], [1]),
    "SLICE begin beyond the end": rejected("do not fit", moved, "SLICE", (4,), (1,), [5], [-1]),
    "SLICE size of -2": rejected("do not fit", moved, "SLICE", (4,), (1,), [0], [-2]),
    "SLICE beyond the end": rejected("do not fit", moved, "SLICE", (4,), (3,), [2], [3]),
    "SLICE numbers missing": rejected("needs 2", moved, "SLICE", (2, 4), (1, 4), [1], [1]),
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
    "GATHER of a scalar": rejected("axis 0", moved, "GATHER", (), (1,), [0]),
    "SPACE_TO_DEPTH not divisible": rejected(
        "do not divide", moved, "SPACE_TO_DEPTH", (1, 3, 4, 2), (1, 1, 2, 8), options=BLOCK
    ),
    "SPACE_TO_DEPTH block of 0": rejected(
        "at least 1", moved, "SPACE_TO_DEPTH", (1, 2, 4, 2), (1,), options={"block_size": 0}
    ),
    "DEPTH_TO_SPACE not divisible": rejected(
        "no multiple", moved, "DEPTH_TO_SPACE", (1, 1, 2, 6), (1, 2, 4, 1), options=BLOCK
    ),
    "DEPTH_TO_SPACE of rank 3": rejected(
        "rank must be 4", moved, "DEPTH_TO_SPACE", (1, 2, 8), (1,), options=BLOCK
    ),
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
}
"""Refusals by the rule that the model breaks."""

UNDEFINED: dict[str, tuple] = {
    "TRANSPOSE dimension named twice": (
        partial(moved, "TRANSPOSE", (2, 3), (2, 2), [0, 0]),
        "twice",
    ),
    "STRIDED_SLICE shrinks beyond the end": (
        partial(strided, [4, 0], [5, 5], [1, 1], shrink_axis_mask=1),
        "no element",
    ),
    "STRIDED_SLICE shrinks backward": (
        partial(strided, [2, 0], [0, 5], [-1, 1], shrink_axis_mask=1),
        "backward",
    ),
    "STRIDED_SLICE end from begin beyond the end": (
        partial(strided, [2, 0], [3, 5], [1, 1], offset=True),
        "not inside",
    ),
    "STRIDED_SLICE end from begin before the first": (
        partial(strided, [3, 0], [-4, 5], [-1, 1], offset=True),
        "not inside",
    ),
    "STRIDED_SLICE two ellipses": (
        partial(strided, [0, 0], [0, 0], [1, 1], ellipsis_mask=3),
        "one ellipsis",
    ),
    **{
        f"RESIZE_BILINEAR {size} to {count} reads beyond the end": (
            partial(resized, "RESIZE_BILINEAR", [count, 1], (1, size, 1, 1)),
            "beyond the input's end",
        )
        # The first counts that fail, of the reference's own table of such sizes.
        for size, count in ((1, 55), (2, 65), (3, 89), (4, 101), (8, 129), (16, 201), (64, 416))
    },
}
"""Models that LiteRT runs although no number follows from their arithmetic; golden's message."""
