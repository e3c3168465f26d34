"""Numbers into words: the fields of a layout, range-checked, as integers."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from eightfold.isa.shapes import Array, FieldShape, Layout, Shape, number


class FieldError(ValueError):
    """A value that its field has no room for; the message says both, and the field's range."""


def pack(layout: Layout, fields: Mapping[str, ArrayLike]) -> list[int]:
    """Return the words that hold ``fields``, one per row.

    Parameters
    ----------
    layout
        Of scalar fields, nested layouts and arrays of int8.
    fields
        One entry per leaf, nested names joined by a dot (``"requantize.bias"``): integers of shape
        () or (n,); for an array of int8, shape (n, length).

    Raises
    ------
    FieldError
        If a value does not fit its field.
    ValueError
        If a field is missing, unknown or has a wrong shape.
    """
    parts = dict(leaves(layout))
    if set(parts) != set(fields):
        raise ValueError(f"fields differ from the layout's: {sorted(set(parts) ^ set(fields))}")
    count = max((len(np.asarray(value)) for value in fields.values() if np.ndim(value)), default=1)
    words = np.zeros(count, dtype=object)
    for name, (offset, shape) in parts.items():
        words |= _encode(name, np.asarray(fields[name]), shape, count) << offset
    return words.tolist()


def leaves(layout: Layout) -> Iterator[tuple[str, tuple[int, FieldShape]]]:
    """Yield (dotted name, (offset, shape)) of every field that is not itself a layout."""
    for name, field in layout:
        if isinstance(field.shape, Layout):
            for part, (offset, shape) in leaves(field.shape):
                yield f"{name}.{part}", (field.offset + offset, shape)
        else:
            yield name, (field.offset, field.shape)


Scalar = tuple[int, int, int]
"""Offset of a scalar field, its least and its greatest value."""


def scalars(layout: Layout) -> dict[str, Scalar]:
    """Return the fields of a layout of scalars, by the names that `pack` takes."""
    return {
        name: (offset, number(shape).low, number(shape).high)
        for name, (offset, shape) in leaves(layout)
    }


def pack_scalars(places: Mapping[str, Scalar], values: Mapping[str, int]) -> int:
    """Return the word that holds ``values``; what is not given is 0. Much faster than `pack`.

    Raises
    ------
    FieldError
        If a value does not fit its field.
    ValueError
        If a field is unknown.
    """
    if unknown := set(values) - set(places):
        raise ValueError(f"fields differ from the layout's: {sorted(unknown)}")
    word = 0
    for name, value in values.items():
        offset, low, high = places[name]
        if not low <= value <= high:
            raise FieldError(f"{name} must be in {low}..{high}, not {value}")
        word |= (int(value) & (high - low)) << offset
    return word


def _encode(name: str, values: np.ndarray, shape: FieldShape, count: int) -> np.ndarray:
    """Return ``values`` as ``count`` unsigned integers of the field's width."""
    if isinstance(shape, Array):
        if values.shape != (count, shape.length):
            raise ValueError(f"{name}: shape {values.shape} is not {(count, shape.length)}")
        _check(name, values, shape.element)
        rows = np.asarray(values, dtype=np.int8, order="C")
        return np.array([int.from_bytes(row.tobytes(), "little") for row in rows], dtype=object)
    bits = number(shape)
    _check(name, values, bits)
    integers = np.broadcast_to(values, (count,)).astype(object)
    return integers & ((1 << bits.width) - 1)


def _check(name: str, values: np.ndarray, bits: Shape) -> None:
    if values.size and not (bits.low <= int(values.min()) and int(values.max()) <= bits.high):
        raise FieldError(
            f"{name} must be in {bits.low}..{bits.high}, "
            f"not {int(values.min())}..{int(values.max())}"
        )
