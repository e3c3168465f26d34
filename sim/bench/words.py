"""Words of the hardware's own streams, whose layouts are Amaranth's."""

from collections.abc import Mapping

from amaranth.hdl import Shape
from amaranth.lib import data
from numpy.typing import ArrayLike

from eightfold.isa import shapes


def pack(layout: data.Layout, fields: Mapping[str, ArrayLike]) -> list[int]:
    """Return the words that hold ``fields``, as `eightfold.isa.shapes.pack` does.

    Raises ValueError as that does: of what is missing, unknown, or does not fit.
    """
    return shapes.pack(_plain(layout), fields)


def _plain(layout: data.Layout) -> shapes.Layout:
    parts = ((str(name), shapes.Field(_shape(part), part.offset)) for name, part in layout)
    return shapes.Layout(Shape.cast(layout).width, tuple(parts))


def _shape(part: data.Field) -> shapes.FieldShape:
    if isinstance(part.shape, data.Layout) and not isinstance(part.shape, data.ArrayLayout):
        return _plain(part.shape)
    number = Shape.cast(part.shape)
    return shapes.Shape(number.width, number.signed)
