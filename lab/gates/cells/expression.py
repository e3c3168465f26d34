"""A LUT's table as a short Verilog expression, which a simulator computes faster than it looks up.

The table of n pins is an integer of 2^n bits; its bit i is the output where pin k has bit k of i.
"""

from collections.abc import Sequence
from functools import cache


def expression(table: int, pins: Sequence[str]) -> str:
    """Return Verilog of one bit that equals a table.

    Parameters
    ----------
    table
        2^n bits for n pins.
    pins
        What is at the pins, pin 0 first: names, or ``1'b0`` and ``1'b1``.
    """
    for pin in reversed(range(len(pins))):
        if pins[pin] in ("1'b0", "1'b1"):
            table = _cofactor(table, len(pins), pin, pins[pin] == "1'b1")
            pins = [*pins[:pin], *pins[pin + 1 :]]
    return _shortest(table, len(pins)).format(*pins)


@cache
def _shortest(table: int, size: int) -> str:
    """Return an expression with ``{k}`` for pin k, by the pin to choose by that makes it short."""
    whole = (1 << (1 << size)) - 1
    if table in (0, whole):
        return f"1'b{int(table == whole)}"
    return min((_by(table, size, pin) for pin in range(size)), key=lambda text: (len(text), text))


def _by(table: int, size: int, pin: int) -> str:
    """Return the choice by a pin between what is left for either level of it."""
    low, high = (_cofactor(table, size, pin, level) for level in (False, True))
    if low == high:
        return _renamed(low, size, pin)
    here = f"{{{pin}}}"
    whole = (1 << (1 << size - 1)) - 1
    if low == 0:
        return here if high == whole else f"({here} & {_renamed(high, size, pin)})"
    if high == 0:
        return f"(~{here})" if low == whole else f"(~{here} & {_renamed(low, size, pin)})"
    if high == whole:
        return f"({here} | {_renamed(low, size, pin)})"
    if low == whole:
        return f"(~{here} | {_renamed(high, size, pin)})"
    if high == whole ^ low:
        return f"({here} ^ {_renamed(low, size, pin)})"
    return f"({here} ? {_renamed(high, size, pin)} : {_renamed(low, size, pin)})"


def _cofactor(table: int, size: int, pin: int, level: bool) -> int:
    """Return the table of the other pins where one has a level."""
    found = 0
    for index in range(1 << size - 1):
        low = index & ((1 << pin) - 1)
        place = (index - low) << 1 | level << pin | low
        found |= (table >> place & 1) << index
    return found


def _renamed(table: int, size: int, left_out: int) -> str:
    """Return the expression of a table without a pin, its pins numbered as with it."""
    names = [f"{{{pin}}}" for pin in range(size) if pin != left_out]
    return _shortest(table, size - 1).format(*names)
