"""TPU-MLIR's int8 operators element by element: Add, LeakyReLU, PReLU, Pad.

Source and conventions as in `eightfold.golden.tpu_mlir.windows`: codes are int8 or uint8, a result
is of the type ``code``, without one of the first input's.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.binary import broadcast
from eightfold.golden.errors import RejectedError
from eightfold.golden.quantization import Quantization
from eightfold.golden.tpu_mlir.numbers import (
    RANGES,
    Code,
    code_of,
    dequantize,
    quantize,
    requantize_to,
    requantizer,
)


def add_symmetric(
    a: NDArray[Any],
    b: NDArray[Any],
    *,
    multipliers: tuple[int, int],
    rshift: int,
    rounding: str = "half_up",
    code: Code | None = None,
) -> NDArray[Any]:
    """Return ``q_y = (q_a * M_a + q_b * M_b)_i16 >> rshift_i8``, saturated.

    "Add", symmetric. The int16 sum of int8 never overflows: 2 * 128 * 127 < 2^15. That of uint8,
    where no multiplier is negative, fits 16 bits without a sign (assumed): 2 * 255 * 127 < 2^16.
    Shapes broadcast.
    Raises `RejectedError` if a multiplier or rshift is out of range, or the shapes do not fit.

    ``multipliers``: M_a and M_b, -127..127: `eightfold.golden.tpu_mlir.numbers.search_shared` of
        S_a / S_y and S_b / S_y.
    ``rshift``: -32..62. The shift is the requantizer's, with fields ``requantizer(1, rshift)``.
    """
    first, second = _signed_bytes("a multiplier", multipliers)
    x, y = broadcast(a, b)
    total = x.astype(np.int64) * first + y.astype(np.int64) * second
    return requantize_to(total, requantizer(1, rshift, rounding=rounding), code or code_of(a))


def add_asymmetric(
    a: NDArray[Any],
    b: NDArray[Any],
    *,
    a_quantization: Quantization,
    b_quantization: Quantization,
    output_quantization: Quantization,
    rounding: str = "half_away",
    code: Code | None = None,
) -> NDArray[Any]:
    """Return ``q_y = requant(dequant(q_a) + dequant(q_b))``: "Add", asymmetric.

    In float32, one rounding per operation: ``S_a (q_a - Z_a)``, ``S_b (q_b - Z_b)``, their sum, and
    `eightfold.golden.tpu_mlir.numbers.quantize`, which divides by S_y. Shapes broadcast.
    Raises `RejectedError` if the shapes do not fit. Raises `UndefinedError` if the sum is NaN, from
    scales that overflow.
    """
    x, y = broadcast(a, b)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        total = dequantize(x, a_quantization) + dequantize(y, b_quantization)
    return quantize(total, output_quantization, code or code_of(a), rounding)


def leaky_relu(
    x: NDArray[Any],
    *,
    multiplier: int,
    rshift: int,
    input_zero_point: int = 0,
    output_zero_point: int = 0,
    rounding: str = "half_up",
    code: Code | None = None,
) -> NDArray[Any]:
    """Return ``q_x - Z_x + Z_y`` where q_x >= Z_x, else ``M_i8 (q_x - Z_x) >> rshift_i8 + Z_y``.

    "LeakyReLU", step 3, saturated. S_x = S_y, by the chapter's calibration. The chapter
    prints the condition q_x >= 0 for X >= 0, that is q_x >= Z_x, and ``M >> rshift`` before the
    factor; read as Scale (q_x - Z_x): the product is shifted.
    Raises `RejectedError` if the multiplier or rshift is out of range.

    ``multiplier``, ``rshift``: -127..127, -32..62:
        `eightfold.golden.tpu_mlir.numbers.search_multiplier` of alpha, 8 bits. The product is an
        accumulator that the requantizer shifts, with fields ``requantizer(1, rshift)``.
    """
    (factor,) = _signed_bytes("the multiplier", (multiplier,))
    return _sloped(
        x, factor, rshift, (input_zero_point, output_zero_point), rounding, code or code_of(x)
    )


def prelu(
    x: NDArray[Any],
    alpha: NDArray[np.int8],
    *,
    multiplier: ArrayLike,
    rshift: int,
    input_zero_point: int = 0,
    output_zero_point: int = 0,
    rounding: str = "half_up",
    code: Code | None = None,
) -> NDArray[Any]:
    """Return ``q_x - Z_x + Z_y`` where q_x >= Z_x, else with slope alpha of the channel.

    That is ``q_alpha * M_i8 (q_x - Z_x) >> rshift_i8 + Z_y``: "PReLU", step 3, saturated;
    S_x = S_y. Otherwise as `leaky_relu`.
    Raises `RejectedError` if a multiplier or rshift is out of range, or the channels do not fit.

    ``x``: shape (n, c, ...).
    ``alpha``: q_alpha, int8, shape (c,), or (1,) for all channels.
    ``multiplier``, ``rshift``: ``S_alpha ~ M / 2^rshift``; M -127..127 per channel or for all, one
        rshift: `eightfold.golden.tpu_mlir.numbers.search_shared`.
    """
    slope = alpha.astype(np.int64) * _signed_bytes("a multiplier", multiplier)
    if x.ndim < 2 or slope.ndim > 1 or slope.size not in (1, x.shape[1]):
        raise RejectedError(f"{slope.size} slopes do not fit an input of shape {x.shape}")
    factor = slope.reshape(-1, *[1] * (x.ndim - 2))
    return _sloped(
        x, factor, rshift, (input_zero_point, output_zero_point), rounding, code or code_of(x)
    )


def pad(
    x: NDArray[Any],
    paddings: ArrayLike,
    value: float,
    *,
    input_zero_point: int,
    output_quantization: Quantization,
    code: Code | None = None,
) -> NDArray[Any]:
    """Return x surrounded by ``round(value / S_y + Z_y)``; x itself is ``q_x - Z_x + Z_y``.

    "Pad", step 2, saturated; S_x = S_y. The value as
    `eightfold.golden.tpu_mlir.numbers.quantize`: float32, ties away from zero. After the chapter's
    calibration Z_x = Z_y, and the codes are copied.
    Raises `RejectedError` if a padding is negative or missing. Raises `UndefinedError` if the value
    is NaN.

    ``paddings``: shape (rank, 2): before and after along each axis.
    """
    amounts = np.asarray(paddings, dtype=np.int64)
    if amounts.shape != (x.ndim, 2) or np.any(amounts < 0):
        raise RejectedError(f"paddings must be {x.ndim} pairs, none negative")
    code = code or code_of(x)
    fill = quantize(value, output_quantization, code)
    difference = x.astype(np.int64) - input_zero_point
    codes = _saturated(difference + output_quantization.per_tensor()[1], code)
    return np.pad(codes, amounts, constant_values=fill)


def _sloped(
    x: NDArray[Any],
    factor: Any,
    rshift: int,
    zero_points: tuple[int, int],
    rounding: str,
    code: Code,
) -> NDArray[Any]:
    """Return the identity at and above Z_x, ``factor * (x - Z_x) >> rshift`` below, plus Z_y."""
    z_x, z_y = zero_points
    difference = x.astype(np.int64) - z_x
    fields = requantizer(1, rshift, rounding=rounding, zero_point=z_y)
    below = requantize_to(difference * factor, fields, code)
    return np.where(difference >= 0, _saturated(difference + z_y, code), below)


def _saturated(values: NDArray[np.int64], code: Code) -> NDArray[Any]:
    """Return integers clamped to the ends of ``code``."""
    return np.clip(values, *RANGES[code]).astype(code)


def _signed_bytes(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return multipliers of 8 bits, checked."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or np.any(np.abs(array.astype(np.int64)) > 127):
        raise RejectedError(f"{name} must be an integer in -127..127, not {array}")
    return array.astype(np.int64)
