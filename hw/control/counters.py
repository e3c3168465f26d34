"""The performance counters of `eightfold.isa.COUNTERS`."""

from typing import Annotated

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.isa import COUNTERS
from eightfold.target.config import AcceleratorConfig


class Counters(Component):
    """Count events while the accelerator runs.

    An event counts in a few bits of its own. A memory holds the rest of all counters: in each cycle
    one of them, in turn, takes up what was counted since its last turn. A counter that is read has
    its turn in that cycle, so that no more than one adder is needed, and what is read is exact.

    Timing
    ------
    ``count`` comes a cycle after its event. ``value`` comes in the cycle after ``read``, and has
    the events up to two cycles before ``read``; without ``counters``, one. Reads are at least 2
    cycles apart.

    Parameters
    ----------
    config
        ``counters``.
    """

    clear: Annotated[Signal, In(1)]
    """Set all counters to 0."""
    running: Annotated[Signal, In(1)]
    """Events count."""
    events: Annotated[Signal, In(len(COUNTERS))]
    """Bit ``i``: what counter ``i`` counts happens in this cycle."""
    count: Annotated[Signal, Out(len(COUNTERS))]
    """Bit ``i``: counter ``i`` counts."""
    number: Annotated[Signal, In(range(len(COUNTERS)))]
    """A counter."""
    read: Annotated[Signal, In(1)]
    """It is read."""
    value: Annotated[Signal, Out(32)]
    """What it had counted; 0 of one that the configuration leaves out, and of no counter."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.count.eq(self.events & self.running.replicate(len(COUNTERS)))
        if self.config.counters:
            self._share(m)
        else:
            self._cycles(m)
        return m

    def _cycles(self, m: Module) -> None:
        """Add the one counter that no configuration leaves out."""
        number = [name for name, _ in COUNTERS].index("CYCLES")
        cycles, asked = Signal(32), Signal()
        m.d.sync += asked.eq(self.number == number)
        m.d.comb += self.value.eq(Mux(asked, cycles, 0))
        with m.If(self.clear):
            m.d.sync += cycles.eq(0)
        with m.Elif(self.count[number]):
            m.d.sync += cycles.eq(cycles + 1)

    def _share(self, m: Module) -> None:
        """Add the counters' low bits, and the memory, the adder and the turns that they share."""
        count = len(COUNTERS)
        # Every other cycle is a read at most: a turn comes after twice as many cycles.
        part_bits = (2 * count + 1).bit_length()
        parts = [Signal(part_bits, name=f"part{number}") for number in range(count)]
        # What the memory has of a counter is of the run before, until the counter's first turn.
        stale = Signal(count, init=-1)
        turn, number, previous = (
            Signal(range(count), name=n) for n in ("turn", "number", "previous")
        )
        m.submodules.totals = totals = Memory(shape=32, depth=1 << len(number), init=[])
        write_port, read_port = totals.write_port(), totals.read_port(domain="comb")
        # A cycle to choose, one to add.
        kept, part_since = Signal(32, reset_less=True), Signal(part_bits, reset_less=True)
        none = len(totals.init) - count  # numbers of no counter
        is_stale = Cat(stale, C(-1, none)).bit_select(number, 1)
        latest = Mux(number == previous, self.value, read_port.data)
        m.d.comb += [
            number.eq(Mux(self.read, self.number, turn)),
            read_port.addr.eq(number),
            self.value.eq(kept + part_since),
            write_port.addr.eq(previous),
            write_port.data.eq(self.value),
            write_port.en.eq(1),
        ]
        m.d.sync += [
            previous.eq(number),
            kept.eq(Mux(is_stale, 0, latest)),
            part_since.eq(Array([*parts, *[C(0)] * none])[number]),
        ]
        with m.If(~self.read):
            m.d.sync += turn.eq(Mux(turn == count - 1, 0, turn + 1))
        for k, part in enumerate(parts):
            with m.If(self.clear):
                m.d.sync += [part.eq(0), stale[k].eq(1)]
            with m.Else():
                m.d.sync += part.eq(Mux(number == k, 0, part) + self.count[k])
                with m.If(number == k):
                    m.d.sync += stale[k].eq(0)
