"""Products of two int8, in two styles, as terms that one adder tree each can sum."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from eightfold.config import MultiplierStyle

LATENCY: dict[str, int] = {"infer": 2, "rows": 0}
"""Cycles from operand and weight to the terms, by style."""

TERMS: dict[str, tuple[int, int]] = {"infer": (1, 16), "rows": (8, 8)}
"""Number of a product's terms, and the width of each, by style."""


def term_layout(style: MultiplierStyle) -> data.ArrayLayout:
    """Return the terms of a product: ``sum(term[i] * 2**i)``, of style ``rows`` less the last one.

    The weight's highest bit counts ``-2**7``.
    """
    count, width = TERMS[style]
    return data.ArrayLayout(signed(width), count)


class Multiplier(wiring.Component):
    """Multiply an int8 operand by an int8 weight.

    Style ``infer``: one term, the 16-bit product, behind a register at the multiplier and one more
    that lets it travel: DSP columns are far from their adders. Style ``rows``: a term for each bit
    of the weight, the operand or 0, which a lane sums by significance: these gates fit into the
    LUTs of the carry chain that adds two of them, so that a product costs nothing but its part of
    the sums.

    Timing
    ------
    ``LATENCY[style]`` cycles (2 for ``infer``, 0 for ``rows``), one product per cycle, no stalls.

    Parameters
    ----------
    style
        As in `AcceleratorConfig.multiplier`.

    Members
    -------
    operand, weight : ``In(signed(8))``
    terms : ``Out(term_layout(style))``
    """

    operand: Signal
    weight: Signal
    terms: data.View

    def __init__(self, style: MultiplierStyle) -> None:
        self.style = style
        super().__init__(
            {"operand": In(signed(8)), "weight": In(signed(8)), "terms": Out(term_layout(style))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.style == "infer":
            product, settled = (
                Signal(signed(16), name=name, reset_less=True) for name in ("product", "settled")
            )
            m.d.sync += [product.eq(self.operand * self.weight), settled.eq(product)]
            m.d.comb += self.terms[0].eq(settled)
            return m
        for i in range(len(self.weight)):
            m.d.comb += self.terms[i].eq(Mux(self.weight[i], self.operand, 0))
        return m
