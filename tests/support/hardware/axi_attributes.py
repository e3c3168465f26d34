"""Attributes of AXI addresses that no master of ours has."""

from typing import Any

from amaranth.hdl import Module

from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.writer import MemoryWriter

WRONG = {"id": 1, "size": 1, "burst": 0, "lock": 1, "cache": 0b0111, "prot": 0b010, "qos": 0b1000}
"""A wrong value of each."""


def spoil(component: type[MemoryReader | MemoryWriter], name: str) -> type:
    """Return the memory port with an attribute, such as ``arlock``, of the value in `WRONG`."""

    def elaborate(self: Any, platform: object) -> Module:
        m = component.elaborate(self, platform)
        m.d.comb += getattr(self.axi, name).eq(WRONG[name[2:]])
        return m

    return type("Spoilt", (component,), {"elaborate": elaborate})
