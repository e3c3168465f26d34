"""The microprogram of `eightfold.hw.vector.row_program` in numpy, many rows at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.fixed_point import INT32_MAX, Integers, srdhm, wrap32
from eightfold.hw.vector import row_program
from eightfold.hw.vector.row_program import Condition, Instruction, program
from eightfold.isa import Row

_VALUES = [*row_program.CONSTANTS.values(), *row_program.ADDENDS.values()]
_EXPONENT, _TOP = (
    row_program.CONSTANT + len(row_program.CONSTANTS) + i for i in range(len(row_program.ADDENDS))
)


@dataclass
class RowInterpreter:
    """The machine that executes the instructions, for many sums ``x``, int32, at once."""

    x: Integers

    def __post_init__(self) -> None:
        top = np.frexp(np.maximum(self.x, 1))[1].astype(np.int64) - 1
        self.exponent = top - row_program.FRACTION
        self.registers = np.zeros((len(row_program.REGISTERS), *self.x.shape), dtype=np.int64)
        self.registers[0] = self.x
        # An x below 1 is not shifted up to its highest bit; no result is made of it.
        self.registers[1] = np.where(self.x > 0, self.x << (row_program.NORMAL - top), self.x)
        self.negative = np.zeros(self.x.shape, dtype=np.bool_)
        self.result = self.registers[0]

    def step(self, instruction: Instruction) -> tuple[Integers, NDArray[np.bool_]]:
        """Execute an instruction; return its sum before it wraps, and where it is written."""
        a, b = self.registers[instruction.a], self._source(instruction.b)
        product = srdhm(a, b) << instruction.left
        addend = self._source(instruction.addend)
        value = addend - product if instruction.subtract else addend + product
        condition = Condition(instruction.condition)
        holds = self._holds(condition)
        wrapped = np.where(holds, wrap32(value), self.registers[instruction.target])
        self.registers[instruction.target] = wrapped
        self.result = np.where(holds, wrapped, self.result)
        if condition == Condition.ALWAYS:
            self.negative = wrapped < 0
        return value, holds

    def _source(self, number: int) -> Integers:
        if number < row_program.CONSTANT:
            return self.registers[number]
        value = np.full_like(self.x, _VALUES[number - row_program.CONSTANT])
        if number == _EXPONENT:
            value += self.exponent << row_program.EXPONENT_UNIT
        elif number == _TOP:
            value = -(np.int64(1) << (self.exponent + row_program.FRACTION))
        return value

    def _holds(self, condition: Condition) -> NDArray[np.bool_]:
        below = {Condition.BELOW_32: 32, Condition.BELOW_8: 8, Condition.BELOW_2: 2}
        match condition:
            case Condition.ALWAYS:
                return np.ones(self.x.shape, dtype=np.bool_)
            case Condition.NEGATIVE:
                return self.negative
            case Condition.EVEN:
                return self.exponent % 2 == 0
            case _:
                return self.x < below[condition]


Watch = Callable[[Instruction, Integers, NDArray[np.bool_]], None]


def interpret_row_function(
    function: Row, x: ArrayLike, watch: Watch | None = None
) -> dict[str, Integers]:
    """Return the fields that `eightfold.hw.vector.row_function.RowFunction` makes of the sums
    ``x``, uint32.

    ``watch``, if given, is called with each instruction, its sums before they wrap, and where they
    are written: int64 and bool, shape of ``x``.
    """
    machine = RowInterpreter(wrap32(x))
    for instruction in program(function):
        value, holds = machine.step(instruction)
        if watch:
            watch(instruction, value, holds)
    if function == Row.LOGARITHM:
        return {"bias": machine.result}
    multiplier = machine.result
    right = np.maximum(machine.exponent >> 1, -row_program.INVERSE_ROOT_LEFT)
    if function == Row.RECIPROCAL:
        multiplier, right = (
            np.minimum(2 * multiplier, INT32_MAX),
            machine.exponent + row_program.RECIPROCAL_RIGHT,
        )
    return {"multiplier": multiplier, "left": np.maximum(-right, 0), "right": np.maximum(right, 0)}
