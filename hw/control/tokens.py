"""Tokens: the counters that order the engines' commands among each other."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.isa import Engine

ENGINES = len(Engine)

MASK = unsigned(ENGINES)
"""A bit for each engine, as in a header's ``wait`` and ``signal``."""


class TokenCounter(Component):
    """Count the tokens from one engine to another.

    Timing
    ------
    A token that is given in cycle ``n`` is ``available`` in cycle ``n + 1``.
    """

    BITS = 12
    """The counter stays at its highest value if more is given: too few tokens can make a command
    wait for ever, but never make it start too early."""

    give: Annotated[Signal, In(1)]
    """One token more."""
    take: Annotated[Signal, In(1)]
    """One token less; only while ``available``."""
    available: Annotated[Signal, Out(1)]
    """There is a token. From a register."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(self.BITS)
        available = Signal()
        m.d.comb += self.available.eq(available)
        gains = self.give & ~self.take & ~count.all()
        loses = self.take & ~self.give
        with m.If(gains | loses):
            m.d.sync += count.eq(count + Mux(self.take, -1, 1))
        with m.If(gains):
            m.d.sync += available.eq(1)
        with m.Elif(loses):
            m.d.sync += available.eq(count != 1)
        return m


class Tokens(Component):
    """A counter for each ordered pair of engines, an engine and itself too.

    Timing
    ------
    All tokens that a command waits for are taken in the cycle of its grant, or none. Tokens given
    in cycle ``n`` can be taken in cycle ``n + 1``.
    """

    give: Annotated[data.View, In(data.ArrayLayout(MASK, ENGINES))]
    """Element ``i``: give one token of engine ``i`` to each engine with a set bit."""
    request: Annotated[Signal, In(ENGINES)]
    """Bit ``j``: engine ``j`` wants to start a command."""
    wait: Annotated[data.View, In(data.ArrayLayout(MASK, ENGINES))]
    """Element ``j``: the engines it needs a token from."""
    grant: Annotated[Signal, Out(ENGINES)]
    """Bit ``j``: engine ``j`` starts its command in this cycle. Follows ``request`` and
    ``wait`` combinationally."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for taker in range(ENGINES):
            wait = Signal(MASK, name=f"wait{taker}")
            m.d.comb += wait.eq(self.wait[taker])
            available = [self._counter(m, giver, taker, wait[giver]) for giver in range(ENGINES)]
            complete = (~wait | Cat(*available)).all()
            m.d.comb += self.grant[taker].eq(self.request[taker] & complete)
        return m

    def _counter(self, m: Module, giver: int, taker: int, waits: Value) -> Signal:
        m.submodules[f"from{giver}_to{taker}"] = counter = TokenCounter()
        m.d.comb += [
            counter.give.eq(Value.cast(self.give[giver])[taker]),
            counter.take.eq(self.grant[taker] & waits),
        ]
        return counter.available
