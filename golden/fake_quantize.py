"""OpenVINO FakeQuantize-1 of every float type, and its ranges as scales and zero points of codes.

Source: OpenVINO operation set 1, FakeQuantize-1 and "Broadcast Rules For Elementwise Operations";
the order of operations is that of the package's reference, found by comparing every bit.
docs/other-specs.md has the formulas and where the package's CPU plugin differs.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.errors import RejectedError, SpecError
from eightfold.golden.quantization import Quantization

Broadcast = Literal["numpy", "pdpd", "none"]

FLOATS = ("float16", "bfloat16", "float32", "float64")
"""Element types of FakeQuantize by name; numpy has bfloat16 from a package such as ml_dtypes."""

ZERO_POINT_TOLERANCE = 2.0**-23
"""By how much a zero point may miss an integer, times (levels - 1)."""


class NoInt8Error(SpecError):
    """The ranges of a FakeQuantize have no int8 scale and zero point; the message says why."""


class Limits(NamedTuple):
    """The four inputs of a FakeQuantize beside X: float32, in a shape that broadcasts to X's."""

    input_low: NDArray[np.float32]
    input_high: NDArray[np.float32]
    output_low: NDArray[np.float32]
    output_high: NDArray[np.float32]


def fake_quantize(
    x: ArrayLike,
    input_low: ArrayLike,
    input_high: ArrayLike,
    output_low: ArrayLike,
    output_high: ArrayLike,
    levels: int,
    auto_broadcast: Broadcast = "numpy",
    *,
    axis: int = 0,
) -> NDArray[Any]:
    """Return FakeQuantize-1 of ``x``.

    ``output_low`` where ``x <= min(input_low, input_high)``; ``output_high`` where
    ``x > max(input_low, input_high)``; else, every operation rounded to float32 in this order,

    ``rint((x - input_low) / (input_high - input_low) * (levels - 1)) / (levels - 1)
    * (output_high - output_low) + output_low``

    with ``rint`` to nearest, ties to even. An inverted range takes the same formula. A range of
    zero width has only the first two cases (binarization). min is input_high if that is less, else
    input_low; max is input_high if that is greater, else input_low; comparisons with NaN are
    false. Infinities and NaN otherwise follow IEEE 754.

    Of another float type the operands are rounded to it, widened or rounded to float32, and the
    result is rounded once to that type: to nearest, ties to even; to bfloat16 toward zero if the
    last bit that stays is 0, else to nearest. So the package computes float16 and bfloat16 in its
    reference, and float64 on the processor: the reference has no float64.
    Raises `RejectedError` if levels, rule or axis do not exist, or a shape does not broadcast to
    that of ``x``.

    ``x``: one of `FLOATS`, any shape; numbers without a float type are float32.
    ``input_low``, ``input_high``, ``output_low``, ``output_high``: of the type of ``x``, each
        broadcast to the shape of ``x`` by itself.
    ``levels``: 2..2^32.
    ``auto_broadcast``: ``none``: the shapes are equal. ``numpy``: aligned on the right, sizes equal
        or 1. ``pdpd``: the limit, without its trailing sizes of 1, lies along the sizes of ``x``
        from ``axis`` on, sizes equal or 1.
    ``axis``: of ``pdpd``; -1: the difference of the ranks. FakeQuantize has no such attribute and
        the package takes 0, though the rules name -1 as their default.
    Result: type and shape of ``x``; equal to ``openvino`` bit for bit, but for the payload of a
        NaN.
    """
    if not 2 <= levels <= 2**32:
        raise RejectedError(f"levels must be in 2..2^32, not {levels}")
    dtype = np.dtype(getattr(x, "dtype", np.float32))
    if dtype.name not in FLOATS:
        dtype = np.dtype(np.float32)
    given = (x, input_low, input_high, output_low, output_high)
    with np.errstate(over="ignore"):
        values, *limits = (
            np.asarray(array).astype(dtype).astype(np.float32, copy=False) for array in given
        )
    in_low, in_high, out_low, out_high = (
        _broadcast(limit, values.shape, auto_broadcast, axis) for limit in limits
    )
    steps = np.float32(levels - 1)
    with np.errstate(all="ignore"):
        position = np.rint((values - in_low) / (in_high - in_low) * steps)
        inside = position / steps * (out_high - out_low) + out_low
    # np.minimum and np.maximum would return a NaN where these return the other limit.
    lowest = np.where(in_high < in_low, in_high, in_low)
    highest = np.where(in_low < in_high, in_high, in_low)
    result = np.where(values <= lowest, out_low, np.where(values > highest, out_high, inside))
    return _narrowed(result, dtype)


