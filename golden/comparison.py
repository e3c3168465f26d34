"""Comparisons, MAXIMUM and MINIMUM, the LOGICAL operators, SELECT, with broadcasting.

All equal LiteRT, and TFLite Micro wherever that has the kernel (it has no SELECT) and does not
abort. They raise as `eightfold.golden.binary.broadcast_shape` where shapes do not broadcast.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.binary import broadcast, broadcast_shape
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier_smaller_than_one,
)
from eightfold.golden.quantization import Quantization

COMPARISON_LEFT_SHIFT = 8
"""Fraction bits of the real values that are compared."""

_Bools = NDArray[np.bool_]


def compared_operand(x: Codes, quantization: Quantization) -> Integers:
    """Return the real value ``s * (x - z)`` in steps of 1/256, through the multiplier pair.

    A function of one code: a table of 256 entries. With s < 1/256 different codes can become
    equal.
    Raises `AbortedError` if the scale is 1. Raises `UndefinedError` if the scale is above 1, where
    LiteRT shifts by a negative number and TFLM aborts.
    """
    scale, zero_point = quantization.per_tensor()
    if scale > 1:
        raise UndefinedError(f"a comparison needs scales below 1, not {scale}")
    pair = quantize_multiplier_smaller_than_one(float(scale))
    difference = x.astype(np.int64) - zero_point
    return multiply_by_quantized_multiplier(difference << COMPARISON_LEFT_SHIFT, *pair)


def _comparison(
    compare: Callable[[Integers, Integers], _Bools],
    a: Codes,
    b: Codes,
    a_quantization: Quantization,
    b_quantization: Quantization,
) -> _Bools:
    x, y = broadcast(a, b)
    return compare(compared_operand(x, a_quantization), compared_operand(y, b_quantization))


def less(
    a: Codes, b: Codes, *, a_quantization: Quantization, b_quantization: Quantization
) -> _Bools:
    """Return whether ``a < b``, both as `compared_operand`; bool, the common shape."""
    return _comparison(np.less, a, b, a_quantization, b_quantization)


def less_equal(
    a: Codes, b: Codes, *, a_quantization: Quantization, b_quantization: Quantization
) -> _Bools:
    """Return whether ``a <= b``; see `less`."""
    return _comparison(np.less_equal, a, b, a_quantization, b_quantization)


def greater(
    a: Codes, b: Codes, *, a_quantization: Quantization, b_quantization: Quantization
) -> _Bools:
    """Return whether ``a > b``; see `less`."""
    return _comparison(np.greater, a, b, a_quantization, b_quantization)


def greater_equal(
    a: Codes, b: Codes, *, a_quantization: Quantization, b_quantization: Quantization
) -> _Bools:
    """Return whether ``a >= b``; see `less`."""
    return _comparison(np.greater_equal, a, b, a_quantization, b_quantization)


def equal(
    a: Codes, b: Codes, *, a_quantization: Quantization, b_quantization: Quantization
) -> _Bools:
    """Return whether ``a = b``; see `less`."""
    return _comparison(np.equal, a, b, a_quantization, b_quantization)


def not_equal(
    a: Codes, b: Codes, *, a_quantization: Quantization, b_quantization: Quantization
) -> _Bools:
    """Return whether ``a != b``; see `less`."""
    return _comparison(np.not_equal, a, b, a_quantization, b_quantization)


def maximum(a: Codes, b: Codes) -> Codes:
    """Return the larger raw code of each pair; scales and zero points have no effect."""
    return np.maximum(*broadcast(a, b))


def minimum(a: Codes, b: Codes) -> Codes:
    """Return the smaller raw code of each pair; scales and zero points have no effect."""
    return np.minimum(*broadcast(a, b))


def logical_and(a: _Bools, b: _Bools) -> _Bools:
    """Return whether both are true."""
    return np.logical_and(*broadcast(a, b))


def logical_or(a: _Bools, b: _Bools) -> _Bools:
    """Return whether one of two is true."""
    return np.logical_or(*broadcast(a, b))


def logical_not(x: _Bools) -> _Bools:
    """Return whether it is false."""
    return np.logical_not(x)


def select(condition: _Bools, a: NDArray, b: NDArray) -> NDArray:
    """Return SELECT_V2: the element of ``a`` where the condition is true, else that of ``b``.

    All three broadcast. Raw codes are copied, whatever the scales.
    """
    shape = broadcast_shape(broadcast_shape(condition.shape, a.shape), b.shape)
    return np.broadcast_to(np.where(condition, a, b), shape)


def sliced_condition(condition: Shape, a: Shape, b: Shape) -> Shape:
    """Return the shape in which SELECT's condition broadcasts to that of ``a``; raises as it."""
    if a != b:
        raise RejectedError(f"SELECT needs operands of one shape, not {a} and {b}")
    if condition not in (a, (), a[:1]):
        raise RejectedError(f"a condition of shape {condition} for operands of {a}")
    return condition if condition == a else condition + (1,) * (len(a) - len(condition))


def select_slices(condition: _Bools, a: NDArray, b: NDArray) -> NDArray:
    """Return SELECT: `select` of slices along axis 0, if the condition has one value for each.

    Raises `RejectedError` if the operands' shapes differ; or if the condition is not of this shape,
    not a scalar, and not a vector with the length of their axis 0.
    """
    return select(condition.reshape(sliced_condition(condition.shape, a.shape, b.shape)), a, b)
