"""Functions of one byte as a table: 256 entries in RAM, looked up by a vector per cycle."""

from typing import ClassVar

from amaranth.hdl import Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from eightfold.isa.streams import TABLE_LOAD_LAYOUT

ENTRIES = 256


class Table(wiring.Component):
    """Replace every byte of a vector by a table's int32 entry: ``o[p] = table[i[p] & 255]``.

    Serves every function of one int8 whose values the compiler computes beforehand with the
    reference arithmetic; see docs/numerics.md. `ByteTable` is the same with int8 entries.

    Timing
    ------
    One vector per cycle, `LATENCY` cycles after it was accepted, in order. ``load.ready`` is
    always 1; a lookup that is accepted after a load sees it, an earlier one does not. In a cycle
    with a load no lookup is accepted. Full backpressure: ``i.ready`` follows ``o.ready`` and
    ``load.valid`` combinationally.

    The RAM is replicated, one copy per two ports. Its write shares the address of the first port,
    and nothing is read in the cycle of a write, so that a RAM block with two ports of one address
    each suffices. Where blocks are as wide in that mode as entries are, synthesis finds one block
    per copy: 8-bit entries on ECP5, Gowin and Xilinx 7, and 32-bit entries on Xilinx 7. Elsewhere
    it takes one block per port.

    Parameters
    ----------
    config
        ``width`` is the default number of ports.
    ports
        Bytes that are looked up at once, at least 1.

    Members
    -------
    load : ``In(stream.Signature(TABLE_LOAD_LAYOUT))``
        Entries to write.
    i : ``In(stream.Signature(ArrayLayout(signed(8), ports)))``
        Vectors of bytes.
    o : ``Out(stream.Signature(ArrayLayout(signed(32), ports)))``
        Vectors of entries.

    Raises
    ------
    ValueError
        If ``ports`` is less than 1.
    """

    ENTRY: ClassVar[Shape] = signed(32)
    """Shape of an entry; narrower ones keep the low bits of a loaded value."""

    LATENCY: ClassVar[int] = 2
    """Cycles from a transfer on ``i`` to its vector on ``o``."""

    load: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: AcceleratorConfig, ports: int | None = None) -> None:
        self.ports = config.width if ports is None else ports
        if self.ports < 1:
            raise ValueError(f"ports must be at least 1, not {ports}")
        super().__init__(
            {
                "load": In(stream.Signature(TABLE_LOAD_LAYOUT)),
                "i": In(stream.Signature(data.ArrayLayout(signed(8), self.ports))),
                "o": Out(stream.Signature(data.ArrayLayout(self.ENTRY, self.ports))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found = Signal()  # the RAMs' output registers hold a vector
        proceed, read = Signal(), Signal()
        m.d.comb += [
            proceed.eq(self.o.ready | ~self.o.valid),
            self.load.ready.eq(1),
            self.i.ready.eq(self.accept(proceed, found)),
            read.eq(self.i.valid & self.i.ready),
        ]
        with m.If(proceed):
            m.d.sync += [self.o.valid.eq(found), found.eq(0)]
        with m.If(read):
            m.d.sync += found.eq(1)
        for first in range(0, self.ports, 2):
            entries = self._copy(m, first, read)
            with m.If(proceed):
                # A RAM block is slow from clock to output; a register takes up its entries.
                for port, entry in enumerate(entries, start=first):
                    m.d.sync += self.o.payload[port].eq(entry)
        return m

    def accept(self, proceed: Value, found: Value) -> Value:
        """Return whether a vector can be looked up: it has somewhere to go, and no load comes."""
        return (proceed | ~found) & ~self.load.valid

    def _copy(self, m: Module, first: int, read: Value) -> list[Signal]:
        """Add one copy of the RAM, and return what it has read for its one or two ports."""
        memory = Memory(shape=self.ENTRY, depth=ENTRIES, init=[])
        m.submodules[f"copy{first // 2}"] = memory
        write, load = memory.write_port(), self.load.payload
        address = Signal(range(ENTRIES), name=f"address{first // 2}")
        m.d.comb += [
            address.eq(Mux(self.load.valid, load.index, self.i.payload[first])),
            write.addr.eq(address),
            write.data.eq(load.value),
            write.en.eq(self.load.valid),
        ]
        entries = []
        for port in range(first, min(first + 2, self.ports)):
            # Synthesis merges the register into the RAM's read port. It can see from the enable
            # that reads and writes never meet, which it cannot for Amaranth's synchronous port.
            memory_port = memory.read_port(domain="comb")
            entry = Signal(self.ENTRY, name=f"entry{port}", reset_less=True)
            index = address if port == first else self.i.payload[port]
            m.d.comb += memory_port.addr.eq(index)
            with m.If(read):
                m.d.sync += entry.eq(memory_port.data)
            entries.append(entry)
        return entries


class ByteTable(Table):
    """A `Table` with int8 entries: LOGISTIC, TANH, QUANTIZE, any function of one byte.

    A loaded value's low 8 bits count.
    """

    ENTRY = signed(8)
