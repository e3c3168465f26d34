"""Sums whose carry cells take in what is added: an FPGA's adder has a look-up table in each bit."""

from collections.abc import Iterable, Sequence

from amaranth.hdl import Const, Mux, Value


def select(values: Sequence[Value], bits: Iterable[Value]) -> Value:
    """Return the value whose bit is set, or 0: gates that a carry cell behind them takes in."""
    union: Value = Const(0)
    for value, bit in zip(values, bits, strict=True):
        union = union | (value & bit.replicate(len(value)))
    return union


def advance(restart: Value, start: Value, value: Value, step: Value | int) -> Value:
    """Return ``start`` if ``restart``, else ``value + step``, as one sum.

    A choice behind an adder would be a look-up table more per bit. In front of it both choices and
    the sum are one, as long as a bit depends on no more than four wires.
    """
    return Mux(restart, start, value) + Mux(restart, 0, step)


def retreat(restart: Value, start: Value, value: Value, step: Value | int) -> Value:
    """Return ``start`` if ``restart``, else ``value - step``, as `advance` does."""
    return Mux(restart, start, value) - Mux(restart, 0, step)