def _narrowed(values: NDArray[np.float32], dtype: np.dtype) -> NDArray[Any]:
    """Return float32 in another float type, rounded as the package does."""
    if dtype.name == "bfloat16":
        bits = values.view(np.uint32)
        return ((bits + ((bits & 0x10000) >> 1)) >> 16).astype(np.uint16).view(dtype)
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def _broadcast(
    limit: NDArray[np.float32], shape: tuple[int, ...], rule: Broadcast, axis: int
) -> NDArray[np.float32]:
    """Return ``limit`` in a shape of the rank of ``shape`` that numpy broadcasts to it."""
    rank = len(shape)
    sizes = limit.shape
    if rule == "none":
        fits = sizes == shape
        start = 0
    elif rule == "numpy":
        while len(sizes) > rank and sizes[0] == 1:
            sizes = sizes[1:]
        start = rank - len(sizes)
        fits = start >= 0
    elif rule == "pdpd":
        start = rank - len(sizes) if axis == -1 else axis
        fits = len(sizes) <= rank
        while sizes and sizes[-1] == 1:
            sizes = sizes[:-1]
        fits = fits and start >= 0 and start + len(sizes) <= rank
    else:
        raise RejectedError(f"auto_broadcast must be numpy, pdpd or none, not {rule!r}")
    along = shape[start : start + len(sizes)]
    if not fits or any(size not in (1, whole) for size, whole in zip(sizes, along, strict=True)):
        raise RejectedError(f"shape {limit.shape} does not broadcast to {shape} by rule {rule}")
    return limit.reshape((1,) * start + sizes + (1,) * (rank - start - len(sizes)))


def to_int8(
    input_low: ArrayLike,
    input_high: ArrayLike,
    output_low: ArrayLike,
    output_high: ArrayLike,
    levels: int,
) -> Quantization:
    """Return scale and zero point of the int8 codes whose real values FakeQuantize produces.

    256 levels are the codes -128..127 of an activation, which has one range:
    ``scale = (high - low) / 255``, ``zero_point = -128 - low / scale``. 255 levels are the codes
    -127..127 of a weight: ``low = -high``, ``scale = (high - low) / 254``, ``zero_point = 0``, one
    range or one per channel.

    The zero point has to be an integer, or real 0 is no code. ``p = -low / (high - low) * (levels -
    1)``, computed in float64, may miss an integer by ``(levels - 1) * 2^-23`` (3e-5), the most that
    limits with a relative error of 2^-22 each, four float32 roundings, move it. The scale is
    rounded to float32, to nearest; if `from_int8` returns these very limits from the next float32
    below or above, and not from the nearest, it is that one.
    Raises `NoInt8Error` if there is no such scale and zero point; the message says why. Raises
    `RejectedError` if the shapes do not broadcast.

    ``input_low``, ``input_high``, ``output_low``, ``output_high``: float32; the shapes broadcast to
        one in which at most one size is not 1, the channels. Give them the rank of the tensor: that
        size's position is ``axis`` of the result.
    ``levels``: 256 or 255.
    """
    if levels not in (255, 256):
        raise NoInt8Error(f"int8 has 256 levels, or 255 for weights, not {levels}")
    low, high, output_low, output_high = _limits(input_low, input_high, output_low, output_high)
    quantization = _codes(low, high, levels)
    if np.any(low != output_low) or np.any(high != output_high):
        raise NoInt8Error("the output range differs from the input range")
    return quantization


def to_codes(
    input_low: ArrayLike,
    input_high: ArrayLike,
    output_low: ArrayLike,
    output_high: ArrayLike,
    levels: int,
) -> tuple[Quantization, Quantization]:
    """Return what the codes of a FakeQuantize with up to 256 levels stand for, on either side.

    The input range gives a real value its code, the output range the same code its real value: a
    rescale, by the factor ``output.scale / input.scale`` where both zero points are the same.

    Level k is code ``k - floor(levels / 2)``: -8..7 of 16 levels, -1 and 0 of 2, -7..7 of 15. An
    even number of levels is an activation's, an odd one a weight's, with the rules of `to_int8`
    for 256 and 255, each for the input range and the output range.
    Raises `NoInt8Error` or `RejectedError` as `to_int8`, but for other levels from 2 to 256 and for
    another output range.
    """
    if not 2 <= levels <= 256:
        raise NoInt8Error(f"a code of 8 bits has 2 to 256 levels, not {levels}")
    low, high, output_low, output_high = _limits(input_low, input_high, output_low, output_high)
    return _codes(low, high, levels), _codes(output_low, output_high, levels)


def _limits(*given: ArrayLike) -> tuple[NDArray[np.float32], ...]:
    """Return limits as float32, broadcast to one shape."""
    try:
        return tuple(np.broadcast_arrays(*(np.asarray(each, dtype=np.float32) for each in given)))
    except ValueError:
        raise RejectedError("the shapes of the limits do not broadcast") from None


def _codes(lowest: NDArray[np.float32], highest: NDArray[np.float32], levels: int) -> Quantization:
    """Return scale and zero point of the codes from ``-floor(levels / 2)`` on."""
    _check_range(lowest, highest, levels)
    low, high = lowest.astype(np.float64), highest.astype(np.float64)
    channels = [dimension for dimension, size in enumerate(low.shape) if size != 1]
    if len(channels) > 1:
        raise NoInt8Error(f"the ranges differ along several axes, {channels}")
    if channels and levels % 2 == 0:
        raise NoInt8Error(f"an activation has one range, not {low.size}")
    axis = channels[0] if channels else None
    low, high = low.reshape(-1), high.reshape(-1)
    zero_point = _zero_point(low, high, levels)
    return Quantization(_scale(low, high, zero_point, levels), zero_point, axis)


