"""Chunks into beats: `vector` bytes of each operand, `vector_lanes` elements at a time."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.ports import vector_layout
from eightfold.hw.vector.words import beat_layout, beats, chunk_layout, operation_layout
from eightfold.target.config import AcceleratorConfig


class VectorBeats(Component):
    """Send the elements of chunks into the lanes, which never stall.

    A chunk starts when its words are there, a place for its results is free, and what the pass
    before it over the row finds out is known. An operand that is one byte for the whole run is
    repeated here; so is one that is a number for the whole run.

    Timing
    ------
    A beat per cycle, chunk after chunk without a gap if the words are there. ``beat``, ``a`` and
    ``b`` come from registers, the cycle after the chunk was taken.

    Parameters
    ----------
    config
        ``vector`` and ``vector_lanes``.
    """

    operation: Annotated[data.View, lambda self: In(operation_layout(self.config))]
    """``two``: whether chunks have an operand b, before a. Holds still while there are
    chunks."""
    words: Annotated[
        stream.Interface, lambda self: In(stream.Signature(vector_layout(self.config)))
    ]
    """Operands of chunks, in their order."""
    chunks: Annotated[
        stream.Interface, lambda self: In(stream.Signature(chunk_layout(self.config)))
    ]
    """What is known of each."""
    hold: Annotated[Signal, In(1)]
    """1 for one cycle, before the first chunk of a command: it waits for ``known`` too."""
    known: Annotated[Signal, In(1)]
    """1 for one cycle: the result of the row's pass is there."""
    available: Annotated[Signal, In(1)]
    """There is a place for a chunk's results."""
    reserve: Annotated[Signal, Out(1)]
    """It is taken, for the chunk on ``chunks``."""
    beat: Annotated[data.View, lambda self: Out(beat_layout(self.config))]
    """What accompanies the elements."""
    a: Annotated[Any, lambda self: Out(data.ArrayLayout(signed(8), self.config.vector_lanes))]
    """Operands a of a beat."""
    b: Annotated[Any, lambda self: Out(data.ArrayLayout(signed(8), self.config.vector_lanes))]
    """Operands b of a beat."""
    common: Annotated[Signal, Out(signed(32))]
    """Operand b if it is the same number for all lanes."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        active, last, close = Signal(), Signal(), Signal()
        load = self._load(m, ~active | last)
        chunk = Signal(chunk_layout(self.config), reset_less=True)
        index = Signal(range(beats(self.config)))
        lanes = self.config.vector_lanes.bit_length() - 1
        # Whether a beat is the chunk's last is known with it: what is free then starts the next.
        with m.If(load):
            m.d.sync += [active.eq(1), index.eq(0), chunk.eq(self.chunks.payload)]
            m.d.sync += last.eq(self.chunks.payload.last_element[lanes:] == 0)
        with m.Else():
            m.d.sync += [active.eq(active & ~last), index.eq(index + 1)]
            m.d.sync += last.eq(index + 1 == chunk.last_element[lanes:])
        m.d.comb += [
            close.eq(active & last),
            self.beat.valid.eq(active),
            self.beat.index.eq(index),
            self.beat.outside.eq(chunk.outside),
            self.beat.first.eq(chunk.first),
            self.beat.emit.eq(active & chunk.writes),
            self.beat.close.eq(close),
            self.beat.phase.eq(chunk.phase),
            self.beat.begin.eq(chunk.begin & (index == 0)),
            self.beat.end.eq(chunk.end & close),
            self.beat.last_lane.eq(Mux(close, chunk.last_element[:lanes], (1 << lanes) - 1)),
        ]
        return m

    def _load(self, m: Module, free: Value) -> Signal:
        """Add the operands' registers; return whether they take a chunk in this cycle."""
        chunk = self.chunks.payload
        load = Signal()
        staged = Signal()
        waits = Signal()
        two = self.operation.two
        offered = free & self.chunks.valid & self.words.valid
        has_b = ~two | staged
        has_place = ~chunk.writes | self.available
        m.d.comb += [
            load.eq(offered & (has_b & ~waits & has_place)),
            self.chunks.ready.eq(load),
            self.words.ready.eq(load | (two & ~staged)),
            self.reserve.eq(load & chunk.writes),
        ]
        with m.If(load):
            m.d.sync += [staged.eq(0), waits.eq(chunk.waits)]
        with m.Else():
            with m.If(self.hold | self.known):
                m.d.sync += waits.eq(self.hold)
            with m.If(two & self.words.valid):
                m.d.sync += staged.eq(1)
        self._operands(m, load, staged)
        return load

    def _operands(self, m: Module, load: Value, staged: Value) -> None:
        """Add the operands' registers: a chunk's first beat, then the following ones."""
        operation = self.operation
        word = Value.cast(self.words.payload)
        repeated = word[:8].replicate(self.config.vector)
        position = Signal(16)
        stage, a, b = (
            Signal(8 * self.config.vector, name=name, reset_less=True)
            for name in ("stage", "a", "b")
        )
        m.d.comb += [Value.cast(self.a).eq(a), Value.cast(self.b).eq(b)]
        with m.If(~staged):
            m.d.sync += stage.eq(Mux(operation.repeat_b, repeated, word))
        bits = 8 * self.config.vector_lanes
        m.d.sync += [
            a.eq(Mux(load, Mux(operation.repeat_a, repeated, word), a >> bits)),
            b.eq(Mux(load, stage, b >> bits)),
        ]
        m.d.comb += position.eq(Mux(self.chunks.payload.first, 0, self.common[:16] + 1))
        with m.If(load):
            m.d.sync += self.common.eq(Mux(operation.word, stage[:32], position).as_signed())
