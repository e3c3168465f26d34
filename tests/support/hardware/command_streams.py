"""Streams for tests: BEGIN, some commands, END."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.target.config import AcceleratorConfig

Item = tuple[isa.Command, dict[str, int], str, str]
"""Command, fields, initials of the engines whose tokens it takes, and of those it gives one."""

_BITS = {"o": isa.Engine.MOVER, "a": isa.Engine.MATRIX, "v": isa.Engine.VECTOR}


def bits(initials: str) -> int:
    """Return the bits of engines, each by a letter: m[o]ver, m[a]trix, [v]ector."""
    return sum(1 << _BITS[initial].value for initial in initials)


def stream(config: AcceleratorConfig, items: Iterable[Item]) -> NDArray[np.uint32]:
    """Return the words of BEGIN, the items and END."""
    whole = [(isa.BEGIN, isa.begin(config).values(), "", ""), *items, (isa.END, {}, "", "")]
    return np.concatenate(
        [
            command.encode(**fields, index=index % (1 << 16), wait=bits(wait), signal=bits(signal))
            for index, (command, fields, wait, signal) in enumerate(whole)
        ]
    )


def move(wait: str = "", signal: str = "", /, **fields: int | isa.Space) -> Item:
    """Return a MOVE; counts not given are 1, spaces are SCRATCHPAD."""
    return isa.MOVE, _fields(fields, _MOVE), wait, signal


def gather(wait: str = "", signal: str = "", /, **fields: int | isa.Space) -> Item:
    """Return a GATHER; counts not given are 1, spaces are SCRATCHPAD."""
    return isa.GATHER, _fields(fields, _GATHER), wait, signal


def weights(**fields: int) -> Item:
    """Return a WEIGHTS."""
    return isa.WEIGHTS, fields, "", ""


def parameters(**fields: int) -> Item:
    """Return a PARAMETERS."""
    return isa.PARAMETERS, fields, "", ""


def matrix(wait: str = "", signal: str = "", /, **fields: int) -> Item:
    """Return a MATRIX; counts and steps of firing that are not given are 1."""
    return isa.MATRIX, _fields(fields, _MATRIX), wait, signal


def vector(
    wait: str = "",
    signal: str = "",
    /,
    **fields: int | isa.Combine | isa.Reduce | isa.Row | isa.Operand,
) -> Item:
    """Return a VECTOR; counts, rows and columns that are not given are 1."""
    return isa.VECTOR, _fields(fields, _VECTOR), wait, signal


def _fields(given: dict, usual: dict) -> dict[str, int]:
    values = usual | {name.replace("__", "."): value for name, value in given.items()}
    return {name: int(getattr(value, "value", value)) for name, value in values.items()}


_SPACES = {"source_space": isa.Space.SCRATCHPAD, "target_space": isa.Space.SCRATCHPAD}
_MOVE = {f"count{i}": 1 for i in range(4)} | _SPACES
_GATHER = {f"count{i}": 1 for i in range(3)} | _SPACES
_MATRIX = dict.fromkeys(
    ("groups", "last_lanes", "ky", "kx", "kc", "y", "x", "fire_y_step", "fire_x_step",
     "first", "last", "rows"), 1,
) | {"line": isa.MIN_LINE}  # fmt: skip
_VECTOR = dict.fromkeys(
    ("count0", "count1", "count2", "window0", "window1", "rows", "columns", "run"), 1
) | {"requantize.low": -128, "requantize.high": 127}
