# amaranth: UnusedElaboratable=no
"""Ports declared once: all of them, in order, with the shapes that parameters give."""

from typing import Annotated, ClassVar

import pytest
from amaranth.hdl import Signal, unsigned
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component


class Counter(Component):
    LIMIT: ClassVar[int] = 3

    step: Annotated[Signal, In(1)]
    count: Annotated[Signal, lambda self: Out(unsigned(self.bits))]
    note: str

    def __init__(self, bits):
        self.bits = bits
        super().__init__()


class Clearable(Counter):
    clear: Annotated[Signal, In(1)]


class OnBus(Component):
    interrupt: Annotated[Signal, Out(1)]

    def __init__(self):
        super().__init__({"b_addr": In(8), "b_data": Out(16)})


def ports_of(component):
    return {
        name: (member.flow, len(getattr(component, name)))
        for name, member in component.signature.members.items()
    }


@pytest.mark.parametrize("bits", [1, 9])
def test_a_port_has_the_shape_that_its_component_gives_it(bits):
    assert ports_of(Counter(bits)) == {"step": (In, 1), "count": (Out, bits)}


def test_ports_come_in_the_order_of_their_declaration_after_those_of_base_classes():
    assert list(ports_of(Clearable(4))) == ["step", "count", "clear"]


def test_ports_with_computed_names_come_first():
    assert ports_of(OnBus()) == {"b_addr": (In, 8), "b_data": (Out, 16), "interrupt": (Out, 1)}
