"""Chunks into beats: `vector` bytes of each operand, `vector_lanes` elements at a time."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from hw.ports import vector_layout
from hw.vector_words import Phase, beat_layout, beats, chunk_layout


class VectorBeats(wiring.Component):
    """Send the elements of chunks into the lanes, which never stall.

    A chunk starts when its words are there, a place for its results is free, and what the pass
    before it over the row finds out is known.

    Timing
    ------
    A beat per cycle, chunk after chunk without a gap if the words are there. ``beat``, ``a`` and
    ``b`` come from registers, the cycle after the chunk was taken.

    Parameters
    ----------
    config
        ``vector`` and ``vector_lanes``.

    Members
    -------
    two : ``In(1)``
        Whether chunks have an operand b, before a.
    words : ``In(stream.Signature(vector_layout(config)))``
    chunks : ``In(stream.Signature(chunk_layout(config)))``
    known : ``In(1)``
        1 for one cycle: the result of the row's pass is there.
    available : ``In(1)``
        There is a place for a chunk's results.
    reserve : ``Out(1)``
        It is taken, for the chunk on ``chunks``.
    beat : ``Out(beat_layout(config))``
    a, b : ``Out(ArrayLayout(signed(8), vector_lanes))``
    """

    two: Signal
    words: stream.Interface
    chunks: stream.Interface
    known: Signal
    available: Signal
    reserve: Signal
    beat: data.View
    a: Any
    b: Any

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        elements = data.ArrayLayout(signed(8), config.vector_lanes)
        super().__init__(
            {
                "two": In(1),
                "words": In(stream.Signature(vector_layout(config))),
                "chunks": In(stream.Signature(chunk_layout(config))),
                "known": In(1),
                "available": In(1),
                "reserve": Out(1),
                "beat": Out(beat_layout(config)),
                "a": Out(elements),
                "b": Out(elements),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        active, close = Signal(), Signal()
        load = self._load(m, ~active | close)
        chunk = Signal(chunk_layout(self.config), reset_less=True)
        index = Signal(range(beats(self.config)))
        with m.If(load):
            m.d.sync += [active.eq(1), index.eq(0), chunk.eq(self.chunks.payload)]
        with m.Elif(close):
            m.d.sync += active.eq(0)
        with m.Else():
            m.d.sync += index.eq(index + 1)
        lanes = self.config.vector_lanes.bit_length() - 1
        m.d.comb += [
            close.eq(active & (index == chunk.last_element[lanes:])),
            self.beat.valid.eq(active),
            self.beat.index.eq(index),
            self.beat.outside.eq(chunk.outside),
            self.beat.first.eq(chunk.first),
            self.beat.emit.eq(active & chunk.final & (chunk.phase == Phase.OUTPUT)),
            self.beat.close.eq(close),
            self.beat.phase.eq(chunk.phase),
            self.beat.begin.eq(chunk.begin & (index == 0)),
            self.beat.end.eq(chunk.end & close),
            self.beat.last_lane.eq(Mux(close, chunk.last_element[:lanes], (1 << lanes) - 1)),
        ]
        return m

    def _load(self, m: Module, free: Value) -> Signal:
        """Add the operands' registers; return whether they take a chunk in this cycle."""
        chunk, load = self.chunks.payload, Signal()
        staged, waits, writes = Signal(), Signal(), Signal()
        output = chunk.phase == Phase.OUTPUT
        m.d.comb += [
            writes.eq(chunk.final & output),
            load.eq(
                (free & self.chunks.valid & self.words.valid)
                & ((~self.two | staged) & ~waits & (~writes | self.available))
            ),
            self.chunks.ready.eq(load),
            self.words.ready.eq(load | (self.two & ~staged)),
            self.reserve.eq(load & writes),
        ]
        with m.If(load):
            # The next pass, or the next row's, needs what this one finds out.
            m.d.sync += [staged.eq(0), waits.eq(chunk.end & chunk.final & ~output)]
        with m.Else():
            with m.If(self.known):
                m.d.sync += waits.eq(0)
            with m.If(self.two & self.words.valid):
                m.d.sync += staged.eq(1)
        stage, a, b = (
            Signal(8 * self.config.vector, name=name, reset_less=True)
            for name in ("stage", "a", "b")
        )
        m.d.comb += [Value.cast(self.a).eq(a), Value.cast(self.b).eq(b)]
        with m.If(~staged):
            m.d.sync += stage.eq(self.words.payload)
        bits = 8 * self.config.vector_lanes
        m.d.sync += [
            a.eq(Mux(load, Value.cast(self.words.payload), a >> bits)),
            b.eq(Mux(load, stage, b >> bits)),
        ]
        return load
