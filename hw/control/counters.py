"""The performance counters of `eightfold.isa.COUNTERS`."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from eightfold.isa import COUNTERS


class Counters(wiring.Component):
    """Count events while the accelerator runs.

    Timing
    ------
    ``count`` comes a cycle after its event, ``values`` two cycles.

    Members
    -------
    clear : ``In(1)``
        Set all counters to 0.
    running : ``In(1)``
        Events count.
    events : ``In(len(COUNTERS))``
        Bit ``i``: what counter ``i`` counts happens in this cycle.
    count : ``Out(len(COUNTERS))``
        Bit ``i``: counter ``i`` counts.
    values : ``Out(ArrayLayout(32, len(COUNTERS)))``
    """

    clear: Signal
    running: Signal
    events: Signal
    count: Signal
    values: data.View

    def __init__(self) -> None:
        number = len(COUNTERS)
        super().__init__(
            {
                "clear": In(1),
                "running": In(1),
                "events": In(number),
                "count": Out(number),
                "values": Out(data.ArrayLayout(32, number)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.count.eq(self.events & self.running.replicate(len(COUNTERS)))
        for number in range(len(COUNTERS)):
            with m.If(self.clear):
                m.d.sync += self.values[number].eq(0)
            with m.Elif(self.count[number]):
                m.d.sync += self.values[number].eq(self.values[number] + 1)
        return m
