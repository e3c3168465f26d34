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
from eightfold.isa.vector_fields import Fields
from eightfold.target.config import AcceleratorConfig

LOOPS = 3
"""Loops i0, i1, i2 over runs."""

PRODUCT_BITS = (16, 22)
"""Bits of the operands that are multiplied."""

AT_ONCE = 1 << 20
"""Elements, of all positions of a window, that are computed at once: this takes memory."""

_REQUANTIZE = tuple(name for name, _ in REQUANTIZE_LAYOUT)

RIGHT_OF_ONE = 31 - 8
"""Right shift of RECIPROCAL for a reciprocal of 1: from 31 fraction bits to the output's 8."""

SUM_RANGES: Mapping[Row, tuple[int, int]] = {
    Row.RECIPROCAL: (1, 1 << 28),  # or the right shift would be larger than 31
    Row.LOGARITHM: (1 << (31 - SUM_BITS), 1 << 31),  # from the sum that stands for 1 on
    Row.INVERSE_ROOT: (-(1 << 31), 1 << 31),
}
"""The least sum of table entries that a function of rows takes, and what all are below."""


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
    command_fields: Fields,
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

    Raises VectorFault if it writes outside of the scratchpad; nothing is written then; ValueError
    if a function of rows has a window, or a row's sum is not in the function's range.
    """
    run = VectorRun(command_fields, scratchpad, tables, state or RowState())
    values, parameters = run.values()
    target = targets(run.f, values.shape[-1])
    if target.min() < 0 or target.max() >= config.scratchpad:
        raise VectorFault(
            f"writes to {target.min()}..{target.max()}, outside of {config.scratchpad} bytes"
        )
    scratchpad[target] = requantize(values, **parameters)


class VectorRun:
    """One command's fields, and what it works on; those that choose an operation are all there."""

    def __init__(
        self,
        fields: Fields,
        scratchpad: NDArray[np.int8],
        tables: NDArray[np.int32],
        state: RowState,
    ) -> None:
        zeros = dict.fromkeys(("combine", "reduce", "row", "operand_b"), 0)
        self.f = zeros | {name: int(value) for name, value in fields.items()}
        self.scratchpad, self.tables, self.state = scratchpad, tables, state

    def values(self) -> tuple[Integers, dict[str, Any]]:
        """Return what a command requantizes, int32 of shape (i2, i1, i0, results), and how.

        The second are parameters of `eightfold.golden.requantize.requantize`. Raises as
        `run_vector`.
        """
        row = Row(self.f["row"])
        scaling: Mapping[str, Integers] = {}
        if row == Row.NONE:
            values = self._reduced()
        else:
            a = self.row_operands()
            if row in ROW_RESULTS:
                values = self._reduced_rows(row, a)
            else:
                values, scaling = self._scaled_rows(row, a)
        parameters = {name: self.f.get(f"requantize.{name}", 0) for name in _REQUANTIZE}
        return values, parameters | dict(scaling)

    def row_operands(self) -> Integers:
        """Return the bytes of rows, with all positions of the window.

        Shape (i2, i1, i0, position, run).
        """
        parts = [self.operand_a(w1, w0) for w1, w0 in self._positions()]
        return np.moveaxis(np.concatenate(parts), 0, -2)

    def _positions(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield w1 and w0 of some positions of the window after the other, in order.

        Each of shape (position, 1, 1, 1, 1), before the axes of `operand_addresses`.
        """
        window1, window0 = self.f["window1"], self.f["window0"]
        number = np.arange(window1 * window0, dtype=np.int64)[:, None, None, None, None]
        elements = prod(self.f[f"count{i}"] for i in range(LOOPS)) * self.f["run"]
        together = max(1, AT_ONCE // elements)
        for start in range(0, len(number), together):
            w1, w0 = np.divmod(number[start : start + together], window0)
            yield w1, w0

    def _reduced(self) -> Integers:
        """Return the reduction over the window, int32."""
        combine = Combine(self.f["combine"])
        reduce = Reduce(self.f["reduce"])
        parts = []
        for w1, w0 in self._positions():
            values = self._looked_up("a", self.operand_a(w1, w0))
            if combine != Combine.A:
                values = _COMBINED[combine](values, self.operand_b(w1, w0))
            parts.append(_over_positions(reduce, values))
        return _over_positions(reduce, np.stack(parts))

    def operand_a(self, w1: int | Integers, w0: int | Integers) -> Integers:
        """Return operand a at positions of the window, with its padding, as bytes in int64."""
        a = self._read(addresses_a(self.f, w1, w0))
        a = np.where(inside(self.f, w1, w0), a, self.f.get("fill", 0))
        return np.broadcast_to(a, (*a.shape[:-1], self.f["run"]))

    def operand_b(self, w1: int | Integers, w0: int | Integers) -> Integers:
        """Return operand b at positions of the window, looked up."""
        kind = Operand(self.f["operand_b"])
        if kind == Operand.POSITION:
            return np.asarray((w1 * self.f["window0"] + w0) & 0xFFFF, dtype=np.int64)
        offset = w1 * self.f.get("b_window1", 0) + w0 * self.f.get("b_window0", 0)
        repeated = kind != Operand.BYTES
        address = operand_addresses(self.f, "source_b", "b_step", repeated) + offset
        if kind != Operand.WORD:
            return self._looked_up("b", self._read(address))
        word = self._read(address + np.arange(4)).astype(np.uint8)
        return word.view("<i4").astype(np.int64)

    def _looked_up(self, operand: str, values: Integers) -> Integers:
        if not self.f.get(f"lookup_{operand}", 0):
            return values
        return self.tables[self.f.get(f"table_{operand}", 0)][values & 255].astype(np.int64)

    def _read(self, address: Integers) -> Integers:
        return self.scratchpad[address % len(self.scratchpad)].astype(np.int64)

    def _reduced_rows(self, row: Row, a: Integers) -> Integers:
        """Return one number per row: SUM, MAXIMUM or MINIMUM of `eightfold.isa.VECTOR`.

        ``a``: bytes, shape (..., positions of the window, run). Returns int64, shape (..., 1). With
        several positions the element's number has no meaning, and is 0.
        """
        goes_on = self.f.get("resume", 0)
        if row == Row.SUM:
            c = _relative(a, np.int64(self.state.extreme)) if self.f.get("relative", 0) else a
            total = self._looked_up("b", c).sum(axis=(-2, -1)) + goes_on * self.state.total
            self.state.total = int(wrap32(total.flat[-1]))
            return wrap32(total)[..., None]
        flat = a.reshape(*a.shape[:-2], -1)
        largest = row == Row.MAXIMUM
        number = flat.argmax(axis=-1) if largest else flat.argmin(axis=-1)
        value = np.take_along_axis(flat, number[..., None], axis=-1)[..., 0]
        if goes_on:
            stays = value <= self.state.extreme if largest else value >= self.state.extreme
            number = np.where(stays, self.state.number, number + self.state.elements)
            value = np.where(stays, self.state.extreme, value)
        self.state.extreme, self.state.number = int(value.flat[-1]), int(number.flat[-1])
        self.state.elements = goes_on * self.state.elements + flat.shape[-1]
        return ((value << 16) + (number if a.shape[-2] == 1 else 0))[..., None]

    def _scaled_rows(self, row: Row, a: Integers) -> tuple[Integers, dict[str, Integers]]:
        """Return table_a's entries, and the requantizer's fields of every row.

        ``a``: bytes, shape (..., 1, run). Raises ValueError if there is a window; if a row's sum is
        not in [1, 2^28) for RECIPROCAL, [2^19, 2^31) for LOGARITHM, or below 2^31 for INVERSE_ROOT.
        """
        if a.shape[-2] != 1:
            raise ValueError(f"{row.name} has no window")
        a = a[..., 0, :]
        goes_on = self.f.get("resume", 0)
        if self.f.get("relative", 0) and not goes_on:
            self.state.extreme = int(a[-1, -1, -1].max())
            a = _relative(a, a.max(axis=-1, keepdims=True))
        elif self.f.get("relative", 0):
            a = _relative(a, np.int64(self.state.extreme))
        total = self._looked_up("b", a).sum(axis=-1, keepdims=True)
        total = np.full_like(total, self.state.total) if goes_on else total
        low, high = SUM_RANGES[row]
        if total.min() < low or total.max() >= high:
            raise ValueError(f"a row's sum must be in {low}..{high - 1}, not {total.min()} or so")
        self.state.total = int(total.flat[-1])
        return self._looked_up("a", a), row_scaling(row, total)


def targets(field: Fields, results: int) -> Integers:
    """Return the address of every result; a run has so many."""
    return wrap_local(operand_addresses(field, "target", "target_step"))[..., :results]


def operand_addresses(field: Fields, base: str, step: str, repeated: bool = False) -> Integers:
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


def addresses_a(field: Fields, w1: int | Integers, w0: int | Integers) -> Integers:
    """Return where operand a is at a position of the window, before it wraps at the end.

    Or at several, in the leading axes of ``w1`` and ``w0``.
    """
    offset = w1 * field.get("a_window1", 0) + w0 * field.get("a_window0", 0)
    repeated = bool(field.get("repeat_a", 0))
    return operand_addresses(field, "source_a", "a_step", repeated) + offset


def inside(field: Fields, w1: int | Integers, w0: int | Integers) -> NDArray[np.bool_]:
    """Return which runs of operand a have a row and a column number that exists."""
    row, column = np.arange(field["count1"])[:, None, None], np.arange(field["count0"])[:, None]
    found = []
    for axis, iteration, window in (("row", row, w1), ("column", column, w0)):
        start = field.get(f"{axis}0", 0) + window * field.get(f"{axis}_window", 0)
        numbers = wrap_local(iteration * field.get(f"{axis}_step", 0) + start)
        found.append((numbers >= 0) & (numbers < field.get(f"{axis}s", 0)))
    return found[0] & found[1]


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


def _signed(value: Integers | int, bits: int) -> Integers:
    """Return the low bits as two's complement."""
    half = 1 << (bits - 1)
    return ((np.asarray(value, dtype=np.int64) + half) & (2 * half - 1)) - half


def wrap_local(value: Integers) -> Integers:
    """Return the low `LOCAL_BITS` bits as a signed number."""
    return _signed(value, LOCAL_BITS)


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
