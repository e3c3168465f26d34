"""The array's multipliers: the terms of a product sum to it."""


from amaranth.hdl import Module, Signal, Value, signed

from eightfold.config import MultiplierStyle
from eightfold.formal.property import Property
from eightfold.hw.array.multiplier import LATENCY, Multiplier, WeightEncoder
from eightfold.hw.blocks.delay import delay


class Product(Property):
    """An operand and a weight, and a product of their own."""

    def __init__(self, style: MultiplierStyle) -> None:
        self._style: MultiplierStyle = style
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.encoder = encoder = WeightEncoder(self._style)
        m.submodules.multiplier = multiplier = Multiplier(self._style)
        operand, weight = self.free("operand", signed(8)), self.free("weight", signed(8))
        m.d.comb += [
            encoder.byte.eq(weight),
            multiplier.operand.eq(operand),
            Value.cast(multiplier.weight).eq(Value.cast(encoder.weight)),
        ]
        # The bits of the weight are added up, each times the operand.
        expected = Signal(signed(16))
        partial_products = [
            weight[bit] * operand * (-1 if bit == 7 else 1) * 2**bit for bit in range(8)
        ]
        m.d.comb += expected.eq(sum(partial_products, start=Value.cast(0)))
        total = sum(
            ((term.value + term.carry) * 4**place for place, term in enumerate(multiplier.terms)),
            start=Value.cast(0),
        )
        then = delay(m, expected, "expected", LATENCY[self._style])
        full = delay(m, Value.cast(1), "full", LATENCY[self._style], reset=True)
        same = Signal()
        m.d.comb += same.eq(Value.cast(then).as_signed() == total)
        self.always(~full | same)
        self.reaches("the lowest product", full & (then.as_signed() == -(2**7) * (2**7 - 1)))
        self.reaches("the highest product", full & (then.as_signed() == 2**14))
