"""Operators that pick or place elements by index. Nothing is rescaled."""

import builtins
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Indices, Shape
from eightfold.golden.errors import RejectedError, UndefinedError, shortened


def slice(x: NDArray, begin: Sequence[int], size: Sequence[int]) -> NDArray:
    """Return SLICE: ``size`` elements from ``begin`` along each dimension; -1 is to the end.

    Equals LiteRT, and TFLite Micro to rank 5.
    Raises `RejectedError` if numbers are missing, negative but for a size of -1, or reach beyond
    the end.
    """
    if len(begin) != x.ndim or len(size) != x.ndim:
        raise RejectedError(f"SLICE needs {x.ndim} numbers for begin and for size")
    taken = []
    for first, count, whole in zip(begin, size, x.shape, strict=True):
        last = whole if count == -1 else first + count
        if not (0 <= first <= whole and count >= -1 and last <= whole):
            raise RejectedError(f"begin {first} and size {count} do not fit into {whole}")
        taken.append(builtins.slice(first, last))
    return x[tuple(taken)]


@dataclass(frozen=True, kw_only=True)
class Masks:
    """The options of STRIDED_SLICE; bit i of a mask is about entry i of begin, end and strides."""

    begin: int = 0
    """Ignore begin: from the first element in the direction of the stride."""

    end: int = 0
    """Ignore end: to the last element in the direction of the stride."""

    ellipsis: int = 0
    """The entry stands for all dimensions that no other entry names, and for one at least."""

    new_axis: int = 0
    """The entry stands for a new dimension of 1; without effect on an ellipsis."""

    shrink_axis: int = 0
    """Take one element, at begin, and remove the dimension; without effect on the above."""

    offset: bool = False
    """End counts from begin, and is not clamped; every dimension needs an entry with an end."""


@dataclass(frozen=True)
class _Entries:
    """Begin, end and stride, one each per entry."""

    begin: Sequence[int]
    end: Sequence[int]
    strides: Sequence[int]
    masks: Masks = field(default_factory=Masks)

    def range(self, entry: int, size: int) -> builtins.slice | int:
        """Return what an entry takes of a dimension of ``size``; an integer if it shrinks."""
        stride = self.strides[entry]
        bit = 1 << entry
        if stride == 0:
            raise RejectedError("a stride must not be 0")
        if stride == -(1 << 31):  # which has no opposite
            raise RejectedError(f"a stride must not be {stride}")
        lowest, highest = (0, size) if stride > 0 else (-1, size - 1)

        def position(index: int) -> int:
            return min(max(index + size if index < 0 else index, lowest), highest)

        start = position(self.begin[entry])
        if self.masks.begin & bit:
            start = 0 if stride > 0 else size - 1
        if self.masks.shrink_axis & bit:
            if stride < 0 or not 0 <= start < size:
                raise UndefinedError(f"no element at {self.begin[entry]} of {size}, or backward")
            return start
        if self.masks.offset:
            stop = start + self.end[entry]
            if self.masks.end & bit or not 0 <= stop <= highest:
                raise UndefinedError(f"end {self.end[entry]} from begin is not inside {size}")
        else:
            stop = position(self.end[entry])
        if self.masks.end & bit:
            stop = size if stride > 0 else -1
        if start < 0:
            return builtins.slice(0)
        # To a slice, -1 would be the last element.
        return builtins.slice(start, None if stop < 0 else stop, stride)


