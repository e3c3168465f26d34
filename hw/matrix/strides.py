"""Which iterations of the matrix engine's loops give a result: a first and every n-th after it."""

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Firing(wiring.Component):
    """Tell which iterations of a loop fire: ``first``, and every ``period`` after it.

    Timing
    ------
    ``fire`` moves on with ``step``, to the loop's first iteration if ``restart``.

    Members
    -------
    first : ``In(16)``
    period : ``In(8)``
        At least 1.
    restart, step : ``In(1)``
    fire : ``Out(1)``
        From a register.
    """

    first: Signal
    period: Signal
    restart: Signal
    step: Signal
    fire: Signal

    def __init__(self) -> None:
        super().__init__(
            {"first": In(16), "period": In(8), "restart": In(1), "step": In(1), "fire": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(16, reset_less=True)
        with m.If(self.step):
            with m.If(self.restart):
                m.d.sync += [left.eq(self.first), self.fire.eq(self.first == 0)]
            with m.Elif(self.fire):
                m.d.sync += [left.eq(self.period - 1), self.fire.eq(self.period == 1)]
            with m.Else():
                m.d.sync += [left.eq(left - 1), self.fire.eq(left == 1)]
        return m


class Strides(wiring.Component):
    """Tell the last of the iterations ``first, first + period, ...`` below ``count``.

    Timing
    ------
    ``none`` and the first ``last`` are right from the second cycle on in which the inputs stay.
    ``last`` comes from a register, and moves on with ``step``, to the first iteration if
    ``restart``.

    Members
    -------
    count, first : ``In(16)``
        A count of 0 is 2^16.
    period : ``In(8)``
        At least 1.
    restart, step : ``In(1)``
    none : ``Out(1)``
        Not even the first iteration is below ``count``.
    last : ``Out(1)``
    """

    count: Signal
    first: Signal
    period: Signal
    restart: Signal
    step: Signal
    none: Signal
    last: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "count": In(16),
                "first": In(16),
                "period": In(8),
                "restart": In(1),
                "step": In(1),
                "none": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # How far the end is: from the first iteration, and from the current one.
        whole, left = (Signal(signed(17), name=n, reset_less=True) for n in ("whole", "left"))
        m.d.sync += whole.eq((self.count - 1)[:16] - self.first)
        m.d.comb += self.none.eq(whole < 0)
        with m.If(self.step):
            with m.If(self.restart):
                m.d.sync += [left.eq(whole), self.last.eq(whole < self.period)]
            with m.Else():
                m.d.sync += [left.eq(left - self.period), self.last.eq(left < (self.period << 1))]
        return m
