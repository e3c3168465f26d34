"""Registers by address, and programs of accesses to them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.bits import check_range, with_sign
from eightfold.conformance.adapters.memory import Array
from eightfold.conformance.answers import MISSING, UNKNOWN

WORD = (1 << 64) - 1

WRITE, POLL, READ, BARRIER, WAIT = range(5)
"""Operations of a program, as the harness numbers them."""

_REGISTER = re.compile(r"\s*(0x[0-9a-fA-F_]+|\d+)\s*(?:\[\s*(\d+)\s*(?::\s*(\d+)\s*)?\])?\s*")


@dataclass(frozen=True)
class RegisterField:
    """Bits of a register: those of a number, from ``low`` on."""

    address: int
    low: int
    width: int


def parse_register(what: str, text: str | int, data: int) -> RegisterField:
    """Return the field of an address, ``0x20`` or ``"0x20[7:0]"``, on a bus of ``data`` bits.
    Raises InputError if it is none."""
    if isinstance(text, int):
        return RegisterField(text, 0, data)
    found = _REGISTER.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise InputError(f'{what}: {text!r} is no register; use 0x20 or "0x20[7:0]"')
    high = data - 1 if found[2] is None else int(found[2])
    low = 0 if found[2] is None else high if found[3] is None else int(found[3])
    if not low <= high < data:
        raise InputError(f"{what}: {text!r}: a word has the bits {data - 1}:0")
    return RegisterField(int(found[1], 0), low, high - low + 1)


def array_fields(what: str, place: Array, length: int, data: int, step: int) -> list[RegisterField]:
    """Return the fields of a list of numbers in registers that are ``step`` apart. Raises
    InputError if a number does not fit a register."""
    if place.bits > data or place.stride is not None:
        raise InputError(f"{what}: {place}: registers have {data} bits, and no stride")
    per_word = data // place.bits
    return [
        RegisterField(
            place.address + index // per_word * step, index % per_word * place.bits, place.bits
        )
        for index in range(length)
    ]


def packed(what: str, values: NDArray[Any], bits: int, data: int) -> NDArray[Any]:
    """Return words of registers from numbers of ``bits`` each: (runs, length) to (runs, words)."""
    check_range(what, values, bits)
    per_word = data // bits
    words = -(-values.shape[1] // per_word)
    filled = np.zeros((len(values), words * per_word), object)
    filled[:, : values.shape[1]] = values.astype(object) & ((1 << bits) - 1)
    shifts = np.array([1 << (bits * index) for index in range(per_word)], object)
    return (filled.reshape(len(values), words, per_word) * shifts).sum(axis=2)


@dataclass(frozen=True)
class BusAccess:
    """A line of a program, for all runs: ``data`` is a number, or one of each run."""

    operation: int
    address: int = 0
    data: NDArray[Any] | int = 0
    mask: int = 0

    def line(self, run: int) -> str:
        """Return its line in a run, as the harness reads it."""
        data = int(self.data[run] if isinstance(self.data, np.ndarray) else self.data)
        numbers = (self.address, data & WORD, self.mask & WORD)
        return " ".join([f"{self.operation:02x}", *(f"{each:016x}" for each in numbers)]) + "\n"

    def text(self) -> str:
        """Return what it does."""
        return {
            WRITE: f"the write of {self.address:#x}",
            POLL: f"the read of {self.address:#x}",
            READ: f"the read of {self.address:#x}",
        }.get(self.operation, "a barrier")


@dataclass(frozen=True)
class BusProgram:
    """Accesses in front of all runs, of each run, and after them all."""

    setup: Sequence[BusAccess]
    each: Sequence[BusAccess]
    after: Sequence[BusAccess]
    runs: int

    @property
    def lines(self) -> int:
        """How many there are in all."""
        return len(self.setup) + self.runs * len(self.each) + len(self.after)

    def at(self, line: int) -> tuple[int | None, BusAccess | None]:
        """Return the run that a line is of, and its access; None for what is in no run."""
        if line < len(self.setup):
            return None, self.setup[line]
        run, index = divmod(line - len(self.setup), max(len(self.each), 1))
        return (run, self.each[index]) if run < self.runs else (None, None)

    def write(self, path: Path) -> None:
        """Write it as the harness reads it."""
        each = ((access, run) for run in range(self.runs) for access in self.each)
        once = [[(access, 0) for access in accesses] for accesses in (self.setup, self.after)]
        lines = (access.line(run) for access, run in (*once[0], *each, *once[1]))
        path.write_text("".join(lines), encoding="ascii")


def read_values(path: Path, reads: int, data: int) -> NDArray[np.uint8]:
    """Return the characters of what was read: (runs, reads, 1 + data), the failure first."""
    text = np.frombuffer(path.read_bytes() if path.exists() else b"", np.uint8)
    lines = text[: len(text) // (data + 2) * (data + 2)].reshape(-1, data + 2)[:, :-1]
    runs = len(lines) // reads
    return lines[: runs * reads].reshape(runs, reads, data + 1)


def field_value(
    word: NDArray[np.uint8], field: RegisterField, *, signed: bool
) -> NDArray[np.int64]:
    """Return a field of words that were read: `UNKNOWN` with X or Z, `MISSING` after an error."""
    end = word.shape[1] - field.low
    bits = word[:, end - field.width : end]
    value = np.zeros(len(word), np.int64)
    for column in range(field.width):
        value = value << 1 | (bits[:, column] == ord("1"))
    value = with_sign(value, field.width) if signed else value
    known = ((bits == ord("0")) | (bits == ord("1"))).all(axis=1)
    return np.where(word[:, 0] == ord("1"), MISSING, np.where(known, value, UNKNOWN))


def each_write(
    what: str, values: Mapping[Any, NDArray[Any]], data: int, step: int
) -> Iterator[BusAccess]:
    """Return the writes of values, by their places: registers, or an `Array` of them."""
    for place, numbers in values.items():
        if isinstance(place, Array):
            rows = numbers if numbers.ndim == 2 else numbers[:, None]
            fields = array_fields(f"{what}[{place}]", place, rows.shape[1], data, step)
            words = packed(f"{what}[{place}]", rows, place.bits, data)
            addresses = list(dict.fromkeys(field.address for field in fields))
            for index, address in enumerate(addresses):
                yield BusAccess(WRITE, address, words[:, index])
        else:
            check_range(f"{what}[{place:#x}]", numbers, data)
            yield BusAccess(WRITE, place, numbers)
