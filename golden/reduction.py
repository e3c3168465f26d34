"""MEAN, SUM, and the extremes: REDUCE_MAX, REDUCE_MIN, ARG_MAX, ARG_MIN, REDUCE_ALL, REDUCE_ANY.

Axes are integers, which may be negative, and count from the end, and may be repeated. All raise
`RejectedError` if one is out of range.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.errors import RejectedError, UndefinedError, shortened
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    wrap32,
)
from eightfold.golden.quantization import Quantization, check_same, clamp


def mean_multiplier(count: int, inputs: Quantization, output: Quantization) -> tuple[int, int]:
    """Return ``(m, shift)`` of ``s_in / s_out / count``: the quotient folded into the multiplier.

    ``quantize_multiplier(s_in / s_out)`` in float64, then ``m * 2^k / count`` truncated in 64
    bits and ``shift - k``, with ``k = min(floor(log2(count)), 32, 31 + shift)``. m is not
    normalized again.
    """
    multiplier, shift = sum_multiplier(inputs, output)
    k = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << k) // count, shift - k


def sum_multiplier(inputs: Quantization, output: Quantization) -> tuple[int, int]:
    """Return ``(m, shift)`` of ``s_in / s_out`` in float64."""
    real = float(inputs.per_tensor()[0]) / float(output.per_tensor()[0])
    multiplier, shift = quantize_multiplier(real)
    return int(multiplier), int(shift)


def reduced_axes(axes: ArrayLike, rank: int) -> tuple[int, ...]:
    """Return the axes, ascending and each once; negative ones count from the end.

    The kernels read ``axes`` of any rank. Raises `RejectedError` if one is out of range.
    """
    wanted = np.asarray(axes, dtype=np.int64).ravel().tolist()
    if any(not -rank <= axis < rank for axis in wanted):
        raise RejectedError(f"axes {shortened(wanted)} of rank {rank}")
    return tuple(sorted({axis % rank for axis in wanted}))


def reduced_shape(shape: Shape, axes: ArrayLike, keep_dims: bool = False) -> Shape:
    """Return the shape of a reduction's result; raises as `reduced_axes`."""
    reduced = reduced_axes(axes, len(shape))
    sizes = ((size, axis in reduced) for axis, size in enumerate(shape))
    return tuple(1 if gone else size for size, gone in sizes if keep_dims or not gone)


def mean(
    x: Codes,
    axes: ArrayLike,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    keep_dims: bool = False,
) -> Codes:
    """Return MEAN over ``axes``. Equals LiteRT and TFLite Micro.

    No axes: every element is its own mean, rescaled.
    Raises `UndefinedError` if the input has no elements.
    """
    acc, count = reduction_accumulators(x, axes, input_quantization, keep_dims)
    pair = mean_multiplier(count, input_quantization, output_quantization)
    scaled = multiply_by_quantized_multiplier(acc, *pair)
    return clamp(wrap32(scaled + output_quantization.per_tensor()[1]))


def sum(
    x: Codes,
    axes: ArrayLike,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    keep_dims: bool = False,
) -> Codes:
    """Return SUM over ``axes``: `mean` without the division; raises as it.

    Equals TFLite Micro, and LiteRT on the uint8 tensors ``q + 128``. LiteRT's int8 kernel reads and
    writes the int8 codes as uint8, and is not followed; see docs/numerics.md.
    """
    acc, _ = reduction_accumulators(x, axes, input_quantization, keep_dims)
    pair = sum_multiplier(input_quantization, output_quantization)
    scaled = multiply_by_quantized_multiplier(acc, *pair)
    return clamp(wrap32(scaled + output_quantization.per_tensor()[1]))


def reduction_accumulators(
    x: Codes, axes: ArrayLike, inputs: Quantization, keep_dims: bool
) -> tuple[Integers, int]:
    """Return ``wrap32(sum of (q - z))`` and the number of elements in each sum."""
    reduced = reduced_axes(axes, x.ndim)
    if not x.size:
        raise UndefinedError("without elements the kernel leaves its output unwritten")
    count = math.prod(x.shape[axis] for axis in reduced)
    total = wrap32(x.sum(axis=reduced, dtype=np.int64, keepdims=keep_dims))
    return wrap32(total - inputs.per_tensor()[1] * count), count


def reduce_max(
    x: Codes,
    axes: ArrayLike,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    keep_dims: bool = False,
) -> Codes:
    """Return the largest raw code over ``axes``; of no elements -128. Equals LiteRT.

    Raises `RejectedError` if scale or zero point of input and output differ.
    """
    check_same("REDUCE_MAX", input_quantization, output_quantization)
    return x.max(axis=reduced_axes(axes, x.ndim), keepdims=keep_dims, initial=np.int8(-128))


def reduce_min(
    x: Codes,
    axes: ArrayLike,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    keep_dims: bool = False,
) -> Codes:
    """Return the smallest raw code over ``axes``; of no elements 127. Otherwise `reduce_max`."""
    check_same("REDUCE_MIN", input_quantization, output_quantization)
    return x.min(axis=reduced_axes(axes, x.ndim), keepdims=keep_dims, initial=np.int8(127))


def reduce_all(
    x: NDArray[np.bool_], axes: ArrayLike, *, keep_dims: bool = False
) -> NDArray[np.bool_]:
    """Return whether all over ``axes`` are true. Equals LiteRT and TFLite Micro."""
    return np.asarray(x.all(axis=reduced_axes(axes, x.ndim), keepdims=keep_dims))


def reduce_any(
    x: NDArray[np.bool_], axes: ArrayLike, *, keep_dims: bool = False
) -> NDArray[np.bool_]:
    """Return whether one over ``axes`` is true. Equals LiteRT; otherwise `reduce_all`."""
    return np.asarray(x.any(axis=reduced_axes(axes, x.ndim), keepdims=keep_dims))


def arg_max(
    x: Codes, axis: ArrayLike, *, dtype: type[np.signedinteger] = np.int32
) -> NDArray[np.signedinteger]:
    """Return the lowest index of the largest raw code along ``axis``, which is removed.

    Equals LiteRT and TFLite Micro.
    Raises `RejectedError` if the axis is not one, or has no elements.

    ``axis``: one integer.
    ``dtype``: int32 or int64, of the result.
    """
    return x.argmax(axis=_one_axis(x, axis)).astype(dtype)


def arg_min(
    x: Codes, axis: ArrayLike, *, dtype: type[np.signedinteger] = np.int32
) -> NDArray[np.signedinteger]:
    """Return the lowest index of the smallest raw code along ``axis``; see `arg_max`."""
    return x.argmin(axis=_one_axis(x, axis)).astype(dtype)


def _one_axis(x: Codes, axis: ArrayLike) -> int:
    chosen = one_axis(axis, x.ndim)
    if not x.shape[chosen]:
        raise RejectedError("an axis without elements has no extreme")
    return chosen


def one_axis(axis: ArrayLike, rank: int) -> int:
    """Return the axis of `arg_max`, counted from the front; raises as it."""
    if np.asarray(axis).size != 1:
        raise RejectedError(f"axis must be one integer, not {np.asarray(axis).size}")
    (chosen,) = reduced_axes(axis, rank)
    return chosen
