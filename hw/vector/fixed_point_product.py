"""The fixed point's product, digit by digit: one small multiplier."""

from typing import Annotated

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay

DIGIT = 16
"""Bits of an operand that are multiplied at a time; with a sign bit they fit a DSP block."""


class FixedPointProduct(Component):
    """Rounding doubling high multiply: ``(a * b + 2^30) >> 31``.

    What it would saturate, -2^31 times itself, must not come. Source: gemmlowp ``fixedpoint.h``,
    ``SaturatingRoundingDoublingHighMul``.

    Timing
    ------
    ``result`` belongs to the operands `CYCLES` - 1 cycles after ``start``, which come with it and
    stay for four cycles. Takes `CYCLES` cycles: ``start`` may come again then. One multiplier
    of 17 x 17 bits.
    """

    CYCLES = 8
    """Cycles per product: four pairs of digits, through three registers into the sum."""

    start: Annotated[Signal, In(1)]
    """A product begins."""
    a: Annotated[Signal, In(signed(32))]
    """One operand."""
    b: Annotated[Signal, In(signed(32))]
    """The other one."""
    result: Annotated[Signal, Out(signed(32))]
    """The product."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Bit c: cycle c of the product, counted from the one of ``start``.
        cycle = Signal(self.CYCLES - 1)
        m.d.sync += cycle.eq(Cat(self.start, cycle))
        high_a, high_b = cycle[1] | cycle[2], cycle[0] | cycle[2]
        first = delay(m, self._digit(self.a, high_a), "first")
        second = delay(m, self._digit(self.b, high_b), "second")
        # Two registers behind the product: the way out of a DSP block takes a cycle of its own.
        product = delay(m, (first * second)[: 2 * DIGIT + 2].as_signed(), "product", 2)
        total = Signal(signed(2 * DIGIT + 4), reset_less=True)
        guard = Signal(reset_less=True)
        # In the order low * low, low * high, high * low, high * high; the bits that all later ones
        # leave alone are dropped on the way.
        moved = Mux(cycle[3] | cycle[5], total >> DIGIT, total)
        m.d.sync += total.eq(Mux(cycle[2], 1 << 30, moved) + product)
        m.d.sync += guard.eq(total[DIGIT - 1])
        m.d.comb += self.result.eq(Cat(guard, total))
        return m

    def _digit(self, value: Value, high: Value) -> Value:
        """Return the high digit, which has the sign, or the low one, as signed numbers."""
        low = Cat(value[:DIGIT], C(0, 1))
        return Mux(high, Cat(value[DIGIT:], value[-1]), low).as_signed()
