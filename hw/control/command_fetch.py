"""The command stream: from memory to 32-bit words."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.gearbox import Gearbox
from eightfold.hw.blocks.skid import Skid
from eightfold.hw.blocks.sums import retreat
from eightfold.hw.memory.linear_fetch import LinearFetch
from eightfold.hw.ports import BURST, memory_read
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import AcceleratorConfig


class CommandFetch(Component):
    """Read the command stream ahead and cut it into words, once after each reset.

    Timing
    ------
    One word per cycle; see `LinearFetch` for the memory's part. ``words`` comes from registers.

    Parameters
    ----------
    config
        ``port``.
    """

    DEPTH = 2 * BURST
    """Beats that are fetched ahead."""

    start: Annotated[Signal, In(1)]
    """For one cycle: fetch."""
    address: Annotated[Signal, In(ADDRESS_BITS)]
    """The address of the first word, a multiple of the port's bytes; stays while words come."""
    length: Annotated[Signal, In(ADDRESS_BITS)]
    """Bytes. The last ones are left out if they do not fill a word."""
    memory: Annotated[Any, lambda self: Out(memory_read(self.config))]
    """To the memory reader."""
    words: Annotated[stream.Interface, Out(stream.Signature(unsigned(32)))]
    """The stream."""
    exhausted: Annotated[Signal, Out(1)]
    """All words have been transferred. From a register."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fetch = fetch = LinearFetch(self.config, self.DEPTH)
        m.submodules.gearbox = gearbox = Gearbox(self.config.port, 4)
        m.submodules.skid = skid = Skid(unsigned(32))
        connect(m, fetch.memory, flipped(self.memory))
        connect(m, fetch.o, gearbox.i)
        connect(m, skid.o, flipped(self.words))
        # What is left counts words that leave the gearbox; what comes behind them is padding.
        left = Signal(ADDRESS_BITS - 2)
        more = Signal()
        asking = Signal()
        m.d.comb += [
            fetch.runs.valid.eq(asking),
            fetch.runs.payload.address.eq(self.address),
            fetch.runs.payload.beats.eq((self.length + (self.config.port - 1)) // self.config.port),
            skid.i.valid.eq(gearbox.o.valid & more),
            skid.i.payload.eq(gearbox.o.payload),
            gearbox.o.ready.eq(skid.i.ready & more),
        ]
        words = self.length >> 2
        with m.If(self.start | (skid.i.valid & skid.i.ready)):
            m.d.sync += [
                left.eq(retreat(self.start, words, left, 1)),
                more.eq(Mux(self.start, words != 0, left != 1)),
            ]
        m.d.sync += asking.eq(Mux(asking, ~fetch.runs.ready, self.start))
        self._exhaust(m, more, skid)
        return m

    def _exhaust(self, m: Module, more: Signal, skid: Skid) -> None:
        """Find out that nothing is left before the register and in it."""
        started = Signal()
        with m.If(self.start):
            m.d.sync += started.eq(1)
        m.d.sync += self.exhausted.eq(started & ~more & ~self.words.valid)
