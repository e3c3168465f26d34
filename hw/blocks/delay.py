"""Chains of registers."""

from amaranth.hdl import Module, Signal, Value, ValueCastable


def delay(m: Module, value: Value | ValueCastable, cycles: int, name: str) -> Value:
    """Return ``value`` some cycles later, from registers named ``name`` and the cycle.

    Parameters
    ----------
    m
        The module that gets the registers; they reset to 0.
    value
        Of any shape; a view comes back as its bits.
    cycles
        At least 0.
    name
        Prefix of the registers' names.
    """
    return delays(m, value, cycles, name)[-1]


def delays(m: Module, value: Value | ValueCastable, cycles: int, name: str) -> list[Value]:
    """Return ``value`` 0, 1, .. ``cycles`` cycles later; otherwise as `delay`."""
    stages = [Value.cast(value)]
    for cycle in range(1, cycles + 1):
        following = Signal(stages[-1].shape(), name=f"{name}{cycle}")
        m.d.sync += following.eq(stages[-1])
        stages.append(following)
    return stages
