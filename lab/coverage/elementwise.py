"""Points of functions of one element and of two."""

from collections.abc import Callable

import numpy as np

from eightfold.golden.binary import broadcast
from eightfold.operators.elementwise import NUMBERS
from lab.coverage.points import (
    Point,
    Sample,
    activation,
    codes,
    constant,
    either,
    elements,
    flags,
    one_of,
    outcome,
    quantized_alike,
    rank,
    requantized,
    sides,
    traced,
    zero_points,
)
from lab.coverage.requantizations import PAIR_SHIFTS, SATURATIONS, TIES


def _ones(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether the first shape is stretched along an axis to the second's size."""
    long = max(len(shape), len(other))
    a, b = ((1,) * (long - len(each)) + each for each in (shape, other))
    return any(m == 1 < n for m, n in zip(a, b, strict=True))


def _stretch(s: Sample) -> set[str]:
    """Return how the operands are broadcast."""
    a, b = s.input(0).shape, s.input(1).shape
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
        elements(),
        constant("second operand", 1),
    ]


def _logical() -> list[Point]:
    return [
        Point("broadcasting", STRETCHES, _stretch),
        rank(range(1, 9)),
        elements(),
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
        elements(),
        rank(range(1, 9), 1),
        one_of("operand type", ("int8", "bool"), lambda s: s.input(1).dtype),
        flags("chosen", first=lambda s: s.array().any(), second=lambda s: not s.array().all()),
        flags(
            "operands",
            first_constant=lambda s: s.input(1).data is not None,
            second_constant=lambda s: s.input(2).data is not None,
            computed=lambda s: s.input(1).data is None and s.input(2).data is None,
        ),
        flags("condition", whole=lambda s: s.input().shape == s.output().shape, **conditions),
    ]


def _arithmetic(shifts) -> list[Point]:
    return [*_two(), *zero_points(), *codes(), activation(), *requantized(shifts=shifts)]


def _quantizations() -> Point:
    names = ("quantizations", "alike", "different")
    return either(*names, lambda s: quantized_alike(s.input(0), s.input(1)))


def _comparison() -> list[Point]:
    def equal(s: Sample) -> np.ndarray:
        a, b = broadcast(s.array(0), s.array(1))
        return a == b

    return [
        *_two(),
        *codes(output=False),
        outcome(),
        flags(
            "codes alike",
            true=lambda s: np.any(equal(s) & s.result()),
            false=lambda s: np.any(equal(s) & ~s.result()),
        ),
        _quantizations(),
    ]


def _extremum() -> list[Point]:
    def chosen(s: Sample, position: int) -> bool:
        a, b = broadcast(s.array(0), s.array(1))
        mine, other = (a, b) if position == 0 else (b, a)
        return bool(np.any((s.result() == mine) & (mine != other)))

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
    return [*zero_points(0), *codes(), elements(), rank((1, 2, 3, 4)), *points]


REFERENCE = requantized("reference")
CLAMPED = traced("saturation", SATURATIONS, "reference")
"""Saturation of functions in float32, in which a tie would be an accident."""

WHOLE = tuple(name for name in NUMBERS if name != "float32")
"""Types of CAST that the accelerator has."""

ELEMENTWISE: dict[str, list[Point]] = {
    "ADD": _arithmetic(PAIR_SHIFTS),
    "SUB": _arithmetic(PAIR_SHIFTS),
    "MUL": _arithmetic(PAIR_SHIFTS),
    "DIV": [*_two(), *zero_points(), *codes(), activation(), sides()],
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
        one_of("type of the result", WHOLE, lambda s: s.output().dtype),
        elements(),
        rank((1, 2, 3, 4)),
    ],
    "LOGICAL_NOT": [
        outcome(),
        elements(),
        rank((1, 2, 3, 4)),
    ],
    "LOGICAL_AND": _logical(),
    "LOGICAL_OR": _logical(),
    "SELECT": _selection(
        scalar=lambda s: s.input().shape == (), of_slices=lambda s: len(s.input().shape) == 1
    ),
    "SELECT_V2": _selection(stretched=lambda s: _ones(s.input().shape, s.output().shape)),
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
            zero=lambda s: s.option("alpha") == 0,
            negative=lambda s: s.option("alpha") < 0,
            below_one=lambda s: 0 < s.option("alpha") < 1,
            one_or_more=lambda s: s.option("alpha") >= 1,
        ),
    ),
    "HARD_SWISH": _unary(sides(), traced("tie", TIES, "reference"), CLAMPED),
    **{name: _unary(sides(), CLAMPED) for name in ("ELU", "EXP", "LOG")},
    "GELU": _unary(
        sides(),
        CLAMPED,
        either("formula", "erfc", "tanh", lambda s: not s.option("approximate")),
    ),
    **{name: _unary(CLAMPED) for name in ("LOGISTIC", "RSQRT", "SQRT", "TANH")},
    "NEG": _unary(),
}
"""Points by operator."""
