"""Points of reductions along axes, and of rows."""

import numpy as np

from lab.coverage.points import (
    Point,
    Sample,
    axis_place,
    codes,
    flags,
    given_axis,
    one_of,
    operand_type,
    outcome,
    rank,
    requantized,
    result_type,
    row_length,
    sides,
    traced,
    zero_points,
)
from lab.coverage.requantizations import PAIR_SHIFTS, SATURATIONS, TIES


def _reduced(s: Sample) -> set[int]:
    count = len(s.input().shape)
    return {int(axis) % count for axis in s.array(1).reshape(-1)}


def _gap(axes: set[int]) -> bool:
    return max(axes) - min(axes) >= len(axes)


def _reduction(*points: Point) -> list[Point]:
    return [*zero_points(0), *codes(), *_axes(), *points]


def _axes() -> list[Point]:
    return [
        rank(range(1, 7)),
        one_of("keep_dims", (False, True), lambda s: s.option("keep_dims")),
        flags(
            "axes",
            first=lambda s: 0 in _reduced(s),
            last=lambda s: len(s.input().shape) - 1 in _reduced(s),
            all=lambda s: len(_reduced(s)) == len(s.input().shape) > 1,
            neighbours=lambda s: len(_reduced(s)) > 1 and not _gap(_reduced(s)),
            apart=lambda s: len(_reduced(s)) > 1 and _gap(_reduced(s)),
            counted_from_the_end=lambda s: (s.array(1) < 0).any(),
            repeated=lambda s: s.array(1).size > len(_reduced(s)),
            a_scalar=lambda s: s.array(1).ndim == 0,
        ),
        flags(
            "reduced elements",
            one=lambda s: s.input().data is None and s.result().size == s.array().size,
            several=lambda s: s.result().size < s.array().size,
        ),
    ]


def _extremes(s: Sample) -> np.ndarray:
    """Return whether each element is the extreme of its row, along the reduced axis."""
    axis = given_axis(1)(s)
    extreme = np.max if s.operator.name == "ARG_MAX" else np.min
    return s.array() == extreme(s.array(), axis=axis, keepdims=True)


def _index_of_extreme() -> list[Point]:
    return [
        *codes(output=False),
        rank(range(1, 6)),
        axis_place(given_axis(1)),
        operand_type(1),
        result_type(),
        flags(
            "place",
            first=lambda s: (s.result() == 0).any(),
            last=lambda s: (s.result() == s.array().shape[given_axis(1)(s)] - 1).any(),
            of_several_alike=lambda s: (_extremes(s).sum(axis=given_axis(1)(s)) > 1).any(),
        ),
    ]


_ROWS = [*zero_points(0, output=False), *codes(), row_length(), rank((1, 2, 3, 4))]

ROWS: dict[str, list[Point]] = {
    "MEAN": _reduction(*requantized()),
    "SUM": _reduction(*requantized()),
    "REDUCE_ALL": [*_axes(), outcome()],
    "REDUCE_ANY": [*_axes(), outcome()],
    "REDUCE_MAX": _reduction(),
    "REDUCE_MIN": _reduction(),
    "ARG_MAX": _index_of_extreme(),
    "ARG_MIN": _index_of_extreme(),
    "SOFTMAX": [
        *_ROWS,
        # Ties are left to the requantizer's bench: of 23 bits or more that are dropped, one element
        # in 2^23 has exactly half.
        traced("pair shift", PAIR_SHIFTS),
        traced("saturation", SATURATIONS),
    ],
    "LOG_SOFTMAX": [*_ROWS, traced("saturation", SATURATIONS)],
    "L2_NORMALIZATION": [
        *_ROWS,
        sides(),
        traced("pair shift", PAIR_SHIFTS),
        traced("tie", TIES),
        traced("saturation", SATURATIONS),
    ],
}
"""Points by operator."""
