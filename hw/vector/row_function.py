"""What a row's sum becomes: its reciprocal, logarithm or inverse square root, in fixed point."""

from typing import Annotated, Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.vector.fixed_point_product import FixedPointProduct
from eightfold.hw.vector.row_arithmetic import RowArithmetic
from eightfold.hw.vector.row_program import (
    ENTRY,
    EXPONENT,
    FRACTION,
    INSTRUCTION_LAYOUT,
    INVERSE_ROOT_LEFT,
    NORMAL,
    PROGRAM,
    RECIPROCAL_RIGHT,
    program,
)
from eightfold.isa import Row

LOWEST = -FRACTION
"""Exponent of 1."""


class RowFunction(Component):
    """Compute the scaling of a row, or what is subtracted from it, from its sum x.

    The results are fields of `eightfold.isa.REQUANTIZE_LAYOUT`, bit for bit those of the reference
    kernels' fixed point; the ones that a function does not name have no meaning:

    - RECIPROCAL, 256 / x of x in Q12, 1 <= x < 2^31: with ``(r, over)`` from
      `eightfold.golden.fixed_point_math.reciprocal`, ``multiplier = r``, ``right = over + 23``,
      ``left = 0``.
    - LOGARITHM of x in Q12, 2^19 <= x < 2^31: ``bias = -golden.fixed_point_log.log(x, 12, 5)``.
    - INVERSE_ROOT, 128 / sqrt(x) of an integer x, read as an int32: with ``(r, shift)`` from
      `eightfold.golden.fixed_point_log.inverse_square_root`, ``multiplier = r``,
      ``left = max(shift + 7, 0)``, ``right = max(-shift - 7, 0)``; 2^31 - 1, 7, 0 of all x below 2.

    A serial product, an adder and 16 registers in RAM execute `eightfold.hw.vector.row_program`.

    Timing
    ------
    ``done`` comes ``latency(function) + zeros`` cycles after ``start``, with the leading zeros of
    x, 32 bits wide: 31 of 0, as of 1, and one of what is read as negative.
    """

    start: Annotated[Signal, In(1)]
    """Not between another one and its ``done``."""
    function: Annotated[Signal, In(hdl(Row))]
    """RECIPROCAL, LOGARITHM or INVERSE_ROOT; comes with ``start``."""
    x: Annotated[Signal, In(unsigned(32))]
    """Comes with ``start``."""
    done: Annotated[Signal, Out(1)]
    """1 for one cycle. From then on to the next ``start`` the results are there."""
    multiplier: Annotated[Signal, Out(unsigned(31))]
    """Field of the requantizer, as are the other results."""
    left: Annotated[Signal, Out(unsigned(5))]
    right: Annotated[Signal, Out(unsigned(6))]
    bias: Annotated[Signal, Out(signed(32))]

    @staticmethod
    def latency(function: Row) -> int:
        """Return the cycles from ``start`` to ``done``, without those of leading zeros."""
        return len(program(function)) * FixedPointProduct.CYCLES + 2

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arithmetic = arithmetic = RowArithmetic()
        function = Signal(hdl(Row), reset_less=True)
        exponent = Signal(EXPONENT, reset_less=True)
        value = Signal(32, reset_less=True)
        loads, normalizes, runs = Signal(), Signal(), Signal()
        ready, ends = Signal(), Signal()
        instruction = self._fetch(m, ready | (arithmetic.last & ~ends))
        m.d.comb += [
            ready.eq(normalizes & (value[NORMAL] | (exponent == LOWEST))),
            ends.eq(arithmetic.last & (instruction.end == function)),
            arithmetic.run.eq(runs),
            arithmetic.instruction.eq(instruction),
            arithmetic.exponent.eq(exponent),
            arithmetic.write_x.eq(loads),
            arithmetic.write_n.eq(normalizes),
            arithmetic.value.eq(value),
        ]
        m.d.sync += [loads.eq(self.start), self.done.eq(0)]
        with m.If(self.start):
            m.d.sync += [function.eq(self.function), value.eq(self.x)]
            m.d.sync += exponent.eq(Mux(self.x[-1], LOWEST, NORMAL - FRACTION))
        with m.If(loads):
            m.d.sync += normalizes.eq(1)
        with m.If(ready):
            m.d.sync += [normalizes.eq(0), runs.eq(1)]
        with m.Elif(normalizes):
            m.d.sync += [value.eq(value << 1), exponent.eq(exponent - 1)]
        with m.If(ends):
            m.d.sync += [runs.eq(0), self.done.eq(1)]
        self._results(m, function == Row.RECIPROCAL, arithmetic.result, exponent)
        return m

    def _fetch(self, m: Module, fetch: Value) -> data.View:
        """Return the instruction, from a register; ``fetch`` replaces it by the next one."""
        words: list[Any] = [each._asdict() for each in PROGRAM]
        m.submodules.rom = rom = Memory(shape=INSTRUCTION_LAYOUT, depth=len(words), init=words)
        port = rom.read_port(domain="comb")
        following = Signal(range(len(words)), reset_less=True)
        instruction = Signal(INSTRUCTION_LAYOUT, reset_less=True)
        m.d.comb += port.addr.eq(following)
        with m.If(fetch):
            m.d.sync += [instruction.eq(port.data), following.eq(following + 1)]
        with m.If(self.start), m.Switch(self.function):
            for function, entry in ENTRY.items():
                with m.Case(function):
                    m.d.sync += following.eq(entry)
        return instruction

    def _results(self, m: Module, reciprocal: Value, result: Value, exponent: Value) -> None:
        """Drive the fields."""
        # The inverse root's right shift; a left shift if it is negative.
        half = exponent >> 1
        left = Mux(half < -INVERSE_ROOT_LEFT, INVERSE_ROOT_LEFT, -half)
        m.d.comb += [
            self.multiplier.eq(Mux(reciprocal, self.doubled(result), result)),
            self.left.eq(Mux(reciprocal | (half >= 0), 0, left)),
            self.right.eq(Mux(reciprocal, exponent + RECIPROCAL_RIGHT, Mux(half < 0, 0, half))),
            self.bias.eq(result),
        ]

    def doubled(self, value: Value) -> Value:
        """Return twice a value from 0 to 2^30, saturated to 31 bits."""
        return Cat(C(0, 1), value[:30]) | value[30].replicate(31)
