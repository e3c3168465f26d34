"""The microprogram of a row's function: what `eightfold.hw.vector.row_function` multiplies and
adds, in order.

An instruction is a line such as ``e = e + 4 * e * f``: a register gets an addend plus or minus a
product, times 1, 2, 4 or 8. The product is the rounding doubling high multiply,
``(a * b + 2^30) >> 31``: numbers are fractions, 1 is 2^31 (Q0), in some registers 2^29 (Q2) or 2^28
(Q3). Sums wrap to int32. With ``if`` the register keeps its value unless the condition holds. There
are no jumps: a program runs from its first line to the one that ends it.

The formulas are those of `eightfold.golden.fixed_point_math` and
`eightfold.golden.fixed_point_log`, step by step. What differs leaves every bit as it is;
`eightfold.sim.machine.row_interpreter` is there to show it:

- Those saturate after left shifts. Only the reciprocal's last step and one of the logarithm's two
  candidates ever get that far; the unit does the former behind the program, the latter loses.
- A left shift by 6 between two products is 3 bits behind the first and 3 in the second's operand.
- Halves away from zero are halves up, of numbers that are one less if they are negative.
- The first of five steps towards the inverse root begins at 1: its products are constants.

Source: gemmlowp ``fixedpoint.h``; TFLite ``common.h``, ``log_softmax.h``.
"""

from typing import NamedTuple

from amaranth.hdl import signed, unsigned
from amaranth.lib import data, enum

from eightfold.hw.blocks.layouts import hdl
from eightfold.isa import Row

REGISTERS = ("x", "n", "e", "f", "z", "t", "q", "p", "s", "v", "d", "h", "m")
"""Registers, by number. A program begins with ``x``, and with ``n``, the same shifted left until
2^30 <= n < 2^31. The last value that is written is the result."""

NORMAL = 30
"""Highest bit of ``n`` that is set."""

FRACTION = 19
"""Bits of x behind the point: it is in Q12, except that INVERSE_ROOT takes it for an integer."""

EXPONENT = signed(6)
"""Shape of the exponent of x, floor(log2(x)) - `FRACTION`; for an x of 0 and below that of 1."""

EXPONENT_UNIT = 25
"""The bit of a number in Q6 that counts 1."""

CONSTANTS = {
    "0": 0,
    "-1": -(1 << 31),  # a product with it is an exact negation,
    "-1/2": -(1 << 30),  # and one with this a half rounded down, negated
    "1/2": 1 << 30,
    "1/16": 1 << 27,
    "1/32": 1 << 26,
    "1/64": 1 << 25,
    "-1/128": -(1 << 24),
    "-tiny": -1,
    "largest": (1 << 31) - 1,
    "one": 1 << 29,  # Q2
    "48/17": 1515870810,  # Q2
    "-32/17": -1010580540,  # Q2
    "3/2": 402653184,  # Q3
    "log2": 1488522236,
    "root2": 1518500250,  # square root of 1/2
    "root4": 1805811301,  # fourth root of 1/2
    "alpha_n": 117049297,  # of a rational function: log(r) near the fourth root of 1/2
    "alpha_d": 127690142,
    "alpha_i": 1057819769,
    "alpha_f": 638450708,
}
"""Constants, by number."""

ADDENDS = {"exponent": 3 << (EXPONENT_UNIT - 2), "-top": -(1 << 31)}
"""Constants behind those, as addends only. The unit completes them, if x is not below 1 in Q12: it
adds the exponent in Q6, and sets the bits that make it -2^floor(log2(x))."""

CONSTANT = 1 << 5
"""Added to a constant's number where it is a source."""

RECIPROCAL_RIGHT = 23
"""Right shift of the reciprocal of 1: from 31 fraction bits to the 8 of the row's output."""

INVERSE_ROOT_LEFT = 7
"""Left shift of the inverse root of 1: to the 7 fraction bits of the row's output."""


class Condition(enum.Enum, shape=unsigned(3)):
    """When an instruction writes its register."""

    ALWAYS = 0
    NEGATIVE = 1  # the result of the last instruction without condition was
    EVEN = 2  # the exponent of x is
    BELOW_32 = 3  # x, an int32, is
    BELOW_8 = 4
    BELOW_2 = 5


INSTRUCTION_LAYOUT = data.StructLayout(
    {
        "target": range(16),
        "a": range(16),
        "b": range(2 * CONSTANT),
        "addend": range(2 * CONSTANT),
        "subtract": 1,
        "left": range(4),
        "condition": Condition,
        "end": hdl(Row),
    }
)
"""An `Instruction` as a word."""


