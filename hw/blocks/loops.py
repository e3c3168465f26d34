"""Nested loops in hardware: addresses that advance by a stride per loop, one iteration a cycle."""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.sums import retreat, select


class Address(NamedTuple):
    """Width of an address, and the numbers of the loops that have a stride for it, ascending."""

    bits: int
    loops: Sequence[int]


def loops_layout(
    levels: int, addresses: Mapping[str, Address], count_bits: int
) -> data.StructLayout:
    """Return a nest of loops: iterations of each, innermost first, and each address's steps."""
    return data.StructLayout(
        {
            "counts": data.ArrayLayout(unsigned(count_bits), levels),  # 0: 2^count_bits
            **{
                name: data.StructLayout(
                    {
                        "start": unsigned(address.bits),
                        "strides": data.ArrayLayout(signed(address.bits), len(address.loops)),
                    }
                )
                for name, address in addresses.items()
            },
        }
    )


def iteration_layout(levels: int, addresses: Mapping[str, Address]) -> data.StructLayout:
    """Return one iteration: the addresses by name, and where it stands in the loops."""
    return data.StructLayout(
        {
            **{name: unsigned(address.bits) for name, address in addresses.items()},
            "ends": unsigned(levels),  # bit k: loop k is in its last iteration
            "last": unsigned(1),  # all of them are
        }
    )


