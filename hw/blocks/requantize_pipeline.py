"""The arithmetic of requantization as a free-running pipeline: int32 accumulator to int8."""

from typing import Annotated, ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Member, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.isa import Rounding

SPLIT = 14
"""Operands of the 32x31 product are split here: the high part of the signed one fills the 18 bits
of a DSP block's multiplier, so that no sign is extended on the way into it."""

SRDHM_SHIFT = 31
"""Bits that the rounding doubling high multiply drops."""

WINDOW = 9
"""Bits that leave the right shifter: the guard bit, and the low byte of the quotient."""


def parameter(name: str) -> Member:
    """Return the port of a field of `eightfold.isa.REQUANTIZE_LAYOUT`."""
    return In(REQUANTIZE_LAYOUT[name].shape)


class RequantizePipeline(Component):
    """Scale an int32 accumulator to int8: add a bias, multiply, round, add a zero point, clamp.

    With ``wrap32`` the two's complement wrap to 32 bits::

        x = wrap32(wrap32(acc + bias) << left)
        pair (single = 0):  y = (x * multiplier + 2^30) >> 31
                            v = wrap32(round(y / 2^right) + zero_point)
        single (= 1):       v = round(x * multiplier / 2^right) + zero_point
        result = min(max(v, low), high)

    where ``round`` follows ``rounding``. See docs/numerics.md;
    `eightfold.golden.requantize.requantize` is the same formula on arrays. Source: TFLite reference
    kernels, MultiplyByQuantizedMultiplier in its double-rounding (pair) and single-rounding form.

    A pair is one rounding shift by 31 + right of ``x * multiplier + 2^30`` with its low 31 bits
    cleared, so one shifter that keeps a guard and a sticky bit serves both forms. The byte that
    leaves it, the rounding increment and the zero point meet in one 10-bit addition.

    Timing
    ------
    One result per cycle. No handshake, no stall, no reset: what enters leaves `LATENCY` cycles
    later. Field ``f`` of the parameters that belong to the accumulator of cycle ``n`` must be
    presented in cycle ``n + FIELD_CYCLE[f]``, and only then.

    The parameters are the fields of `eightfold.isa.REQUANTIZE_LAYOUT`, with the ranges given there.
    """

    FIELD_CYCLE: ClassVar[dict[str, int]] = {
        "bias": 0,
        "left": 0,
        "multiplier": 2,
        "single": 3,
        "right": 6,
        "rounding": 10,
        "zero_point": 12,
        "low": 13,
        "high": 13,
    }
    """Cycle in which a field must be presented, counted from the accumulator's."""

    LATENCY: ClassVar[int] = 15
    """Cycles from ``acc`` to ``result``."""

    acc: Annotated[Signal, In(signed(32))]
    """Accumulator."""
    bias: Annotated[Signal, parameter("bias")]
    left: Annotated[Signal, parameter("left")]
    multiplier: Annotated[Signal, parameter("multiplier")]
    single: Annotated[Signal, parameter("single")]
    right: Annotated[Signal, parameter("right")]
    rounding: Annotated[Signal, parameter("rounding")]
    zero_point: Annotated[Signal, parameter("zero_point")]
    low: Annotated[Signal, parameter("low")]
    high: Annotated[Signal, parameter("high")]
    """Not less than ``low``."""
    result: Annotated[Signal, Out(signed(8))]
    """Result, from a register."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x = self._scale_up(m)
        product, single = self._multiply(m, x)
        negative = product[-1]
        distance = delay(m, self.distance(self.right, single), "distance")
        word, sticky, far = self._scale_down(m, product, negative, distance)
        # The decodes that wait for the sign: of wrapping in cycle 7, of the rounding in cycle 10.
        exact_pair = delay(m, ~single & (self.right == 0), "exact_pair")
        edge = delay(m, exact_pair & self.near_edge(product), "edge", 6)
        negative = delay(m, negative, "negative", 3)
        mode = self.rounding
        rounding = delay(m, self.decode_rounding(mode, negative), "rounding")
        # Cycle 11: rounding. 12: zero point. 13: comparison. 14: selection.
        increment = delay(m, self.round_up(rounding, word[1], word[0], sticky), "increment")
        negative = delay(m, negative, "negative")
        quotient = delay(m, Cat(word[1:], negative).as_signed(), "quotient")
        v = delay(m, self.add_zero_point(quotient, self.zero_point, increment), "v")
        far, negative = delay(m, far, "far", 2), delay(m, negative, "negative", 2)
        low, high = delay(m, self.low, "low"), delay(m, self.high, "high")
        below, above = self.compare(v, self.low, self.high, far, negative, edge)
        below, above = delay(m, below, "below"), delay(m, above, "above")
        byte = delay(m, v[:8], "byte")
        m.d.sync += self.result.eq(self.select(byte, below, above, low, high))
        return m

    def _scale_up(self, m: Module) -> Value:
        """Cycles 0 to 2: bias, left shift by eights, by ones. Return the multiplier's operand."""
        left = delay(m, self.left, "left")
        total = delay(m, self.add_bias(self.acc, self.bias), "total")
        coarse = delay(m, self.shift_left(total, left, (16, 8)), "coarse")
        left = delay(m, left[:3], "left")
        return delay(m, self.shift_left(coarse, left, (4, 2, 1)), "x")

    def _multiply(self, m: Module, x: Value) -> tuple[Value, Value]:
        """Cycles 3 to 6: product. Return it and ``single`` of cycle 6.

        In a pair it is the SRDHM's sum, and the 31 bits which that drops are cleared.
        """
        factor = delay(m, self.multiplier, "factor")
        single = delay(m, self.single, "single")
        low, cross, half, high = (delay(m, part, "part") for part in self.products(x, factor))
        # A second register: the way from a DSP block to the adders takes a cycle of its own.
        low, cross, high = (delay(m, part, "settled") for part in (low, cross, high))
        half = delay(m, self.add_half(half, single), "settled")
        # The products of equal weight are added, the other two just abut.
        cross = delay(m, cross + half, "cross")
        outer = delay(m, Cat(low, high), "outer")
        single = delay(m, single, "single", 2)
        total = Cat(outer[:SPLIT], (outer[SPLIT:].as_signed() + cross)[: 63 - SPLIT])
        cleared = Mux(single, total[:SRDHM_SHIFT], 0)
        return delay(m, Cat(cleared, total[SRDHM_SHIFT:]), "product"), single

    def _scale_down(
        self, m: Module, product: Value, negative: Value, distance: Value
    ) -> tuple[Value, Value, Value]:
        """Cycles 7 to 10: right shift. Return the window, the sticky and the far bit."""
        # The zero below the product is the guard bit of a shift by 0.
        word = Cat(Const(0, 1), product, negative.replicate(WINDOW - 1))
        sticky, far = Const(0, 1), Const(0, 1)
        for steps in ((32,), (16,), (8, 4), (2, 1)):
            for step in steps:
                taken = distance[step.bit_length() - 1]
                word, sticky, far = self.shift_right(word, sticky, far, negative, taken, step)
            word, sticky = delay(m, word, "word"), delay(m, sticky, "sticky")
            far, negative = delay(m, far, "far"), delay(m, negative, "negative")
            distance = delay(m, distance[: steps[-1].bit_length() - 1], "distance")
        return word, sticky, far

    def add_bias(self, acc: Value, bias: Value) -> Value:
        """Return the sum, wrapped to 32 bits."""
        return (acc + bias)[:32]

    def shift_left(self, value: Value, left: Value, steps: tuple[int, ...]) -> Value:
        """Return ``value`` shifted by the bits of ``left`` with the given weights."""
        for step in steps:
            shifted = Cat(Const(0, step), value[:-step])
            value = Mux(left[step.bit_length() - 1], shifted, value)
        return value

    def products(self, x: Value, factor: Value) -> tuple[Value, Value, Value, Value]:
        """Return the products at bit 0, at bit `SPLIT` twice, and at bit ``2 * SPLIT``."""
        x_low = x[:SPLIT]
        x_high = x[SPLIT:].as_signed()
        factor_low, factor_high = factor[:SPLIT], factor[SPLIT:]
        return x_low * factor_low, x_high * factor_low, x_low * factor_high, x_high * factor_high

    def add_half(self, part: Value, single: Value) -> Value:
        """Return a part at bit `SPLIT`, in a pair with SRDHM's half added. It still fits."""
        low, high = part[: SRDHM_SHIFT - 1 - SPLIT], part[SRDHM_SHIFT - 1 - SPLIT :]
        return Cat(low, (high + ~single)[: len(high)])

    def distance(self, right: Value, single: Value) -> Value:
        """Return the whole right shift of the product, 0..62."""
        return (Mux(single, 0, SRDHM_SHIFT) + right)[:6]

    def near_edge(self, product: Value) -> Value:
        """Return whether an SRDHM is so near an int32 limit that a zero point might wrap it."""
        return (product[SRDHM_SHIFT + 8 : -1] ^ product[-1].replicate(23)).all()

    def shift_right(
        self, word: Value, sticky: Value, far: Value, negative: Value, taken: Value, step: int
    ) -> tuple[Value, Value, Value]:
        """Return one step of the right shift: a word that is ``step`` bits shorter.

        ``sticky`` collects whether a dropped low bit is set, ``far`` whether a dropped high bit
        differs from the sign.
        """
        kept = len(word) - step
        high = word[kept:] ^ negative.replicate(step)
        return (
            Mux(taken, word[step:], word[:kept]),
            sticky | (taken & word[:step].any()),
            far | (~taken & high.any()),
        )

    def decode_rounding(self, rounding: Value, negative: Value) -> Value:
        """Return three bits: nearest, half even, and the increment of the remaining choice.

        The remaining choice is what an exact tie does if rounding to nearest, or any remainder
        if rounding in one direction.
        """
        away = {
            Rounding.HALF_AWAY: ~negative,
            Rounding.HALF_UP: Const(1, 1),
            Rounding.TOWARD_ZERO: negative,
            Rounding.UP: Const(1, 1),
        }
        directed = (Rounding.TOWARD_ZERO, Rounding.DOWN, Rounding.UP)
        is_mode = {mode: rounding == mode for mode in Rounding}
        return Cat(
            ~Cat(*(is_mode[mode] for mode in directed)).any(),
            is_mode[Rounding.HALF_EVEN],
            Cat(*(is_mode[mode] & up for mode, up in away.items())).any(),
        )

    def round_up(self, control: Value, odd: Value, guard: Value, sticky: Value) -> Value:
        """Return whether the quotient is incremented; ``guard`` is the highest dropped bit."""
        nearest, even, choice = control
        return Mux(nearest, guard & (sticky | choice | (even & odd)), (guard | sticky) & choice)

    def add_zero_point(self, quotient: Value, zero_point: Value, increment: Value) -> Value:
        """Return the 10-bit sum; the carry input of one adder takes the increment."""
        addend = Cat(increment, zero_point).as_signed()
        return (Cat(Const(1, 1), quotient).as_signed() + addend)[1:].as_signed()

    def compare(
        self, v: Value, low: Value, high: Value, far: Value, negative: Value, edge: Value
    ) -> tuple[Value, Value]:
        """Return whether the result is ``low``, and whether it is ``high``.

        A value that is ``far`` from the byte range shows its direction by its sign, unless the zero
        point has wrapped it: then bits 8 and 9 of ``v`` differ.
        """
        minus = negative ^ (edge & (v[8] ^ v[9]))
        # Signs of differences: a comparison would leave the carry chain by its slow end.
        return Mux(far, minus, (v - low)[-1]), Mux(far, ~minus, (high - v)[-1])

    def select(self, byte: Value, below: Value, above: Value, low: Value, high: Value) -> Value:
        """Return the result."""
        return Mux(below, low, Mux(above, high, byte))
