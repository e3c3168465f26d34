"""Chains of registers."""

from amaranth.hdl import Module, Signal, Value, ValueCastable


def delay(
    m: Module,
    value: Value | ValueCastable,
    name: str,
    cycles: int = 1,
    *,
    reset: bool = False,
) -> Value:
    """Return ``value`` some cycles later.

    Parameters
    ----------
    m
        The module that gets the registers.
    value
        Of any shape; a view comes back as its bits.
    name
        Of the registers. A ``{}`` in it stands for the cycle, counted from 1.
    cycles
        At least 0.
    reset
        Whether the registers reset to 0. Data need not: nothing stale is used.
    """
    return delays(m, value, name, cycles, reset=reset)[-1]


def delays(
    m: Module,
    value: Value | ValueCastable,
    name: str,
    cycles: int,
    *,
    reset: bool = False,
) -> list[Value]:
    """Return ``value`` 0, 1, .. ``cycles`` cycles later; otherwise as `delay`."""
    stages = [Value.cast(value)]
    for cycle in range(1, cycles + 1):
        shape = stages[0].shape()
        stages.append(Signal(shape, name=name.format(cycle), reset_less=not reset))
        m.d.sync += stages[-1].eq(stages[-2])
    return stages
