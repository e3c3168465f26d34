"""The words of the lane array's streams, each defined once.

All fields are little-endian in the order given: the first field is at bit 0.
"""

from eightfold.isa import REQUANTIZE_LAYOUT
from eightfold.isa.shapes import Array, Layout, below, signed, struct, unsigned
from eightfold.target.config import AcceleratorConfig


def parameter_layout() -> Layout:
    """Return the word of the parameter stream: one lane's parameters, lane 0 first."""
    return struct(
        {
            "requantize": REQUANTIZE_LAYOUT,
            "last": unsigned(1),  # completes the bank; lanes not written keep stale parameters
        }
    )


def weight_layout(config: AcceleratorConfig) -> Layout:
    """Return the word of the weight stream: one lane's ``width`` weights, lane 0 first."""
    return struct(
        {
            "taps": Array(signed(8), config.width),
            "last": unsigned(1),  # completes the buffer; lanes not written keep stale weights
        }
    )


def activation_layout(config: AcceleratorConfig) -> Layout:
    """Return the word of the activation stream: a vector and what the lanes do with it."""
    return struct(
        {
            "bytes": Array(signed(8), config.width),
            "depthwise": unsigned(1),  # 0: all lanes multiply bytes; 1: lane l shifts in bytes[l]
            **({"pairs": unsigned(1)} if config.pixel else {}),  # and the other pixel's byte
            "line": below(config.line_depth),  # modulo line_depth: vectors between window rows
            "fire": unsigned(1),  # multiply and accumulate; 0 only moves the depthwise window
            "first": unsigned(1),  # start the partial sum at 0 instead of reading it
            "last": unsigned(1),  # requantize the sum and send it out instead of keeping it
            "next_weights": unsigned(1),  # swap in the loaded weight buffer before this vector
            "next_parameters": unsigned(1),  # advance to the next parameter bank before this vector
            "slot": below(config.psum_depth),  # the partial sum's address
        }
    )


def result_layout(config: AcceleratorConfig) -> Array:
    """Return the word of the result stream: one int8 per lane."""
    return Array(signed(8), config.lanes)
