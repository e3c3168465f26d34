"""Amaranth's layouts have the places of those of the instruction set."""

from typing import Any

import pytest
from amaranth.hdl import Shape, Value
from amaranth.lib import data

from eightfold import isa
from eightfold.hw.blocks.layouts import constant, hdl
from eightfold.isa import streams
from eightfold.isa.shapes import Array, Layout, leaves, number
from eightfold.target.config import PRESETS

CONFIG = PRESETS["nano"]

LAYOUTS = {
    **{opcode.name: command.layout for opcode, command in isa.COMMANDS.items()},
    **{register.name: register.layout for register in isa.REGISTERS},
    "weights": streams.weight_layout(CONFIG),
    "parameters": streams.parameter_layout(),
    "activations": streams.activation_layout(CONFIG),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_field_is_in_its_place(layout: Layout) -> None:
    assert hdl(layout).size == layout.size
    for path, (offset, shape) in leaves(layout):
        place: int = 0
        found: Any = hdl(layout)
        for name in path.split("."):
            field = found[name]
            place = place + field.offset
            found = field.shape
        assert place == offset
        if isinstance(shape, Array):
            assert found == data.ArrayLayout(Shape(8, signed=True), shape.length)
        else:
            assert Shape.cast(found) == Shape(number(shape).width, number(shape).signed)


def test_a_layout_is_converted_once() -> None:
    assert hdl(isa.MATRIX.layout) is hdl(isa.MATRIX.layout)


def test_a_constant_has_all_bits_of_its_enumeration() -> None:
    value = constant(isa.ErrorCode.INDEX)
    assert (len(value), value.value) == (8, 7)
    assert len(Value.cast(isa.ErrorCode.INDEX)) < 8, "Amaranth alone would drop the upper bits"
