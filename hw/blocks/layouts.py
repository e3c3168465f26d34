"""The instruction set's shapes and layouts as Amaranth's: the one place where the two meet."""

from functools import cache
from typing import overload

from amaranth.hdl import Const, Shape
from amaranth.lib import data

from eightfold import isa
from eightfold.isa import shapes, streams
from eightfold.target.config import AcceleratorConfig


@overload
def hdl(shape: shapes.Layout) -> data.FlexibleLayout: ...


@overload
def hdl(shape: shapes.Array) -> data.ArrayLayout: ...


@overload
def hdl(shape: shapes.Shape | type[shapes.Enumeration]) -> Shape: ...


@cache
def hdl(shape: shapes.FieldShape) -> Shape | data.Layout:
    """Return a shape of `eightfold.isa` as Amaranth's.

    A layout becomes a layout with the same places; an array an array; an enumeration a plain number
    of its stated width, because Amaranth would take the width of its largest value.
    """
    if isinstance(shape, shapes.Layout):
        fields: dict[int | str, data.Field] = {
            name: data.Field(hdl(field.shape), field.offset) for name, field in shape
        }
        return data.FlexibleLayout(shape.size, fields)
    if isinstance(shape, shapes.Array):
        return data.ArrayLayout(hdl(shape.element), shape.length)
    number = shapes.number(shape)
    return Shape(number.width, number.signed)


def constant(value: shapes.Enumeration) -> Const:
    """Return a named value with all bits of its enumeration, which Amaranth alone would drop."""
    return Const(value.value, hdl(type(value)))


REQUANTIZE_LAYOUT = hdl(isa.REQUANTIZE_LAYOUT)
"""Parameters of one output channel."""


def parameter_layout() -> data.FlexibleLayout:
    """Return `eightfold.isa.streams.parameter_layout` as Amaranth's."""
    return hdl(streams.parameter_layout())


def weight_layout(config: AcceleratorConfig) -> data.FlexibleLayout:
    """Return `eightfold.isa.streams.weight_layout` as Amaranth's."""
    return hdl(streams.weight_layout(config))


def activation_layout(config: AcceleratorConfig) -> data.FlexibleLayout:
    """Return `eightfold.isa.streams.activation_layout` as Amaranth's."""
    return hdl(streams.activation_layout(config))


def result_layout(config: AcceleratorConfig) -> data.ArrayLayout:
    """Return `eightfold.isa.streams.result_layout` as Amaranth's."""
    return hdl(streams.result_layout(config))