def from_int8(
    quantization: Quantization, levels: Literal[255, 256] = 256, rank: int | None = None
) -> Limits:
    """Return the limits of the FakeQuantize whose levels are the real values of int8 codes.

    ``low = scale * (first - zero_point)``, ``high = scale * (last - zero_point)``, each product
    rounded once to float32, with first and last -128 and 127 for 256 levels, -127 and 127 for 255.
    Input and output limits are the same.
    Raises `NoInt8Error` if there is no such FakeQuantize: levels; an axis or a zero point that is
    no int8 with 256 levels; a zero point other than 0 with 255; limits that are 0 or infinite in
    float32. Raises `RejectedError` if the quantization has an axis, and no rank contains it.

    ``rank``: rank of the tensor, if the quantization has an axis: the limits get this rank, with
        the channels at the axis. Without an axis the limits have shape ().
    """
    _check_codes(quantization, levels)
    scale = quantization.scale.astype(np.float64)
    zero_point = quantization.zero_point
    shape: tuple[int, ...] = ()
    if quantization.axis is not None:
        if rank is None or not 0 <= quantization.axis < rank:
            raise RejectedError(f"axis {quantization.axis} needs a rank above it, not {rank}")
        shape = tuple(scale.size if d == quantization.axis else 1 for d in range(rank))
    elif scale.size != 1:
        raise RejectedError("several scales need an axis")
    low, high = _ends(scale, zero_point, levels)
    if not np.all(np.isfinite(high) & np.isfinite(low) & (low < high)):
        raise NoInt8Error("a range is empty or infinite in float32")
    return Limits(*(limit.reshape(shape) for limit in (low, high, low, high)))


def _check_codes(quantization: Quantization, levels: int) -> None:
    """Refuse a quantization whose codes are not the levels."""
    scale, zero_point = quantization.scale, quantization.zero_point
    if levels not in (255, 256):
        raise NoInt8Error(f"int8 has 256 levels, or 255 for weights, not {levels}")
    if levels == 255 and np.any(zero_point):
        raise NoInt8Error("255 levels are a weight's, and its zero point is 0")
    if levels == 256 and (scale.size != 1 or quantization.axis is not None):
        raise NoInt8Error("an activation has one scale")
    if np.any(zero_point < -128) or np.any(zero_point > 127):
        raise NoInt8Error(f"the zero point {zero_point} is no int8")


def _check_range(low: NDArray[np.float32], high: NDArray[np.float32], levels: int) -> None:
    """Refuse what no scale and zero point can describe, however they are computed."""
    if not np.all(np.isfinite(low) & np.isfinite(high)):
        raise NoInt8Error("a limit is not finite")
    if np.any(low > high):
        raise NoInt8Error("a range is inverted: low is above high")
    if np.any(low == high):
        raise NoInt8Error("a range has zero width")
    if levels % 2 and np.any(low != -high):
        raise NoInt8Error(f"{levels} levels are a weight's, whose range is symmetric: low = -high")
    if np.any(low > 0) or np.any(high < 0):
        raise NoInt8Error("a range does not contain 0: its zero point is no int8")


def _zero_point(
    low: NDArray[np.float64], high: NDArray[np.float64], levels: int
) -> NDArray[np.int64]:
    """Return the code of real 0, checked to be an integer."""
    position = -low / (high - low) * (levels - 1)
    whole = np.rint(position)
    if np.any(np.abs(position - whole) > (levels - 1) * ZERO_POINT_TOLERANCE):
        raise NoInt8Error(f"0 is between two levels, at {position}: its zero point is no integer")
    return whole.astype(np.int64) - levels // 2


def _scale(
    low: NDArray[np.float64], high: NDArray[np.float64], zero_point: NDArray[np.int64], levels: int
) -> NDArray[np.float32]:
    """Return the nearest scale, or a neighbour that gives the limits back exactly."""
    nearest = ((high - low) / (levels - 1)).astype(np.float32)
    if np.any(nearest == 0):
        raise NoInt8Error("a scale is 0 in float32")
    result = nearest.copy()
    candidates = [np.nextafter(nearest, np.float32(end)) for end in (0, np.inf)]
    # The nearest comes last, and so wins wherever it is exact.
    for candidate in (*candidates, nearest):
        first, last = _ends(candidate.astype(np.float64), zero_point, levels)
        result = np.where((first == low) & (last == high), candidate, result)
    return result


def _ends(
    scale: NDArray[np.float64], zero_point: NDArray[np.int64], levels: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the real values of the first and the last code; the float64 products are exact."""
    first = -(levels // 2)
    last = first + levels - 1
    with np.errstate(over="ignore"):
        low = (scale * (first - zero_point)).astype(np.float32)
        return low, (scale * (last - zero_point)).astype(np.float32)
