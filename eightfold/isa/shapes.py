"""Fields of words: their shapes, where they lie, and numbers packed into them, without an HDL.

`eightfold.hw.blocks.layouts` turns layouts into Amaranth's.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Union

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Shape:
    """An integer of ``width`` bits, in two's complement if ``signed``."""

    width: int
    signed: bool = False

    @property
    def low(self) -> int:
        """The least number."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The greatest number."""
        return self.low + (1 << self.width) - 1


def unsigned(width: int) -> Shape:
    """Return the shape of the numbers 0 to ``2^width - 1``."""
    return Shape(width)


def signed(width: int) -> Shape:
    """Return the shape of the numbers ``-2^(width-1)`` to ``2^(width-1) - 1``."""
    return Shape(width, signed=True)


def below(count: int) -> Shape:
    """Return the shape of the numbers 0 to ``count - 1``."""
    return Shape((count - 1).bit_length())


class Enumeration(enum.Enum):
    """Named values of a field: ``class Kind(Enumeration, shape=unsigned(2))``."""

    shape: ClassVar[Shape]

    __hash__ = object.__hash__  # Python's own goes by the name, and is not quick

    def __init_subclass__(cls, *, shape: Shape) -> None:
        super().__init_subclass__()
        cls.shape = shape


@dataclass(frozen=True)
class Array:
    """``length`` numbers of one shape, the first at bit 0."""

    element: Shape
    length: int


FieldShape = Union[Shape, type[Enumeration], Array, "Layout"]
"""What a field of a layout may be."""


def width_of(shape: FieldShape) -> int:
    """Return the bits of a field."""
    match shape:
        case Shape():
            return shape.width
        case Array():
            return shape.element.width * shape.length
        case Layout():
            return shape.size
    return shape.shape.width


def number(shape: FieldShape) -> Shape:
    """Return the shape of a field that is one number, which may be one of an enumeration.

    Raises TypeError if it is an array or a layout.
    """
    if isinstance(shape, Shape):
        return shape
    if isinstance(shape, type):
        return shape.shape
    raise TypeError(f"{shape} is no number")


@dataclass(frozen=True)
class Field:
    """A field of a layout: ``offset`` in bits from the layout's first bit."""

    shape: FieldShape
    offset: int

    @property
    def width(self) -> int:
        """Bits of the field."""
        return width_of(self.shape)


@dataclass(frozen=True)
class Layout:
    """Where the fields of a word of ``size`` bits lie; iterates over ``(name, Field)``."""

    size: int
    fields: tuple[tuple[str, Field], ...]

    def __iter__(self) -> Iterator[tuple[str, Field]]:
        """Iterate over names and fields."""
        return iter(self.fields)

    def __getitem__(self, name: str) -> Field:
        """Return a field by its name."""
        return dict(self.fields)[name]


def struct(shapes: Mapping[str, FieldShape], word: int | None = None) -> Layout:
    """Return the layout of fields that follow each other without gaps, the first at bit 0.

    With a ``word`` of so many bits, of whole words: only a layout's field crosses one.
    """
    offset = 0
    fields = []
    for name, shape in shapes.items():
        width = width_of(shape)
        if word and offset % word + width > word:
            offset = -(-offset // word) * word
        fields.append((name, Field(shape, offset)))
        offset += width
    return Layout(-(-offset // word) * word if word else offset, tuple(fields))


@dataclass(frozen=True)
class Entry:
    """A field of a command or register: name, shape and what it means."""

    name: str
    shape: FieldShape
    text: str


def aligned_layout(entries: Sequence[Entry]) -> Layout:
    """Return the entries one after the other; none but a structure crosses a 32-bit word."""
    return struct({entry.name: entry.shape for entry in entries}, word=32)


class FieldError(ValueError):
    """A value that its field has no room for; the message says both, and the field's range."""


def pack(layout: Layout, fields: Mapping[str, ArrayLike]) -> list[int]:
    """Return the words that hold ``fields``, one per row.

    ``layout``: of scalar fields, nested layouts and arrays of int8. ``fields``: one entry per leaf,
    nested names joined by a dot (``"requantize.bias"``): integers of shape () or (n,); for an array
    of int8, shape (n, length). Raises FieldError if a value does not fit its field, ValueError if a
    field is missing, unknown or has a wrong shape.
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

    Raises FieldError if a value does not fit its field, ValueError if a field is unknown.
    """
    if unknown := values.keys() - places.keys():
        raise ValueError(f"fields differ from the layout's: {sorted(unknown)}")
    word = 0
    for name, value in values.items():
        offset, low, high = places[name]
        if not low <= value <= high:
            raise FieldError(f"{name} must be in {low}..{high}, not {value}")
        if value:
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
