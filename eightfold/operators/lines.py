"""Explanations as lines of text: operands, sums of many, and the end that most operators share."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eightfold.golden.fixed_point import quantize_multiplier
from eightfold.golden.quantization import Quantization
from eightfold.golden.steps import (
    Step,
    explain_multiplication,
    explain_offset_and_clamp,
    step_lines,
)
from eightfold.operators.definition import Element, Index

SHOWN = 16
"""Values or lines of one kind that are written out; of more the number is told."""


def value_text(value: Any) -> str:
    """Return a number as Python writes it: an integer, a truth value or a float."""
    return repr(np.asarray(value).item())


def values_text(values: Iterable[Any]) -> str:
    """Return the first `SHOWN` values in brackets, and how many there are if there are more."""
    texts = [value_text(value) for value in values]
    more = f", ... {len(texts)} in all" if len(texts) > SHOWN else ""
    return f"[{', '.join(texts[:SHOWN])}{more}]"


def operand(element: Element, position: int) -> Any:
    """Return the element of an input, which broadcasts to the output's rank."""
    array = element.call.array(position)
    return array[own_index(array.shape, element.index)]


def own_index(shape: Sequence[int], index: Index) -> Index:
    """Return the place in an input of ``shape`` that broadcasts to ``index`` of the output."""
    last = index[len(index) - len(shape) :]
    return tuple(min(at, size - 1) for at, size in zip(last, shape, strict=True))


def operand_lines(element: Element) -> "Lines":
    """Return a line for the element of each input: where it is, and its value."""
    lines = Lines()
    for position, tensor in enumerate(element.call.inputs):
        place = list(own_index(element.call.array(position).shape, element.index))
        value = value_text(operand(element, position))
        lines.append(f"input {position}, {tensor}, element {place} = {value}")
    return lines


def difference(element: Element, position: int) -> Step:
    """Return the step that subtracts the zero point from the element of an input."""
    code = int(operand(element, position))
    zero_point = element.call.quantization(position).per_tensor()[1]
    return f"{code} - zero point {zero_point}", code - zero_point


class Lines(list[str]):
    """The lines of an explanation, which it adds to itself step by step."""

    def steps(self, *steps: Step) -> int:
        """Add steps, and return the value of the last one."""
        self += step_lines(steps)
        return steps[-1][1]

    def scaled(self, x: int, real: float, formula: str, *, magnitude: bool = False) -> int:
        """Add the product with a real multiplier, and return its value.

        ``formula`` says what the multiplier is made of; ``magnitude`` leaves out its sign.
        """
        multiplier, shift = (int(part) for part in quantize_multiplier(real))
        if magnitude:
            multiplier = abs(multiplier)
        return self.multiplied(x, multiplier, shift, f"{formula} = {real!r}")

    def multiplied(self, x: int, multiplier: int, shift: int, source: str) -> int:
        """Add the product with a multiplier and its shift, and return its value."""
        scale = multiplier * 2.0 ** (shift - 31)
        self.append(f"{source} as {multiplier} * 2^({shift} - 31) = {scale!r}")
        return self.steps(*explain_multiplication(x, multiplier, shift))

    def ended(
        self, z: int, output: Quantization, bounds: tuple[int, int] = (-128, 127)
    ) -> list[str]:
        """Add the last ones, the output's zero point added, and clamped; return all."""
        self.steps(*explain_offset_and_clamp(z, output.per_tensor()[1], bounds))
        return self


def total(parts: Sequence[Step]) -> Step:
    """Return the sum of the parts' values as a step."""
    values = [value for _, value in parts]
    return f"sum of {values_text(values)}", sum(values)
