"""Operators that copy codes into another shape: nothing is rescaled.

All equal LiteRT and, up to its lower limits of rank, TFLite Micro.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.arrays import Codes, Shape
from eightfold.golden.errors import AbortedError, RejectedError, UndefinedError, shortened
from eightfold.golden.quantization import Quantization, check_same


def copy(x: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return READ_VARIABLE and ASSIGN_VARIABLE: ``x``, whatever the two quantizations are."""
    return x.copy()


def pad(x: Codes, paddings: ArrayLike, *, output_quantization: Quantization) -> Codes:
    """Return ``x`` surrounded by the output's zero point; the codes are copied, not rescaled.

    Raises `RejectedError` if the rank is above 5, or a padding is negative or missing.

    ``paddings``: integers, shape (rank, 2): before and after along each axis.
    """
    padded_shape(x.shape, paddings)
    return _surrounded(x, paddings, constant_values=output_quantization.per_tensor()[1])


def padv2(
    x: Codes,
    paddings: ArrayLike,
    value: Codes,
    *,
    value_quantization: Quantization,
    output_quantization: Quantization,
) -> Codes:
    """Return ``x`` surrounded by the code ``value``, one element; otherwise `pad`.

    Raises `RejectedError` as `pad`; or if ``value`` is not one element, or has not the output's
    scale and zero point.
    """
    if value.size != 1:
        raise RejectedError(f"the value of PADV2 must be one element, not {value.size}")
    if value_quantization.per_tensor() != output_quantization.per_tensor():
        raise RejectedError("value and output of PADV2 must have the same scale and zero point")
    padded_shape(x.shape, paddings)
    return _surrounded(x, paddings, constant_values=int(value.reshape(())))


def _surrounded(x: Codes, paddings: ArrayLike, **how: Any) -> Codes:
    if not x.ndim:  # numpy pads no scalar
        return x.copy()
    return np.pad(x, np.asarray(paddings, dtype=np.int64), **how)


def padded_shape(shape: Shape, paddings: ArrayLike) -> Shape:
    """Return the shape of the result of `pad`; raises as it about rank and paddings."""
    amounts = np.asarray(paddings, dtype=np.int64)
    rank = len(shape)
    if rank > 5:
        raise RejectedError(f"padding works to rank 5, not {rank}")
    if amounts.shape != (rank, 2) or np.any(amounts < 0):
        raise RejectedError(f"paddings must be {rank} pairs, none negative")
    return _grown(shape, amounts)


def _grown(shape: Shape, amounts: NDArray[np.int64]) -> Shape:
    sizes = zip(shape, amounts.tolist(), strict=True)
    return tuple(before + size + after for size, (before, after) in sizes)


def mirror_pad(
    x: Codes,
    paddings: ArrayLike,
    mode: str = "REFLECT",
    *,
    quantizations: Sequence[Quantization | None] = (),
) -> Codes:
    """Return ``x`` surrounded by its mirror image.

    ``out[i] = x[before - i - 1 + d]`` before the first element, and the same from the last one on
    behind it; ``d`` is 1 in the mode REFLECT, where the mirror is the outermost element, and 0 in
    the mode SYMMETRIC, where it is the edge. Equals LiteRT; TFLite Micro too, which does not look
    at scales and takes paddings that are too large.
    Raises `RejectedError` if a padding is missing, negative, or above the size less ``d``, or
    scales or zero points differ.

    ``paddings``: integers, shape (rank, 2): before and after along each axis.
    ``quantizations``: of input and output.
    """
    check_same("MIRROR_PAD", *quantizations)
    mirrored_shape(x.shape, paddings, mode)
    return _surrounded(x, paddings, mode=mode.lower())


def mirrored_shape(shape: Shape, paddings: ArrayLike, mode: str) -> Shape:
    """Return the shape of the result of `mirror_pad`; raises as it about paddings."""
    amounts = np.asarray(paddings, dtype=np.int64)
    most = np.array(shape, dtype=np.int64)[:, None] - (mode == "REFLECT")
    if amounts.shape != (len(shape), 2):
        raise RejectedError(f"paddings must be {len(shape)} pairs")
    if np.any((amounts < 0) | (amounts > most)):
        limits = shortened(most.ravel().tolist())
        raise RejectedError(f"paddings in the mode {mode} must be 0 to {limits}")
    return _grown(shape, amounts)


def tile(x: NDArray, multiples: Sequence[int]) -> NDArray:
    """Return ``x`` repeated ``multiples[i]`` times along axis i. Equals LiteRT.

    Raises `RejectedError` if there is not one multiple per axis, or one is negative.
    """
    tiled_shape(x.shape, multiples)
    return np.tile(x, multiples)


def tiled_shape(shape: Shape, multiples: Sequence[int]) -> Shape:
    """Return the shape of the result of `tile`; raises as it."""
    if len(multiples) != len(shape) or any(count < 0 for count in multiples):
        raise RejectedError(f"multiples must be {len(shape)}, none negative")
    return tuple(size * count for size, count in zip(shape, multiples, strict=True))


