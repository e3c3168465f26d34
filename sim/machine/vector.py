"""What a VECTOR command does to the scratchpad, in numpy."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.fixed_point_log import inverse_square_root, log
from eightfold.golden.fixed_point_math import reciprocal
from eightfold.golden.normalization import L2_OUTPUT_BITS, LOG_BITS
from eightfold.golden.requantize import requantize
from eightfold.golden.softmax import SUM_BITS
from eightfold.isa import LOCAL_BITS, REQUANTIZE_LAYOUT, ROW_RESULTS, Combine, Operand, Reduce, Row
from eightfold.target.config import AcceleratorConfig

LOOPS = 3
"""Loops i0, i1, i2 over runs."""

PRODUCT_BITS = (16, 22)
"""Bits of the operands that are multiplied."""

AT_ONCE = 1 << 20
"""Elements, of all positions of a window, that are computed at once: this takes memory."""

_REQUANTIZE = tuple(name for name, _ in REQUANTIZE_LAYOUT)

SUM_LIMIT = 1 << 31
"""A row's sum of table entries is below."""

RIGHT_OF_ONE = 31 - 8
"""Right shift of RECIPROCAL for a reciprocal of 1: from 31 fraction bits to the output's 8."""

RECIPROCAL_LIMIT = 1 << 28
"""A sum that RECIPROCAL inverts is below, or the right shift would be larger than 31."""

ONE = 1 << (31 - SUM_BITS)
"""The least sum whose logarithm LOGARITHM takes."""


@dataclass
class RowState:
    """What is known of a row that goes on: its sum, its extreme, the extreme's and its elements."""

    total: int = 0
    extreme: int = 0
    number: int = 0
    elements: int = 0


class VectorFault(ValueError):  # noqa: N818 - reads as what happened
    """A VECTOR command writes outside of the scratchpad."""


def run_vector(
    config: AcceleratorConfig,
    command_fields: Mapping[str, int],
    scratchpad: NDArray[np.int8],
    tables: NDArray[np.int32],
    state: RowState | None = None,
) -> None:
    """Execute one VECTOR command; `eightfold.isa.VECTOR` states what it means.

    Everything is read before anything is written: a command whose runs overlap what it still reads
    is not legal, except in place, where a run's target is its own source. Sums of addresses and of
    row and column numbers wrap at ``LOCAL_BITS`` bits, addresses of reads around the scratchpad's
    end. Window positions and the numbers of a row's elements wrap at 16 bits.

    - ``config``: ``scratchpad`` and ``tables``.
    - ``command_fields``: fields as for `eightfold.isa.Command.encode`, ``requantize.bias`` and so
      on; fields that are missing are 0, others than those of the command are ignored.
    - ``scratchpad``: int8, shape (config.scratchpad,); changed in place.
    - ``tables``: int32, shape (config.tables, 256).
    - ``state``: what the commands before have found of their last row; changed in place.

    Raises VectorFault if it writes outside of the scratchpad; nothing is written then; ValueError:
    as `eightfold.sim.machine.vector.scaled_rows`.
    """
    field = with_defaults(command_fields)
    values, parameters = vector_values(field, scratchpad, tables, state or RowState())
    target = targets(field, values.shape[-1])
    if target.min() < 0 or target.max() >= config.scratchpad:
        raise VectorFault(
            f"writes to {target.min()}..{target.max()}, outside of {config.scratchpad} bytes"
        )
    scratchpad[target] = requantize(values, **parameters)


def with_defaults(command_fields: Mapping[str, int]) -> dict[str, int]:
    """Return a command's fields with those that choose an operation, 0 if they are missing."""
    zeros = dict.fromkeys(("combine", "reduce", "row", "operand_b"), 0)
    return zeros | {k: int(v) for k, v in command_fields.items()}