class Loops(Component):
    """Count through nested loops, loop 0 fastest, and keep addresses.

    In iteration ``(i[levels - 1], ..., i[0])`` each address is
    ``start + sum(i[loop] * stride)``, over the loops that have one, modulo 2 to its width.

    Timing
    ------
    One iteration per cycle, the first one in the cycle after the loops' transfer. The next loops
    are taken with the last iteration. ``o`` comes from registers; ``i.ready`` follows ``o.ready``
    combinationally. What each address does next is known from registers, so that a cycle has one
    choice among its strides and one addition; ``o.ready`` only enables registers.

    Parameters
    ----------
    levels
        Number of loops, at least 1.
    addresses
        Name, width and loops of each address.
    count_bits
        Width of a loop's number of iterations, 1 to 2^count_bits.

    Raises
    ------
    ValueError
        If ``levels`` is less than 1.
    """

    i: Annotated[
        stream.Interface,
        lambda self: In(
            stream.Signature(loops_layout(self.levels, self.addresses, self.count_bits))
        ),
    ]
    """Nests of loops."""
    o: Annotated[
        stream.Interface,
        lambda self: Out(stream.Signature(iteration_layout(self.levels, self.addresses))),
    ]
    """Their iterations."""

    def __init__(self, levels: int, addresses: Mapping[str, Address], count_bits: int = 16) -> None:
        if levels < 1:
            raise ValueError(f"levels must be at least 1, not {levels}")
        self.levels = levels
        self.addresses = dict(addresses)
        self.count_bits = count_bits
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable, idle = Signal(), Signal()
        restart = Signal(init=1)  # there is no iteration, or it is the last one
        m.d.comb += [
            enable.eq(~self.o.valid | self.o.ready),
            idle.eq(restart & ~self.i.valid),
            self.i.ready.eq(enable & restart),
        ]
        # Bit k: after this iteration, loop k and those inside it start again.
        wraps, next_wraps = Signal(self.levels), Signal(self.levels)
        ends = self._count(m, wraps, enable, restart)
        m.d.comb += [next_wraps[k].eq(ends[: k + 1].all()) for k in range(self.levels)]
        m.d.comb += self.o.payload.last.eq(wraps[-1])
        with m.If(enable):
            m.d.sync += [
                self.o.valid.eq(~idle),
                restart.eq(idle | next_wraps[-1]),
                self.o.payload.ends.eq(ends),
                wraps.eq(next_wraps),
            ]
        later = next_wraps | idle.replicate(self.levels)
        for name, address in self.addresses.items():
            self._address(m, name, address, wraps, later, enable, restart)
        return m

    def _count(self, m: Module, wraps: Signal, enable: Value, restart: Value) -> Signal:
        """Add the counters, and return which loops the next iteration ends."""
        ends = Signal(self.levels)
        for k in range(self.levels):
            count = self.i.payload.counts[k]
            # What is left counts this iteration, so that nothing is subtracted from a new count.
            left, again = (
                Signal(self.count_bits, name=f"{name}{k}", reset_less=True)
                for name in ("left", "again")
            )
            single = Signal(name=f"single{k}", reset_less=True)
            advances = wraps[k - 1] if k else Const(1)
            begins = restart | wraps[k]
            m.d.comb += ends[k].eq(self.o.payload.ends[k])
            with m.If(restart):
                m.d.comb += ends[k].eq(count == 1)
            with m.Elif(wraps[k]):
                m.d.comb += ends[k].eq(single)
            with m.Elif(advances):
                m.d.comb += ends[k].eq(left == 2)
            with m.If(enable & (begins | advances)):
                m.d.sync += left.eq(retreat(begins, Mux(restart, count, again), left, 1))
            with m.If(enable & restart):
                m.d.sync += [again.eq(count), single.eq(count == 1)]
        return ends

    def _address(
        self,
        m: Module,
        name: str,
        address: Address,
        wraps: Signal,
        next_wraps: Value,
        enable: Value,
        restart: Value,
    ) -> None:
        """Add the registers of one address: where each of its loops stands, those inside it at 0.

        After an iteration the innermost of its loops that does not start again goes on: by its
        stride if it is the one that advances, by nothing if a loop inside it does. After the last
        one, and while there is none, none goes on: the start of the next nest takes its place in
        the sum, where it needs no choice behind the carries.
        """
        nest = self.i.payload[name]
        loops = address.loops
        bits = address.bits
        outermost = bool(loops) and loops[-1] == self.levels - 1
        positions = [
            Signal(bits, name=f"{name}_position{j}", reset_less=True)
            for j in range(len(loops) + (not outermost))  # the last one: of the loops outside
        ]
        strides = [
            Signal(bits, name=f"{name}_stride{j}", reset_less=True) for j in range(len(loops))
        ]
        # A bit for each choice: their gates and the carry cells of the sum are two levels of logic.
        going, adding = (
            Signal(count, name=f"{name}_{what}")
            for what, count in (("going", len(positions)), ("adding", len(loops)))
        )
        next_going, next_adding = self._choice(loops, next_wraps)
        total = Signal(bits, name=f"{name}_next")
        m.d.comb += [
            total.eq(select([nest.start, *positions], [restart, *going]) + select(strides, adding)),
            self.o.payload[name].eq(positions[0]),
        ]
        with m.If(enable):
            m.d.sync += [going.eq(next_going), adding.eq(next_adding)]
            with m.If(restart):
                m.d.sync += [
                    stride.eq(new) for stride, new in zip(strides, nest.strides, strict=True)
                ]
        for j, position in enumerate(positions):
            moves = wraps[loops[j - 1]] if j else Const(1)
            with m.If(enable & (moves | restart)):
                m.d.sync += position.eq(total)

    def _choice(self, loops: Sequence[int], wraps: Value) -> tuple[Value, Value]:
        """Return a bit for each of an address's loops that goes on, one behind them for those
        outside, and a bit for each that advances: none where all of ``wraps`` are set."""
        # A loop wraps with all loops inside it.
        going = [
            ~wraps[loop] & (wraps[loops[j - 1]] if j else Const(1)) for j, loop in enumerate(loops)
        ]
        adding = [
            goes & (wraps[loop - 1] if loop else Const(1))
            for goes, loop in zip(going, loops, strict=True)
        ]
        outside = wraps[loops[-1]] if loops else Const(1)
        return Cat(*going, outside & ~wraps[-1]), Cat(*adding)
