"""QUANTIZE and DEQUANTIZE between float32 and codes of 8 bits, at the edges of a network."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from eightfold.golden.errors import UndefinedError
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, wrap32
from eightfold.golden.quantization import Quantization, Reference, saturate
from eightfold.golden.rounding import round_half_away


def quantize_float(
    x: NDArray[np.float32], *, output_quantization: Quantization, dtype: DTypeLike = np.int8
) -> NDArray[Any]:
    """Return QUANTIZE of float32: ``round(x / s) + z``, in float32, ties away from zero, clamped.

    ``dtype`` is int8 or uint8, and says to what is clamped. One scale, or one per slice along the
    output's axis. Equals LiteRT's reference kernel.
    Raises `UndefinedError` if a value is not a number, or ``round(x / s)`` leaves int32.
    """
    scale, zero_point = output_quantization.along_axis(x.ndim)
    with np.errstate(over="ignore", under="ignore"):
        steps = round_half_away(x / scale).astype(np.float64)
    if not np.all((steps >= INT32_MIN) & (steps <= INT32_MAX)):
        raise UndefinedError("a value must be a number whose code fits int32")
    return saturate(wrap32(steps.astype(np.int64) + zero_point), dtype)


def dequantize(
    x: NDArray[Any], *, input_quantization: Quantization, reference: Reference = "litert"
) -> NDArray[np.float32]:
    """Return DEQUANTIZE of int8 or uint8: ``s * (q - z)`` in float64, rounded to float32.

    What is beyond float32 becomes an infinity. One scale, or one per slice along the input's axis,
    where the product is in float32. ``tflm`` takes the first scale and zero point for all slices.
    """
    scale, zero_point = input_quantization.along_axis(x.ndim)
    if reference == "tflm":
        scale, zero_point = scale.flat[0], zero_point.flat[0]
    difference = x.astype(np.int64) - zero_point
    # The exact product has at most 24 + 9 bits: one rounding to float32, in either precision.
    with np.errstate(over="ignore"):
        return (scale.astype(np.float64) * difference).astype(np.float32)


def cast(x: NDArray[Any], *, dtype: DTypeLike, reference: Reference = "litert") -> NDArray[Any]:
    """Return CAST: each number as another type, whatever scales and zero points say.

    Integers modulo ``2^bits``; bool: whether it is not 0; a float to an integer truncated toward
    zero, then saturated. What is not a number becomes the largest integer, or (``tflm``) 0.

    Source: TFLite ``kernels/cast.cc``, TFLite Micro's ``cast.cc``.

    ``x``, ``dtype``: bool, int8, uint8, int32, int64 or float32.
    """
    target = np.dtype(dtype)
    if x.dtype != np.float32 or target in (np.float32, np.bool_):
        return x.astype(target)
    limits = np.iinfo(target.name)
    return _saturated(x, limits, 0 if reference == "tflm" else limits.max)


def _saturated(x: NDArray[np.float32], limits: np.iinfo, no_number: int) -> NDArray[Any]:
    """Return ``x`` truncated, and clamped to the limits."""
    # The largest integer may be no float, the power of two behind it is one.
    inside = (x >= limits.min) & (x < float(limits.max // 2 + 1) * 2)
    ends = np.full(x.shape, limits.max, limits.dtype)
    ends[x < 0] = limits.min
    ends[np.isnan(x)] = no_number
    return np.where(inside, np.where(inside, x, 0).astype(limits.dtype), ends)
