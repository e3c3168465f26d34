"""Nested loops in hardware: addresses that advance by a stride per loop, one iteration a cycle."""

from collections.abc import Mapping

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


def loops_layout(levels: int, addresses: Mapping[str, int], count_bits: int) -> data.StructLayout:
    """Return a nest of loops: iterations of each, innermost first, and each address's steps."""
    return data.StructLayout(
        {
            "counts": data.ArrayLayout(unsigned(count_bits), levels),  # 0: 2^count_bits
            **{
                name: data.StructLayout(
                    {
                        "start": unsigned(bits),
                        "strides": data.ArrayLayout(signed(bits), levels),
                    }
                )
                for name, bits in addresses.items()
            },
        }
    )


def iteration_layout(levels: int, addresses: Mapping[str, int]) -> data.StructLayout:
    """Return one iteration: the addresses by name, and where it stands in the loops."""
    return data.StructLayout(
        {
            **{name: unsigned(bits) for name, bits in addresses.items()},
            "ends": unsigned(levels),  # bit k: loop k is in its last iteration
            "last": unsigned(1),  # all of them are
        }
    )


class Loops(wiring.Component):
    """Count through nested loops, loop 0 fastest, and keep addresses.

    In iteration ``(i[levels - 1], ..., i[0])`` each address is
    ``start + sum(i[k] * strides[k])``, modulo 2 to its width.

    Timing
    ------
    One iteration per cycle, the first one in the cycle after the loops' transfer. The next loops
    are taken with the last iteration. ``o`` comes from registers; ``i.ready`` follows ``o.ready``
    combinationally. The loop that advances next is known from a register, so that a cycle has one
    choice among ``levels`` operands and one addition.

    Parameters
    ----------
    levels
        Number of loops, at least 1.
    addresses
        Name and width of each address.
    count_bits
        Width of a loop's number of iterations, 1 to 2^count_bits.

    Members
    -------
    i : ``In(stream.Signature(loops_layout(levels, addresses, count_bits)))``
    o : ``Out(stream.Signature(iteration_layout(levels, addresses)))``

    Raises
    ------
    ValueError
        If ``levels`` is less than 1.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, levels: int, addresses: Mapping[str, int], count_bits: int = 16) -> None:
        if levels < 1:
            raise ValueError(f"levels must be at least 1, not {levels}")
        self.levels, self.addresses, self.count_bits = levels, dict(addresses), count_bits
        super().__init__(
            {
                "i": In(stream.Signature(loops_layout(levels, addresses, count_bits))),
                "o": Out(stream.Signature(iteration_layout(levels, addresses))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        load, step = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~self.o.valid | (self.o.ready & self.o.payload.last)),
            load.eq(self.i.valid & self.i.ready),
            step.eq(self.o.valid & self.o.ready),
        ]
        with m.If(load):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(step & self.o.payload.last):
            m.d.sync += self.o.valid.eq(0)
        level = self._count(m, load, step)
        for name, bits in self.addresses.items():
            self._address(m, name, bits, level, load, step)
        return m

    def _count(self, m: Module, load: Value, step: Value) -> Signal:
        """Add the counters, and return the loop that advances after this iteration."""
        level = Signal(range(self.levels))
        ends = Signal(self.levels)
        for k in range(self.levels):
            count = self.i.payload.counts[k]
            left, restart = (
                Signal(self.count_bits, name=f"{name}{k}", reset_less=True)
                for name in ("left", "restart")
            )
            single = Signal(name=f"single{k}", reset_less=True)
            with m.If(load):
                m.d.comb += ends[k].eq(count == 1)
                m.d.sync += [left.eq(count - 1), restart.eq(count - 1), single.eq(count == 1)]
            with m.Elif(
                level > k if k < self.levels - 1 else Const(0)
            ):  # a loop around this one advances: start again
                m.d.comb += ends[k].eq(single)
                with m.If(step):
                    m.d.sync += left.eq(restart)
            with m.Elif(level == k):
                m.d.comb += ends[k].eq(left == 1)
                with m.If(step):
                    m.d.sync += left.eq(left - 1)
            with m.Else():
                m.d.comb += ends[k].eq(self.o.payload.ends[k])
        with m.If(load | step):
            m.d.sync += [
                self.o.payload.ends.eq(ends),
                self.o.payload.last.eq(ends.all()),
                level.eq(self._lowest_clear(ends)),
            ]
        return level

    def _lowest_clear(self, ends: Signal) -> Value:
        """Return the innermost loop that is not in its last iteration."""
        lowest: Value = Value.cast(self.levels - 1)
        for k in reversed(range(self.levels - 1)):
            lowest = Mux(ends[k], lowest, k)
        return lowest

    def _address(
        self, m: Module, name: str, bits: int, level: Signal, load: Value, step: Value
    ) -> None:
        """Add the registers of one address: where each loop stands with those inside it at 0."""
        loops = self.i.payload[name]
        positions, strides = (
            [Signal(bits, name=f"{name}_{what}{k}", reset_less=True) for k in range(self.levels)]
            for what in ("position", "stride")
        )
        total = Signal(bits, name=f"{name}_next")
        m.d.comb += total.eq(Array(positions)[level] + Array(strides)[level])
        m.d.comb += self.o.payload[name].eq(positions[0])
        for k in range(self.levels):
            with m.If(load):
                m.d.sync += [positions[k].eq(loops.start), strides[k].eq(loops.strides[k])]
            with m.Elif(step & (level >= k)):
                m.d.sync += positions[k].eq(total)
