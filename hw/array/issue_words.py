"""What goes in and out of the MAC array's front end beside the vectors."""

from amaranth.hdl import Mux, Value, signed, unsigned
from amaranth.lib import data

from eightfold.target.config import AcceleratorConfig

SUPPLY_LAYOUT = data.StructLayout({"one": 1, "two": 1})
"""What is used up: is there one in the next cycle if none, or one, is used in this."""


def available_next(supply: data.View, used: Value) -> Value:
    """Return whether there is one in the next cycle."""
    return Mux(used, supply.two, supply.one)


def step_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what moves the lanes' operands: a vector, and whether weights change with it."""
    return data.StructLayout(
        {
            "bytes": data.ArrayLayout(signed(8), config.width),
            "valid": unsigned(1),
            "depthwise": unsigned(1),
            **({"pairs": unsigned(1)} if config.pixel else {}),
            "swap": unsigned(1),
        }
    )


def line_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return where the lines keep a vector, and where they find the one of a row before."""
    place = range(config.line_depth)
    return data.StructLayout({"push": unsigned(1), "write": place, "read": place})


REASON_LAYOUT = data.StructLayout(
    {"issue": 1, "weights": 1, "parameters": 1, "held": 1},
)
"""What the front end does in a cycle in which it has a vector, or what the vector waits for."""


def sum_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what becomes of a vector's dot products, lane by lane the same."""
    return data.StructLayout(
        {
            "slot": range(config.psum_depth),
            "first": unsigned(1),
            "store": unsigned(1),  # the sum stays in its slot
            "send": unsigned(1),  # the sum leaves through the requantizer
            "retire": unsigned(1),  # the bank before this one is not needed any more
        }
    )
