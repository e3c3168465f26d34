"""Points of operators that copy, pick, join, take apart or resize."""

from collections.abc import Callable

import numpy as np

from lab.coverage import points
from lab.coverage.points import Point, Sample, either, flags, one_of


def _amounts() -> Point:
    """Return before and behind which axes something is added."""
    names = ("before", "behind")

    def observe(s: Sample) -> set[str]:
        amounts = s.array(1)
        seen = {name for side, name in enumerate(names) if (amounts[:, side] > 0).any()}
        seen |= {"both sides"} if (amounts > 0).all(axis=1).any() else set()
        seen |= {"none"} if not amounts.any() else set()
        return seen | ({"last axis"} if amounts[-1].any() else set())

    return Point("amounts", (*names, "both sides", "none", "last axis"), observe)


_PADDING = [*points.copied(range(1, 6)), *points.zero_points(), _amounts(), points.operand_type(1)]

_BLOCKS = [
    *points.copied((4,)),
    points.batch(),
    one_of("block", (1, 2, 3), lambda s: s.options["block_size"]),
]


def _batches(*more: Point) -> list[Point]:
    names = ("before", "behind")

    def sides(s: Sample) -> set[str]:
        amounts = s.array(2)
        seen = {
            f"{names[side]} {axis}"
            for index, axis in enumerate(("rows", "columns")[: len(amounts)])
            for side in (0, 1)
            if amounts[index, side] > 0
        }
        return seen if amounts.any() else {"none"}

    bins = (*(f"{name} {axis}" for name in names for axis in ("rows", "columns")), "none")
    return [
        *points.copied((3, 4), kept=False),
        *points.zero_points(0),
        one_of("block of rows", (1, 2, 3), lambda s: s.array(1)[0]),
        Point(
            "block of columns", ("1", "2", "3"), lambda s: (str(b) for b in s.array(1)[1:].tolist())
        ),
        Point("amounts", bins, sides),
        *more,
    ]


def _resize() -> list[Point]:
    def sizes(s: Sample, axis: int) -> tuple[int, int]:
        return s.shape()[axis], s.output.shape[axis]

    def any_axis(condition: Callable[[int, int], bool]) -> Callable[[Sample], bool]:
        return lambda s: condition(*sizes(s, 1)) or condition(*sizes(s, 2))

    return [
        *points.copied((4,)),
        points.batch(),
        flags(
            "sampling",
            corners=lambda s: s.options["align_corners"] and not s.options["half_pixel_centers"],
            centers=lambda s: s.options["half_pixel_centers"] and not s.options["align_corners"],
            plain=lambda s: not s.options["align_corners"] and not s.options["half_pixel_centers"],
        ),
        flags(
            "sizes",
            larger=any_axis(lambda a, b: b > a),
            smaller=any_axis(lambda a, b: b < a),
            the_same=any_axis(lambda a, b: b == a),
            whole_multiple=any_axis(lambda a, b: b > a and b % a == 0),
            no_multiple=any_axis(lambda a, b: b > a and b % a != 0),
            from_one=any_axis(lambda a, b: a == 1 < b),
            to_one=any_axis(lambda a, b: b == 1 < a),
        ),
    ]


_INDEX_TYPE = one_of("index type", ("int16", "int32", "int64"), lambda s: s.array(1).dtype)


def _order(s: Sample) -> list[int]:
    count = len(s.shape())
    return [int(axis) % count for axis in s.array(1)]


def _count(name: str, value: Callable[[Sample], int]) -> Point:
    return one_of(name, ("1", "2", "3", "4"), value)


def _strides(s: Sample) -> np.ndarray:
    """Return the strides of entries that are neither new axes nor ellipses nor shrunk."""
    skipped = (
        s.options["new_axis_mask"] | s.options["ellipsis_mask"] | s.options["shrink_axis_mask"]
    )
    strides = s.array(3)
    return np.array([n for i, n in enumerate(strides.tolist()) if not skipped >> i & 1], np.int64)


MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")

STRIDED = [
    *points.copied(range(1, 6)),
    flags(
        "strides",
        one=lambda s: (_strides(s) == 1).any(),
        two_or_more=lambda s: (_strides(s) > 1).any(),
        minus_one=lambda s: (_strides(s) == -1).any(),
        minus_two_or_less=lambda s: (_strides(s) < -1).any(),
    ),
    flags(
        "masks",
        **{name: lambda s, name=name: s.options[f"{name}_mask"] for name in MASKS},
        offset=lambda s: s.options["offset"],
        none=lambda s: not any(s.options[f"{name}_mask"] for name in MASKS),
    ),
    flags(
        "begin",
        zero=lambda s: (s.array(1) == 0).any(),
        inside=lambda s: (s.array(1) > 0).any(),
        counted_from_the_end=lambda s: (s.array(1) < 0).any(),
    ),
]


