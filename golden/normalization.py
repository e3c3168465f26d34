"""L2_NORMALIZATION and LOG_SOFTMAX, over the last axis."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Codes
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier_smaller_than_one,
    rounding_divide_by_pot,
    wrap32,
)
from eightfold.golden.fixed_point_log import inverse_square_root, log
from eightfold.golden.fixed_point_math import softmax_scaling
from eightfold.golden.quantization import Quantization, clamp
from eightfold.golden.softmax import (
    SCALED_DIFFERENCE_BITS,
    SUM_BITS,
    exponential_table,
    exponentials,
)

L2_OUTPUT_BITS = 7
"""The output is in steps of 2^-7."""

LOG_BITS = 5
"""Integer bits of the logarithm of a row's sum of exponentials."""


def l2_normalization(
    x: Codes,
    *,
    input_quantization: Quantization,
    output_quantization: Quantization,
    activation: str = "NONE",
) -> Codes:
    """Return L2_NORMALIZATION: ``(q - z) / sqrt(sum of (q - z)^2)`` in steps of 1/128.

    The input's scale has no effect. A row of zeros gives zeros. Equals LiteRT and TFLite Micro.
    Raises `RejectedError` if the output is not (1/128, 0), or there is an activation. Raises
    `UndefinedError` if a row's squares sum to 2^31 or more, where the kernel's sum wraps.
    """
    if output_quantization.per_tensor() != (np.float32(1 / 128), 0):
        raise RejectedError("the output of L2_NORMALIZATION must have scale 1/128, zero point 0")
    if activation != "NONE":
        raise RejectedError(f"L2_NORMALIZATION does not fuse {activation}")
    difference = x.astype(np.int64) - input_quantization.per_tensor()[1]
    total = (difference * difference).sum(axis=-1, keepdims=True)
    if np.any(total > INT32_MAX):
        raise UndefinedError("a row's squares must sum to less than 2^31")
    multiplier, shift = inverse_square_root(total)
    return clamp(multiply_by_quantized_multiplier(difference, multiplier, shift + L2_OUTPUT_BITS))


def log_softmax(
    x: NDArray[Any],
    *,
    input_quantization: Quantization | None,
    output_quantization: Quantization | None,
) -> NDArray[Any]:
    """Return LOG_SOFTMAX: ``d - log(sum of exp(d))`` in steps of 1/16, d from the row's maximum.

    The input's zero point has no effect. Without quantizations ``x`` is float32, and so is each
    step, the logarithm rounded. Equals LiteRT and TFLite Micro, in float32 as far as
    `eightfold.golden.softmax.exponentials` says.
    Raises `RejectedError` if the output is not (16/256, 127). Raises `AbortedError` if ``s_in *
    2^26 <= 1``. Raises `UndefinedError` if a row's exponentials sum to 4096 or more, where the
    kernel's sum wraps.
    """
    if input_quantization is None or output_quantization is None:
        total = exponentials(x)[1].astype(np.float64)
        with np.errstate(over="ignore"):
            return x - x.max(axis=-1, keepdims=True) - np.log(total).astype(np.float32)
    if output_quantization.per_tensor() != (np.float32(16 / 256), 127):
        raise RejectedError("the output of LOG_SOFTMAX must have scale 16/256, zero point 127")
    scale = input_quantization.per_tensor()[0]
    multiplier, shift = softmax_scaling(1.0, scale)
    table, radius = exponential_table(1.0, scale)
    back = quantize_multiplier_smaller_than_one(2.0 ** (31 - shift) / multiplier)
    difference = x.astype(np.int64) - x.max(axis=-1, keepdims=True)
    exponential = table[-difference]
    total = rounding_divide_by_pot(exponential, SUM_BITS).sum(axis=-1, keepdims=True)
    if np.any(total > INT32_MAX):
        raise UndefinedError("a row's exponentials must sum to less than 4096")
    logarithm = log(total, SUM_BITS, LOG_BITS)
    # The kernel turns the smallest representable result back into a difference of codes.
    lowest = multiply_by_quantized_multiplier(wrap32(logarithm + INT32_MIN), *back)
    inside = difference > np.maximum(-radius - 1, lowest)
    scaled = multiply_by_quantized_multiplier(np.where(inside, difference, 0), multiplier, shift)
    drop = 31 - SCALED_DIFFERENCE_BITS - 4
    codes = rounding_divide_by_pot(wrap32(scaled - logarithm), drop) + 127
    return clamp(np.where(inside, codes, -128))
