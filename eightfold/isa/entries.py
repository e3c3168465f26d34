"""A field of a command or a register, with what it means, and where fields lie."""

from collections.abc import Sequence
from dataclasses import dataclass

from eightfold.isa.shapes import FieldShape, Layout, aligned


@dataclass(frozen=True)
class Entry:
    """A field of a command or register: name, shape and what it means."""

    name: str
    shape: FieldShape
    text: str


def aligned_layout(entries: Sequence[Entry]) -> Layout:
    """Return the entries one after the other; none but a structure crosses a 32-bit word."""
    return aligned({entry.name: entry.shape for entry in entries})
