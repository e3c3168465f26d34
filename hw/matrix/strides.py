"""Which iterations of the matrix engine's loops give a result: a first and every n-th after it."""

from typing import Annotated

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.sums import retreat


class Firing(Component):
    """Tell which iterations of a loop fire: ``first``, and every ``period`` after it.

    Timing
    ------
    ``fire`` moves on with ``step``, to the loop's first iteration if ``restart``.
    """

    first: Annotated[Signal, In(16)]
    """The first iteration that fires."""
    period: Annotated[Signal, In(8)]
    """Iterations from one that fires to the next, at least 1."""
    restart: Annotated[Signal, In(1)]
    """With ``step``: to the loop's first iteration."""
    step: Annotated[Signal, In(1)]
    """To the next iteration."""
    fire: Annotated[Signal, Out(1)]
    """The iteration fires. From a register."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(16, reset_less=True)
        with m.If(self.step):
            m.d.sync += left.eq(
                retreat(self.restart, self.first, Mux(self.fire, self.period, left), 1)
            )
            with m.If(self.restart):
                m.d.sync += self.fire.eq(self.first == 0)
            with m.Elif(self.fire):
                m.d.sync += self.fire.eq(self.period == 1)
            with m.Else():
                m.d.sync += self.fire.eq(left == 1)
        return m


class Strides(Component):
    """Tell the last of the iterations ``first, first + period, ...`` below ``count``.

    Timing
    ------
    ``none`` and the first ``last`` are right from the second cycle on in which the inputs stay.
    ``last`` comes from a register, and moves on with ``step``, to the first iteration if
    ``restart``.
    """

    count: Annotated[Signal, In(16)]
    """The count of all iterations; 0 is 2^16."""
    first: Annotated[Signal, In(16)]
    """The first one of these."""
    period: Annotated[Signal, In(8)]
    """From one to the next, at least 1."""
    restart: Annotated[Signal, In(1)]
    """With ``step``: to the first one."""
    step: Annotated[Signal, In(1)]
    """To the next one."""
    none: Annotated[Signal, Out(1)]
    """Not even the first iteration is below ``count``."""
    last: Annotated[Signal, Out(1)]
    """It is the last one. From a register."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # How far the end is: from the first iteration, and from the current one.
        whole, left = (Signal(signed(17), name=n, reset_less=True) for n in ("whole", "left"))
        # count - 1 - first as one sum: of the complement, which is -1 - first.
        complement = Cat(~self.first, C(-1, 2)).as_signed()
        m.d.sync += whole.eq(Cat(self.count, self.count == 0) + complement)
        m.d.comb += self.none.eq(whole < 0)
        with m.If(self.step):
            m.d.sync += left.eq(retreat(self.restart, whole, left, self.period))
            with m.If(self.restart):
                m.d.sync += self.last.eq(whole < self.period)
            with m.Else():
                m.d.sync += self.last.eq(left < (self.period << 1))
        return m
