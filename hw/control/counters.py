"""The performance counters of `eightfold.isa.COUNTERS`."""

from typing import Annotated

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.isa import COUNTERS


class Counters(Component):
    """Count events while the accelerator runs.

    Timing
    ------
    ``count`` comes a cycle after its event, ``values`` two cycles.
    """

    clear: Annotated[Signal, In(1)]
    """Set all counters to 0."""
    running: Annotated[Signal, In(1)]
    """Events count."""
    events: Annotated[Signal, In(len(COUNTERS))]
    """Bit ``i``: what counter ``i`` counts happens in this cycle."""
    count: Annotated[Signal, Out(len(COUNTERS))]
    """Bit ``i``: counter ``i`` counts."""
    values: Annotated[data.View, Out(data.ArrayLayout(32, len(COUNTERS)))]
    """All counters."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.count.eq(self.events & self.running.replicate(len(COUNTERS)))
        for number in range(len(COUNTERS)):
            with m.If(self.clear):
                m.d.sync += self.values[number].eq(0)
            with m.Elif(self.count[number]):
                m.d.sync += self.values[number].eq(self.values[number] + 1)
        return m
