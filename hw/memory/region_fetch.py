"""Parts of a region of memory as a stream, checked against the region's end."""

from typing import Annotated, Any

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.memory.linear_fetch import LinearFetch
from eightfold.hw.ports import memory_read, region_layout
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import AcceleratorConfig


def part_layout(bits: int) -> data.StructLayout:
    """Return a part of a region: byte offset, and bytes as a number of ``bits``."""
    return data.StructLayout({"address": unsigned(ADDRESS_BITS), "bytes": unsigned(bits)})


class RegionFetch(Component):
    """Fetch ``bytes`` bytes from ``region.base + address``, rounded up to whole beats.

    A part that is not aligned, or has ``address + bytes > region.size``, is refused.

    Timing
    ------
    A part is judged in 2 cycles and leaves ``parts`` in the third, if the run before it is
    requested to its end; beats as in `LinearFetch`.

    Parameters
    ----------
    config
        ``port``.
    depth
        Beats that are fetched ahead, see `LinearFetch`.
    bits
        Width of ``bytes``, at least 32.
    alignment
        What ``address`` must be a multiple of, a power of two, at least ``port``.
    """

    parts: Annotated[stream.Interface, lambda self: In(stream.Signature(part_layout(self.bits)))]
    """Taken when judged."""
    region: Annotated[data.View, In(region_layout())]
    """Where parts must lie."""
    yields: Annotated[Signal, In(1)]
    """As in `LinearFetch`."""
    fault: Annotated[Signal, Out(1)]
    """Together with the transfer of a part: it is refused."""
    memory: Annotated[Any, lambda self: Out(memory_read(self.config))]
    """Where from."""
    o: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(unsigned(8 * self.config.port)))
    ]
    """The beats of all parts in order."""

    def __init__(self, config: AcceleratorConfig, depth: int, bits: int, alignment: int) -> None:
        self.config, self.depth, self.bits, self.alignment = config, depth, bits, alignment
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fetch = fetch = LinearFetch(self.config, self.depth)
        connect(m, fetch.memory, flipped(self.memory))
        connect(m, fetch.o, flipped(self.o))
        m.d.comb += fetch.yields.eq(self.yields)
        part = self.parts.payload
        port = self.config.port
        end = Signal(self.bits + 1)
        beats = Signal(32, reset_less=True)
        start = Signal(ADDRESS_BITS, reset_less=True)
        misplaced = Signal()
        m.d.comb += [fetch.runs.payload.address.eq(start), fetch.runs.payload.beats.eq(beats)]
        with m.FSM():
            with m.State("ADD"):
                m.d.sync += [
                    end.eq(part.address + part.bytes),
                    start.eq(self.region.base + part.address),
                    # Of a part that is not refused, whose bytes are less than 2^32.
                    beats.eq((part.bytes[:32] + (port - 1)) // port),
                ]
                with m.If(self.parts.valid):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                unaligned = (part.address % self.alignment) != 0
                m.d.sync += misplaced.eq(unaligned | (end > self.region.size))
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += [
                    self.fault.eq(misplaced),
                    fetch.runs.valid.eq(~misplaced),
                    self.parts.ready.eq(misplaced | fetch.runs.ready),
                ]
                with m.If(self.parts.ready):
                    m.next = "ADD"
        return m