def strided_slice(
    x: NDArray,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    masks: Masks | None = None,
) -> NDArray:
    """Return STRIDED_SLICE: along each dimension from ``begin`` to before ``end`` by ``strides``.

    Negative positions count from the end, then all are clamped to the dimension. Dimensions without
    an entry are taken whole, entries without a dimension are ignored. Equals LiteRT.
    Raises `RejectedError` if the numbers of entries differ, or a stride is 0 or -2^31. Raises
    `UndefinedError` if a shrunk dimension has no element at begin or a negative stride, where
    LiteRT reads nothing or out of bounds; or, with ``offset``, an end is missing, masked or
    outside, where it reads out of bounds; or there are two ellipses; or an entry before the last
    new axis has no dimension left.
    """
    options = masks or Masks()
    if not len(begin) == len(end) == len(strides):
        raise RejectedError("begin, end and strides must have as many entries")
    count = len(begin)
    every = (1 << count) - 1
    if (options.ellipsis & every).bit_count() > 1:
        raise UndefinedError("there may be one ellipsis")
    if options.new_axis > every:
        raise UndefinedError("a new axis needs an entry")
    entries = _Entries(begin, end, strides, options)
    added = (options.new_axis & ~options.ellipsis).bit_count()
    taken: list[builtins.slice | int | None] = []
    dims = 0  # of x, used up
    for entry in range(count):
        if len(taken) == x.ndim + added:
            break
        bit = 1 << entry
        if options.new_axis & ~options.ellipsis & bit:
            taken.append(None)
            continue
        if dims == x.ndim:
            raise UndefinedError(f"no dimension is left for entry {entry}")
        if options.ellipsis & bit:
            # For at least one dimension, even where numpy's would stand for none.
            span = min(max(1, 1 + x.ndim + added - count), x.ndim - dims)
            taken += [builtins.slice(None)] * span
            dims += span
        else:
            taken.append(entries.range(entry, x.shape[dims]))
            dims += 1
    if options.offset and (options.ellipsis or dims < x.ndim):
        raise UndefinedError("ends from begin need an entry for every dimension")
    return x[tuple(taken)]


def gather(x: NDArray, indices: Indices, axis: int = 0, batch_dims: int = 0) -> NDArray:
    """Return GATHER: the slices of ``x`` at ``indices`` along ``axis``.

    ``out[b..., i..., j..., k...] = x[b..., i..., indices[b..., j...], k...]`` with ``batch_dims``
    dimensions b and axis the one after i. Equals LiteRT and TFLite Micro.
    Raises `RejectedError` if an index is negative or too large, or axis or batch dimensions do not
    fit.

    ``indices``: int16, int32 or int64, any shape.
    ``axis``, ``batch_dims``: negative ones count from the end, of the input and of ``indices``.
    """
    place, batch = checked_gather(x.shape, indices.shape, axis, batch_dims, indices)
    lead = x.shape[:batch]
    inner = x.shape[batch:place]
    result = np.empty((*lead, *inner, *indices.shape[batch:], *x.shape[place + 1 :]), x.dtype)
    for where in np.ndindex(*lead):
        result[where] = x[where].take(indices[where], axis=place - batch)
    return result


def gathered_shape(
    shape: Shape, indices_shape: Shape, axis: int, batch_dims: int, indices: Indices | None = None
) -> Shape:
    """Return the shape of the result of `gather`; parameters and errors as `checked_gather`."""
    place, batch = checked_gather(shape, indices_shape, axis, batch_dims, indices)
    return (*shape[:place], *indices_shape[batch:], *shape[place + 1 :])


def checked_gather(
    shape: Shape, indices_shape: Shape, axis: int, batch_dims: int, indices: Indices | None = None
) -> tuple[int, int]:
    """Return axis and batch dimensions of `gather`, counted from the front.

    Raises `RejectedError` as `gather`; of indices that are not given only the shape is checked.
    """
    rank, index_rank = len(shape), len(indices_shape)
    if not -rank <= axis < rank:
        raise RejectedError(f"axis {axis} of rank {rank}")
    place = axis % rank
    batch = batch_dims + index_rank if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(place, index_rank):
        raise RejectedError(f"batch_dims {batch_dims} at axis {axis}, indices {indices_shape}")
    if shape[:batch] != indices_shape[:batch]:
        raise RejectedError(f"batches {shape[:batch]} and {indices_shape[:batch]} differ")
    if indices is not None and np.any((indices < 0) | (indices >= shape[place])):
        raise RejectedError(f"an index must be in 0..{shape[place] - 1}")
    return place, batch


def gather_nd(x: NDArray, indices: Indices) -> NDArray:
    """Return GATHER_ND: ``out[i..., k...] = x[indices[i...], k...]``.

    The last axis of ``indices`` has the coordinates along the first axes of ``x``. Equals LiteRT;
    TFLite Micro too, which checks only that the element is inside of ``x`` as a whole.
    Raises `RejectedError` if there are more coordinates than axes, one is negative or too large, or
    ``x`` or ``indices`` is a scalar.
    """
    gathered_nd_shape(x.shape, indices.shape)
    return _rows(x, indices.shape[-1])[flat_indices(x.shape, indices)]