def broadcast_to(x: NDArray, shape: Sequence[int]) -> NDArray:
    """Return ``x`` in ``shape``: axes of 1, and those that ``x`` has not before its own, repeat it.

    Equals LiteRT, and TFLite Micro to rank 5.
    Raises `RejectedError` if another axis differs, ``x`` has more of them, or a size is negative.
    """
    behind = zip(x.shape[::-1], shape[::-1], strict=False)
    if (
        x.ndim > len(shape)
        or any(size < 0 for size in shape)
        or any(own not in (1, size) for own, size in behind)
    ):
        raise RejectedError(f"shape {x.shape} does not broadcast to {shortened(shape)}")
    return np.broadcast_to(x, shape)


def reverse(x: NDArray, axes: Sequence[int]) -> NDArray:
    """Return ``x`` in reverse order along ``axes``, which may be negative.

    Equals LiteRT, and TFLite Micro to rank 6.
    Raises `RejectedError` if the rank is above 8, or the axes are out of range or not next to each
    other. Raises `AbortedError` if there are none.
    """
    if x.ndim > 8:
        raise RejectedError(f"REVERSE_V2 works to rank 8, not {x.ndim}")
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise RejectedError(f"axes {shortened(axes)} of rank {x.ndim}")
    places = sorted(axis % x.ndim for axis in axes)
    if not places:
        raise AbortedError("REVERSE_V2 needs an axis")
    if places != [*range(places[0], places[0] + len(places))]:
        raise RejectedError(f"axes {shortened(axes)} are not next to each other")
    return np.flip(x, tuple(places))


def reshape(x: NDArray, shape: Sequence[int]) -> NDArray:
    """Return ``x`` in another shape; one size may be -1, the rest of the elements.

    Raises `RejectedError` if the number of elements differs, or two sizes are -1.
    """
    sizes = [int(size) for size in shape]
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise RejectedError(f"shape {shortened(sizes)} is not complete")
    whole = x.size if sizes.count(-1) == 0 else known * (x.size // known if known else 0)
    if whole != x.size or (sizes.count(-1) == 0 and known != x.size):
        raise RejectedError(f"{x.size} elements do not fit into shape {shortened(sizes)}")
    return x.reshape(sizes)


def squeeze(x: NDArray, dims: Sequence[int] = ()) -> NDArray:
    """Return ``x`` without the dimensions ``dims``, all of size 1; without all such if empty.

    Raises `RejectedError` if the rank is above 8, or a dimension is out of range or has another
    size.
    """
    if x.ndim > 8:
        raise RejectedError(f"SQUEEZE works to rank 8, not {x.ndim}")
    if any(not -x.ndim <= dim < x.ndim or x.shape[dim] != 1 for dim in dims):
        raise RejectedError(f"dimensions {shortened(dims)} of shape {x.shape} are not all 1")
    removed = {dim % x.ndim for dim in dims} or {d for d, size in enumerate(x.shape) if size == 1}
    return x.reshape([size for d, size in enumerate(x.shape) if d not in removed])


def expand_dims(
    x: NDArray,
    axis: int,
    *,
    input_quantization: Quantization | None = None,
    output_quantization: Quantization | None = None,
) -> NDArray:
    """Return ``x`` with a new dimension of 1 at ``axis``, which may be negative.

    Raises `RejectedError` if the axis is out of range, or scale or zero point of input and output
    differ.
    """
    check_same("EXPAND_DIMS", output_quantization, input_quantization)
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise RejectedError(f"axis {axis} of rank {x.ndim}")
    return np.expand_dims(x, axis)


def transpose(x: NDArray, permutation: Sequence[int]) -> NDArray:
    """Return ``x`` with dimension ``permutation[i]`` at place i; entries may be negative.

    Raises `RejectedError` if the rank is above 8, or an entry is missing or out of range. Raises
    `UndefinedError` if a dimension appears twice, where the kernel leaves elements unwritten.
    """
    if x.ndim > 8:
        raise RejectedError(f"TRANSPOSE works to rank 8, not {x.ndim}")
    if len(permutation) != x.ndim or any(not -x.ndim <= p < x.ndim for p in permutation):
        raise RejectedError(f"{shortened(permutation)} does not permute rank {x.ndim}")
    axes = [p % x.ndim for p in permutation]
    if len(set(axes)) < len(axes):
        raise UndefinedError(f"{shortened(permutation)} names a dimension twice")
    return x.transpose(axes)


def shape(x: NDArray, *, dtype: type[np.signedinteger] = np.int32) -> NDArray[np.signedinteger]:
    """Return the sizes of ``x``; shape (rank,), int32 or int64."""
    return np.array(x.shape, dtype=dtype)