def _indices() -> list[Point]:
    def size(s: Sample) -> int:
        return s.shape()[s.options["axis"]]

    def own_rank(s: Sample) -> int:
        batches = s.options["batch_dims"]
        rank = s.array(1).ndim
        return rank - (batches % rank if rank and batches < 0 else batches)

    return [
        *points.copied(range(1, 5)),
        points.axis_place(lambda s: s.options["axis"]),
        _INDEX_TYPE,
        flags(
            "indices",
            constant=lambda s: s.is_constant(1),
            computed=lambda s: s.is_computed(1),
            first=lambda s: (s.array(1) == 0).any(),
            last=lambda s: (s.array(1) == size(s) - 1).any(),
            repeated=lambda s: (
                s.array(1).ndim == 1 and np.unique(s.array(1)).size < s.array(1).size
            ),
        ),
        one_of("rank of the indices", (0, 1, 2), own_rank),
        flags(
            "batch dimensions",
            none=lambda s: s.options["batch_dims"] == 0,
            some=lambda s: s.options["batch_dims"] > 0,
            counted_from_the_end=lambda s: s.options["batch_dims"] < 0,
        ),
    ]


def _coordinates(
    position: int, axes: tuple[int, ...], source: Callable[[Sample], tuple[int, ...]]
) -> list[Point]:
    """Return points of indices of coordinates; ``source`` has what they name elements of."""

    def count(s: Sample) -> int:
        return s.shape(position)[-1]

    return [
        one_of("axes of the indices", axes, lambda s: len(s.shape(position))),
        flags(
            "coordinates",
            one=lambda s: count(s) == 1,
            some=lambda s: 1 < count(s) < len(source(s)),
            all=lambda s: count(s) == len(source(s)),
        ),
        flags(
            "indices",
            constant=lambda s: s.is_constant(position),
            first=lambda s: (s.array(position) == 0).any(),
            last=lambda s: (s.array(position) + 1 == source(s)[: count(s)]).any(),
        ),
    ]


