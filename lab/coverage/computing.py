"""Points of operators that compute: with weights, over windows, by element, along axes."""

from collections.abc import Callable

import numpy as np

from eightfold.golden.binary import broadcast
from eightfold.operators.elementwise import NUMBERS
from lab.coverage.points import (
    ACTIVATION,
    ELEMENTS,
    KEPT,
    OUTCOME,
    RESULT_TYPE,
    Point,
    Sample,
    axis_place,
    batch,
    channels,
    codes,
    constant,
    either,
    flags,
    given_axis,
    one_of,
    operand_type,
    quantized_alike,
    rank,
    requantized,
    row_length,
    sides,
    traced,
    windows,
    zero_points,
)
from lab.coverage.requantizations import PAIR_SHIFTS, SATURATIONS, SINGLE_SHIFTS, TIES


def _weights(bias: int | None) -> list[Point]:
    """Return scales, extreme codes and bias of an operator with weights."""
    points = [
        either("filter scales", "one", "per channel", lambda s: s.quantization(1).scale.size == 1),
        flags(
            "weights",
            lowest=lambda s: np.any(s.array(1) == -128),
            minus_127=lambda s: np.any(s.array(1) == -127),
            highest=lambda s: np.any(s.array(1) == 127),
        ),
    ]
    if bias is not None:
        points.append(either("bias", "absent", "present", lambda s: s.tensor(bias) is None))
    return points


def _matrix(source: int = 0) -> list[Point]:
    return [
        *zero_points(source),
        traced("saturation", SATURATIONS),
        ACTIVATION,
        channels("output channels and lanes", None, "lanes"),
        channels("input channels and width", source, "width"),
    ]


_PAIRS = [point for point in requantized() if point.name != "saturation"]

_POOL = [
    *zero_points(0),
    *codes(),
    *windows(Sample.pool_window),
    batch(),
    ACTIVATION,
    KEPT,
    channels("channels and lanes", None, "lanes"),
]

_CONVOLUTION = [*_matrix(), *_PAIRS, batch(), traced("overflow", ("bias", "left shift"))]


def _constants(s: Sample) -> str:
    return next((f"input {p}" for p in (0, 1) if s.is_constant(p)), "none")


