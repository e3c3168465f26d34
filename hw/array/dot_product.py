"""The dot product of a lane: products, adder trees, and their combination."""

from typing import Annotated

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.multiplier import TERMS, Multiplier, weight_layout
from eightfold.hw.blocks.component import Component
from eightfold.target.config import AcceleratorConfig


def add(a: Value, b: Value, carry: Value) -> Value:
    """Return ``a + b + carry`` as one carry chain: a third operand would cost a second one."""
    if isinstance(carry, Const) and carry.value == 0:
        return a + b
    return (Cat(Const(1, 1), a).as_signed() + Cat(carry, b).as_signed()) >> 1


class AdderTree(Component):
    """Sum ``count`` values and as many carry bits, two by two.

    ``sum + carry == sum(values) + sum(carries)``: each adder takes the carry of its left operand
    and hands on that of its right one, so one carry is left over in the end.

    Timing
    ------
    ``latency = ceil(log2(count))`` cycles, one sum per cycle, no stalls.

    Parameters
    ----------
    count
        Number of values, at least 1.
    width
        Of a value, in bits.
    """

    values: Annotated[data.View, lambda self: In(data.ArrayLayout(signed(self.width), self.count))]
    carries: Annotated[Signal, lambda self: In(unsigned(self.count))]
    """One for each value."""
    sum: Annotated[Signal, lambda self: Out(signed(self.width + self.latency))]
    carry: Annotated[Signal, Out(1)]
    """Is added to ``sum``."""

    def __init__(self, count: int, width: int) -> None:
        self.count, self.width = count, width
        self.latency = (count - 1).bit_length()
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        nodes: list[tuple[Value, Value]] = [
            (self.values[i], self.carries[i]) for i in range(self.count)
        ]
        for level in range(1, self.latency + 1):
            following: list[tuple[Value, Value]] = []
            for i in range(0, len(nodes), 2):
                value = Signal(
                    signed(self.width + level), name=f"sum{level}_{i // 2}", reset_less=True
                )
                carry = Signal(name=f"carry{level}_{i // 2}", reset_less=True)
                left, right = nodes[i], nodes[min(i + 1, len(nodes) - 1)]
                paired = i + 1 < len(nodes)
                m.d.sync += [
                    value.eq(add(left[0], right[0], left[1]) if paired else left[0]),
                    carry.eq(right[1]),
                ]
                following.append((value, carry))
            nodes = following
        m.d.comb += [self.sum.eq(nodes[0][0]), self.carry.eq(nodes[0][1])]
        return m


def latency(config: AcceleratorConfig) -> int:
    """Return the dot product's latency in cycles, the same for both multiplier styles."""
    return (config.width - 1).bit_length() + 2


class DotProduct(Component):
    """Multiply ``config.width`` operands by as many weights and sum the products.

    ``sum + carry == sum(operands[i] * weights[i])``, exact; ``carry`` belongs into the carry input
    of the next adder.

    Timing
    ------
    `latency` cycles, ``ceil(log2(width)) + 2`` for both multiplier styles, so the array's timing
    does not depend on the style; one dot product per cycle, no stalls.

    Parameters
    ----------
    config
        ``width`` and ``multiplier``.
    """

    operands: Annotated[data.View, lambda self: In(data.ArrayLayout(signed(8), self.config.width))]
    weights: Annotated[
        data.View,
        lambda self: In(data.ArrayLayout(weight_layout(self.config.multiplier), self.config.width)),
    ]
    sum: Annotated[
        Signal,
        lambda self: Out(signed(self.bits)),
    ]
    """At most 24 bits."""
    carry: Annotated[Signal, Out(1)]
    """Is added to ``sum``."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        terms, width = TERMS[config.multiplier]
        self._trees = [AdderTree(config.width, width) for _ in range(terms)]
        # Adding the four trees of style rows takes as long as a product of style infer.
        self.bits = width + self._trees[0].latency + (8 if len(self._trees) > 1 else 0)
        super().__init__()

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
                term = multiplier.terms[i]
                m.d.comb += [tree.values[d].eq(term.value), tree.carries[d].eq(term.carry)]
        if len(self._trees) == 1:
            m.d.comb += [self.sum.eq(self._trees[0].sum), self.carry.eq(self._trees[0].carry)]
        else:
            self._combine(m)
        return m

    def _combine(self, m: Module) -> None:
        """Add up the four trees' sums, 4**i each, in two steps."""
        sums, carries = [t.sum for t in self._trees], [t.carry for t in self._trees]
        width = sums[0].shape().width
        pairs = [Signal(signed(width + 3), name=f"pair{i}") for i in range(2)]
        left_over = [Signal(name=f"left_over{i}") for i in range(2)]
        for i in range(2):
            high = add(sums[2 * i][2:].as_signed(), sums[2 * i + 1], carries[2 * i + 1])
            m.d.sync += [
                pairs[i].eq(Cat(sums[2 * i][:2], high).as_signed()),
                left_over[i].eq(carries[2 * i]),
            ]
        high = add(pairs[0][4:].as_signed(), pairs[1], left_over[1])
        m.d.sync += [
            self.sum.eq(Cat(pairs[0][:4], high).as_signed()),
            self.carry.eq(left_over[0]),
        ]
