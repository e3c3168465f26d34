"""The words of the lane array's streams, each defined once.

All fields are little-endian in the order given: the first field is at bit 0.
"""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from eightfold.config import AcceleratorConfig
from eightfold.isa import REQUANTIZE_LAYOUT


def parameter_layout() -> data.StructLayout:
    """Return the word of the parameter stream: one lane's parameters, lane 0 first."""
    return data.StructLayout(
        {
            "requantize": REQUANTIZE_LAYOUT,
            "last": unsigned(1),  # completes the bank; lanes not written keep stale parameters
        }
    )


def weight_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return the word of the weight stream: one lane's ``width`` weights, lane 0 first."""
    return data.StructLayout(
        {
            "taps": data.ArrayLayout(signed(8), config.width),
            "last": unsigned(1),  # completes the buffer; lanes not written keep stale weights
        }
    )


def activation_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return the word of the activation stream: a vector and what the lanes do with it."""
    return data.StructLayout(
        {
            "bytes": data.ArrayLayout(signed(8), config.width),
            "depthwise": unsigned(1),  # 0: all lanes multiply bytes; 1: lane l shifts in bytes[l]
            "line": range(config.line_depth),  # modulo line_depth: vectors between window rows
            "fire": unsigned(1),  # multiply and accumulate; 0 only moves the depthwise window
            "first": unsigned(1),  # start the partial sum at 0 instead of reading it
            "last": unsigned(1),  # requantize the sum and send it out instead of keeping it
            "next_weights": unsigned(1),  # swap in the loaded weight buffer before this vector
            "next_parameters": unsigned(1),  # advance to the next parameter bank before this vector
            "slot": range(config.psum_depth),  # the partial sum's address
        }
    )


def result_layout(config: AcceleratorConfig) -> data.ArrayLayout:
    """Return the word of the result stream: one int8 per lane."""
    return data.ArrayLayout(signed(8), config.lanes)
