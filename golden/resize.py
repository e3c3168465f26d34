"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: raw codes, no rescale."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.errors import RejectedError, UndefinedError, shortened
from eightfold.golden.fixed_point import INT32_MAX, Integers
from eightfold.golden.rounding import round_half_away

COORDINATE_BITS = 10
"""Fraction bits of RESIZE_BILINEAR's coordinates."""

_ONE = 1 << COORDINATE_BITS


def resize_bilinear(
    x: Codes, size: Sequence[int], *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Codes:
    """Return RESIZE_BILINEAR in integers: coordinates in steps of 1/1024, one rounding.

    Scales and zero points have no effect. Equals LiteRT and TFLite Micro.
    The result is int8, shape (n, *size, c). Raises `RejectedError` if both options are set, the
    rank is not 4, or a size is below 1. Raises `UndefinedError` if the last coordinate lies at or
    beyond the end, where the kernels read out of bounds. Ratios that 1024 represents exactly are
    safe.

    ``x``: shape (n, h, w, c).
    ``size``: new height and width.
    """
    if align_corners and half_pixel_centers:
        raise RejectedError("RESIZE_BILINEAR takes align_corners or half_pixel_centers, not both")
    rows, columns = new_size(x.shape, size, least=1)
    y0, y1, fy = bilinear_taps(x.shape[1], rows, align_corners, half_pixel_centers)
    x0, x1, fx = bilinear_taps(x.shape[2], columns, align_corners, half_pixel_centers)
    fy, fx = fy[:, None, None], fx[:, None]
    q = x.astype(np.int64)
    upper = q[:, y0][:, :, x0] * (_ONE - fx) + q[:, y0][:, :, x1] * fx
    lower = q[:, y1][:, :, x0] * (_ONE - fx) + q[:, y1][:, :, x1] * fx
    acc = upper * (_ONE - fy) + lower * fy
    magnitude = (np.abs(acc) + (1 << (2 * COORDINATE_BITS - 1))) >> (2 * COORDINATE_BITS)
    return (np.sign(acc) * magnitude).astype(np.int8)


def bilinear_taps(
    size: int, count: int, align_corners: bool, half_pixel_centers: bool
) -> tuple[Integers, Integers, Integers]:
    """Return, for each of ``count`` outputs along an axis: lower tap, upper tap, 1024ths between.

    ``step = (1024 * size + count div 2) div count`` (``align_corners``: of ``size - 1`` and
    ``count - 1``, if count > 1), ``u = i * step`` (``half_pixel_centers``: ``+ step div 2 - 512``),
    lower ``max(trunc(u / 1024), 0)``, upper ``min(trunc((u + 1023) / 1024), size - 1)``, and
    ``u - 1024 * lower`` between, which can be negative.
    Raises `UndefinedError` if the lower tap of the last output is not inside.
    """
    span, steps = (size - 1, count - 1) if align_corners and count > 1 else (size, count)
    step = (_ONE * span + steps // 2) // steps
    if max(_ONE * span + steps // 2, count * step) > INT32_MAX:
        raise UndefinedError(f"coordinates of {size} to {count} leave int32")
    u = np.arange(count, dtype=np.int64) * step
    if half_pixel_centers:
        u += step // 2 - _ONE // 2
    lower = np.maximum(_truncated(u), 0)
    if lower[-1] >= size:
        raise UndefinedError(f"resizing {size} to {count} reads beyond the input's end")
    return lower, np.minimum(_truncated(u + _ONE - 1), size - 1), u - _ONE * lower


def _truncated(u: Integers) -> Integers:
    return np.sign(u) * (np.abs(u) >> COORDINATE_BITS)


def resize_nearest_neighbor(
    x: Codes, size: Sequence[int], *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Codes:
    """Return RESIZE_NEAREST_NEIGHBOR; shapes as `resize_bilinear`. Equals LiteRT.

    Raises `RejectedError` if the rank is not 4, or a size is negative.
    """
    rows, columns = new_size(x.shape, size, least=0)
    taps = [
        nearest_taps(old, new, align_corners, half_pixel_centers)
        for old, new in ((x.shape[1], rows), (x.shape[2], columns))
    ]
    return x[:, taps[0]][:, :, taps[1]]


def nearest_taps(
    size: int, count: int, align_corners: bool, half_pixel_centers: bool
) -> NDArray[np.int64]:
    """Return the input position of each of ``count`` outputs along an axis, in float32.

    ``u = (i + offset) * ratio``: offset 1/2 with ``half_pixel_centers``, else 0; ratio
    ``size / count``, or ``(size - 1) / (count - 1)`` with ``align_corners`` if count > 1. u is
    floored, with ``align_corners`` rounded, ties away from zero, and at most ``size - 1``.
    """
    corners = align_corners and count > 1
    span, steps = (size - 1, count - 1) if corners else (size, max(count, 1))
    ratio = np.float32(span) / np.float32(steps)
    u = (np.arange(count).astype(np.float32) + np.float32(0.5 * half_pixel_centers)) * ratio
    position = round_half_away(u) if align_corners else np.floor(u)
    return np.minimum(position.astype(np.int64), size - 1)


def new_size(shape: Shape, size: Sequence[int], least: int) -> tuple[int, int]:
    """Return height and width that ``size`` asks for an input of ``shape``.

    Raises `RejectedError` if the rank is not 4, or ``size`` is not two integers from ``least``.
    """
    if len(shape) != 4:
        raise RejectedError(f"the input must have rank 4, not {len(shape)}")
    if len(size) != 2 or min(size) < least:
        wanted = f"the new size must be two integers from {least}"
        raise RejectedError(f"{wanted}, not {shortened(size)}")
    return int(size[0]), int(size[1])
