"""The dot product of a lane: products, adder trees, and their combination."""

from typing import Annotated

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.multiplier import LATENCY, TERMS, Multiplier, tap_styles, taps_layout
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.target.config import AcceleratorConfig, MultiplierStyle


def add(a: Value, b: Value, carry: Value) -> Value:
    """Return ``a + b + carry`` as one carry chain: a third operand would cost a second one."""
    if isinstance(carry, Const) and carry.value == 0:
        return a + b
    return (Cat(Const(1, 1), a).as_signed() + Cat(carry, b).as_signed()) >> 1


def tree_latency(count: int) -> int:
    """Return the cycles of an `AdderTree` of ``count`` values."""
    return ((count - 1).bit_length() + 1) // 2


class AdderTree(Component):
    """Sum ``count`` values and as many carry bits, two by two.

    ``sum + carry == sum(values) + sum(carries)``: each adder takes the carry of its left operand
    and hands on that of its right one, so one carry is left over in the end. A register follows
    every second level, the last one among them: two short carry chains fit into a cycle.

    Timing
    ------
    ``latency = ceil(levels / 2)`` cycles with ``levels = ceil(log2(count))``, one sum per cycle, no
    stalls.

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
    sum: Annotated[Signal, lambda self: Out(signed(self.width + self.levels))]
    carry: Annotated[Signal, Out(1)]
    """Is added to ``sum``."""

    def __init__(self, count: int, width: int) -> None:
        self.count, self.width = count, width
        self.levels = (count - 1).bit_length()
        self.latency = tree_latency(count)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        nodes: list[tuple[Value, Value]] = [
            (self.values[i], self.carries[i]) for i in range(self.count)
        ]
        for level in range(1, self.levels + 1):
            domain = m.d.comb if (self.levels - level) % 2 else m.d.sync
            following: list[tuple[Value, Value]] = []
            for i in range(0, len(nodes), 2):
                value = Signal(
                    signed(self.width + level), name=f"sum{level}_{i // 2}", reset_less=True
                )
                carry = Signal(name=f"carry{level}_{i // 2}", reset_less=True)
                left, right = nodes[i], nodes[min(i + 1, len(nodes) - 1)]
                paired = i + 1 < len(nodes)
                domain += [
                    value.eq(add(left[0], right[0], left[1]) if paired else left[0]),
                    carry.eq(right[1]),
                ]
                following.append((value, carry))
            nodes = following
        m.d.comb += [self.sum.eq(nodes[0][0]), self.carry.eq(nodes[0][1])]
        return m


def latency(config: AcceleratorConfig) -> int:
    """Return the dot product's latency in cycles, the same for both multiplier styles."""
    return tree_latency(config.width) + 2


class DotProduct(Component):
    """Multiply ``config.width`` operands by as many weights and sum the products.

    ``sum + carry == sum(operands[i] * weights[i])``, exact; ``carry`` belongs into the carry input
    of the next adder.

    Timing
    ------
    `latency` cycles, ``ceil(levels / 2) + 2`` with ``levels = ceil(log2(width))`` for both
    multiplier styles, so the array's timing does not depend on the style; one dot product per
    cycle, no stalls.

    Parameters
    ----------
    config
        ``width``, ``multiplier`` and ``dsp_taps``.
    """

    operands: Annotated[data.View, lambda self: In(data.ArrayLayout(signed(8), self.config.width))]
    weights: Annotated[data.View, lambda self: In(taps_layout(self.config))]
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
        # Adding the four trees of style rows takes as long as a product of style infer.
        self.bits = width + (config.width - 1).bit_length() + (8 if terms > 1 else 0)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        styles = tap_styles(self.config)
        trees = {
            style: self._trees(m, style, [d for d, own in enumerate(styles) if own == style])
            for style in sorted(set(styles))
        }
        if "rows" not in trees:
            (tree,) = trees["infer"]
            m.d.comb += [self.sum.eq(tree.sum), self.carry.eq(tree.carry)]
        else:
            self._combine(m, trees["rows"], trees.get("infer", []))
        return m

    def _trees(self, m: Module, style: MultiplierStyle, taps: list[int]) -> list[AdderTree]:
        """Add the products of some taps, and a tree for each of their terms."""
        terms, width = TERMS[style]
        trees = [AdderTree(len(taps), width) for _ in range(terms)]
        for i, tree in enumerate(trees):
            m.submodules[f"tree{i}" if style == self.config.multiplier else "blocks"] = tree
        for place, d in enumerate(taps):
            m.submodules[f"multiplier{d}"] = multiplier = Multiplier(style)
            m.d.comb += [
                multiplier.operand.eq(self.operands[d]),
                multiplier.weight.eq(self.weights[d]),
            ]
            for i, tree in enumerate(trees):
                term = multiplier.terms[i]
                m.d.comb += [tree.values[place].eq(term.value), tree.carries[place].eq(term.carry)]
        return trees

    def _combine(self, m: Module, trees: list[AdderTree], blocks: list[AdderTree]) -> None:
        """Add up the four trees' sums, 4**i each, in two steps, and the sum of DSP blocks."""
        whole = tree_latency(self.config.width)
        late = whole - trees[0].latency  # if the other taps' tree has a level less
        sums = [delay(m, t.sum, "late", late).as_signed() for t in trees]
        carries = [delay(m, t.carry, "late_carry", late) for t in trees]
        width = len(sums[0])
        pairs = [Signal(signed(width + 3), name=f"pair{i}") for i in range(2)]
        left_over = [Signal(name=f"left_over{i}") for i in range(2)]
        for i in range(2):
            high = add(sums[2 * i][2:].as_signed(), sums[2 * i + 1], carries[2 * i + 1])
            m.d.sync += [
                pairs[i].eq(Cat(sums[2 * i][:2], high).as_signed()),
                left_over[i].eq(carries[2 * i]),
            ]
        high = add(pairs[0][4:].as_signed(), pairs[1], left_over[1])
        total: Value = Cat(pairs[0][:4], high).as_signed()
        for tree in blocks:
            cycles = whole + 1 - LATENCY["infer"] - tree.latency
            total = total + delay(m, tree.sum, "blocks_sum", cycles).as_signed()
        m.d.sync += [self.sum.eq(total), self.carry.eq(left_over[0])]
