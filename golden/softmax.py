"""SOFTMAX in gemmlowp fixed point, and with LOG_SOFTMAX in float32."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.errors import AbortedError, RejectedError
from eightfold.golden.fixed_point import (
    Integers,
    multiply_by_quantized_multiplier,
    rounding_divide_by_pot,
    srdhm,
)
from eightfold.golden.fixed_point_math import (
    exp_on_negative,
    input_radius,
    reciprocal,
    softmax_scaling,
)
from eightfold.golden.quantization import Quantization, clamp
from eightfold.golden.remember import read_only

SCALED_DIFFERENCE_BITS = 5
"""Integer bits of a difference of logits; below -32 its exponential counts as 0."""

SUM_BITS = 12
"""Integer bits of a row's sum of exponentials."""

_FEW = 16  # rows: as many reciprocals of Python integers take as long as those of any array


@lru_cache(maxsize=64)
def exponential_table(beta: float, input_scale: np.float32) -> tuple[Integers, int]:
    """Return ``exp(beta * s * d)`` in Q0 of d = 0, -1, .. -255, and the radius D.

    Differences below -D have entries of 0. Raises `AbortedError` if ``beta * s * 2^26 <= 1``.
    """
    multiplier, shift = softmax_scaling(beta, input_scale)
    radius = input_radius(SCALED_DIFFERENCE_BITS, shift)
    d = -np.arange(256, dtype=np.int64)
    near = d >= -radius
    scaled = multiply_by_quantized_multiplier(np.where(near, d, 0), multiplier, shift)
    table = np.where(near, exp_on_negative(scaled, SCALED_DIFFERENCE_BITS), 0)
    return read_only(table), radius  # every caller gets the same


def softmax(
    x: NDArray[Any],
    *,
    input_quantization: Quantization | None,
    output_quantization: Quantization | None,
    beta: float = 1.0,
) -> NDArray[Any]:
    """Return SOFTMAX over the last axis; the input's zero point has no effect.

    Without quantizations ``x`` is float32: ``e / sum(e)`` with the `exponentials` e.
    Raises `RejectedError` if the output is not (1/256 within 0.1 %, -128). Raises `AbortedError` if
    ``beta * s * 2^26 <= 1``, or a row's exponentials sum to 512 or more.
    """
    if input_quantization is None or output_quantization is None:
        exponential, total = exponentials(x, beta)
        return exponential / total
    scale, zero_point = output_quantization.per_tensor()
    if zero_point != -128 or abs(float(scale) - 1 / 256) > 0.001 / 256:
        raise RejectedError("the output of SOFTMAX must have scale 1/256 and zero point -128")
    table, radius = exponential_table(beta, input_quantization.per_tensor()[0])
    below = x.max(axis=-1, keepdims=True).astype(np.int64) - x
    exponential = table[below]
    total = rounding_divide_by_pot(exponential, SUM_BITS).sum(axis=-1, keepdims=True)
    if np.any(total >= 2**28):
        raise AbortedError("a row's exponentials must sum to less than 512")
    inverse, over = _reciprocals(total)
    codes = rounding_divide_by_pot(srdhm(inverse, exponential), over + 31 - 8) - 128
    return clamp(np.where(below <= radius, codes, -128))


def exponentials(
    x: NDArray[np.float32], beta: float = 1.0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return ``exp((x - max) * beta)`` of float32, and its sums along the last axis, kept as 1.

    Each step is rounded to float32, and the sum is made in the order of the elements, as LiteRT and
    TFLite Micro do. Their exponential is that of the machine's C library, which may be one step of
    float32 beside the rounded one that this function has.
    """
    with np.errstate(over="ignore"):  # to -inf, whose exponential is 0
        below = (x - x.max(axis=-1, keepdims=True)) * np.float32(beta)
    exponential = np.exp(below.astype(np.float64)).astype(np.float32)
    return exponential, np.cumsum(exponential, axis=-1, dtype=np.float32)[..., -1:]


def _reciprocals(total: Integers) -> tuple[Integers, Integers]:
    """Return `eightfold.golden.fixed_point_math.reciprocal`, of few values as Python integers."""
    if total.size > _FEW:
        return reciprocal(total, SUM_BITS)
    pairs = np.array([reciprocal(x, SUM_BITS) for x in total.reshape(-1).tolist()], dtype=np.int64)
    inverse, over = pairs.reshape(-1, 2).T
    return inverse.reshape(total.shape), over.reshape(total.shape)
