"""A copy of the vector engine's tables: one lookup per cycle, loads at any time."""

from typing import Annotated

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.vector.words import table_write_layout
from eightfold.target.config import AcceleratorConfig

ENTRIES = 256


class VectorTable(Component):
    """Look bytes up: ``entry = table[number][byte & 255]``, int32.

    Timing
    ------
    One lookup per cycle, `LATENCY` cycles. A load is seen by lookups of later cycles. What a lookup
    gives in the cycle of a load into the same table is undefined; other tables are not disturbed.

    Parameters
    ----------
    config
        ``tables``.
    """

    LATENCY = 2
    """Cycles from ``byte`` to ``entry``."""

    write: Annotated[data.View, lambda self: In(table_write_layout(self.config))]
    """An entry that is loaded."""
    number: Annotated[Signal, lambda self: In(range(self.config.tables))]
    """The number of the table that is looked into."""
    byte: Annotated[Signal, In(signed(8))]
    """What is looked up."""
    entry: Annotated[Signal, Out(signed(32))]
    """What was found."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = ENTRIES * self.config.tables
        m.submodules.ram = ram = Memory(shape=signed(32), depth=depth, init=[])
        write, read = ram.write_port(), ram.read_port(domain="comb")
        load = self.write.load
        index = Signal(range(depth))
        output, entry = (Signal(signed(32), name=n, reset_less=True) for n in ("output", "entry"))
        m.d.comb += [
            write.addr.eq(load.index),
            write.data.eq(load.value),
            write.en.eq(self.write.valid),
            index[:8].eq(self.byte),
            index[8:].eq(self.number),
            read.addr.eq(index),
        ]
        # Synthesis merges this register into the RAM's port. The condition shows that no entry is
        # read while it is written, for which tools would otherwise add a bypass.
        same_table = Value.cast(load.index)[8:] == self.number
        with m.If(~(self.write.valid & same_table)):
            m.d.sync += output.eq(read.data)
        # A RAM block is slow from clock to output; a register takes up its entries.
        m.d.sync += entry.eq(output)
        m.d.comb += self.entry.eq(entry)
        return m
