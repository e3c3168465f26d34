"""The array's multipliers: the terms of a product sum to it."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.multiplier import LATENCY, TERMS, Multiplier, WeightEncoder, term_layout
from eightfold.hw.blocks.component import Component
from eightfold.target.config import MultiplierStyle
from lab.formal.proof import Break, Proof
from lab.formal.solver import Claim, Solved, Symbolic, z3

BITS = 20
"""In which terms are summed: more than a product has."""


class Encoded(Component):
    """A multiplier behind the encoder of its weights."""

    operand: Annotated[Signal, In(signed(8))]
    byte: Annotated[Signal, In(signed(8))]
    terms: Annotated[data.View, lambda self: Out(term_layout(self.style))]

    def __init__(self, style: MultiplierStyle) -> None:
        self.style: MultiplierStyle = style
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.encoder = encoder = WeightEncoder(self.style)
        m.submodules.multiplier = multiplier = Multiplier(self.style)
        m.d.comb += [
            encoder.byte.eq(self.byte),
            multiplier.operand.eq(self.operand),
            Value.cast(multiplier.weight).eq(Value.cast(encoder.weight)),
            Value.cast(self.terms).eq(Value.cast(multiplier.terms)),
        ]
        return m


def product(style: MultiplierStyle) -> Iterator[Claim]:
    """Claim what the terms sum to."""
    unit = Symbolic(Encoded(style))
    terms = unit.signal("terms", LATENCY[style])
    count, width = TERMS[style]
    total = z3.BitVecVal(0, BITS)
    for place in range(count):
        low = place * (width + 1)
        value = z3.SignExt(BITS - width, z3.Extract(low + width - 1, low, terms))
        carry = z3.ZeroExt(BITS - 1, z3.Extract(low + width, low + width, terms))
        total += (value + carry) << 2 * place
    inputs = (z3.BitVec(f"{name}@0", 8) for name in ("operand", "byte"))
    operand, byte = (z3.SignExt(BITS - 8, each) for each in inputs)
    # One weight after the other: two different multipliers of variables are hard to compare.
    for number in range(256):
        weight = z3.BitVec("byte@0", 8), z3.BitVecVal(number, 8)
        same = z3.simplify(z3.substitute(total == operand * byte, weight))
        yield Claim(f"the product with {number - (number >> 7) * 256}", same)


BREAKS = {
    "infer": (Break("product.eq(self.operand *", "product.eq(self.operand[:7] *"),),
    "rows": (
        Break("carry = total >= 3", "carry = total > 3"),
        Break("Mux(top[1], double, 0)", "Mux(top[1], single, 0)"),
    ),
}

STYLES: tuple[MultiplierStyle, ...] = ("infer", "rows")

PROOFS: tuple[Proof, ...] = tuple(
    Solved(
        name=f"multiplier-{style}",
        file="hw/array/multiplier.py",
        text=f"style `{style}`: the terms of an encoded weight and an operand sum to their "
        f"product, {LATENCY[style]} cycles later",
        claims=partial(product, style),
        breaks=BREAKS[style],
    )
    for style in STYLES
)
