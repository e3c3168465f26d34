"""TPU-MLIR's quantization: scales, codes, multipliers with shifts, and the requantizer's fields.

Source: TPU-MLIR, technical manual, chapter "Quantization". Where the chapter is silent a docstring
says "assumed", and that the project's public code does so. docs/other-specs.md has the formulas.
The operators are in `eightfold.golden.tpu_mlir.windows` and
`eightfold.golden.tpu_mlir.elementwise`.
"""

from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.fixed_point import INT32_MAX, Integers, quantize_multiplier
from eightfold.golden.quantization import Quantization
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import round_half_away, rounding_code

Code = Literal["int8", "uint8"]
"""Type of the codes: int8 in [-128, 127], uint8 in [0, 255]."""

RANGES: dict[Code, tuple[int, int]] = {"int8": (-128, 127), "uint8": (0, 255)}
"""qmin and qmax of each type."""

OFFSETS: dict[Code, int] = {"int8": 0, "uint8": 128}
"""What a code has more than the byte in which an int8 machine holds it."""

MULTIPLIER_LIMITS = {8: 127, 32: INT32_MAX}
"""Bits of a multiplier: the magnitude that a searched one stays below."""


def asymmetric(minimum: float, maximum: float, code: Code = "int8") -> Quantization:
    """Return S and Z of the range [minimum, maximum], per tensor.

    ``S = (max - min) / (qmax - qmin)``, ``Z = Round(qmin - min / S)`` ("Asymmetric Quantization").
    Assumed: float64 with one rounding of S to float32 at the end, Round with ties away from zero.
    Raises `UndefinedError` if the range is empty, not finite, or does not contain 0, so that Z is
    no code.
    """
    qmin, qmax = RANGES[code]
    low, high = float(minimum), float(maximum)
    if not (np.isfinite([low, high]).all() and low < high):
        raise UndefinedError(f"the range {low}..{high} is empty or not finite")
    if not low <= 0 <= high:
        raise UndefinedError(f"the range {low}..{high} does not contain 0: Z is no {code}")
    scale = (high - low) / (qmax - qmin)
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.float32(scale)
    if not 0 < rounded < np.inf:
        raise UndefinedError(f"the scale of {low}..{high} does not fit into float32")
    zero_point = int(round_half_away(qmin - low / scale))
    return Quantization(np.array([rounded]), np.array([zero_point]))


def symmetric(
    threshold: ArrayLike,
    kind: Literal["activation", "weight", "uint8"] = "activation",
    axis: int | None = None,
) -> Quantization:
    """Return S, with Z = 0, of the range [-threshold, threshold]; ``uint8``: [0, threshold].

    ``S = threshold / 128`` of an activation, ``/ 127`` of a weight, ``/ 255`` in uint8
    ("Symmetric Quantization"). The quotient is rounded once, to float32.
    Raises `UndefinedError` if a threshold is not positive and finite.

    ``threshold``: a number, or one per slice along ``axis`` ("PerAxis").
    """
    steps = {"activation": 128, "weight": 127, "uint8": 255}[kind]
    thresholds = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
    if not np.all((thresholds > 0) & np.isfinite(thresholds)):
        raise UndefinedError(f"a threshold must be positive and finite, not {thresholds}")
    with np.errstate(over="ignore", under="ignore"):
        scale = (thresholds / steps).astype(np.float32)
    return Quantization(scale, np.zeros(scale.shape, np.int64), axis)


def quantize(
    real: ArrayLike, quantization: Quantization, code: Code = "int8", rounding: str = "half_away"
) -> NDArray[Any]:
    """Return ``q = r / S + Z``, rounded and saturated to the ends of ``code``.

    Both operations in float32. Assumed: the sum is rounded, not the quotient; ties away from
    zero unless ``rounding`` (a name of `eightfold.golden.rounding.ROUNDINGS`) says otherwise.
    Raises `UndefinedError` if a value is NaN, or a scale 0.
    """
    values = np.asarray(real, dtype=np.float32)
    scale, zero_point = quantization.along_axis(values.ndim)
    if np.any(np.isnan(values)) or np.any(scale == 0):
        raise UndefinedError("neither NaN nor a scale of 0 has a code")
    with np.errstate(over="ignore", under="ignore"):
        return saturate(values / scale + zero_point.astype(np.float32), code, rounding)


