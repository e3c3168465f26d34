"""The arithmetic of one value, step by step: what a person reads where a result differs.

A step is a formula with its numbers filled in, and the value that it gives. The steps are computed
by the same primitives as the functions on arrays, one value at a time.
"""

from collections.abc import Iterable
from typing import Any

from eightfold.golden.fixed_point import rounding_divide_by_pot, srdhm, wrap32
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS, rounding_code, rounding_shift

Step = tuple[str, int]
"""A formula, such as ``SRDHM(420, multiplier 1073741824)``, and its value."""


def explain_requantize(
    acc: int,
    *,
    multiplier: int,
    bias: int = 0,
    left: int = 0,
    right: int = 0,
    single: int = 0,
    rounding: str | int = "half_away",
    zero_point: int = 0,
    low: int = -128,
    high: int = 127,
) -> list[Step]:
    """Return the steps of `requantize`, which raises; the value of the last is its result."""
    fields = (multiplier, bias, left, right, single, zero_point, low, high)
    multiplier, bias, left, right, single, zero_point, low, high = map(int, fields)
    requantize(  # for its checks
        acc,
        multiplier=multiplier,
        bias=bias,
        left=left,
        right=right,
        single=single,
        rounding=rounding,
        zero_point=zero_point,
        low=low,
        high=high,
    )
    steps: list[Step] = []
    x = _add(steps, f"wrap32({int(acc)} + bias {bias})", wrap32(int(acc) + bias))
    x = _add(steps, f"wrap32({x} << left {left})", wrap32(x << left))
    if single:
        y = _add(steps, f"{x} * multiplier {multiplier}", x * multiplier)
    else:
        y = _add(steps, f"SRDHM({x}, multiplier {multiplier})", srdhm(x, multiplier))
    mode = ROUNDINGS[int(rounding_code(rounding))]
    shifted = f"rounding_shift({y}, right {right}, {mode})"
    z = _add(steps, shifted, rounding_shift(y, right, mode))
    if single:
        v = _add(steps, f"{z} + zero point {zero_point}", z + zero_point)
    else:
        v = _add(steps, f"wrap32({z} + zero point {zero_point})", wrap32(z + zero_point))
    _add(steps, f"clamp({v}, low {low}, high {high})", min(max(v, low), high))
    return steps


def explain_multiplication(
    x: int, multiplier: int, shift: int, *, single: bool = False
) -> list[Step]:
    """Return the steps of `multiply_by_quantized_multiplier`; the last has its result as value."""
    x, multiplier, shift = int(x), int(multiplier), int(shift)
    steps: list[Step] = []
    if single:
        product = _add(steps, f"{x} * multiplier {multiplier}", x * multiplier)
        text = f"wrap32(rounding_shift({product}, {31 - shift}, half_up))"
        _add(steps, text, wrap32(rounding_shift(product, 31 - shift, "half_up")))
        return steps
    if shift > 0:
        x = _add(steps, f"wrap32({x} << left {shift})", wrap32(x << shift))
    y = _add(steps, f"SRDHM({x}, multiplier {multiplier})", srdhm(x, multiplier))
    right = max(-shift, 0)
    text = f"rounding_shift({y}, right {right}, half_away)"
    _add(steps, text, rounding_divide_by_pot(y, right))
    return steps


def explain_offset_and_clamp(z: int, zero_point: int, bounds: tuple[int, int]) -> list[Step]:
    """Return the steps from a scaled int32 to the code: zero point added, and clamped."""
    steps: list[Step] = []
    v = _add(steps, f"wrap32({z} + zero point {zero_point})", wrap32(z + zero_point))
    clamped = f"clamp({v}, low {bounds[0]}, high {bounds[1]})"
    _add(steps, clamped, min(bounds[1], max(bounds[0], v)))
    return steps


def step_lines(steps: Iterable[Step]) -> list[str]:
    """Return a line for each step: the formula, ``=``, and the value."""
    return [f"{formula} = {value}" for formula, value in steps]


def _add(steps: list[Step], formula: str, value: Any) -> int:
    steps.append((formula, int(value)))
    return int(value)
