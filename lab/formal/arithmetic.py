"""What is computed: the terms of a product sum to it, and the requantizer's formula.

The requantizer computes it whatever accumulator and parameters are, shown in three steps, because
no solver multiplies 32 bits by 31 and divides again. What is multiplied are parts of the right
operands, and fit; from such products, whatever they are, the register ``product`` becomes what the
operands' product says; from that register, whatever it is, becomes the result. Fields are taken
from the cycle in which they must be presented.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Annotated, NamedTuple, get_args

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from eightfold.hw.array.multiplier import LATENCY, TERMS, Multiplier, WeightEncoder, term_layout
from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.hw.requantizer import REQUANTIZER_INPUT, Requantizer
from eightfold.isa import Rounding
from eightfold.target.config import PRESETS, MultiplierStyle
from lab.formal.proof import Break, Proof
from lab.formal.solver import Claim, Solved, Symbolic, Term, z3

BITS = 68
"""In which formulas are computed: a product times 4 fits."""


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


def multiplied(style: MultiplierStyle) -> Iterator[Claim]:
    unit = Symbolic(Encoded(style))
    terms = unit.signal("terms", LATENCY[style])
    count, width = TERMS[style]
    total = z3.BitVecVal(0, BITS)
    for place in range(count):
        low = place * (width + 1)
        value = _wide(z3.Extract(low + width - 1, low, terms), True)
        carry = _wide(z3.Extract(low + width, low + width, terms), False)
        total += (value + carry) << 2 * place
    operand, byte = (_wide(z3.BitVec(f"{name}@0", 8), True) for name in ("operand", "byte"))
    # One weight after the other: two different multipliers of variables are hard to compare.
    for number in range(256):
        weight = z3.BitVec("byte@0", 8), z3.BitVecVal(number, 8)
        same = z3.simplify(z3.substitute(total == operand * byte, weight))
        yield Claim(f"the product with {number - (number >> 7) * 256}", same)


PIPELINE = RequantizePipeline.LATENCY
CYCLE = RequantizePipeline.FIELD_CYCLE
PRODUCT_CYCLE = 7
"""Cycle of the register ``product``, counted from the accumulator's."""

LOWEST, HIGHEST = -(2**31) * (2**31 - 1), (2**31 - 1) ** 2
"""Products of an int32 and a multiplier of 31 bits."""


class Factor(NamedTuple):
    """A part of an operand: its bits, and whether it has the sign."""

    low: int
    high: int
    signed: bool

    def of(self, operand: Term) -> Term:
        return _wide(z3.Extract(self.high, self.low, operand), self.signed)

    def ends(self) -> tuple[int, int]:
        bits = self.high - self.low + 1
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.signed else (0, (1 << bits) - 1)


X = Factor(0, 13, False), Factor(14, 31, True)
MULTIPLIER = Factor(0, 13, False), Factor(14, 30, False)
PARTS = {
    28: (X[0], MULTIPLIER[0]),
    32: (X[1], MULTIPLIER[0]),
    31: (X[0], MULTIPLIER[1]),
    35: (X[1], MULTIPLIER[1]),
}
"""What is multiplied, by the width of the product."""


class Multiplication(NamedTuple):
    """A multiplication of the hardware: the operands, and a product that may be anything."""

    a: Term
    b: Term
    product: Term

    @property
    def parts(self) -> tuple[Factor, Factor]:
        return PARTS[self.product.size()]

    @property
    def ends(self) -> tuple[int, int]:
        first, second = (part.ends() for part in self.parts)
        products = [one * other for one in first for other in second]
        return min(products), max(products)

    @property
    def value(self) -> Term:
        return _wide(self.product, self.ends[0] < 0)


@cache
def _multiplying() -> tuple[Symbolic, list[Multiplication]]:
    """Return the pipeline with free products, and its multiplications."""
    found: list[Multiplication] = []

    def multiply(a: Term, b: Term, width: int) -> Term:
        found.append(Multiplication(a, b, z3.BitVec(f"product{len(found)}", width)))
        return found[-1].product

    pipeline = Symbolic(RequantizePipeline(), multiply)
    pipeline.signal("product", PRODUCT_CYCLE)
    return pipeline, found


@cache
def _dividing() -> Symbolic:
    """Return the pipeline in which the register ``product`` is free."""
    return Symbolic(RequantizePipeline(), free=["product"])


def operands() -> Iterator[Claim]:
    """Claim what the multiplications multiply."""
    found = _multiplying()[1]
    yield Claim(
        "one multiplication for each pair of parts",
        z3.BoolVal(sorted(each.product.size() for each in found) == sorted(PARTS)),
    )
    total = z3.BitVec("acc@0", 32) + z3.BitVec("bias@0", 32)
    x = total << z3.ZeroExt(27, z3.BitVec("left@0", 5))
    multiplier = z3.BitVec(f"multiplier@{CYCLE['multiplier']}", 31)
    for each in found:
        signed = each.ends[0] < 0
        for got, part, operand in zip((each.a, each.b), each.parts, (x, multiplier), strict=True):
            yield Claim(
                f"bits {part.low} to {part.high} as a factor",
                _wide(got, signed) == part.of(operand),
            )
        bits = each.product.size()
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        yield Claim("a product that fits", z3.BoolVal(low <= each.ends[0] <= each.ends[1] < high))


