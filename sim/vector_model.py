"""What a VECTOR command does to the scratchpad, in numpy."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold.config import AcceleratorConfig
from eightfold.isa import LOCAL_BITS, REQUANTIZE_LAYOUT, Combine, Reduce
from golden.fixed_point import Integers, wrap32
from golden.fixed_point_math import reciprocal
from golden.requantize import requantize
from golden.softmax import SUM_BITS

LOOPS = 3
"""Loops i0, i1, i2 over runs."""

SUM_LIMIT = 1 << 28
"""A row's sum of table entries is below: 512 in the fixed point of SOFTMAX."""

RIGHT_OF_ONE = 31 - 8
"""Right shift of SOFTMAX for a reciprocal of 1: from 31 fraction bits to the output's 8."""

_REQUANTIZE = tuple(name for name, _ in REQUANTIZE_LAYOUT)


class VectorFault(ValueError):  # noqa: N818 - reads as what happened
    """A VECTOR command writes outside of the scratchpad."""


def run_vector(
    config: AcceleratorConfig,
    command_fields: Mapping[str, int],
    scratchpad: NDArray[np.int8],
    tables: NDArray[np.int32],
) -> None:
    """Execute one VECTOR command; `eightfold.isa.VECTOR` states what it means.

    Everything is read before anything is written: a command whose runs overlap what it still reads
    is not legal, except in place, where a run's target is its own source. Sums of addresses and of
    row and column numbers wrap at ``LOCAL_BITS`` bits, addresses of reads around the scratchpad's
    end. With reduce NONE the last position of the window counts. With reduce SOFTMAX ``combine``,
    ``lookup_a`` and ``lookup_b`` have no meaning; ``bias``, ``left``, ``single`` and ``rounding``
    are the command's.

    Parameters
    ----------
    config
        ``scratchpad`` and ``tables``.
    command_fields
        Fields as for `eightfold.isa.Command.encode`, ``requantize.bias`` and so on; fields that are
        missing are 0, others than those of the command are ignored.
    scratchpad
        int8, shape (config.scratchpad,); changed in place.
    tables
        int32, shape (config.tables, 256).

    Raises
    ------
    VectorFault
        If it writes outside of the scratchpad; nothing is written then.
    ValueError
        If SOFTMAX has a window, or a row whose table_b entries sum to 0 or less, or 2^28 or more.
    """
    field = dict.fromkeys(("combine", "reduce"), 0) | {k: int(v) for k, v in command_fields.items()}
    if field["reduce"] == Reduce.SOFTMAX.value:
        values, scaling = _softmax(field, scratchpad, tables)
    else:
        values, scaling = _reduced(field, scratchpad, tables), {}
    parameters = {name: field.get(f"requantize.{name}", 0) for name in _REQUANTIZE} | scaling
    target = _local(operand_addresses(field, "target", "target_step"))
    if target.min() < 0 or target.max() >= config.scratchpad:
        raise VectorFault(
            f"writes to {target.min()}..{target.max()}, outside of {config.scratchpad} bytes"
        )
    scratchpad[target] = requantize(values, **parameters)


def operand_addresses(field: Mapping[str, int], base: str, step: str) -> Integers:
    """Return the address of every element of an operand or of the target, without a window.

    ``base + i2 * step2 + i1 * step1 + i0 * step0 + e``, int64, shape (i2, i1, i0, run); ``base``
    and ``step`` are names of fields, the latter without its number.
    """
    counts = [np.arange(field[f"count{i}"], dtype=np.int64) for i in range(LOOPS)]
    steps = [field.get(f"{step}{i}", 0) for i in range(LOOPS)]
    i0, i1, i2 = (count * size for count, size in zip(counts, steps, strict=True))
    run = np.arange(field["run"], dtype=np.int64)
    return field.get(base, 0) + i2[:, None, None, None] + i1[:, None, None] + i0[:, None] + run


