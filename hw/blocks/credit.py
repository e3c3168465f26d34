"""Credits: make a stream of a free-running pipeline, which can itself not be stalled."""

from typing import Annotated

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.ram import ram


class CreditQueue(Component):
    """Queue of results that never overflows, because a place is reserved before a word starts.

    The side that feeds the pipeline takes a credit with each word it sends in; the pipeline
    pushes the word's result some cycles later; a credit returns when a result leaves ``o``. Nothing
    inside the pipeline ever waits, so its registers need no enable.

    Timing
    ------
    A result that is pushed in cycle ``n`` into an empty queue is on ``o`` in cycle ``n + LATENCY``.
    A credit whose result leaves in cycle ``n`` is available in cycle ``n + 1``. A pipeline that
    pushes ``p`` cycles after it takes runs at one word per cycle if ``depth >= p + LATENCY + 1``.

    Parameters
    ----------
    shape
        Shape of a result.
    depth
        Number of results, at least 2. The storage is a RAM of ``depth`` words with a registered
        read.

    Raises
    ------
    ValueError
        If ``depth`` is less than 2.
    """

    LATENCY = 2
    """Cycles from a push into an empty queue to ``o.valid``."""

    available: Annotated[Signal, Out(1)]
    """A credit may be taken in this cycle. From a register."""
    several: Annotated[Signal, Out(1)]
    """There are more credits than one. From a register."""
    take: Annotated[Signal, In(1)]
    """Takes a credit; only while ``available``."""
    push: Annotated[Signal, In(1)]
    """Stores ``push_data``, exactly once for each credit taken."""
    push_data: Annotated[Value, lambda self: In(self.shape)]
    """A result."""
    o: Annotated[stream.Interface, lambda self: Out(stream.Signature(self.shape))]
    """Results in the order of the pushes."""

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        if depth < 2:
            raise ValueError(f"depth must be at least 2, not {depth}")
        self.shape, self.depth = shape, depth
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        credits = Signal(range(self.depth + 1), init=self.depth)
        available, several = Signal(init=1), Signal(init=1)
        returned = self.o.valid & self.o.ready
        m.d.comb += [self.available.eq(available), self.several.eq(several)]
        with m.If(self.take ^ returned):
            m.d.sync += credits.eq(credits + Mux(self.take, -1, 1))
        with m.If(self.take & ~returned):
            m.d.sync += [available.eq(several), several.eq(credits > 2)]
        with m.Elif(returned & ~self.take):
            m.d.sync += [available.eq(1), several.eq(available)]
        self._queue(m)
        return m

    def _queue(self, m: Module) -> None:
        """Add the RAM, and the register that reads it and drives the output."""
        payload = Value.cast(self.o.payload)
        # One of ``depth`` words is always in the output register, so the RAM never fills, and equal
        # pointers mean an empty one. What is read then is of no use: synthesis need not care
        # whether it is written at the same time, and the register needs no other enable than room.
        m.submodules.storage = storage = ram(unsigned(len(payload)), self.depth)
        write_port, read_port = storage.write_port(), storage.read_port(domain="comb")
        word = Signal(len(payload), reset_less=True)
        valid = Signal()
        room = self.o.ready | ~valid
        waiting = write_port.addr != read_port.addr
        m.d.comb += [
            write_port.data.eq(self.push_data),
            write_port.en.eq(self.push),
            self.o.valid.eq(valid),
            payload.eq(word),
        ]
        with m.If(room):
            m.d.sync += [valid.eq(waiting), word.eq(read_port.data)]
        for port, moves in ((write_port, self.push), (read_port, room & waiting)):
            pointer = Signal(range(self.depth))
            m.d.comb += port.addr.eq(pointer)
            with m.If(moves):
                m.d.sync += pointer.eq(Mux(pointer == self.depth - 1, 0, pointer + 1))
