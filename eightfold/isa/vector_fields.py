"""Which of a VECTOR command's operands and tables its other fields give a meaning to."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eightfold.isa import ROW_RESULTS, Combine, Operand, Row

Fields = Mapping[str, int]
"""The command's fields by name; those that are missing are 0."""


@dataclass(frozen=True, kw_only=True)
class RowScaling:
    """What becomes of a row: `eightfold.isa.VECTOR` with ``row``.

    ``tables``: int32 (256,) each, of the elements and of the sum, by the byte read as unsigned.
    """

    row: Row
    relative: bool
    tables: tuple[np.ndarray, np.ndarray]
    requantize: Mapping[str, int]


OPERAND_BYTES = {Operand.REPEAT.value: 1, Operand.WORD.value: 4}
"""Bytes that are read at each of operand b's addresses, where it is not a run."""


def is_on_rows(fields: Fields) -> bool:
    """Return whether the command works on rows."""
    return fields.get("row", 0) != Row.NONE.value


def has_one_result(fields: Fields) -> bool:
    """Return whether each row has one result."""
    return any(fields.get("row", 0) == row.value for row in ROW_RESULTS)


def resumes(fields: Fields) -> bool:
    """Return whether the command's row goes on from the one before."""
    return is_on_rows(fields) and bool(fields.get("resume", 0))


def has_b(fields: Fields) -> bool:
    """Return whether there is an operand b."""
    return fields.get("combine", 0) != Combine.A.value and not is_on_rows(fields)


def reads_b(fields: Fields) -> bool:
    """Return whether operand b is read."""
    return has_b(fields) and fields.get("operand_b", 0) != Operand.POSITION.value


def run_length(fields: Fields, side: str) -> int:
    """Return the bytes at each of the addresses of ``side``: ``a``, ``b`` or ``target``."""
    if side == "a" and fields.get("repeat_a", 0):
        return 1
    if side == "b":
        return OPERAND_BYTES.get(fields.get("operand_b", 0), fields["run"])
    if side == "target" and has_one_result(fields):
        return 1
    return fields["run"]


def used_tables(fields: Fields) -> dict[str, int]:
    """Return the numbers of the tables that the command looks up, by operand."""
    sums = is_on_rows(fields) and fields["row"] not in (Row.MAXIMUM.value, Row.MINIMUM.value)
    words = fields.get("operand_b", 0) in (Operand.WORD.value, Operand.POSITION.value)
    used = {"a": not has_one_result(fields), "b": sums or (has_b(fields) and not words)}
    return {
        side: fields.get(f"table_{side}", 0)
        for side in "ab"
        if used[side] and fields.get(f"lookup_{side}", 0)
    }
