"""The writes of a VECTOR command: beats of results into chunks, chunks into the scratchpad."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.skid import Bypass
from eightfold.hw.ports import scratchpad_write, scratchpad_write_layout, vector_layout
from eightfold.hw.vector.words import beats, result_layout
from eightfold.target.config import AcceleratorConfig


class VectorWriter(Component):
    """Collect the results of each chunk, and write them once.

    A chunk that lies partly outside of the scratchpad is not written.

    Timing
    ------
    One chunk per cycle. ``done`` comes two cycles after the last write's transfer, after any
    ``fault`` of the same command. Chunks of `beats` beats follow each other without a gap if their
    results come up to ``latency`` cycles after they were reserved and no write stalls.

    Parameters
    ----------
    config
        ``vector``, ``vector_lanes`` and ``scratchpad``.
    latency
        Cycles from ``reserve`` to the chunk's first result.
    """

    SPARE = 4
    """Chunks that can wait for stalled writes without the lanes noticing."""

    available: Annotated[Signal, Out(1)]
    """There is a place."""
    reserve: Annotated[Signal, In(1)]
    """Takes it; only while ``available``."""
    result: Annotated[data.View, lambda self: In(result_layout(self.config))]
    """What it is for."""
    results: Annotated[Signal, lambda self: In(8 * self.config.vector_lanes)]
    """One beat of results."""
    emit: Annotated[Signal, In(1)]
    """There is one."""
    index: Annotated[Signal, lambda self: In(range(beats(self.config)))]
    """Its number within the chunk."""
    close: Annotated[Signal, In(1)]
    """It is the chunk's last."""
    scratchpad: Annotated[Any, lambda self: Out(scratchpad_write(self.config))]
    """Writes there."""
    done: Annotated[Signal, Out(1)]
    """As in `eightfold.hw.ports.engine_port`, like ``fault``."""
    fault: Annotated[Signal, Out(1)]

    def __init__(self, config: AcceleratorConfig, latency: int) -> None:
        self.config = config
        way = latency + beats(config) + CreditQueue.LATENCY + 1
        self.depth = max(16, -(-way // beats(config)) + self.SPARE)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = CreditQueue(vector_layout(self.config), self.depth)
        places = CreditQueue(result_layout(self.config), self.depth)
        m.submodules.places = places
        m.d.comb += [
            # Both queues move together; a place is pushed before its word, so it is on its output
            # when the word is. One was reserved a cycle ago, perhaps.
            self.available.eq(words.several),
            words.take.eq(places.push),
            places.take.eq(places.push),
            words.push_data.eq(self._collect(m)),
        ]
        # Registers: ``reserve`` comes late, from the reader and the chunks.
        m.d.sync += [
            places.push.eq(self.reserve),
            places.push_data.eq(self.result),
            words.push.eq(self.emit & self.close),
        ]
        # The scratchpad's ``ready`` comes late, from other engines.
        m.submodules.bypass = bypass = Bypass(scratchpad_write_layout(self.config))
        connect(m, bypass.o, flipped(self.scratchpad))
        written = places.o.payload
        moves = Signal()
        done = Signal()
        last = Value.cast(written.last_element)
        m.d.comb += [
            bypass.i.valid.eq(words.o.valid & ~written.fault),
            bypass.i.payload.address.eq(written.address),
            bypass.i.payload.mask.eq(Cat(last >= i for i in range(self.config.vector))),
            bypass.i.payload.data.eq(words.o.payload),
            moves.eq(words.o.valid & (bypass.i.ready | written.fault)),
            words.o.ready.eq(moves),
            places.o.ready.eq(moves),
        ]
        m.d.sync += [
            self.fault.eq(moves & written.fault),
            done.eq((moves & written.done) | (done & bypass.full)),
            self.done.eq(done & ~bypass.full),
        ]
        return m

    def _collect(self, m: Module) -> Signal:
        """Add the chunk's register; a beat is in it one cycle after it came."""
        bits = 8 * self.config.vector_lanes
        chunk = Signal(8 * self.config.vector, name="collected", reset_less=True)
        for beat in range(beats(self.config)):
            with m.If(self.index == beat):
                m.d.sync += chunk.word_select(beat, bits).eq(self.results)
        return chunk
