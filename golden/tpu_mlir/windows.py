"""TPU-MLIR's int8 operators over windows and sums: Convolution, InnerProduct, AvgPool.

Source: TPU-MLIR, technical manual, chapter "Quantization", section "Quantization derivation".
Layouts are the chapter's, NCHW and OIHW. Codes are int8 or uint8, weights int8; a result is of the
type ``code``, without one of the first input's. The integer forms end in
`eightfold.golden.requantize.requantize`, with the fields that
`eightfold.golden.tpu_mlir.numbers.requantizer` makes and a hardware requantizer is given. Where the
chapter is silent a docstring says "assumed".
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.convolution import conv_2d_accumulators
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.golden.fully_connected import fully_connected_accumulators
from eightfold.golden.quantization import Quantization
from eightfold.golden.rounding import round_half_away
from eightfold.golden.tpu_mlir.numbers import (
    OFFSETS,
    RANGES,
    Code,
    code_of,
    requantize_to,
    saturate,
    to_int8,
)
from eightfold.golden.windows import Window

Pair = tuple[int, int]
Pads = tuple[Pair, Pair]
"""Positions added (before, after) vertically and horizontally."""

NO_PADS: Pads = ((0, 0), (0, 0))


def folded_bias(
    bias: ArrayLike,
    weights: NDArray[np.int8],
    *,
    input_quantization: Quantization,
    weight_quantization: Quantization,
) -> NDArray[np.int32]:
    """Return b_i32 of Convolution and InnerProduct: ``round(B / (S_x S_w)) - Z_x sum(q_w)``.

    "Convolution", step 0 to 4: what is left when q_x enters unshifted. Assumed: float64, ties away
    from zero, rounded before the integer sum is subtracted.
    Raises `UndefinedError` if a result is not finite or leaves int32.

    ``bias``: real, shape (oc,).
    ``weights``: shape (oc, ...).
    """
    scale, zero_point = input_quantization.per_tensor()
    units = float(scale) * weight_quantization.scale.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = round_half_away(np.asarray(bias, dtype=np.float64) / units)
    if not np.all(np.abs(steps) < 2.0**32):
        raise UndefinedError("a bias leaves int32")
    sums = weights.reshape(weights.shape[0], -1).sum(axis=1, dtype=np.int64)
    total = steps.astype(np.int64) - zero_point * sums
    if np.any(total < INT32_MIN) or np.any(total > INT32_MAX):
        raise UndefinedError("a bias leaves int32")
    return total.astype(np.int32)


def convolution(
    x: NDArray[Any],
    weights: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    fields: Mapping[str, Any],
    *,
    input_zero_point: int = 0,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    pads: Pads = NO_PADS,
    code: Code | None = None,
) -> NDArray[Any]:
    """Return ``q_y = (q_x * q_w + b_i32) * M_i32 >> rshift_i8 + Z_y``, saturated.

    "Convolution", step 4. Padding is filled with Z_x. The int32 accumulator wraps (assumed).
    The result has shape (n, oc, oh, ow). Raises `RejectedError` or `UndefinedError` as
    `eightfold.golden.convolution.conv_2d_accumulators`.

    ``x``: shape (n, g * ic, ih, iw): g groups of ic channels.
    ``weights``: shape (oc, ic, kh, kw).
    ``bias``: b_i32, shape (oc,), from `folded_bias`; None for 0.
    ``fields``: from `requantizer`; multiplier and rshift per tensor, or per output channel
        ("PerAxis").
    """
    if x.ndim != 4 or weights.ndim != 4:
        raise RejectedError("input and filter must have rank 4")
    padded = _padded(x, pads, input_zero_point).transpose(0, 2, 3, 1)
    window = Window((weights.shape[2], weights.shape[3]), stride, dilation)
    filters = weights.transpose(0, 2, 3, 1)
    zero_point = -OFFSETS[code_of(x)]  # bytes less it are the codes
    acc = conv_2d_accumulators(
        to_int8(padded), filters, bias, input_zero_point=zero_point, window=window
    )
    return requantize_to(acc, fields, code or code_of(x)).transpose(0, 3, 1, 2)


def inner_product(
    x: NDArray[Any],
    weights: NDArray[np.int8],
    bias: NDArray[np.int32] | None,
    fields: Mapping[str, Any],
    *,
    code: Code | None = None,
) -> NDArray[Any]:
    """Return `convolution` without positions ("InnerProduct"): x (n, k), weights (oc, k).

    The result has shape (n, oc). Raises `RejectedError` or `UndefinedError` as
    `eightfold.golden.fully_connected.fully_connected_accumulators`.
    """
    zero_point = -OFFSETS[code_of(x)]
    acc = fully_connected_accumulators(to_int8(x), weights, bias, input_zero_point=zero_point)
    return requantize_to(acc, fields, code or code_of(x))


def avg_pool_factors(
    input_quantization: Quantization, output_quantization: Quantization, kernel: Pair
) -> tuple[np.float32, np.float32]:
    """Return Scale_f32 and Offset_f32 of `avg_pool`, each computed in float64 and rounded once.

    ``Scale = S_x / (S_y k)``, ``Offset = S_x / S_y Z_x - Z_y``, k = kh kw ("AvgPool").

    The chapter prints the Offset with the other sign and still subtracts it. Its step 1,
    ``Scale sum(x - Z_x) + Z_y``, is the mean; with the sign printed step 3 is not, unless Offset
    is 0. Here the sign is that of step 1, which the project's public code computes too.
    """
    (s_x, z_x), (s_y, z_y) = input_quantization.per_tensor(), output_quantization.per_tensor()
    ratio = float(s_x) / float(s_y)
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(ratio / (kernel[0] * kernel[1])), np.float32(ratio * z_x - z_y)


def avg_pool(
    x: NDArray[Any],
    *,
    kernel: Pair,
    scale: float | np.float32,
    offset: float | np.float32,
    stride: Pair = (1, 1),
    pads: Pads = NO_PADS,
    input_zero_point: int = 0,
    rounding: str = "half_away",
    code: Code | None = None,
) -> NDArray[Any]:
    """Return ``y_i = (Scale_f32 sum(x_j) - Offset_f32)_i8``: "AvgPool", step 3.

    The sum is exact, rounded to float32; product and difference are float32, one rounding each;
    the result is rounded (ties away from zero, assumed) and saturated. Padding is filled with Z_x
    and counts among the k taps (assumed, as Scale has one k).
    The result has shape (n, c, oh, ow). Raises `RejectedError` or `UndefinedError` if the window
    does not fit; if scale or offset are not finite.

    ``x``: shape (n, c, ih, iw).
    ``scale``, ``offset``: from `avg_pool_factors`.
    """
    if x.ndim != 4:
        raise RejectedError(f"the input must have rank 4, not {x.ndim}")
    padded = _padded(x, pads, input_zero_point).transpose(0, 2, 3, 1)
    taps = Window(kernel, stride).taps(padded, fill=0)
    total = taps.sum(axis=(4, 5), dtype=np.int64)
    return pooled(total, scale, offset, rounding, code or code_of(x)).transpose(0, 3, 1, 2)


def max_pool(
    x: NDArray[Any], *, kernel: Pair, stride: Pair = (1, 1), pads: Pads = NO_PADS
) -> NDArray[Any]:
    """Return the largest code of each window, without padding: S_x = S_y, by the calibration.

    The chapter has no form of it, as nothing is computed. Shapes as `avg_pool`.
    Raises `RejectedError` or `UndefinedError` as `avg_pool`, and if padding is as wide as the
    window.
    """
    if x.ndim != 4 or any(
        pad >= size for each, size in zip(pads, kernel, strict=True) for pad in each
    ):
        raise RejectedError(f"a window of {kernel} with padding {pads} does not fit rank {x.ndim}")
    low, _ = RANGES[code_of(x)]
    padded = _padded(x, pads, low).transpose(0, 2, 3, 1)
    taps = Window(kernel, stride).taps(padded, fill=low)
    return taps.max(axis=(4, 5)).astype(x.dtype).transpose(0, 3, 1, 2)


def pooled(
    total: NDArray[np.int64],
    scale: float | np.float32,
    offset: float | np.float32,
    rounding: str,
    code: Code = "int8",
) -> NDArray[Any]:
    """Return `avg_pool` of windows with these sums, any shape; raises as it about the factors."""
    factors = np.array([scale, offset], dtype=np.float32)
    if not np.all(np.isfinite(factors)):
        raise UndefinedError(f"scale and offset must be finite, not {factors}")
    with np.errstate(over="ignore", under="ignore"):
        return saturate(factors[0] * total.astype(np.float32) - factors[1], code, rounding)


def _padded(x: NDArray[Any], pads: Pads, fill: int) -> NDArray[Any]:
    low, high = RANGES[code_of(x)]
    if not low <= fill <= high or min(*pads[0], *pads[1]) < 0:
        raise RejectedError(f"padding {pads} with {fill} does not exist")
    return np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)
