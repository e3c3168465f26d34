"""Streams of narrow words from wide ones, and the other way round."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component


class Gearbox(Component):
    """Cut words into narrower ones, or join them to wider ones, lowest bytes first.

    Timing
    ------
    One word per cycle on the side of the narrower words. A word comes out in the cycle in which the
    word with the last part of it is offered: nothing is registered but the earlier parts of a
    wider word, and ``valid`` and ``ready`` pass combinationally.

    Parameters
    ----------
    i_bytes, o_bytes
        Bytes of a word, powers of two.

    Raises
    ------
    ValueError
        If a number of bytes is not a power of two.
    """

    i: Annotated[stream.Interface, lambda self: In(stream.Signature(unsigned(8 * self.i_bytes)))]
    """Words to be cut or joined."""
    o: Annotated[stream.Interface, lambda self: Out(stream.Signature(unsigned(8 * self.o_bytes)))]
    """What becomes of them."""
    drop: Annotated[Signal, In(1)]
    """With a word that leaves ``o``: the rest of the input word it was cut from is skipped.
    Joined words have no rest."""

    def __init__(self, i_bytes: int, o_bytes: int) -> None:
        for name, value in (("i_bytes", i_bytes), ("o_bytes", o_bytes)):
            if value < 1 or value & (value - 1):
                raise ValueError(f"{name} must be a power of two, not {value}")
        self.i_bytes, self.o_bytes = i_bytes, o_bytes
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.i_bytes >= self.o_bytes:
            self._cut(m, self.i_bytes // self.o_bytes)
        else:
            self._join(m, self.o_bytes // self.i_bytes)
        return m

    def _cut(self, m: Module, parts: int) -> None:
        part = Signal(range(parts))
        leaves = self.o.valid & self.o.ready
        ends = (part == parts - 1) | self.drop
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(Value.cast(self.i.payload).word_select(part, 8 * self.o_bytes)),
            self.i.ready.eq(self.o.ready & ends),
        ]
        with m.If(leaves):
            m.d.sync += part.eq(Mux(ends, 0, part + 1))

    def _join(self, m: Module, parts: int) -> None:
        waiting = Signal(8 * (self.o_bytes - self.i_bytes), reset_less=True)
        part = Signal(range(parts))
        complete = Signal()
        joined = Cat(waiting, self.i.payload)
        m.d.comb += [
            complete.eq(part == parts - 1),
            self.o.valid.eq(self.i.valid & complete),
            self.o.payload.eq(joined),
            self.i.ready.eq(self.o.ready | ~complete),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [waiting.eq(joined[8 * self.i_bytes :]), part.eq(part + 1)]
