"""The reciprocal of a row's sum: Newton-Raphson in fixed point, one small multiplier."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.requantize_pipeline import register

DIGIT = 16
"""Bits of an operand that are multiplied at a time; with a sign bit they fit a DSP block."""

PRODUCTS = 7
"""Products of a reciprocal: the first estimate, and two for each of three Newton-Raphson steps."""

_48_OVER_17 = 1515870810
_MINUS_32_OVER_17 = -1010580540
_ONE = 1 << 29
"""1 with two integer bits: the estimate is 2 / (1 + a), in [1, 2]."""


class Product(wiring.Component):
    """Saturating rounding doubling high multiply: ``(a * b + 2^30) >> 31``, digit by digit.

    Timing
    ------
    ``result`` belongs to the operands `CYCLES` - 1 cycles after ``start``, which come with it and
    stay. Takes `CYCLES` cycles: ``start`` may come again then.

    Members
    -------
    start : ``In(1)``
    a : ``In(unsigned(31))``
        Not negative, so the result always fits.
    b : ``In(signed(32))``
    result : ``Out(signed(32))``
    """

    CYCLES = 8
    """Cycles per product: four pairs of digits, through three registers into the sum."""

    start: Signal
    a: Signal
    b: Signal
    result: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "a": In(unsigned(31)),
                "b": In(signed(32)),
                "result": Out(signed(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Bit c: cycle c of the product, counted from the one of ``start``.
        cycle = Signal(self.CYCLES - 1)
        m.d.sync += cycle.eq(Cat(self.start, cycle))
        high_a, high_b = cycle[1] | cycle[2], cycle[0] | cycle[2]
        first = register(m, "first", self._digit(self.a, high_a))
        second = register(m, "second", self._digit(self.b, high_b))
        # Two registers behind the product: the way out of a DSP block takes a cycle of its own.
        product = register(m, "product", (first * second)[: 2 * DIGIT + 2].as_signed(), 2)
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
        extended = value[DIGIT:].as_signed() if value.shape().signed else value[DIGIT:]
        low = Cat(value[:DIGIT], C(0, 1)).as_signed()
        return Mux(high, extended, low)[: DIGIT + 1].as_signed()


class Reciprocal(wiring.Component):
    """``1 / x`` as gemmlowp's fixed point computes it, bit for bit.

    ``x`` is shifted left by ``zeros`` until its highest bit is set; with that read as 1 + a,
    ``inverse`` is 1 / (1 + a) as a fraction of 31 bits: with k integer bits of ``x``,
    ``1 / x = inverse * 2^-31 * 2^(zeros - k)``. `golden.fixed_point_math.reciprocal` is the same
    formula, with ``num_bits_over_unit = k - zeros``. A first estimate, 48/17 - 32/17 * (1 + a) / 2,
    is refined in three Newton-Raphson steps. Source: gemmlowp ``fixedpoint.h``,
    ``one_over_one_plus_x_for_x_in_0_1``; TFLite ``GetReciprocal``.

    Timing
    ------
    ``done`` comes ``LATENCY + zeros`` cycles after ``start``; the results stay until the next
    ``start``, which must not come before ``done``. One multiplier of 17 x 17 bits.

    Members
    -------
    start : ``In(1)``
    x : ``In(unsigned(32))``
        Comes with ``start``; 1 to 2^31 - 1. For others the results have no meaning.
    done : ``Out(1)``
        1 for one cycle.
    inverse : ``Out(unsigned(31))``
        In [2^30 - 2, 2^31 - 1].
    zeros : ``Out(range(32))``
    """

    LATENCY = PRODUCTS * Product.CYCLES + 2
    """Cycles from ``start`` to ``done`` without the shifts."""

    start: Signal
    x: Signal
    done: Signal
    inverse: Signal
    zeros: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "x": In(unsigned(32)),
                "done": Out(1),
                "inverse": Out(unsigned(31)),
                "zeros": Out(range(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.product = product = Product()
        normal = Signal(32, reset_less=True)
        shifting, multiplying = Signal(), Signal()
        go, number = Signal(), Signal(range(PRODUCTS))
        cycle = Signal(range(Product.CYCLES))
        m.d.sync += [go.eq(0), self.done.eq(0)]
        with m.If(shifting):
            # Of zero nothing would ever become normal: stop at the last shift.
            with m.If(normal[-1] | (self.zeros == 31)):
                m.d.sync += [shifting.eq(0), multiplying.eq(1), go.eq(1)]
            with m.Else():
                m.d.sync += [normal.eq(normal << 1), self.zeros.eq(self.zeros + 1)]
        with m.If(multiplying):
            m.d.sync += cycle.eq(cycle + 1)
            with m.If(cycle == Product.CYCLES - 1):
                m.d.sync += number.eq(number + 1)
                with m.If(number == PRODUCTS - 1):
                    m.d.sync += [multiplying.eq(0), self.done.eq(1)]
                with m.Else():
                    m.d.sync += go.eq(1)
        with m.If(self.start):
            m.d.sync += [normal.eq(self.x), self.zeros.eq(0), shifting.eq(1), number.eq(0)]
        m.d.comb += product.start.eq(go)
        self._iterate(m, product, normal[1:], number, multiplying & (cycle == Product.CYCLES - 1))
        return m

    def _iterate(
        self, m: Module, product: Product, half: Value, number: Value, complete: Value
    ) -> None:
        """Choose the operands of product ``number``, and use its result.

        ``half`` is (1 + a) / 2, rounded as gemmlowp's ``RoundingHalfSum(a, 1)`` rounds it.
        """
        estimate = Signal(31, reset_less=True)  # not negative, and hardly above 2^30
        error = Signal(signed(32), reset_less=True)
        initial, refines = number == 0, number[0] == 0
        corrects = refines & ~initial
        m.d.comb += [
            product.a.eq(Mux(corrects, estimate, half)),
            product.b.eq(
                Mux(initial, C(_MINUS_32_OVER_17, signed(32)), Mux(corrects, error, estimate))
            ),
        ]
        with m.If(complete & refines):
            before = Mux(initial, _48_OVER_17, estimate)
            change = Mux(initial, product.result, product.result << 2)
            m.d.sync += estimate.eq(before + change)
        with m.If(complete & ~refines):
            m.d.sync += error.eq(_ONE - product.result)
        # Half of the estimate, saturated: 2 / (1 + a) of a = 0 would be 2^31.
        doubled = Cat(C(0, 1), estimate[:30])
        m.d.comb += self.inverse.eq(doubled | estimate[30].replicate(31))