def product() -> Iterator[Claim]:
    """Claim what the register ``product`` is, of exact products of the parts."""
    pipeline, found = _multiplying()
    weights = {each: sum(part.low for part in each.parts) for each in found}
    assumed = [z3.And(each.ends[0] <= each.value, each.value <= each.ends[1]) for each in found]
    halves = z3.Ints("x_low x_high multiplier_low multiplier_high")
    whole = (halves[0] + halves[1] * 2**14) * (halves[2] + halves[3] * 2**14)
    split = sum(
        halves[X.index(one)] * halves[2 + MULTIPLIER.index(other)] * 2 ** (one.low + other.low)
        for one, other in PARTS.values()
    )
    yield Claim(
        "the sum of the parts' products",
        z3.BoolVal(
            z3.is_int_value(rest := z3.simplify(whole - split, som=True)) and rest.as_long() == 0
        ),
    )
    exact = sum((each.value << weight for each, weight in weights.items()), z3.BitVecVal(0, BITS))
    single = z3.BitVec(f"single@{CYCLE['single']}", 1) == 1
    half = ((exact + (1 << 30)) >> 31) << 31
    register = _wide(pipeline.signal("product", PRODUCT_CYCLE), True)
    assumed += [exact >= LOWEST, exact <= HIGHEST]
    yield Claim("the operands' product", register == z3.If(single, exact, half), assumed)


def rounded(value: Term, shift: int, rounding: Term) -> Term:
    """Return ``value / 2^shift`` rounded as the field ``rounding`` says."""
    floor = value >> shift
    twice = (value - (floor << shift)) << 1
    unit = z3.BitVecVal(1 << shift, BITS)
    above = z3.UGT(twice, unit)
    tie = twice == unit
    inexact = twice != 0
    up = {
        Rounding.HALF_AWAY: z3.Or(above, z3.And(tie, value >= 0)),
        Rounding.HALF_UP: z3.Or(above, tie),
        Rounding.HALF_DOWN: above,
        Rounding.HALF_EVEN: z3.Or(above, z3.And(tie, z3.Extract(0, 0, floor) == 1)),
        Rounding.TOWARD_ZERO: z3.And(inexact, value < 0),
        Rounding.UP: inexact,
    }
    rises = z3.Or(*(z3.And(rounding == mode.value, condition) for mode, condition in up.items()))
    return floor + z3.If(rises, z3.BitVecVal(1, BITS), z3.BitVecVal(0, BITS))


def result(single: bool, right: int) -> Iterator[Claim]:
    """Claim what the result is, of any product, in one form at one shift."""
    field = {name: z3.BitVec(f"{name}@{CYCLE[name]}", 8) for name in ("zero_point", "low", "high")}
    rounding = z3.BitVec(f"rounding@{CYCLE['rounding']}", 3)
    register = z3.BitVec(f"product@{PRODUCT_CYCLE}", 63)
    value = _wide(register, True)
    assumed = [
        value >= LOWEST,
        value <= HIGHEST + (0 if single else 1 << 30),
        field["low"] <= field["high"],
        z3.ULT(rounding, len(Rounding)),
    ]
    if not single:
        assumed.append(z3.Extract(30, 0, register) == 0)
        value = value >> 31
    zero_point, low, high = (_wide(each, True) for each in field.values())
    v = rounded(value, right, rounding) + zero_point
    if not single:
        v = _wide(z3.Extract(31, 0, v), True)
    clamped = z3.If(v < low, low, z3.If(v > high, high, v))
    got = z3.substitute(
        _dividing().signal("result", PIPELINE),
        _value("single", CYCLE["single"], 1, single),
        _value("right", CYCLE["right"], 6, right),
        *_no_reset(),
    )
    yield Claim("the formula's result", got == z3.Extract(7, 0, clamped), assumed)


