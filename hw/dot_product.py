"""The dot product of a lane: products, adder trees, and their combination."""

from amaranth.hdl import Cat, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from hw.multiplier import TERMS, Multiplier


def add_shifted(low: Value, high: Value, shift: int, *, subtract: bool = False) -> Value:
    """Return ``low + high * 2**shift``, or minus, as one carry chain above the lowest bits."""
    rest = low[shift:].as_signed()
    return Cat(low[:shift], rest - high if subtract else rest + high).as_signed()


class AdderTree(wiring.Component):
    """Sum ``count`` values, two by two.

    Timing
    ------
    ``latency = ceil(log2(count))`` cycles, one sum per cycle, no stalls.

    Parameters
    ----------
    count
        Number of values, at least 1.
    width
        Of a value, in bits.

    Members
    -------
    values : ``In(ArrayLayout(signed(width), count))``
    sum : ``Out(signed(width + latency))``
    """

    values: data.View
    sum: Signal

    def __init__(self, count: int, width: int) -> None:
        self.count, self.width = count, width
        self.latency = (count - 1).bit_length()
        super().__init__(
            {
                "values": In(data.ArrayLayout(signed(width), count)),
                "sum": Out(signed(width + self.latency)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        nodes: list[Value] = [self.values[i] for i in range(self.count)]
        for level in range(1, self.latency + 1):
            following: list[Value] = []
            for i in range(0, len(nodes), 2):
                shape, name = signed(self.width + level), f"sum{level}_{i // 2}"
                node = Signal(shape, name=name, reset_less=True)
                m.d.sync += node.eq(sum(nodes[i + 1 : i + 2], nodes[i]))
                following.append(node)
            nodes = following
        m.d.comb += self.sum.eq(nodes[0])
        return m


def latency(config: AcceleratorConfig) -> int:
    """Return the dot product's latency in cycles, the same for both multiplier styles."""
    return (config.width - 1).bit_length() + 2


class DotProduct(wiring.Component):
    """Multiply ``config.width`` operands by as many weights and sum the products.

    ``sum == sum(operands[i] * weights[i])``, exact.

    Timing
    ------
    `latency` cycles, ``ceil(log2(width)) + 2`` for both multiplier styles, so the array's timing
    does not depend on the style; one dot product per cycle, no stalls.

    Parameters
    ----------
    config
        ``width`` and ``multiplier``.

    Members
    -------
    operands, weights : ``In(ArrayLayout(signed(8), width))``
    sum : ``Out(signed)``
        At most 23 bits.
    """

    operands: data.View
    weights: data.View
    sum: Signal

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        terms, width = TERMS[config.multiplier]
        self._trees = [AdderTree(config.width, width) for _ in range(terms)]
        vector = data.ArrayLayout(signed(8), config.width)
        bits = 16 + self._trees[0].latency
        super().__init__({"operands": In(vector), "weights": In(vector), "sum": Out(signed(bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i, tree in enumerate(self._trees):
            m.submodules[f"tree{i}"] = tree
        for d in range(self.config.width):
            multiplier = Multiplier(self.config.multiplier)
            m.submodules[f"multiplier{d}"] = multiplier
            m.d.comb += [
                multiplier.operand.eq(self.operands[d]),
                multiplier.weight.eq(self.weights[d]),
            ]
            for i, tree in enumerate(self._trees):
                m.d.comb += tree.values[d].eq(multiplier.terms[i])
        if len(self._trees) == 1:
            m.d.comb += self.sum.eq(self._trees[0].sum)
        else:
            self._combine(m)
        return m

    def _combine(self, m: Module) -> None:
        """Add up the eight trees' sums, ``2**i`` each and ``-2**7`` the last, in two cycles.

        The second one has two adders one behind the other, which are short.
        """
        sums = [tree.sum for tree in self._trees]
        pairs = [
            Signal(signed(len(sums[0]) + 2), name=f"pair{i}", reset_less=True) for i in range(4)
        ]
        for i, pair in enumerate(pairs):
            low, high = sums[2 * i], sums[2 * i + 1]
            m.d.sync += pair.eq(add_shifted(low, high, 1, subtract=i == 3))
        low, high = add_shifted(pairs[0], pairs[1], 2), add_shifted(pairs[2], pairs[3], 2)
        total = Signal(self.sum.shape(), name="total", reset_less=True)
        m.d.sync += total.eq(add_shifted(low, high, 4))
        m.d.comb += self.sum.eq(total)
