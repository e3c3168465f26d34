"""Operators that join tensors or take one apart: CONCATENATION, PACK, SPLIT, SPLIT_V, UNPACK.

Codes are copied, nothing is rescaled. All equal LiteRT and TFLite Micro. An axis may be negative,
and counts from the end; all raise `RejectedError` if it is out of range.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.arrays import Shape
from eightfold.golden.errors import RejectedError, shortened
from eightfold.golden.quantization import Quantization, check_same

_Quantizations = Sequence[Quantization | None]


def concatenation(
    arrays: Sequence[NDArray],
    axis: int,
    *,
    quantizations: _Quantizations = (),
    activation: str = "NONE",
) -> NDArray:
    """Return the arrays one after the other along ``axis``.

    Raises `RejectedError` if sizes do not fit, scales or zero points differ, or there is an
    activation.

    ``quantizations``: of every input and the output.
    """
    if activation != "NONE":
        raise RejectedError(f"CONCATENATION does not fuse {activation}")
    check_same("CONCATENATION", *quantizations)
    concatenated_shape([a.shape for a in arrays], axis)
    return np.concatenate(arrays, axis)


def concatenated_shape(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of the result of `concatenation`; raises as it about shapes and axis."""
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise RejectedError(f"axis {axis} of rank {rank}")
    place = axis % rank
    before, behind = shapes[0][:place], shapes[0][place + 1 :]
    if any(len(s) != rank or (s[:place], s[place + 1 :]) != (before, behind) for s in shapes):
        raise RejectedError(f"shapes {shortened(shapes)} do not join along axis {axis}")
    return (*before, sum(shape[place] for shape in shapes), *behind)


def pack(arrays: Sequence[NDArray], axis: int, *, quantizations: _Quantizations = ()) -> NDArray:
    """Return the arrays, all of one shape, along a new dimension at ``axis``.

    Raises `RejectedError` if shapes, scales or zero points (of inputs and output) differ.
    """
    check_same("PACK", *quantizations)
    packed_shape([a.shape for a in arrays], axis)
    return np.stack(arrays, axis)


def packed_shape(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of the result of `pack`; raises as it about shapes and axis."""
    rank = len(shapes[0])
    if not -rank - 1 <= axis <= rank:
        raise RejectedError(f"axis {axis} of rank {rank}")
    if len(set(shapes)) > 1:
        raise RejectedError(f"shapes {shortened(shapes)} differ")
    place = axis % (rank + 1)
    return (*shapes[0][:place], len(shapes), *shapes[0][place:])


def split(x: NDArray, axis: int, count: int) -> list[NDArray]:
    """Return ``count`` equal parts of ``x``; raises `RejectedError` if they would not be equal."""
    if not -x.ndim <= axis < x.ndim:
        raise RejectedError(f"axis {axis} of rank {x.ndim}")
    if count < 1 or x.shape[axis] % count:
        raise RejectedError(f"{x.shape[axis]} does not split into {count} equal parts")
    return np.split(x, count, axis)


def split_v(x: NDArray, sizes: Sequence[int], axis: int) -> list[NDArray]:
    """Return parts of ``x`` of ``sizes`` along ``axis``; one size may be -1: what is left.

    Raises `RejectedError` if the sizes do not add up to that of the axis.
    """
    if not -x.ndim <= axis < x.ndim:
        raise RejectedError(f"axis {axis} of rank {x.ndim}")
    whole = x.shape[axis]
    given = list(sizes)
    if given.count(-1) == 1:
        given[given.index(-1)] = whole - (sum(given) + 1)
    if min(given) < 0 or sum(given) != whole:
        raise RejectedError(f"sizes {shortened(sizes)} do not add up to {whole}")
    return np.split(x, np.cumsum(given)[:-1], axis)


def unpack(
    x: NDArray, axis: int, count: int, *, quantizations: _Quantizations = ()
) -> list[NDArray]:
    """Return the ``count`` slices of ``x`` along ``axis``, that dimension removed.

    Raises `RejectedError` if there are others, or scales or zero points (of all tensors) differ.
    """
    check_same("UNPACK", *quantizations)
    if not -x.ndim <= axis < x.ndim:
        raise RejectedError(f"axis {axis} of rank {x.ndim}")
    if x.shape[axis] != count:
        raise RejectedError(f"{x.shape[axis]} slices, not {count}")
    return list(np.moveaxis(x, axis, 0))
