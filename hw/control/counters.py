"""The performance counters of `eightfold.isa.COUNTERS`."""

from typing import Annotated

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.isa import COUNTERS
from eightfold.target.config import AcceleratorConfig


class Counters(Component):
    """Count events while the accelerator runs.

    Timing
    ------
    ``count`` comes a cycle after its event, ``values`` two cycles.

    Parameters
    ----------
    config
        ``counters``.
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
    """All counters; those that the configuration leaves out are 0."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.count.eq(self.events & self.running.replicate(len(COUNTERS)))
        for number, (name, _) in enumerate(COUNTERS):
            if name != "CYCLES" and not self.config.counters:
                continue
            with m.If(self.clear):
                m.d.sync += self.values[number].eq(0)
            with m.Elif(self.count[number]):
                m.d.sync += self.values[number].eq(self.values[number] + 1)
        return m
