"""The reads of a VECTOR command: requests ahead of the lanes, as far as there is room."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.skid import Bypass, Skid
from eightfold.hw.ports import local_address, scratchpad_read, vector_layout
from eightfold.hw.vector.words import chunk_layout, read_layout
from eightfold.target.config import AcceleratorConfig


class VectorReader(Component):
    """Read the operands of each chunk, first b if there is one, then a.

    Timing
    ------
    One request per cycle while fewer than `DEPTH` answers are asked for, on their way, or wait. No
    output follows ``scratchpad.request.ready`` combinationally.

    Parameters
    ----------
    config
        ``vector`` and ``scratchpad``.
    """

    DEPTH = 16
    """Vectors that are on their way or wait: more than the way takes."""

    two: Annotated[Signal, In(1)]
    """Whether b is read; does not change while there are reads."""
    reads: Annotated[stream.Interface, lambda self: In(stream.Signature(read_layout(self.config)))]
    """Chunks, and where their operands are."""
    scratchpad: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """Reads there."""
    moving: Annotated[Signal, Out(1)]
    """A request has been transferred in the cycle before."""
    words: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(vector_layout(self.config)))
    ]
    """Operands in the order of the requests."""
    chunks: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(chunk_layout(self.config)))
    ]
    """One for each chunk. Must be taken with the chunk's last word or before."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = CreditQueue(vector_layout(self.config), self.DEPTH)
        m.submodules.chunks = chunks = CreditQueue(chunk_layout(self.config), self.DEPTH)
        connect(m, words.o, flipped(self.words))
        # Its registers end the way from ``ready``; a chunk is there long before its words.
        m.submodules.chunk_skid = skid = Skid(chunk_layout(self.config))
        connect(m, chunks.o, skid.i)
        connect(m, skid.o, flipped(self.chunks))
        # The scratchpad's ``ready`` comes late, from other engines.
        m.submodules.bypass = bypass = Bypass(local_address(self.config))
        connect(m, bypass.o, flipped(self.scratchpad.request))
        read = self.reads.payload
        request = bypass.i
        has_b, asks_b, transfer, offered = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            asks_b.eq(self.two & ~has_b),
            request.valid.eq(self.reads.valid & words.available),
            request.payload.eq(Mux(asks_b, read.b, read.a)),
            transfer.eq(request.valid & request.ready),
            self.reads.ready.eq(words.available & request.ready & ~asks_b),
            self.moving.eq(offered & ~bypass.full),
            words.take.eq(transfer),
            words.push.eq(self.scratchpad.valid),
            words.push_data.eq(self.scratchpad.data),
            # A chunk waits no longer than its words, so there is room for it.
            chunks.take.eq(transfer & ~asks_b),
            chunks.push.eq(transfer & ~asks_b),
            chunks.push_data.eq(read.chunk),
        ]
        m.d.sync += offered.eq(bypass.o.valid)
        with m.If(transfer):
            m.d.sync += has_b.eq(asks_b)
        return m