def _reduced(
    field: Mapping[str, int], scratchpad: NDArray[np.int8], tables: NDArray[np.int32]
) -> Integers:
    """Return the reduction over the window, int32."""
    combine, reduce = Combine(field["combine"]), Reduce(field["reduce"])
    b: NDArray | int = 0
    if combine != Combine.A:
        b = _looked_up(
            field, "b", _read(scratchpad, operand_addresses(field, "source_b", "b_step")), tables
        )
    result = None
    for w1 in range(field["window1"]):
        for w0 in range(field["window0"]):
            a = _looked_up(field, "a", _operand_a(field, scratchpad, w1, w0), tables)
            value = _combined(combine, a, b)
            if result is None or reduce == Reduce.NONE:
                result = value
            elif reduce == Reduce.SUM:
                result = wrap32(result + value)
            else:
                result = np.maximum(result, value)
    assert result is not None, "a window has at least one position"
    return result


def _softmax(
    field: Mapping[str, int], scratchpad: NDArray[np.int8], tables: NDArray[np.int32]
) -> tuple[Integers, dict[str, Integers]]:
    """Return table_a's entries, and the multiplier and right shift of every row."""
    if field["window0"] != 1 or field["window1"] != 1:
        raise ValueError("SOFTMAX has no window")
    a = _operand_a(field, scratchpad, 0, 0)
    index = (a - a.max(axis=-1, keepdims=True)) & 255
    total = tables[field.get("table_b", 0)][index].astype(np.int64).sum(axis=-1, keepdims=True)
    if total.min() <= 0 or total.max() >= SUM_LIMIT:
        raise ValueError(f"a row's sum must be in 1..{SUM_LIMIT - 1}, not {total.min()} or so")
    inverse, over = reciprocal(total, SUM_BITS)
    values = tables[field.get("table_a", 0)][index].astype(np.int64)
    return values, {"multiplier": inverse, "right": over + RIGHT_OF_ONE}


def _operand_a(
    field: Mapping[str, int], scratchpad: NDArray[np.int8], w1: int, w0: int
) -> Integers:
    """Return operand a at a position of the window, with its padding, as bytes in int64."""
    offset = w1 * field.get("a_window1", 0) + w0 * field.get("a_window0", 0)
    a = _read(scratchpad, operand_addresses(field, "source_a", "a_step") + offset)
    rows = _inside(field, "row", field["count1"], w1)[:, None, None]
    columns = _inside(field, "column", field["count0"], w0)[:, None]
    return np.where(rows & columns, a, field.get("fill", 0))


def _inside(field: Mapping[str, int], axis: str, count: int, window: int) -> NDArray[np.bool_]:
    """Return which of the loop's row or column numbers exist."""
    numbers = np.arange(count, dtype=np.int64) * field.get(f"{axis}_step", 0)
    numbers = _local(numbers + field.get(f"{axis}0", 0) + window * field.get(f"{axis}_window", 0))
    return (numbers >= 0) & (numbers < field.get(f"{axis}s", 0))


def _looked_up(
    field: Mapping[str, int], operand: str, values: Integers, tables: NDArray[np.int32]
) -> Integers:
    if not field.get(f"lookup_{operand}", 0):
        return values
    return tables[field.get(f"table_{operand}", 0)][values & 255].astype(np.int64)


def _combined(combine: Combine, a: Integers, b: Integers | int) -> Integers:
    """Return the combination, int32."""
    match combine:
        case Combine.ADD:
            return wrap32(a + b)
        case Combine.SUBTRACT:
            return wrap32(a - b)
        case Combine.MULTIPLY:
            return _signed(a, 16) * _signed(b, 16)
        case Combine.MAXIMUM:
            return np.maximum(a, b)
        case Combine.MINIMUM:
            return np.minimum(a, b)
        case _:
            return a


def _read(scratchpad: NDArray[np.int8], address: Integers) -> Integers:
    return scratchpad[address % len(scratchpad)].astype(np.int64)


def _signed(value: Integers | int, bits: int) -> Integers:
    """Return the low bits as two's complement."""
    half = 1 << (bits - 1)
    return ((np.asarray(value, dtype=np.int64) + half) & (2 * half - 1)) - half


def _local(value: Integers) -> Integers:
    return _signed(value, LOCAL_BITS)