def dequantize(codes: NDArray[Any], quantization: Quantization) -> NDArray[np.float32]:
    """Return ``r = S (q - Z)`` in float32; the difference is exact."""
    scale, zero_point = quantization.along_axis(codes.ndim)
    difference = (codes.astype(np.int64) - zero_point).astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(scale * difference)


def saturate(values: ArrayLike, code: Code = "int8", rounding: str = "half_away") -> NDArray[Any]:
    """Return float32 ``values`` rounded as `round_float` and clamped to the ends of ``code``."""
    low, high = RANGES[code]
    # Ends are integers and modes monotonic: clamping first differs only in that infinities round.
    bounded = np.clip(np.asarray(values, dtype=np.float32), low, high)
    return round_float(bounded, rounding).astype(code)


def round_float(values: ArrayLike, rounding: str = "half_away") -> NDArray[np.float64]:
    """Return finite ``values`` rounded to integers in one of the seven modes, as float64.

    Exact for every float32, and for float64 up to 2^52 that is not within 2^-53 of a tie.
    Raises `ValueError` if the mode does not exist.
    """
    x = np.asarray(values, dtype=np.float64)
    # float64 has room for a half below the last bit of every float32 that has a fraction.
    steps: tuple[Any, ...] = (
        lambda: round_half_away(x),
        lambda: np.floor(x + 0.5),
        lambda: np.ceil(x - 0.5),
        lambda: np.rint(x),
        lambda: np.trunc(x),
        lambda: np.floor(x),
        lambda: np.ceil(x),
    )
    return steps[int(rounding_code(rounding))]()


def decompose(scale: ArrayLike) -> tuple[Integers, Integers]:
    """Return Multiplier and rshift with ``scale ~ Multiplier / 2^rshift``, 32 bits.

    ``scale = 2^-n M0``, ``0.5 <= M0 < 1``, ``Multiplier = round(M0 * 2^31)``, ``rshift = n + 31``
    ("Scale Conversion"): 0.1234 is 2119995857 >> 34. In float64, ties away from zero. The chapter
    has n >= 0; a scale up to 2^31 only makes rshift smaller. Below 2^-32 both are 0, 0.
    Raises `UndefinedError` if a scale is negative, not finite, or needs a negative rshift.
    """
    multiplier, shift = quantize_multiplier(scale)
    if np.any(multiplier < 0) or np.any(shift > 31):
        raise UndefinedError(f"a scale must be in 0..2^31, not {np.asarray(scale)}")
    return multiplier, np.where(multiplier == 0, 0, 31 - shift)


def search_multiplier(
    scale: float, bits: Literal[8, 32] = 32, *, right_only: bool = False
) -> tuple[int, int]:
    """Return Multiplier and rshift with the smallest error of a multiplier of 8 or 32 bits.

    Over the shifts n = -32..30, or 0..30 with ``right_only``: ``m = round(scale * 2^n)``, ties away
    from zero, and of those with |m| < 127 (8 bits) or 2^31 - 1 (32 bits) the first with the least
    ``|m / 2^n - scale|``, which is rounded to float32 before it is compared. ``scale`` counts as
    float32. A negative rshift is a left shift; a negative scale gives a negative multiplier.

    The chapter names the two sizes and no procedure; assumed from the project's public code.
    Raises `UndefinedError` if ``scale`` is not finite, or too large for every shift.
    """
    with np.errstate(over="ignore", under="ignore"):
        real = float(np.float32(scale))
        if not np.isfinite(real):
            raise UndefinedError(f"a scale must be finite, not {scale}")
        powers = 2.0 ** np.arange(0 if right_only else -32, 31)
        multipliers = round_half_away(real * powers)
        errors = np.abs(multipliers / powers - real).astype(np.float32)
    errors[np.abs(multipliers) >= MULTIPLIER_LIMITS[bits]] = np.inf
    best = int(np.argmin(errors))
    if np.isinf(errors[best]):
        raise UndefinedError(f"no shift makes {scale} a multiplier of {bits} bits")
    return int(multipliers[best]), best - (0 if right_only else 32)


