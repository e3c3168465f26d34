"""LUT4s of an ECP5 netlist, and those that a carry cell adds with."""

from dataclasses import dataclass
from typing import Self

from eightfold.synth.netlist import Cell, Wire

_PINS = "ABCD"


@dataclass(frozen=True)
class Lut:
    """A LUT4: its pins A to D, and its table."""

    pins: tuple[Wire, ...]
    table: int

    @classmethod
    def of(cls, cell: Cell, half: int | str = "") -> Self:
        """Return that of a cell, or of half 0 or 1 of a CCU2C."""
        pins = tuple(cell["connections"][f"{pin}{half}"][0] for pin in _PINS)
        return cls(pins, int(cell["parameters"][f"INIT{half}"], 2))

    def write(self, cell: Cell, half: int | str = "") -> None:
        """Make this that of a cell, or of half 0 or 1 of a CCU2C."""
        for pin, wire in zip(_PINS, self.pins, strict=True):
            cell["connections"][f"{pin}{half}"] = [wire]
        cell["parameters"][f"INIT{half}"] = format(self.table, "016b")

    @property
    def wires(self) -> tuple[int, ...]:
        """The pins that are not constant, each once."""
        return tuple(dict.fromkeys(pin for pin in self.pins if isinstance(pin, int)))

    def at(self, values: dict[int, bool]) -> bool:
        """Return the output for values of the wires."""
        return bool(self.table >> index_of(self.pins, values) & 1)


class Half(Lut):
    """The LUT4 of a half of a CCU2C.

    With ``propagate`` the table's bit at (A, B, C, D), and ``generate`` that at (A, B, 0, 0),
    ``sum = propagate ^ carry_in`` and ``carry_out = propagate ? carry_in : generate``.
    """

    def carry_at(self, values: dict[int, bool]) -> tuple[bool, bool]:
        """Return (propagate, generate) for values of the wires."""
        pair = index_of(self.pins[:2], values)
        return self.at(values), bool(self.table >> pair & 1)


def index_of(pins: tuple[Wire, ...], values: dict[int, bool]) -> int:
    """Return where the table of a LUT with these pins has the bit for values of the wires."""
    levels = [values[pin] if isinstance(pin, int) else pin == "1" for pin in pins]
    return sum(level << position for position, level in enumerate(levels))