def vector_values(
    field: Mapping[str, int],
    scratchpad: NDArray[np.int8],
    tables: NDArray[np.int32],
    state: RowState,
) -> tuple[Integers, dict[str, Any]]:
    """Return what a command requantizes, int32 of shape (i2, i1, i0, results), and how.

    The second are parameters of `eightfold.golden.requantize.requantize`. Raises as `run_vector`.
    """
    row = Row(field["row"])
    scaling: Mapping[str, Integers] = {}
    if row == Row.NONE:
        values = _reduced(field, scratchpad, tables)
    else:
        a = row_operands(field, scratchpad)
        if row in ROW_RESULTS:
            values = reduced_rows(row, field, a, tables, state)
        else:
            values, scaling = scaled_rows(row, field, a, tables, state)
    parameters = {name: field.get(f"requantize.{name}", 0) for name in _REQUANTIZE}
    return values, parameters | dict(scaling)


def row_operands(field: Mapping[str, int], scratchpad: NDArray[np.int8]) -> Integers:
    """Return the bytes of rows, with all positions of the window.

    Shape (i2, i1, i0, position, run).
    """
    parts = [operand_a(field, scratchpad, w1, w0) for w1, w0 in _positions(field)]
    return np.moveaxis(np.concatenate(parts), 0, -2)


def targets(field: Mapping[str, int], results: int) -> Integers:
    """Return the address of every result; a run has so many."""
    return _local(operand_addresses(field, "target", "target_step"))[..., :results]


def operand_addresses(
    field: Mapping[str, int], base: str, step: str, repeated: bool = False
) -> Integers:
    """Return the address of every element of an operand or of the target, without a window.

    ``base + i2 * step2 + i1 * step1 + i0 * step0 + e``, int64, shape (i2, i1, i0, run), or 1
    instead of the run if it is ``repeated``; ``base`` and ``step`` are names of fields, the latter
    without its number.
    """
    counts = [np.arange(field[f"count{i}"], dtype=np.int64) for i in range(LOOPS)]
    steps = [field.get(f"{step}{i}", 0) for i in range(LOOPS)]
    i0, i1, i2 = (count * size for count, size in zip(counts, steps, strict=True))
    run = np.arange(1 if repeated else field["run"], dtype=np.int64)
    return field.get(base, 0) + i2[:, None, None, None] + i1[:, None, None] + i0[:, None] + run


