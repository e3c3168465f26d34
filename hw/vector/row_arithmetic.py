"""The arithmetic of a row's function: one instruction of its microprogram after the other."""

from typing import Annotated

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.vector.fixed_point_product import FixedPointProduct
from eightfold.hw.vector.row_program import (
    ADDENDS,
    CONSTANT,
    CONSTANTS,
    EXPONENT,
    EXPONENT_UNIT,
    FRACTION,
    INSTRUCTION_LAYOUT,
    NORMAL,
    REGISTERS,
    Condition,
)


class RowArithmetic(Component):
    """Execute instructions: a product, an adder, and the registers in RAM.

    `eightfold.hw.vector.row_program` states what an instruction is;
    `eightfold.sim.machine.row_interpreter` is the same in numpy.

    Timing
    ------
    An instruction takes `FixedPointProduct.CYCLES` cycles; the next one sees its result, and may
    follow at once. One multiplier of 17 x 17 bits.
    """

    run: Annotated[Signal, In(1)]
    """1 as long as there are instructions."""
    instruction: Annotated[data.View, In(INSTRUCTION_LAYOUT)]
    """Stays until its last cycle."""
    last: Annotated[Signal, Out(1)]
    """The last cycle of an instruction."""
    exponent: Annotated[Signal, In(EXPONENT)]
    """That of x; stays."""
    write_x: Annotated[Signal, In(1)]
    """Write ``value`` to register ``x``; without ``run``, and not together with ``write_n``."""
    write_n: Annotated[Signal, In(1)]
    """Write ``value`` to register ``n``, likewise."""
    value: Annotated[Signal, In(unsigned(32))]
    """What is written."""
    result: Annotated[Signal, Out(signed(32))]
    """What an instruction wrote last."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = Memory(shape=signed(32), depth=1 << len(self.instruction.target), init=[])
        m.submodules.registers = registers
        cycle = Signal(range(FixedPointProduct.CYCLES))
        m.d.comb += self.last.eq(self.run & (cycle == FixedPointProduct.CYCLES - 1))
        with m.If(self.run):
            m.d.sync += cycle.eq(cycle + 1)
        total = self._total(m, registers, cycle)
        holds = self._holds(m, total)
        result = Signal(signed(32), reset_less=True)
        with m.If(self.last & holds):
            m.d.sync += result.eq(total)
        number = {name: REGISTERS.index(name) for name in "xn"}
        write = registers.write_port()
        m.d.comb += [
            self.result.eq(result),
            write.en.eq(self.write_x | self.write_n | (self.last & holds)),
            write.addr.eq(
                Mux(self.run, self.instruction.target, Mux(self.write_x, number["x"], number["n"]))
            ),
            write.data.eq(Mux(self.run, total, self.value)),
        ]
        return m

    def _total(self, m: Module, registers: Memory, cycle: Signal) -> Value:
        """Return addend and product, in the last cycle."""
        m.submodules.product = product = FixedPointProduct()
        first = registers.read_port(domain="comb")
        addend = Signal(signed(32), reset_less=True)
        m.d.comb += [
            first.addr.eq(self.instruction.a),
            product.start.eq(self.run & (cycle == 0)),
            product.a.eq(first.data),
            product.b.eq(self._operand(m, registers, "b")),
        ]
        m.d.sync += addend.eq(
            self._operand(m, registers, "addend") | self._completion(self.instruction.addend)
        )
        subtract = self.instruction.subtract
        scaled = (product.result << self.instruction.left)[:32] ^ subtract.replicate(32)
        # The carry input of the adder makes the complement a negation.
        return (Cat(C(1, 1), addend) + Cat(subtract, scaled))[1:33].as_signed()

    def _operand(self, m: Module, registers: Memory, name: str) -> Value:
        """Return the register or the constant that a field of the instruction says."""
        source = self.instruction[name]
        values = [*CONSTANTS.values(), *ADDENDS.values()]
        constants = Memory(shape=signed(32), depth=len(values), init=values)
        m.submodules[f"constants_{name}"] = constants
        register, constant = (memory.read_port(domain="comb") for memory in (registers, constants))
        m.d.comb += [register.addr.eq(source), constant.addr.eq(source)]
        return Mux(source & CONSTANT, constant.data, register.data)

    def _completion(self, source: Value) -> Value:
        """Return the bits that the unit sets in an addend: see
        `eightfold.hw.vector.row_program.ADDENDS`."""
        number = {name: CONSTANT + len(CONSTANTS) + i for i, name in enumerate(ADDENDS)}
        exponent = self.exponent[:4]
        above = Cat(exponent <= bit for bit in range(NORMAL - FRACTION + 1))
        return Mux(source == number["exponent"], exponent << EXPONENT_UNIT, 0) | Mux(
            source == number["-top"], above << FRACTION, 0
        )

    def _holds(self, m: Module, total: Value) -> Value:
        """Return whether the instruction's condition holds, from a register."""
        condition = self.instruction.condition
        negative = Signal()
        holds = Signal()
        with m.If(self.last & (condition == Condition.ALWAYS)):
            m.d.sync += negative.eq(total[-1])
        conditions = {
            Condition.ALWAYS: C(1, 1),
            Condition.NEGATIVE: negative,
            Condition.EVEN: ~self.exponent[0],
            Condition.BELOW_32: self.exponent < 5 - FRACTION,
            Condition.BELOW_8: self.exponent < 3 - FRACTION,
            Condition.BELOW_2: self.exponent < 1 - FRACTION,
        }
        m.d.sync += holds.eq(
            Cat((condition == each) & true for each, true in conditions.items()).any()
        )
        return holds
