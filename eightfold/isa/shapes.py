"""Shapes of fields and where the fields of a word lie: plain values, without an HDL.

`eightfold.hw.blocks.layouts` turns them into Amaranth's.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Union


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

    Raises
    ------
    TypeError
        If it is an array or a layout.
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


def struct(shapes: Mapping[str, FieldShape]) -> Layout:
    """Return the layout of fields that follow each other without gaps, the first at bit 0."""
    offset = 0
    fields = []
    for name, shape in shapes.items():
        fields.append((name, Field(shape, offset)))
        offset += width_of(shape)
    return Layout(offset, tuple(fields))


def aligned(shapes: Mapping[str, FieldShape]) -> Layout:
    """Return the layout of whole 32-bit words, in which only a layout's field crosses a word."""
    offset = 0
    fields = []
    for name, shape in shapes.items():
        if offset % 32 + width_of(shape) > 32:
            offset = -(-offset // 32) * 32
        fields.append((name, Field(shape, offset)))
        offset += width_of(shape)
    return Layout(-(-offset // 32) * 32, tuple(fields))