class Instruction(NamedTuple):
    """``target = addend + a * b * 2^left``, or minus; ``b`` and ``addend`` number sources."""

    target: int
    a: int
    b: int
    addend: int
    subtract: int
    left: int
    condition: int
    end: int
    """Function that is complete with this instruction, or `Row.NONE`."""


# x = 2^z * r / root4, with r, in n, from root2 to 1, and z in Q6. v / (1 + d) is log(r / root4), a
# rational function of q = 2 * (r - root4), v in Q5; in the end n is (1 + d) / 2.
_TO_LOGARITHM = (
    "z = exponent",
    "t = -top + x * root2",
    "n = 2 * n * root2 if negative",
    "z = -1/128 - z * -1 if negative",
    "t = root4 + n * -1",
    "q = 2 * t * -1",
    "p = root4 + t * -1/2",
    "s = q * q",
    "v = q * s",
    "v = v * alpha_n",
    "v = v + q * n",
    "v = -tiny - v * -1 if negative",
    "v = 2 * v * 1/64",
    "d = alpha_i + s * alpha_d",
    "d = d - q * -1",
    "d = p * d",
    "d = d + q * alpha_f",
    "n = 1/2 - d * -1/2",
)
# e is 1 / n in Q2, from 2^29 - 2 to 2^30: n is from 1/2 to 1. Three Newton-Raphson steps.
_RECIPROCAL = (
    "e = 48/17 + n * -32/17",
    *("f = one - n * e", "e = e + 4 * e * f") * 3,
)
_LOGARITHM = (
    "m = 0 - 2 * z * log2",
    "m = m - 2 * v * e",
)
# h is half of x, times a power of 4, from 1/8 to 1/2. e is the inverse root of 2 * h in Q3. Five
# Newton-Raphson steps.
_INVERSE_ROOT = (
    "h = 8 * n * 1/16",
    "h = 8 * n * 1/32 if even",
    "e = 3/2 - 8 * h * 1/64",
    *("s = e * e", "s = 8 * s * e", "t = 8 * e * 3/2", "e = t - 8 * h * s") * 4,
    "m = e * root2",
    "m = 2 * e * root2 if below_32",
    "m = 4 * e * root2 if below_8",
    "m = largest if below_2",
)
_PARTS = (
    (_TO_LOGARITHM, Row.NONE),
    (_RECIPROCAL, Row.RECIPROCAL),
    (_LOGARITHM, Row.LOGARITHM),
    (_INVERSE_ROOT, Row.INVERSE_ROOT),
)

_REGISTER = {name: number for number, name in enumerate(REGISTERS)}
_SOURCE = _REGISTER | {name: CONSTANT + number for number, name in enumerate(CONSTANTS)}
_ADDEND = _SOURCE | {name: CONSTANT + number for number, name in enumerate(ADDENDS, len(CONSTANTS))}


def _assembled(line: str, end: Row) -> Instruction:
    assignment, _, condition = line.partition(" if ")
    target, _, expression = assignment.partition(" = ")
    match expression.split():
        case [addend]:
            sign = "+"
            factors = ["x", "*", "0"]
        case [addend, "+" | "-" as sign, *factors]:
            pass
        case factors:
            addend, sign = "0", "+"
    *scale, a, _, b = factors if len(factors) == 3 else factors[:1] + factors[2:]
    return Instruction(
        target=_REGISTER[target],
        a=_REGISTER[a],
        b=_SOURCE[b],
        addend=_ADDEND[addend],
        subtract=int(sign == "-"),
        left=int(scale[0]).bit_length() - 1 if scale else 0,
        condition=Condition[condition.upper() or "ALWAYS"].value,
        end=end.value,
    )


PROGRAM = tuple(
    _assembled(line, end if number == len(lines) else Row.NONE)
    for lines, end in _PARTS
    for number, line in enumerate(lines, start=1)
)
"""All functions, one behind the other; the logarithm runs through the reciprocal."""

ENTRY = {
    Row.LOGARITHM: 0,
    Row.RECIPROCAL: len(_TO_LOGARITHM),
    Row.INVERSE_ROOT: len(PROGRAM) - len(_INVERSE_ROOT),
}
"""Number of each function's first instruction."""


def program(function: Row) -> tuple[Instruction, ...]:
    """Return the instructions that compute a function, in order."""
    ends = [instruction.end for instruction in PROGRAM]
    return PROGRAM[ENTRY[function] : ends.index(function.value) + 1]