COPYING: dict[str, list[Point]] = {
    "PAD": _PADDING,
    "PADV2": [*_PADDING, points.constant("value", 2)],
    "ASSIGN_VARIABLE": points.copied(range(6), kept=False),  # a variable has no scale of its own
    "READ_VARIABLE": points.copied(range(6)),
    "BROADCAST_TO": [
        *points.copied(range(6)),
        points.operand_type(1),
        flags(
            "axes",
            new=lambda s: len(s.output.shape) > len(s.shape()),
            repeated=lambda s: any(
                a == 1 < b for a, b in zip(s.shape()[::-1], s.output.shape[::-1], strict=False)
            ),
            the_same=lambda s: s.output.shape == s.shape(),
        ),
    ],
    "MIRROR_PAD": [
        *points.copied(range(1, 6), kept=False),
        _amounts(),
        points.operand_type(1),
        one_of("mode", ("REFLECT", "SYMMETRIC"), lambda s: s.options["mode"]),
    ],
    "REVERSE_V2": [
        *points.copied(range(1, 6)),
        points.axis_place(points.given_axis(1)),
        flags(
            "axes",
            one=lambda s: s.array(1).size == 1,
            several=lambda s: s.array(1).size > 1,
            all=lambda s: s.array(1).size == s.array().ndim,
        ),
    ],
    "TILE": [
        *points.copied(range(1, 6)),
        points.operand_type(1),
        flags(
            "multiples",
            none=lambda s: (s.array(1) == 1).all(),
            first_axis=lambda s: s.array(1)[0] > 1,
            last_axis=lambda s: s.array(1)[-1] > 1,
            several=lambda s: (s.array(1) > 1).sum() > 1,
        ),
    ],
    "RESHAPE": [
        *points.copied(range(1, 6), kept=False),
        one_of("rank of the result", (2, 3), lambda s: len(s.output.shape)),
        either("shape", "operand", "option", lambda s: s.tensor(1) is not None),
    ],
    "SQUEEZE": [
        *points.copied(range(1, 9)),
        flags(
            "dimensions",
            named=lambda s: len(s.options["squeeze_dims"]),
            all=lambda s: not len(s.options["squeeze_dims"]),
            counted_from_the_end=lambda s: min(s.options["squeeze_dims"], default=0) < 0,
        ),
        flags(
            "result",
            scalar=lambda s: not s.output.shape,
            as_before=lambda s: s.output.shape == s.shape(),
            smaller=lambda s: 0 < len(s.output.shape) < len(s.shape()),
        ),
    ],
    "EXPAND_DIMS": [
        *points.copied(range(1, 6), kept=False),
        points.axis_place(points.given_axis(1), 1),
        points.operand_type(1),
    ],
    "TRANSPOSE": [
        *points.copied(range(1, 9)),
        flags(
            "order",
            identity=lambda s: _order(s) == sorted(_order(s)),
            last_axis_stays=lambda s: _order(s)[-1] == len(_order(s)) - 1 and _order(s)[0] != 0,
            last_axis_moves=lambda s: _order(s)[-1] != len(_order(s)) - 1,
            reversed=lambda s: _order(s) == sorted(_order(s), reverse=True) and len(_order(s)) > 1,
            counted_from_the_end=lambda s: (s.array(1) < 0).any(),
        ),
    ],
    "SHAPE": [points.rank(range(1, 9)), points.RESULT_TYPE],
    "CONCATENATION": [
        *points.copied(range(1, 7), kept=False),
        points.axis_place(lambda s: s.options["axis"]),
        _count("parts", lambda s: len(s.inputs)),
        flags(
            "parts kind",
            constant=lambda s: any(map(s.is_constant, range(len(s.inputs)))),
            computed=lambda s: s.is_computed(0),
        ),
    ],
    "PACK": [
        *points.copied(range(5), kept=False),
        points.axis_place(lambda s: s.options["axis"], 1),
        _count("parts", lambda s: len(s.inputs)),
    ],
    "UNPACK": [
        *points.copied(range(1, 5), kept=False),
        points.axis_place(lambda s: s.options["axis"]),
        _count("parts", lambda s: min(4, len(s.outputs))),
    ],
    "SPLIT": [
        *points.copied(range(1, 6), 1, kept=False),
        points.axis_place(points.given_axis(0), 0, 1),
        _count("parts", lambda s: len(s.outputs)),
    ],
    "SPLIT_V": [
        *points.copied(range(1, 6), kept=False),
        points.axis_place(points.given_axis(2)),
        _count("parts", lambda s: len(s.outputs)),
        points.operand_type(1),
        flags(
            "sizes",
            all_given=lambda s: (s.array(1) >= 0).all(),
            one_is_the_rest=lambda s: (s.array(1) == -1).any(),
            unequal=lambda s: len({each.shape for each in s.results}) > 1,
        ),
    ],
    "SPACE_TO_DEPTH": _BLOCKS,
    "DEPTH_TO_SPACE": _BLOCKS,
    "SPACE_TO_BATCH_ND": _batches(either("cut", "yes", "no", lambda s: (s.array(2) < 0).any())),
    "BATCH_TO_SPACE_ND": _batches(),
    "RESIZE_BILINEAR": [*_resize(), *points.zero_points(0, output=False)],
    "RESIZE_NEAREST_NEIGHBOR": _resize(),
    "DYNAMIC_UPDATE_SLICE": [
        *points.copied(range(1, 6)),
        points.operand_type(2),
        flags(
            "start",
            clamped_to_0=lambda s: (s.array(2) < 0).any(),
            inside=lambda s: (s.array(2) > 0).any(),
            clamped_to_the_end=lambda s: (s.array(2) + s.array(1).shape > s.array().shape).any(),
        ),
        flags("update", whole_tensor=lambda s: s.array(1).size == s.array().size),
    ],
    "GATHER_ND": [
        *points.copied(range(1, 6)),
        _INDEX_TYPE,
        *_coordinates(1, (1, 2, 3), lambda s: s.shape()),
        flags("computed indices", one_coordinate=lambda s: s.is_computed(1)),
    ],
    "SCATTER_ND": [
        *points.copied(range(1, 6), 1, kept=False),
        *_coordinates(0, (2, 3), lambda s: s.output.shape),
        either("zeros", "none", "some", lambda s: s.result.size == s.array(1).size),
    ],
    "SLICE": [
        *points.copied(range(1, 8)),
        points.operand_type(1),
        flags(
            "begin", zero=lambda s: (s.array(1) == 0).any(), inside=lambda s: (s.array(1) > 0).any()
        ),
        flags(
            "size",
            to_the_end=lambda s: (s.array(2) == -1).any(),
            one=lambda s: (s.array(2) == 1).any(),
            several=lambda s: (s.array(2) > 1).any(),
            whole_tensor=lambda s: s.result.size == s.array().size,
        ),
    ],
    "STRIDED_SLICE": STRIDED,
    "GATHER": _indices(),
}
"""Points by operator."""
