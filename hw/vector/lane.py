"""A lane of the vector engine: two lookups, an operation, a reduction."""

from typing import Annotated, ClassVar

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.hw.vector.table import VectorTable
from eightfold.hw.vector.words import beats, operation_layout, table_write_layout
from eightfold.isa import Combine
from eightfold.target.config import AcceleratorConfig

PRODUCT_BITS = 22
"""Bits of operand b that are multiplied."""

SPLIT = 17
"""Those that fit the wide side of a DSP block's multiplier, with a sign of their own."""


class VectorLane(Component):
    """Compute ``reduce(combine(table_a[a], table_b[b]))`` of one element per cycle.

    A lane of the MAC array requantizes it.

    Timing
    ------
    One element per cycle, no stalls, no enables. For the element whose bytes are presented in
    cycle ``n``: ``byte`` in ``n + BYTE_CYCLE``, ``operand_b`` in ``n + OPERAND_CYCLE``, ``sum`` in
    ``n + LATENCY``; ``accumulate`` and ``restart`` belong to cycle ``n + REDUCE_CYCLE``, ``index``
    to the one before. ``operation`` and ``maximum`` hold still while elements are on their way.

    Parameters
    ----------
    config
        ``vector``, ``vector_lanes`` and ``tables``.
    takes_rows
        Whether the results of rows leave here.
    """

    BYTE_CYCLE: ClassVar[int] = 1
    LOOKUP_CYCLE: ClassVar[int] = 2
    OPERAND_CYCLE: ClassVar[int] = LOOKUP_CYCLE + VectorTable.LATENCY + 1
    REDUCE_CYCLE: ClassVar[int] = OPERAND_CYCLE + 3
    LATENCY: ClassVar[int] = REDUCE_CYCLE + 1

    a: Annotated[Signal, In(signed(8))]
    """Operand a."""
    b: Annotated[Signal, In(signed(8))]
    """Operand b."""
    outside: Annotated[Signal, In(1)]
    """Operand a is ``operation.fill`` instead."""
    accumulate: Annotated[Signal, In(1)]
    """There is an element."""
    restart: Annotated[Signal, In(1)]
    """It is the first one of its window."""
    index: Annotated[Signal, lambda self: In(range(beats(self.config)))]
    """Number of the element's accumulator."""
    operation: Annotated[data.View, lambda self: In(operation_layout(self.config))]
    """What holds for the command."""
    maximum: Annotated[Signal, In(signed(8))]
    """What is subtracted from a if ``operation.relative``."""
    common: Annotated[Signal, In(signed(32))]
    """Operand b if ``operation.common``, in cycle `OPERAND_CYCLE` - 1."""
    row_result: Annotated[Signal, In(signed(32))]
    """``sum`` instead of the reduced value if ``operation.single`` and ``takes_rows``."""
    write: Annotated[data.View, lambda self: In(table_write_layout(self.config))]
    """Load of the tables."""
    byte: Annotated[Signal, Out(signed(8))]
    """Operand a, or the fill byte."""
    operand_b: Annotated[Signal, Out(signed(32))]
    """What was looked up for b."""
    sum: Annotated[Signal, Out(signed(32))]
    """The element's window so far: what is requantized."""

    def __init__(self, config: AcceleratorConfig, takes_rows: bool = False) -> None:
        self.config, self.takes_rows = config, takes_rows
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation = self.operation
        m.d.sync += self.byte.eq(Mux(self.outside, operation.fill, self.a))
        second = delay(m, self.b, "second")
        relative = operation.relative
        index_a = (self.byte - Mux(relative, self.maximum, 0))[:8].as_signed()
        looked_up = {
            "a": delay(m, index_a, "index_a"),
            "b": delay(m, Mux(operation.rows, index_a, second), "index_b"),
        }
        a, b = (self._lookup(m, name, byte) for name, byte in looked_up.items())
        a = delay(m, a, "operand_a")
        b = delay(m, Mux(operation.common, self.common, b), "operand_b")
        m.d.comb += self.operand_b.eq(b)
        reduced = self._reduce(m, self._combine(m, a, b))
        rows = self.takes_rows
        m.d.comb += self.sum.eq(
            Mux(operation.single, self.row_result, reduced) if rows else reduced
        )
        return m

    def _lookup(self, m: Module, name: str, byte: Value) -> Value:
        """Cycles 2 and 3: lookup, or the byte itself; return it in cycle 4."""
        m.submodules[f"table_{name}"] = table = VectorTable(self.config)
        m.d.comb += [
            table.write.eq(self.write),
            table.number.eq(self.operation[f"table_{name}"]),
            table.byte.eq(byte),
        ]
        plain = delay(m, byte, f"plain_{name}", table.LATENCY)
        return Mux(self.operation[f"lookup_{name}"], table.entry, plain)

    def _combine(self, m: Module, a: Value, b: Value) -> Value:
        """Cycles 5 to 7: one addition or subtraction, and the product; return it in cycle 7."""
        combine = self.operation.combine
        adds = combine == Combine.ADD
        # a - b, which also compares, is a + ~b + 1.
        total = delay(m, self.add(a, Mux(adds, b, ~b), ~adds), "total")
        product = self._product(m, a, b)
        a, b = delay(m, a, "a_delayed"), delay(m, b, "b_delayed")
        is_sum = adds | (combine == Combine.SUBTRACT)
        equal, differ = combine == Combine.EQUAL, combine == Combine.NOT_EQUAL
        truth = (total == 0) ^ differ
        larger = Mux(self.takes_b(combine, total[-1]), b, a)
        choice = Mux(equal | differ, truth, Mux(is_sum, total[:32].as_signed(), larger))
        chosen = delay(m, choice[:32].as_signed(), "chosen")
        rectified = (combine == Combine.RECTIFY) & a[-1]
        multiplies = delay(m, (combine == Combine.MULTIPLY) | rectified, "multiplies")
        return Mux(multiplies, product, chosen)

    def _product(self, m: Module, a: Value, b: Value) -> Value:
        """Cycles 5 to 7: the product of a's low 16 bits and b's low 22, in cycle 7."""
        factor = a[:16].as_signed()
        low = b[:SPLIT]
        high = b[SPLIT:PRODUCT_BITS].as_signed()
        # Two registers behind a product: the way out of a DSP block takes a cycle of its own.
        part = delay(m, factor * Cat(low, C(0, 1)).as_signed(), "product", 2)
        rest = delay(m, factor * high, "rest", 2)
        return Cat(part[:SPLIT], (part[SPLIT:32] + rest)[: 32 - SPLIT]).as_signed()

    def add(self, a: Value, b: Value, carry: Value) -> Value:
        """Return a + b + carry, 33 bits: signed, so that the highest is the sign."""
        return (Cat(C(1, 1), a, a[-1]) + Cat(carry, b, b[-1]))[1:34].as_signed()

    def takes_b(self, combine: Value, less: Value) -> Value:
        """Return whether the larger or smaller operand is b; ``less``: a < b."""
        is_maximum, is_minimum = combine == Combine.MAXIMUM, combine == Combine.MINIMUM
        return (is_maximum & less) | (is_minimum & ~less)

    def _reduce(self, m: Module, value: Value) -> Value:
        """Cycle 8: extend the window's sum or maximum, in one of as many accumulators as beats.

        What is known of the value, its complement for a comparison, comes from cycle 7: a sum goes
        round through one adder and one choice.
        """
        compares = ~self.operation.sum
        minimum = self.operation.minimum
        addend = delay(m, Mux(compares, ~value, value), "addend")
        value = delay(m, value, "value")
        # In a comparison the total is the difference: negative if the value is larger.
        before = Signal(signed(32))
        total = self.add(before, addend, compares)
        replaces = self.restart | ~compares | (total[-1] ^ minimum)
        # Known before the total is: a comparison only enables the registers.
        new = Mux(self.restart | compares, value, total[:32].as_signed())
        if beats(self.config) > 2:
            return self._memory(m, before, Mux(replaces, new, before))
        return self._registers(m, before, new, self.accumulate & replaces)

    def _registers(self, m: Module, before: Signal, new: Value, replaces: Value) -> Value:
        """Add a register for each accumulator, or the only one; return what the last one holds."""
        index = delay(m, self.index, "index")
        registers = Array(
            Signal(signed(32), name=f"sum{n}", reset_less=True) for n in range(beats(self.config))
        )
        m.d.comb += before.eq(registers[index])
        for number, register in enumerate(registers):
            with m.If(replaces & (index == number)):
                m.d.sync += register.eq(new)
        return registers[delay(m, index, "last_index")]

    def _memory(self, m: Module, before: Signal, after: Value) -> Value:
        """Add a RAM that is written the cycle after, and read the cycle before.

        In between, an element of the same accumulator gets what is on its way, ``after`` or
        ``reduced``.
        """
        count = beats(self.config)
        index = delay(m, self.index, "index")
        current, reduced = (
            Signal(signed(32), name=name, reset_less=True) for name in ("current", "reduced")
        )
        m.d.comb += before.eq(current)
        m.d.sync += reduced.eq(after)
        m.submodules.accumulators = ram = Memory(shape=signed(32), depth=count, init=[])
        write, read = ram.write_port(), ram.read_port(domain="comb")
        m.d.sync += [write.addr.eq(index), write.en.eq(self.accumulate)]
        m.d.comb += [read.addr.eq(self.index), write.data.eq(reduced)]
        with m.If(self.accumulate & (self.index == index)):
            m.d.sync += current.eq(after)
        with m.Elif(write.en & (self.index == write.addr)):
            m.d.sync += current.eq(reduced)
        with m.Else():
            m.d.sync += current.eq(read.data)
        return reduced
