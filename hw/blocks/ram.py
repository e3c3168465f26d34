"""A memory without a bypass: for readers that take nothing from a word while it is written."""

from amaranth.hdl import ShapeLike
from amaranth.lib.memory import Memory


def ram(shape: ShapeLike, depth: int) -> Memory:
    """Return a memory of ``depth`` words; what is read in the cycle of its write is undefined.

    Yosys knows the attribute ``no_rw_check``: it puts the reader's register into a RAM block that
    gives neither the old word nor the new one there, and compares no addresses. Simulators give the
    old word.
    """
    # The stubs know attributes that are text.
    return Memory(shape=shape, depth=depth, init=[], attrs={"no_rw_check": 1})  # pyright: ignore
