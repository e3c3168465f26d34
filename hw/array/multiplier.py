"""Products of two int8, in two styles, as terms that one adder tree each can sum."""

from typing import Annotated

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.target.config import AcceleratorConfig, MultiplierStyle

DIGITS_LAYOUT = data.StructLayout({"low": data.ArrayLayout(unsigned(2), 3), "top": signed(3)})
"""A weight in radix 4: ``sum(low[i] * 4**i) + top * 64``; in ``low`` the code 3 means -1, and
``top`` is in -2..2. Three digits from {-1, 0, 1, 2} because a choice among four multiples costs one
LUT of four inputs per bit."""

LATENCY: dict[str, int] = {"infer": 2, "rows": 0}
"""Cycles from operand and weight to the terms, by style."""

TERMS: dict[str, tuple[int, int]] = {"infer": (1, 16), "rows": (4, 9)}
"""Number of a product's terms, and the width of each, by style."""


def weight_layout(style: MultiplierStyle) -> data.StructLayout:
    """Return how a weight is stored beside the multiplier: as it is, or as digits."""
    if style == "infer":
        return data.StructLayout({"byte": signed(8)})
    return DIGITS_LAYOUT


def tap_styles(config: AcceleratorConfig) -> list[MultiplierStyle]:
    """Return the style of each of a lane's products."""
    blocks = config.dsp_taps
    return ["infer" if tap < blocks else config.multiplier for tap in range(config.width)]


def taps_layout(config: AcceleratorConfig) -> data.FlexibleLayout:
    """Return the weights of one lane, as its multipliers take them."""
    fields, offset = {}, 0
    for tap, style in enumerate(tap_styles(config)):
        fields[tap] = data.Field(weight_layout(style), offset)
        offset += weight_layout(style).size
    return data.FlexibleLayout(offset, fields)


def term_layout(style: MultiplierStyle) -> data.ArrayLayout:
    """Return the terms of a product: ``sum((value + carry) * 4**i)`` over them, i from 0."""
    count, width = TERMS[style]
    term = data.StructLayout({"value": signed(width), "carry": unsigned(1)})
    return data.ArrayLayout(term, count)


class WeightEncoder(Component):
    """Turn an int8 weight into what `weight_layout` stores; combinational.

    Parameters
    ----------
    style
        As in `AcceleratorConfig.multiplier`.
    """

    byte: Annotated[Signal, In(signed(8))]
    weight: Annotated[data.View, lambda self: Out(weight_layout(self.style))]

    def __init__(self, style: MultiplierStyle) -> None:
        self.style = style
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.style == "infer":
            m.d.comb += self.weight.byte.eq(self.byte)
            return m
        carry: Value = Const(0, 1)
        for i in range(3):
            # 3 stands for -1 and 4 becomes 0, both with a carry into the next digit.
            total = Signal(3, name=f"total{i}")
            m.d.comb += [
                total.eq(self.byte[2 * i : 2 * i + 2] + carry),
                self.weight.low[i].eq(total),
            ]
            carry = total >= 3
        m.d.comb += self.weight.top.eq(self.byte[6:8].as_signed() + carry)
        return m


class Multiplier(Component):
    """Multiply an int8 operand by an int8 weight.

    ``operand * weight == sum((term.value + term.carry) * 4**i for i, term in enumerate(terms))``.

    Style ``infer``: one term, the 16-bit product, behind a register at the multiplier and one more
    that lets it travel: DSP columns are far from their adders. Style ``rows``: four terms, each the
    operand times a digit in one's complement (``carry`` completes a negative one), which a lane
    sums by significance, so that a product costs no adders of its own.

    Timing
    ------
    ``LATENCY[style]`` cycles (2 for ``infer``, 0 for ``rows``), one product per cycle, no stalls.

    Parameters
    ----------
    style
        As in `AcceleratorConfig.multiplier`.
    """

    operand: Annotated[Signal, In(signed(8))]
    weight: Annotated[data.View, lambda self: In(weight_layout(self.style))]
    """From `WeightEncoder`."""
    terms: Annotated[data.View, lambda self: Out(term_layout(self.style))]

    def __init__(self, style: MultiplierStyle) -> None:
        self.style = style
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.style == "infer":
            product, settled = (
                Signal(signed(16), name=name, reset_less=True) for name in ("product", "settled")
            )
            m.d.sync += [product.eq(self.operand * self.weight.byte), settled.eq(product)]
            m.d.comb += self.terms[0].value.eq(settled)
            return m
        single = self.operand
        double = self.operand << 1
        multiples = Array([Const(0), single, double, ~single])
        for i in range(3):
            term = self.terms[i]
            digit = self.weight.low[i]
            m.d.comb += [term.value.eq(multiples[digit]), term.carry.eq(digit == 3)]
        # The size is one of two bits, the sign apart: a carry cell that adds has room for a sign.
        top = self.weight.top
        size = Mux(top[0], single, Mux(top[1], double, 0))
        m.d.comb += [
            self.terms[3].value.eq(Mux(top[-1], ~size, size)),
            self.terms[3].carry.eq(top[-1]),
        ]
        return m
