"""The watchdog: notices that nothing moves any more."""

from typing import Annotated

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.sums import retreat


class Watchdog(Component):
    """Count the cycles without progress.

    Timing
    ------
    ``expired`` comes at least ``limit`` cycles after the last ``progress``, and at most 2 more.
    """

    limit: Annotated[Signal, In(32)]
    """Cycles; 0: never. Counts from the next ``progress`` or ``enable`` on."""
    enable: Annotated[Signal, In(1)]
    """Something should move."""
    progress: Annotated[Signal, In(1)]
    """Something does."""
    expired: Annotated[Signal, Out(1)]
    """Nothing did. From a register; until the next progress."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(32, reset_less=True)
        limited = Signal()
        restart = Signal(init=1)
        m.d.sync += [restart.eq(self.progress | ~self.enable), limited.eq(self.limit != 0)]
        over = left == 0
        with m.If(restart | ~over):
            m.d.sync += left.eq(retreat(restart, self.limit, left, 1))
        with m.If(restart | over):
            m.d.sync += self.expired.eq(~restart & limited)
        return m
