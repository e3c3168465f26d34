"""A queue that shows its oldest word as its memory has it, without a register behind."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component


class Fifo(Component):
    """Queue words, first in, first out.

    `amaranth.lib.fifo.SyncFIFO` works the same, but adds and subtracts what comes and goes, and
    compares its level. Here what comes and goes only enables registers, and what they become is
    known before: who reads may decide late.

    Timing
    ------
    A word is on ``r_data`` in the cycle after it was written, if the queue was empty. ``w_rdy`` and
    ``r_rdy`` come from registers; a place that is read is free in the next cycle.

    Parameters
    ----------
    shape
        Shape of a word.
    depth
        Words that it holds, at least 1.

    Raises
    ------
    ValueError
        If ``depth`` is less than 1.
    """

    w_data: Annotated[Any, lambda self: In(self.shape)]
    """A word."""
    w_rdy: Annotated[Signal, Out(1, init=1)]  # pyright: ignore[reportCallIssue] - not in the stubs
    """There is a place."""
    w_en: Annotated[Signal, In(1)]
    """Writes ``w_data``; nothing happens without a place."""
    r_data: Annotated[Any, lambda self: Out(self.shape)]
    """The oldest word."""
    r_rdy: Annotated[Signal, Out(1)]
    """There is one."""
    r_en: Annotated[Signal, In(1)]
    """Takes it; nothing happens if there is none."""

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, not {depth}")
        self.shape, self.depth = shape, depth
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Value.cast(self.w_data)
        m.submodules.storage = storage = Memory(
            shape=unsigned(len(word)), depth=self.depth, init=[]
        )
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")
        writes, reads = self.w_en & self.w_rdy, self.r_en & self.r_rdy
        m.d.comb += [
            write_port.data.eq(word),
            write_port.en.eq(writes),
            Value.cast(self.r_data).eq(read_port.data),
        ]
        level = Signal(range(self.depth + 1))
        with m.If(writes ^ reads):
            m.d.sync += [
                level.eq(level + Mux(writes, 1, -1)),
                self.w_rdy.eq(reads | (level != self.depth - 1)),
                self.r_rdy.eq(writes | (level != 1)),
            ]
        for port, moves in ((write_port, writes), (read_port, reads)):
            with m.If(moves):
                m.d.sync += port.addr.eq(Mux(port.addr == self.depth - 1, 0, port.addr + 1))
        return m