def _positions(field: Mapping[str, int]) -> Iterator[tuple[Integers, Integers]]:
    """Yield w1 and w0 of some positions of the window after the other, in order.

    Each of shape (position, 1, 1, 1, 1), before the axes of `operand_addresses`.
    """
    window1, window0 = field["window1"], field["window0"]
    number = np.arange(window1 * window0, dtype=np.int64)[:, None, None, None, None]
    together = max(1, AT_ONCE // (prod(field[f"count{i}"] for i in range(LOOPS)) * field["run"]))
    for start in range(0, len(number), together):
        w1, w0 = np.divmod(number[start : start + together], window0)
        yield w1, w0


def _reduced(
    field: Mapping[str, int], scratchpad: NDArray[np.int8], tables: NDArray[np.int32]
) -> Integers:
    """Return the reduction over the window, int32."""
    combine = Combine(field["combine"])
    reduce = Reduce(field["reduce"])
    parts = []
    for w1, w0 in _positions(field):
        values = _looked_up(field, "a", operand_a(field, scratchpad, w1, w0), tables)
        if combine != Combine.A:
            b = operand_b(field, scratchpad, tables, w1, w0)
            values = _COMBINED[combine](values, b)
        parts.append(_over_positions(reduce, values))
    return _over_positions(reduce, np.stack(parts))


def _over_positions(reduce: Reduce, values: Integers) -> Integers:
    """Return the reduction over the first axis."""
    match reduce:
        case Reduce.SUM:
            return wrap32(np.sum(values, axis=0))
        case Reduce.MAXIMUM:
            return np.max(values, axis=0)
        case Reduce.MINIMUM:
            return np.min(values, axis=0)
        case _:
            return values[-1]


def addresses_a(field: Mapping[str, int], w1: int | Integers, w0: int | Integers) -> Integers:
    """Return where operand a is at a position of the window, before it wraps at the end.

    Or at several, in the leading axes of ``w1`` and ``w0``.
    """
    offset = w1 * field.get("a_window1", 0) + w0 * field.get("a_window0", 0)
    repeated = bool(field.get("repeat_a", 0))
    return operand_addresses(field, "source_a", "a_step", repeated) + offset


def operand_a(
    field: Mapping[str, int], scratchpad: NDArray[np.int8], w1: int | Integers, w0: int | Integers
) -> Integers:
    """Return operand a at positions of the window, with its padding, as bytes in int64."""
    a = _read(scratchpad, addresses_a(field, w1, w0))
    a = np.where(inside(field, w1, w0), a, field.get("fill", 0))
    return np.broadcast_to(a, (*a.shape[:-1], field["run"]))


def operand_b(
    field: Mapping[str, int],
    scratchpad: NDArray[np.int8],
    tables: NDArray[np.int32],
    w1: int | Integers,
    w0: int | Integers,
) -> Integers:
    """Return operand b at positions of the window, looked up."""
    kind = Operand(field["operand_b"])
    if kind == Operand.POSITION:
        return np.asarray((w1 * field["window0"] + w0) & 0xFFFF, dtype=np.int64)
    offset = w1 * field.get("b_window1", 0) + w0 * field.get("b_window0", 0)
    repeated = kind != Operand.BYTES
    address = operand_addresses(field, "source_b", "b_step", repeated) + offset
    if kind != Operand.WORD:
        return _looked_up(field, "b", _read(scratchpad, address), tables)
    word = _read(scratchpad, address + np.arange(4)).astype(np.uint8)
    return word.view("<i4").astype(np.int64)


def inside(field: Mapping[str, int], w1: int | Integers, w0: int | Integers) -> NDArray[np.bool_]:
    """Return which runs of operand a have a row and a column number that exists."""
    row, column = np.arange(field["count1"])[:, None, None], np.arange(field["count0"])[:, None]
    found = []
    for axis, iteration, window in (("row", row, w1), ("column", column, w0)):
        start = field.get(f"{axis}0", 0) + window * field.get(f"{axis}_window", 0)
        numbers = _local(iteration * field.get(f"{axis}_step", 0) + start)
        found.append((numbers >= 0) & (numbers < field.get(f"{axis}s", 0)))
    return found[0] & found[1]


def _looked_up(
    field: Mapping[str, int], operand: str, values: Integers, tables: NDArray[np.int32]
) -> Integers:
    if not field.get(f"lookup_{operand}", 0):
        return values
    return tables[field.get(f"table_{operand}", 0)][values & 255].astype(np.int64)


def _product(a: Integers, b: Integers) -> Integers:
    return wrap32(_signed(a, PRODUCT_BITS[0]) * _signed(b, PRODUCT_BITS[1]))


_COMBINED: Mapping[Combine, Callable[[Integers, Integers], Integers]] = {
    Combine.ADD: lambda a, b: wrap32(a + b),
    Combine.SUBTRACT: lambda a, b: wrap32(a - b),
    Combine.MULTIPLY: _product,
    Combine.MAXIMUM: np.maximum,
    Combine.MINIMUM: np.minimum,
    Combine.EQUAL: lambda a, b: (a == b).astype(np.int64),
    Combine.NOT_EQUAL: lambda a, b: (a != b).astype(np.int64),
    Combine.RECTIFY: lambda a, b: np.where(a >= 0, a, _product(a, b)),
}
"""What combinations of a and b are, int32."""


def _read(scratchpad: NDArray[np.int8], address: Integers) -> Integers:
    return scratchpad[address % len(scratchpad)].astype(np.int64)


def _signed(value: Integers | int, bits: int) -> Integers:
    """Return the low bits as two's complement."""
    half = 1 << (bits - 1)
    return ((np.asarray(value, dtype=np.int64) + half) & (2 * half - 1)) - half


def _local(value: Integers) -> Integers:
    return _signed(value, LOCAL_BITS)


def reduced_rows(
    row: Row, field: Mapping[str, int], a: Integers, tables: NDArray[np.int32], state: RowState
) -> Integers:
    """Return one number per row: SUM, MAXIMUM or MINIMUM of `eightfold.isa.VECTOR`.

    ``a``: bytes, shape (..., positions of the window, run). Returns int64, shape (..., 1). With
    several positions the element's number has no meaning, and is 0.
    """
    goes_on = field.get("resume", 0)
    if row == Row.SUM:
        c = _relative(a, np.int64(state.extreme)) if field.get("relative", 0) else a
        total = _looked_up(field, "b", c, tables).sum(axis=(-2, -1)) + goes_on * state.total
        state.total = int(wrap32(total.flat[-1]))
        return wrap32(total)[..., None]
    flat = a.reshape(*a.shape[:-2], -1)
    largest = row == Row.MAXIMUM
    number = flat.argmax(axis=-1) if largest else flat.argmin(axis=-1)
    value = np.take_along_axis(flat, number[..., None], axis=-1)[..., 0]
    if goes_on:
        stays = value <= state.extreme if largest else value >= state.extreme
        number = np.where(stays, state.number, number + state.elements)
        value = np.where(stays, state.extreme, value)
    state.extreme, state.number = int(value.flat[-1]), int(number.flat[-1])
    state.elements = goes_on * state.elements + flat.shape[-1]
    return ((value << 16) + (number if a.shape[-2] == 1 else 0))[..., None]


def scaled_rows(
    row: Row, field: Mapping[str, int], a: Integers, tables: NDArray[np.int32], state: RowState
) -> tuple[Integers, dict[str, Integers]]:
    """Return table_a's entries, and the requantizer's fields of every row.

    ``a``: bytes, shape (..., 1, run). Raises ValueError if there is a window; if a row's sum is not
    in [1, 2^28) for RECIPROCAL, [2^19, 2^31) for LOGARITHM, or below 2^31 for INVERSE_ROOT.
    """
    if a.shape[-2] != 1:
        raise ValueError(f"{row.name} has no window")
    a = a[..., 0, :]
    goes_on = field.get("resume", 0)
    if field.get("relative", 0) and not goes_on:
        state.extreme = int(a[-1, -1, -1].max())
        a = _relative(a, a.max(axis=-1, keepdims=True))
    elif field.get("relative", 0):
        a = _relative(a, np.int64(state.extreme))
    total = _looked_up(field, "b", a, tables).sum(axis=-1, keepdims=True)
    total = np.full_like(total, state.total) if goes_on else total
    limits = {
        Row.RECIPROCAL: (1, RECIPROCAL_LIMIT),
        Row.LOGARITHM: (ONE, SUM_LIMIT),
        Row.INVERSE_ROOT: (-SUM_LIMIT, SUM_LIMIT),
    }
    low, high = limits[row]
    if total.min() < low or total.max() >= high:
        raise ValueError(f"a row's sum must be in {low}..{high - 1}, not {total.min()} or so")
    state.total = int(total.flat[-1])
    return _looked_up(field, "a", a, tables), row_scaling(row, total)


def row_scaling(row: Row, total: Integers) -> dict[str, Integers]:
    """Return the requantizer's fields that a function sets, of sums in its range."""
    if row == Row.RECIPROCAL:
        inverse, over = reciprocal(total, SUM_BITS)
        return {"multiplier": inverse, "right": over + RIGHT_OF_ONE}
    if row == Row.LOGARITHM:
        return {"bias": -log(total, SUM_BITS, LOG_BITS)}
    multiplier, shift = inverse_square_root(total)
    exponent = shift + L2_OUTPUT_BITS
    scaling = {"left": np.maximum(exponent, 0), "right": np.maximum(-exponent, 0)}
    return {"multiplier": multiplier, **scaling}


def _relative(a: Integers, maximum: Integers | np.int64) -> Integers:
    """Return the differences, wrapped to bytes."""
    return ((a - maximum + 128) & 255) - 128