def search_shared(scales: ArrayLike, bits: Literal[8, 32] = 8) -> tuple[Integers, int]:
    """Return one multiplier per scale, and the rshift that they share.

    ``rshift`` is `search_multiplier`'s, right shifts only, for the scale with the largest
    magnitude; ``Multiplier = round(scale * 2^rshift)``, ties away from zero. The chapter's Add and
    PReLU have several multipliers and one rshift, and no procedure; this one is assumed.
    Raises `UndefinedError` as `search_multiplier`.
    """
    reals = np.asarray(scales, dtype=np.float32).astype(np.float64)
    _, shift = search_multiplier(float(np.max(np.abs(reals))), bits, right_only=True)
    return round_half_away(reals * 2.0**shift).astype(np.int64), shift


def code_of(codes: NDArray[Any]) -> Code:
    """Return the type of ``codes``; raises `RejectedError` if it is neither int8 nor uint8."""
    if codes.dtype.name not in RANGES:
        raise RejectedError(f"codes must be int8 or uint8, not {codes.dtype}")
    return cast(Code, codes.dtype.name)


def to_int8(codes: NDArray[Any]) -> NDArray[np.int8]:
    """Return what an int8 machine holds: int8 as it is, ``q - 128`` of uint8."""
    return (codes.astype(np.int16) - OFFSETS[code_of(codes)]).astype(np.int8)


def from_int8(held: NDArray[np.int8], code: Code) -> NDArray[Any]:
    """Return the codes that an int8 machine holds: the inverse of `to_int8`."""
    return (held.astype(np.int16) + OFFSETS[code]).astype(code)


def requantize_to(acc: ArrayLike, fields: Mapping[str, Any], code: Code) -> NDArray[Any]:
    """Return ``acc`` requantized by `requantizer`'s fields, as ``code``.

    uint8 with a zero point Z is int8 with Z - 128, plus 128: the ends of both ranges are 128 apart,
    and the zero point is added after what is rounded. (Of mode ``tflite`` that is the definition.)
    """
    zero_point = fields.get("zero_point", 0) - OFFSETS[code]
    return from_int8(requantize(acc, **{**fields, "zero_point": zero_point}), code)


def requantizer(
    multiplier: ArrayLike,
    rshift: ArrayLike,
    *,
    mode: Literal["multiplier_shift", "shift", "tflite"] = "multiplier_shift",
    rounding: str | None = None,
    zero_point: int = 0,
) -> dict[str, Any]:
    """Return the fields with which `eightfold.golden.requantize.requantize` does ``* M >> rshift +
    Z``.

    - ``multiplier_shift``: the 64-bit product, one rounding right shift ("Convolution", step 4);
    - ``shift``: the same with a multiplier of 1, ``multiplier`` being in the accumulator already;
    - ``tflite``: the TFLite pair, a rounding doubling high product (ties up), then a rounding right
      shift by ``-rshift``; ``rshift`` > 0 is a left shift before it, as TFLite counts.

    Then Z is added and the sum saturated to int8, or as `requantize_to` says; ``tflite`` wraps the
    sum to int32 before, see `requantize`. The chapter does not say how ``>>`` rounds; assumed
    ``half_up``, in ``tflite`` ``half_away``, the defaults of the project's public code.

    A negative rshift of the first two modes, a left shift, goes into the multiplier. One that
    does not fit is clipped: with it every accumulator but 0 saturates, before and after.
    Raises `RejectedError` if a multiplier or shift is out of range.

    ``multiplier``: 0..2^31-1, per tensor or per output channel (last axis); ignored in mode
        ``shift``.
    ``rshift``: -32..62; ``tflite`` -31..30.
    """
    factor = np.asarray(1 if mode == "shift" else multiplier, dtype=np.int64)
    shift = np.asarray(rshift, dtype=np.int64)
    if np.any(factor < 0) or np.any(factor > INT32_MAX):
        raise RejectedError(f"a multiplier must be in 0..2^31-1, not {factor}")
    lowest, highest = (-31, 30) if mode == "tflite" else (-32, 62)
    if np.any(shift < lowest) or np.any(shift > highest):
        raise RejectedError(f"rshift must be in {lowest}..{highest}, not {shift}")
    fields = {"rounding": rounding or "half_up", "zero_point": zero_point, "single": True}
    if mode == "tflite":
        fields |= {"rounding": rounding or "half_away", "single": False, "multiplier": factor}
        return fields | {"left": np.maximum(shift, 0), "right": np.maximum(-shift, 0)}
    raised = np.minimum(factor << np.maximum(-shift, 0), INT32_MAX)
    return fields | {"multiplier": raised, "right": np.maximum(shift, 0)}