def _ones(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether the first shape is stretched along an axis to the second's size."""
    long = max(len(shape), len(other))
    a, b = ((1,) * (long - len(each)) + each for each in (shape, other))
    return any(m == 1 < n for m, n in zip(a, b, strict=True))


def _stretch(s: Sample) -> set[str]:
    """Return how the operands are broadcast."""
    a, b = s.shape(0), s.shape(1)
    first, second = _ones(a, b), _ones(b, a)
    kinds = set()
    if a == b:
        kinds.add("none")
    if first and second:
        kinds.add("both operands")
    elif first or second:
        kinds.add("first operand" if first else "second operand")
    if len(a) != len(b):
        kinds.add("ranks differ")
    for small, large in ((a, b), (b, a)):
        if int(np.prod(small)) == 1 < int(np.prod(large)):
            kinds.add("one element")
        elif _ones(small, large) and small[-1] > 1 and int(np.prod(small)) == small[-1]:
            kinds.add("a row")
        elif small and len(small) >= 2 and small[-1] == 1 < large[-1] and max(small) > 1:
            kinds.add("a column")
    return kinds


STRETCHES = (
    *("none", "first operand", "second operand", "both operands"),
    *("ranks differ", "one element", "a row", "a column"),
)

LARGER_SECOND = ("first operand", "both operands")
"""Kinds that make the result larger than the first operand."""


def _two(ranks=range(1, 9), stretches=STRETCHES) -> list[Point]:
    """Return what operators of two tensors have."""
    return [
        *zero_points(0, 1, output=False),
        Point("broadcasting", stretches, _stretch),
        rank(ranks),
        ELEMENTS,
        constant("second operand", 1),
    ]


_LOGICAL = [
    Point("broadcasting", STRETCHES, _stretch),
    rank(range(1, 9)),
    ELEMENTS,
    flags(
        "truth",
        of_both=lambda s: np.any(np.logical_and(*broadcast(s.array(0), s.array(1)))),
        of_one=lambda s: np.any(np.logical_xor(*broadcast(s.array(0), s.array(1)))),
        of_none=lambda s: not np.all(np.logical_or(*broadcast(s.array(0), s.array(1)))),
    ),
]


def _selection(**conditions: Callable[[Sample], object]) -> list[Point]:
    return [
        *codes(1),
        ELEMENTS,
        rank(range(1, 9), 1),
        one_of("operand type", ("int8", "bool"), lambda s: s.input(1).dtype),
        flags("chosen", first=lambda s: s.array().any(), second=lambda s: not s.array().all()),
        flags(
            "operands",
            first_constant=lambda s: s.is_constant(1),
            second_constant=lambda s: s.is_constant(2),
            computed=lambda s: s.is_computed(1) and s.is_computed(2),
        ),
        flags("condition", whole=lambda s: s.shape() == s.output.shape, **conditions),
    ]


_ARITHMETIC = [*_two(), *zero_points(), *codes(), ACTIVATION]

_QUANTIZATIONS = either(
    "quantizations",
    "alike",
    "different",
    lambda s: quantized_alike(s.quantization(), s.quantization(1)),
)


def _comparison() -> list[Point]:
    def equal(s: Sample) -> np.ndarray:
        a, b = broadcast(s.array(0), s.array(1))
        return a == b

    return [
        *_two(),
        *codes(output=False),
        OUTCOME,
        flags(
            "codes alike",
            true=lambda s: np.any(equal(s) & s.result),
            false=lambda s: np.any(equal(s) & ~s.result),
        ),
        _QUANTIZATIONS,
    ]


def _extremum() -> list[Point]:
    def chosen(s: Sample, position: int) -> bool:
        a, b = broadcast(s.array(0), s.array(1))
        mine, other = (a, b) if position == 0 else (b, a)
        return bool(np.any((s.result == mine) & (mine != other)))

    return [
        *_two(),
        *codes(),
        flags(
            "chosen",
            first=lambda s: chosen(s, 0),
            second=lambda s: chosen(s, 1),
            codes_alike=lambda s: np.any(np.equal(*broadcast(s.array(0), s.array(1)))),
        ),
    ]


def _unary(*points: Point) -> list[Point]:
    return [*zero_points(0), *codes(), ELEMENTS, rank((1, 2, 3, 4)), *points]


REFERENCE = requantized("reference")
CLAMPED = traced("saturation", SATURATIONS, "reference")
"""Saturation of functions in float32, in which a tie would be an accident."""

WHOLE = tuple(name for name in NUMBERS if name != "float32")
"""Types of CAST that the accelerator has."""


def _reduced(s: Sample) -> set[int]:
    count = len(s.shape())
    return {int(axis) % count for axis in s.array(1).reshape(-1)}


def _gap(axes: set[int]) -> bool:
    return max(axes) - min(axes) >= len(axes)


def _reduction(*points: Point) -> list[Point]:
    return [*zero_points(0), *codes(), *_AXES, *points]


_AXES = [
    rank(range(1, 7)),
    one_of("keep_dims", (False, True), lambda s: s.options["keep_dims"]),
    flags(
        "axes",
        first=lambda s: 0 in _reduced(s),
        last=lambda s: len(s.shape()) - 1 in _reduced(s),
        all=lambda s: len(_reduced(s)) == len(s.shape()) > 1,
        neighbours=lambda s: len(_reduced(s)) > 1 and not _gap(_reduced(s)),
        apart=lambda s: len(_reduced(s)) > 1 and _gap(_reduced(s)),
        counted_from_the_end=lambda s: (s.array(1) < 0).any(),
        repeated=lambda s: s.array(1).size > len(_reduced(s)),
        a_scalar=lambda s: s.array(1).ndim == 0,
    ),
    flags(
        "reduced elements",
        one=lambda s: s.is_computed(0) and s.result.size == s.array().size,
        several=lambda s: s.result.size < s.array().size,
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
        RESULT_TYPE,
        flags(
            "place",
            first=lambda s: (s.result == 0).any(),
            last=lambda s: (s.result == s.array().shape[given_axis(1)(s)] - 1).any(),
            of_several_alike=lambda s: (_extremes(s).sum(axis=given_axis(1)(s)) > 1).any(),
        ),
    ]


_ROWS = [*zero_points(0, output=False), *codes(), row_length(), rank((1, 2, 3, 4))]

COMPUTING: dict[str, list[Point]] = {
    "BATCH_MATMUL": [
        *zero_points(0, 1),
        *_PAIRS,
        traced("saturation", SATURATIONS),
        rank((2, 3, 4, 5)),
        one_of("adj_x", (False, True), lambda s: s.options["adj_x"]),
        one_of("adj_y", (False, True), lambda s: s.options["adj_y"]),
        one_of("constant", ("none", "input 0", "input 1"), _constants),
        either(
            "axes before the matrices",
            "equal",
            "broadcast",
            lambda s: s.shape(0)[:-2] == s.shape(1)[:-2],
        ),
        channels("columns and lanes", None, "lanes"),
    ],
    "CONV_2D": [
        *_CONVOLUTION,
        *_weights(None),
        *windows(Sample.filter_window, dilated=True),
        either("groups", "one", "several", lambda s: s.shape(0)[3] == s.shape(1)[3]),
    ],
    "DEPTHWISE_CONV_2D": [
        *_CONVOLUTION,
        *_weights(2),
        *windows(Sample.filter_window, dilated=True),
        one_of("depth multiplier", (1, 2, 3), lambda s: s.options["depth_multiplier"]),
    ],
    "TRANSPOSE_CONV": [
        *_matrix(2),
        *_PAIRS,
        *_weights(3),
        one_of("padding kind", ("SAME", "VALID"), lambda s: s.options["padding"]),
        one_of("stride of rows", (1, 2, 3), lambda s: s.options["stride_h"]),
        one_of("stride of columns", (1, 2, 3), lambda s: s.options["stride_w"]),
        batch(2),
        flags(
            "window and stride",
            windows_overlap=lambda s: s.shape(1)[1] > s.options["stride_h"],
            windows_touch=lambda s: s.shape(1)[1] == s.options["stride_h"],
            rows_without_a_window=lambda s: s.shape(1)[1] < s.options["stride_h"],
        ),
    ],
    "FULLY_CONNECTED": [
        *_matrix(),
        *_weights(2),
        traced("single shift", SINGLE_SHIFTS),
        traced("tie", TIES),
        rank((2, 3)),
        either("rows", "one", "several", lambda s: s.result.size == s.shape(1)[0]),
        one_of("keep_num_dims", (False, True), lambda s: s.options["keep_num_dims"]),
    ],
    "AVERAGE_POOL_2D": [*_POOL, traced("tie", TIES), traced("saturation", SATURATIONS)],
    "MAX_POOL_2D": [*_POOL, traced("saturation", SATURATIONS)],
    **{name: [*_ARITHMETIC, *requantized()] for name in ("ADD", "SUB", "MUL")},
    "DIV": [*_ARITHMETIC, sides()],
    "SQUARED_DIFFERENCE": [*_two(), *zero_points(), *codes()],
    "PRELU": [
        *_two(range(1, 6), tuple(s for s in STRETCHES if s not in LARGER_SECOND)),
        *zero_points(),
        *codes(),
        *requantized(),
        sides(),
    ],
    **{
        name: _comparison()
        for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    },
    "CAST": [
        one_of("type", WHOLE, lambda s: s.input().dtype),
        one_of("type of the result", WHOLE, lambda s: s.output.dtype),
        ELEMENTS,
        rank((1, 2, 3, 4)),
    ],
    "LOGICAL_NOT": [OUTCOME, ELEMENTS, rank((1, 2, 3, 4))],
    "LOGICAL_AND": _LOGICAL,
    "LOGICAL_OR": _LOGICAL,
    "SELECT": _selection(scalar=lambda s: s.shape() == (), of_slices=lambda s: len(s.shape()) == 1),
    "SELECT_V2": _selection(stretched=lambda s: _ones(s.shape(), s.output.shape)),
    "MAXIMUM": _extremum(),
    "MINIMUM": _extremum(),
    **{
        name: _unary(sides(), *REFERENCE)
        for name in ("ABS", "QUANTIZE", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1")
    },
    "LEAKY_RELU": _unary(
        sides(),
        *REFERENCE,
        flags(
            "slope",
            zero=lambda s: s.options["alpha"] == 0,
            negative=lambda s: s.options["alpha"] < 0,
            below_one=lambda s: 0 < s.options["alpha"] < 1,
            one_or_more=lambda s: s.options["alpha"] >= 1,
        ),
    ),
    "HARD_SWISH": _unary(sides(), traced("tie", TIES, "reference"), CLAMPED),
    **{name: _unary(sides(), CLAMPED) for name in ("ELU", "EXP", "LOG")},
    "GELU": _unary(
        sides(), CLAMPED, either("formula", "erfc", "tanh", lambda s: not s.options["approximate"])
    ),
    **{name: _unary(CLAMPED) for name in ("LOGISTIC", "RSQRT", "SQRT", "TANH")},
    "NEG": _unary(),
    "MEAN": _reduction(*requantized()),
    "SUM": _reduction(*requantized()),
    "REDUCE_ALL": [*_AXES, OUTCOME],
    "REDUCE_ANY": [*_AXES, OUTCOME],
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
