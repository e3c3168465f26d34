"""The vector engine with what requantizes its results, for its benches."""

from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped

from eightfold.hw.array.mac_array import MacArray
from eightfold.hw.blocks.component import Component
from eightfold.hw.vector.engine import VectorEngine
from eightfold.target.config import AcceleratorConfig


class VectorHarness(Component):
    """A vector engine whose sums the lanes of a MAC array without vectors requantize.

    Its ports are those of the engine, without ``requantizer``.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config, self.unit = config, VectorEngine(config)
        ports = dict(self.unit.signature.members)
        del ports["requantizer"]
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.engine = engine = self.unit
        m.submodules.array = array = MacArray(self.config)
        connect(m, engine.requantizer, array.vector)
        for name, member in self.signature.members.items():
            if member.is_signature:
                connect(m, flipped(getattr(self, name)), getattr(engine, name))
            else:
                m.d.comb += getattr(self, name).eq(getattr(engine, name))
        return m
