"""The words that cross the hardware's boundary, each defined once.

The RTL decodes these layouts, the compiler packs them with `pack`, benches and documentation read
them. All fields are little-endian in the order given: the first field is at bit 0.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from amaranth.hdl import Shape, ShapeLike, signed, unsigned
from amaranth.lib import data, enum
from numpy.typing import ArrayLike

from eightfold.config import AcceleratorConfig


class Rounding(enum.Enum, shape=unsigned(3)):
    """How a right shift rounds what it drops; ``value`` is the exact quotient."""

    HALF_AWAY = 0  # nearest, ties away from zero (TFLite's rounding right shift)
    HALF_UP = 1  # nearest, ties toward +infinity
    HALF_DOWN = 2  # nearest, ties toward -infinity
    HALF_EVEN = 3  # nearest, ties to the even integer
    TOWARD_ZERO = 4  # truncate
    DOWN = 5  # floor
    UP = 6  # ceiling


REQUANTIZE_LAYOUT = data.StructLayout(
    {
        "bias": signed(32),  # added to the accumulator, wrapping
        "left": unsigned(5),  # left shift of the sum before the product, 0..30, wrapping to int32
        "multiplier": unsigned(31),  # 0..2^31-1
        "single": unsigned(1),  # 0: TFLite pair (SRDHM, then right shift); 1: one rounding shift
        "right": unsigned(6),  # right shift: pair 0..31, single 0..62
        "rounding": Rounding,  # of the right shift
        "zero_point": signed(8),  # added after the shift
        "low": signed(8),  # clamp to [low, high]
        "high": signed(8),
    }
)
"""Parameters of one output channel; `golden.requantize.requantize` is the formula."""


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


TABLE_LOAD_LAYOUT = data.StructLayout({"index": unsigned(8), "value": signed(32)})
"""One entry of a table: ``index`` is the looked-up byte read as unsigned (``q & 255``)."""


def pack(layout: data.StructLayout, fields: Mapping[str, ArrayLike]) -> list[int]:
    """Return the words that hold ``fields``, one per row.

    Parameters
    ----------
    layout
        Of scalar fields, nested layouts and arrays of int8.
    fields
        One entry per leaf, nested names joined by a dot (``"requantize.bias"``): integers of shape
        () or (n,); for an array of int8, shape (n, length).

    Raises
    ------
    ValueError
        If a field is missing, unknown, has a wrong shape or a value that does not fit.
    """
    leaves = dict(_leaves(layout, "", 0))
    if set(leaves) != set(fields):
        raise ValueError(f"fields differ from the layout's: {sorted(set(leaves) ^ set(fields))}")
    count = max((len(np.asarray(value)) for value in fields.values() if np.ndim(value)), default=1)
    words = np.zeros(count, dtype=object)
    for name, (offset, shape) in leaves.items():
        words |= _encode(name, np.asarray(fields[name]), shape, count) << offset
    return words.tolist()


def _leaves(layout: data.StructLayout, prefix: str, base: int) -> Iterator[tuple[str, tuple]]:
    """Yield (dotted name, (offset, shape)) of every field that is not itself a struct."""
    for name, field in layout:
        if isinstance(field.shape, data.StructLayout):
            yield from _leaves(field.shape, f"{prefix}{name}.", base + field.offset)
        else:
            yield f"{prefix}{name}", (base + field.offset, field.shape)


def _encode(name: str, values: np.ndarray, shape: ShapeLike, count: int) -> np.ndarray:
    """Return ``values`` as ``count`` unsigned integers of the field's width."""
    if isinstance(shape, data.ArrayLayout):
        if values.shape != (count, shape.length):
            raise ValueError(f"{name}: shape {values.shape} is not {(count, shape.length)}")
        _check(name, values, signed(8))
        rows = np.ascontiguousarray(values, dtype=np.int8)
        return np.array([int.from_bytes(row.tobytes(), "little") for row in rows], dtype=object)
    bits = Shape.cast(shape)
    _check(name, values, bits)
    integers = np.broadcast_to(values, (count,)).astype(object)
    return integers & ((1 << bits.width) - 1)


def _check(name: str, values: np.ndarray, bits: Shape) -> None:
    low = -(1 << (bits.width - 1)) if bits.signed else 0
    high = low + (1 << bits.width) - 1
    if values.size and not (low <= int(values.min()) and int(values.max()) <= high):
        raise ValueError(
            f"{name} must be in {low}..{high}, not {int(values.min())}..{int(values.max())}"
        )