def gathered_nd_shape(shape: Shape, indices: Shape) -> Shape:
    """Return the shape of the result of `gather_nd`; raises as it about shapes."""
    if not shape or not indices:
        raise RejectedError("neither the input nor the indices may be a scalar")
    return (*indices[:-1], *_behind(shape, indices[-1]))


def scatter_nd(indices: NDArray[np.int32], updates: NDArray, shape: Sequence[int]) -> NDArray:
    """Return SCATTER_ND: zeros of ``shape`` with ``updates[i..., k...]`` added at
    ``[indices[i...], k...]``.

    The zeros are codes, whatever the zero point; updates at one place are added, and wrap around.
    Equals LiteRT.
    Raises `RejectedError` if shapes do not fit, or a coordinate is negative or too large.
    """
    sizes = scattered_shape(indices.shape, updates.shape, shape)
    result = np.zeros(sizes, updates.dtype)
    np.add.at(_rows(result, indices.shape[-1]), flat_indices(sizes, indices), updates)
    return result


def scattered_shape(indices: Shape, updates: Shape, shape: Sequence[int]) -> Shape:
    """Return the shape of the result of `scatter_nd`; raises as it about shapes."""
    if not indices or not updates:
        raise RejectedError("neither the indices nor the updates may be a scalar")
    if any(size < 0 for size in shape):
        raise RejectedError(f"shape {shortened(shape)} has a negative size")
    if updates != (wanted := (*indices[:-1], *_behind(tuple(shape), indices[-1]))):
        raise RejectedError(f"updates of shape {updates}, not {wanted}")
    return tuple(shape)


def _behind(shape: Shape, coordinates: int) -> Shape:
    """Return the sizes behind those that have coordinates."""
    if coordinates > len(shape):
        raise RejectedError(f"{coordinates} coordinates in rank {len(shape)}")
    return shape[coordinates:]


def _rows(x: NDArray, coordinates: int) -> NDArray:
    """Return a view of ``x`` with one axis in place of those that have coordinates."""
    return x.reshape(math.prod(x.shape[:coordinates]), *x.shape[coordinates:])


def flat_indices(shape: Shape, indices: Indices) -> NDArray[np.int64]:
    """Return the place of each vector of coordinates in C order; int64, without the last axis.

    Raises `RejectedError` if a coordinate is negative or too large.
    """
    sizes = shape[: indices.shape[-1]]
    if np.any((indices < 0) | (indices >= np.array(sizes, np.int64))):
        raise RejectedError(f"an index must be in 0..{shortened([size - 1 for size in sizes])}")
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return indices.astype(np.int64) @ np.array(strides, np.int64)


def dynamic_update_slice(x: NDArray, update: NDArray, start: Sequence[int]) -> NDArray:
    """Return DYNAMIC_UPDATE_SLICE: ``x``, but ``update`` from the position ``start`` on.

    A start from which the update would not fit is clamped. Equals LiteRT, and TFLite Micro to rank
    6.

    Raises `RejectedError` if the rank is above 8, ranks differ, or an axis of the update is longer.
    """
    check_update(x.shape, update.shape, len(start))
    result = x.copy()
    result[tuple(map(_clamped, start, x.shape, update.shape))] = update
    return result


def _clamped(first: int, whole: int, size: int) -> builtins.slice:
    begin = min(max(first, 0), whole - size)
    return builtins.slice(begin, begin + size)


def check_update(shape: Shape, update: Shape, starts: int) -> None:
    """Check the shapes of `dynamic_update_slice`; raises as it."""
    if len(shape) > 8:
        raise RejectedError(f"DYNAMIC_UPDATE_SLICE works to rank 8, not {len(shape)}")
    if not len(shape) == len(update) == starts or any(map(operator.gt, update, shape)):
        raise RejectedError(f"an update of {update} from {starts} starts on does not fit {shape}")