def stream() -> Iterator[Claim]:
    """Claim that the fields of a stream's word reach the pipeline with its accumulator."""
    unit = Requantizer(PRESETS["nano"])
    around, alone = Symbolic(unit), Symbolic(RequantizePipeline())
    payload = around.signal("i__payload", 0)
    parameters, acc = REQUANTIZER_INPUT["parameters"], REQUANTIZER_INPUT["acc"]
    word = {"acc": z3.Extract(acc.offset + acc.width - 1, acc.offset, payload)}
    for name in CYCLE:
        place = REQUANTIZE_LAYOUT[name]
        low = parameters.offset + place.offset
        word[name] = z3.Extract(low + place.width - 1, low, payload)
    got = z3.substitute(around.signal("queue.push_data", PIPELINE), *_no_reset())
    want = z3.substitute(
        alone.signal("result", PIPELINE),
        *_no_reset(),
        *((z3.BitVec(f"{name}@{CYCLE.get(name, 0)}", v.size()), v) for name, v in word.items()),
    )
    yield Claim("the pipeline's result of that word", got == want)
    pushed = z3.substitute(around.signal("queue.push", PIPELINE), *_no_reset())
    taken = around.signal("i__valid", 0) & around.signal("i__ready", 0)
    yield Claim("a result for each word that is taken", pushed == taken)


def _wide(word: Term, signed: bool) -> Term:
    """Return a word as a number of `BITS`."""
    return (z3.SignExt if signed else z3.ZeroExt)(BITS - word.size(), word)


def _value(name: str, cycle: int, bits: int, value: int) -> tuple[Term, Term]:
    return z3.BitVec(f"{name}@{cycle}", bits), z3.BitVecVal(value, bits)


def _no_reset() -> list[tuple[Term, Term]]:
    return [_value("rst", cycle, 1, 0) for cycle in range(PIPELINE)]


MULTIPLIER_BREAKS = {
    "infer": (Break("product.eq(self.operand *", "product.eq(self.operand[:7] *"),),
    "rows": (
        Break("carry = total >= 3", "carry = total > 3"),
        Break("Mux(top[1], double, 0)", "Mux(top[1], single, 0)"),
    ),
}

MULTIPLIERS = tuple(
    Solved(
        name=f"multiplier-{style}",
        file="hw/array/multiplier.py",
        text=f"style `{style}`: the terms of an encoded weight and an operand sum to their "
        f"product, {LATENCY[style]} cycles later",
        claims=partial(multiplied, style),
        breaks=MULTIPLIER_BREAKS[style],
    )
    for style in get_args(MultiplierStyle)
)

FILE = "hw/blocks/requantize_pipeline.py"

FORM = {False: "pair", True: "single"}

STEPS = (
    Solved(
        name="requantize-operands",
        file=FILE,
        text="the four products are those of the parts of `wrap32(wrap32(acc + bias) << left)` and "
        "of `multiplier`, and none overflows",
        claims=operands,
        breaks=(
            Break("return (acc + bias)[:32]", "return (acc + bias)[:31]"),
            Break("return x_low * factor_low", "return x_high * factor_low"),
        ),
    ),
    Solved(
        name="requantize-product",
        file=FILE,
        text="of any four products of parts, the register `product` is `x * multiplier`; in a pair "
        "2^30 is added and the low 31 bits are cleared",
        claims=product,
        breaks=(
            Break("(high + ~single)[: len(high)]", "(high + single)[: len(high)]"),
            Break("+ cross)[: 63 - SPLIT]", "- cross)[: 63 - SPLIT]"),
        ),
    ),
    Solved(
        name="requantizer",
        file="hw/requantizer.py",
        text="a word's result is the pipeline's of its accumulator and its own parameters, 15 "
        "cycles later, and there is one for each word",
        assumed="no reset comes in between",
        claims=stream,
        breaks=(
            Break("delay(m, field, name, cycle)", "delay(m, field, name, min(cycle, 12))"),
            Break("pushed << 1 | taken", "pushed << 1 | self.i.valid"),
        ),
    ),
)

BREAKS = {
    (False, 0): (Break("minus = negative ^ (edge & (v[8] ^ v[9]))", "minus = negative"),),
    (False, 9): (Break("Rounding.HALF_AWAY: ~negative", "Rounding.HALF_AWAY: negative"),),
    (True, 40): (
        Break("sticky | (taken & word[:step].any())", "sticky"),
        Break("far | (~taken & high.any())", "far | (~taken & high[1:].any())"),
    ),
}
"""Faults that are refuted in a form at a shift."""

QUICK = {(False, 0), (False, 9), (True, 1), (True, 31), (True, 40), (True, 62)}
"""Forms and shifts that are proved whenever tests run."""

SHIFTS = tuple(
    Solved(
        name=f"requantize-{FORM[single]}-{right}",
        family=f"requantize-{FORM[single]}",
        file=FILE,
        text=f"of any register `product`, the result of a {FORM[single]} is the formula's, at each "
        f"`right` from 0 to {62 if single else 31}: for all roundings, zero points and bounds",
        assumed="`low` is not above `high`, `rounding` is one of the seven, no reset comes in "
        "between",
        claims=partial(result, single, right),
        long=(single, right) not in QUICK,
        breaks=BREAKS.get((single, right), ()),
    )
    for single, last in ((False, 31), (True, 62))
    for right in range(last + 1)
)

PROOFS: tuple[Proof, ...] = (*MULTIPLIERS, *STEPS, *SHIFTS)
