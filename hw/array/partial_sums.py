"""The accumulators of a lane: partial sums in a RAM, and the adder that extends them."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.dot_product import add
from eightfold.hw.blocks.component import Component
from eightfold.target.config import AcceleratorConfig


class PartialSums(Component):
    """Add dot products to stored int32 sums, with wrap.

    ``acc = (0 if clear else stored[slot]) + dot + carry``; with ``write``, ``acc`` is stored.

    Timing
    ------
    One sum per cycle, no stalls. For a dot product presented in cycle ``n`` together with
    ``clear``: ``read_slot`` in cycle ``n - READ_AHEAD``; ``acc`` appears in ``n + 1``, where
    ``write`` with ``write_slot`` belong too. A sum stored for cycle ``n`` can be read for cycle
    ``n + REVISIT`` and later; who reads it before gets the old one: the user must keep apart.

    Parameters
    ----------
    config
        ``psum_depth`` and the dot product's width.
    bits
        Width of ``dot``.
    """

    READ_AHEAD = 2
    """Cycles from the RAM's address to its output register."""

    REVISIT = READ_AHEAD + 2
    """Least distance in cycles between two sums in one slot."""

    read_slot: Annotated[Signal, lambda self: In(range(self.config.psum_depth))]
    write_slot: Annotated[Signal, lambda self: In(range(self.config.psum_depth))]
    clear: Annotated[Signal, In(1)]
    """The sum starts at 0."""
    write: Annotated[Signal, In(1)]
    """``acc`` is stored in ``write_slot``."""
    dot: Annotated[Signal, lambda self: In(signed(self.bits))]
    """A dot product."""
    carry: Annotated[Signal, In(1)]
    """Is added to it."""
    acc: Annotated[Signal, Out(signed(32))]
    """The sum, from a register."""

    def __init__(self, config: AcceleratorConfig, bits: int) -> None:
        self.config, self.bits = config, bits
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # What a read gives in the cycle of a write to the same slot is never used; the attribute
        # shows that to tools that would otherwise add a bypass.
        attrs: Any = {"no_rw_check": 1}  # Any: the stub allows strings only
        m.submodules.ram = ram = Memory(
            shape=signed(32), depth=self.config.psum_depth, init=[], attrs=attrs
        )
        write, read = ram.write_port(), ram.read_port()
        stored = Signal(signed(32), reset_less=True)  # no reset: it is the RAM block's register
        m.d.comb += [
            read.addr.eq(self.read_slot),
            write.addr.eq(self.write_slot),
            write.data.eq(self.acc),
            write.en.eq(self.write),
        ]
        # A RAM block is slow from clock to output: it needs a second register before the adder.
        m.d.sync += stored.eq(read.data)
        before = Mux(self.clear, 0, stored)
        m.d.sync += self.acc.eq(add(before, self.dot, self.carry))
        return m
