"""Points of operators that pick elements."""

import numpy as np

from lab.coverage.points.common import (
    Point,
    Sample,
    axis_place,
    copied,
    flags,
    one_of,
    operand_type,
)


def _masks(s: Sample, name: str) -> bool:
    return bool(s.option(name))


def _strides(s: Sample) -> np.ndarray:
    """Return the strides of entries that are neither new axes nor ellipses nor shrunk."""
    skipped = s.option("new_axis_mask") | s.option("ellipsis_mask") | s.option("shrink_axis_mask")
    strides = s.array(3)
    return np.array([n for i, n in enumerate(strides.tolist()) if not skipped >> i & 1], np.int64)


STRIDED = [
    *copied(range(1, 6)),
    flags(
        "strides",
        one=lambda s: (_strides(s) == 1).any(),
        two_or_more=lambda s: (_strides(s) > 1).any(),
        minus_one=lambda s: (_strides(s) == -1).any(),
        minus_two_or_less=lambda s: (_strides(s) < -1).any(),
    ),
    flags(
        "masks",
        begin=lambda s: _masks(s, "begin_mask"),
        end=lambda s: _masks(s, "end_mask"),
        ellipsis=lambda s: _masks(s, "ellipsis_mask"),
        new_axis=lambda s: _masks(s, "new_axis_mask"),
        shrink_axis=lambda s: _masks(s, "shrink_axis_mask"),
        offset=lambda s: _masks(s, "offset"),
        none=lambda s: (
            not any(
                _masks(s, f"{name}_mask")
                for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
            )
        ),
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
        return s.input().shape[s.option("axis")]

    def own_rank(s: Sample) -> int:
        batches = s.option("batch_dims")
        rank = s.array(1).ndim
        return rank - (batches % rank if rank and batches < 0 else batches)

    return [
        *copied(range(1, 5)),
        axis_place(lambda s: s.option("axis")),
        one_of("index type", ("int16", "int32", "int64"), lambda s: s.array(1).dtype),
        flags(
            "indices",
            constant=lambda s: s.input(1).data is not None,
            computed=lambda s: s.input(1).data is None,
            first=lambda s: (s.array(1) == 0).any(),
            last=lambda s: (s.array(1) == size(s) - 1).any(),
            repeated=lambda s: (
                s.array(1).ndim == 1 and np.unique(s.array(1)).size < s.array(1).size
            ),
        ),
        one_of("rank of the indices", (0, 1, 2), own_rank),
        flags(
            "batch dimensions",
            none=lambda s: s.option("batch_dims") == 0,
            some=lambda s: s.option("batch_dims") > 0,
            counted_from_the_end=lambda s: s.option("batch_dims") < 0,
        ),
    ]


INDEXING: dict[str, list[Point]] = {
    "SLICE": [
        *copied(range(1, 8)),
        operand_type(1),
        flags(
            "begin",
            zero=lambda s: (s.array(1) == 0).any(),
            inside=lambda s: (s.array(1) > 0).any(),
        ),
        flags(
            "size",
            to_the_end=lambda s: (s.array(2) == -1).any(),
            one=lambda s: (s.array(2) == 1).any(),
            several=lambda s: (s.array(2) > 1).any(),
            whole_tensor=lambda s: s.result().size == s.array().size,
        ),
    ],
    "STRIDED_SLICE": STRIDED,
    "GATHER": _indices(),
}
"""Points by operator."""
