"""Registers in a stream: in the path of its words, of ``ready``, or of both."""

from typing import Annotated

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component


class _Passes(Component):
    """What the registers of this module share: words of ``shape`` go from ``i`` to ``o``.

    Parameters
    ----------
    shape
        Shape of a word.
    """

    i: Annotated[stream.Interface, lambda self: In(stream.Signature(self.shape))]
    """Words that come."""
    o: Annotated[stream.Interface, lambda self: Out(stream.Signature(self.shape))]
    """The same words."""

    def __init__(self, shape: ShapeLike) -> None:
        self.shape = shape
        super().__init__()


class Skid(_Passes):
    """Pass a stream on through two registers; all outputs come from registers.

    The second register takes the word that was under way when ``o`` stalled.

    Timing
    ------
    One word per cycle, one cycle after it was accepted. ``i.ready`` is 0 in a cycle if ``o``
    stalled the cycle before with one word behind it.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Value.cast(self.i.payload)
        first, second = (
            Signal(len(word), name=name, reset_less=True) for name in ("first", "second")
        )
        valid, full = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full),
            self.o.valid.eq(valid),
            Value.cast(self.o.payload).eq(first),
        ]
        with m.If(~full):
            m.d.sync += second.eq(word)
        with m.If(self.o.ready | ~valid):
            with m.If(full):
                m.d.sync += first.eq(second)
            with m.Else():
                m.d.sync += first.eq(word)
            m.d.sync += [valid.eq(full | self.i.valid), full.eq(0)]
        with m.Elif(self.i.valid):
            m.d.sync += full.eq(1)
        return m


class Stage(_Passes):
    """Pass a stream on through one register, which takes what comes straight from a RAM.

    Timing
    ------
    One word per cycle, one cycle after it was accepted. ``i.ready`` follows ``o.ready``
    combinationally.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(len(Value.cast(self.i.payload)), reset_less=True)
        valid = Signal()
        m.d.comb += [
            self.i.ready.eq(self.o.ready | ~valid),
            self.o.valid.eq(valid),
            Value.cast(self.o.payload).eq(word),
        ]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), word.eq(Value.cast(self.i.payload))]
        return m


class Bypass(_Passes):
    """Pass a stream straight on, but for ``ready``: a register takes the word that ``o`` refuses.

    A word has left ``o`` when it was accepted and ``full`` is 0 in the next cycle.

    Timing
    ------
    One word per cycle, in the cycle in which it is accepted or later. ``i.ready`` comes from a
    register: it is 0 while a word waits, which ``o`` then offers.
    """

    full: Annotated[Signal, Out(1)]
    """A word waits. From a register."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Value.cast(self.i.payload)
        waiting = Signal(len(word), reset_less=True)
        full = Signal()
        m.d.comb += [
            self.full.eq(full),
            self.i.ready.eq(~full),
            self.o.valid.eq(full | self.i.valid),
            Value.cast(self.o.payload).eq(Mux(full, waiting, word)),
        ]
        m.d.sync += full.eq(self.o.valid & ~self.o.ready)
        with m.If(~full):
            m.d.sync += waiting.eq(word)
        return m
