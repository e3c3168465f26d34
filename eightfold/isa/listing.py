"""A command stream for people: one line per command, ``name=value`` for what matters in it."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import Decoded, command_places, decode
from eightfold.isa.shapes import FieldShape
from eightfold.isa.vector_fields import has_b, is_on_rows, reads_b

_HEXADECIMAL = ("configuration", "memories")

_DEFAULTS = {"requantize.low": -128, "requantize.high": 127}
"""Values that a line leaves out; 0 for other fields, and 1 for loop counts."""

_LOOPS: dict[isa.Opcode, dict[str, tuple[str, ...]]] = {
    isa.Opcode.MOVE: {f"count{i}": (f"source_stride{i}", f"target_stride{i}") for i in range(4)},
    isa.Opcode.GATHER: {
        f"count{i}": (f"source_stride{i}", f"target_stride{i}", f"index_stride{i}")
        for i in range(3)
    },
    isa.Opcode.MATRIX: {
        "groups": ("group_step", "target_group"),
        "ky": ("ky_step", "ky_rows"),
        "kx": ("kx_step",),
        "kc": (),
        "y": ("y_step", "y_rows", "fire_y_step", "target_y"),
        "x": ("x_step", "fire_x_step", "target_x"),
    },
    isa.Opcode.VECTOR: {
        "count0": ("a_step0", "b_step0", "target_step0", "column_step"),
        "count1": ("a_step1", "b_step1", "target_step1", "row_step"),
        "count2": ("a_step2", "b_step2", "target_step2"),
        "window0": ("a_window0", "b_window0", "column_window"),
        "window1": ("a_window1", "b_window1", "row_window"),
    },
}
"""Loop counts, and what only counts above 1 give a meaning to."""

_Condition = Callable[[Mapping[str, int]], bool]


def _is_fill(fields: Mapping[str, int]) -> bool:
    return fields["source_space"] == isa.Space.FILL.value


_MEANINGLESS: dict[isa.Opcode, tuple[tuple[_Condition, tuple[str, ...]], ...]] = {
    isa.Opcode.WEIGHTS: ((lambda f: not f["partial"], ("partial_lanes",)),),
    isa.Opcode.MOVE: (
        (_is_fill, ("source", *(f"source_stride{i}" for i in range(4)))),
        (lambda f: not _is_fill(f), ("fill",)),
    ),
    isa.Opcode.MATRIX: (
        (lambda f: not f["depthwise"], ("line", "lead")),
        (lambda f: not f["last"], ("target", "target_group", "target_y", "target_x")),
    ),
    isa.Opcode.VECTOR: (
        (is_on_rows, ("combine", "reduce", "operand_b")),
        (lambda f: not is_on_rows(f), ("row", "relative", "resume")),
        (lambda f: not has_b(f), ("operand_b",)),
        (lambda f: not (has_b(f) or is_on_rows(f)), ("lookup_b", "table_b")),
        (lambda f: not f["lookup_b"], ("table_b",)),
        (lambda f: not f["lookup_a"], ("table_a",)),
        (
            lambda f: not reads_b(f),
            ("source_b", *(f"b_step{i}" for i in range(3)), "b_window0", "b_window1"),
        ),
    ),
}
"""Fields that change nothing while the condition holds."""


def listing(words: NDArray[np.uint32]) -> Iterator[str]:
    """Yield a line per command: number, name, tokens, fields.

    A line leaves out what has no meaning (the step of a loop that runs once, the second operand
    of a unary operator) or its usual value: 0, and 1 iteration. Raises CommandError, from
    `eightfold.isa.decode.decode`, if the words are no stream.
    """
    yield from map(line, decode(words))


def line(command: Decoded) -> str:
    """Return the line of one command."""
    parts = [f"{command.number:5}", f"{command.opcode.name:10}"]
    for name, engines in (("wait", command.wait), ("signal", command.signal)):
        if engines:
            parts.append(f"{name}={','.join(engine.name.lower() for engine in engines)}")
    hidden = _hidden(command)
    parts += [
        f"{place.name}={_value(place.shape, place.name, command)}"
        for place in command_places(command.opcode)[len(isa.HEADER) :]
        if place.name not in hidden
    ]
    return " ".join(parts).rstrip()


def _value(shape: FieldShape, name: str, command: Decoded) -> str:
    value = command.fields[name]
    if isinstance(shape, type):
        known = {member.value: member.name for member in shape}
        return known.get(value, str(value))
    return f"{value:#010x}" if name in _HEXADECIMAL else str(value)


def _hidden(command: Decoded) -> set[str]:
    """Return the fields that the line leaves out."""
    fields = command.fields
    loops = _LOOPS.get(command.opcode, {})
    once = {name for name in loops if fields[name] == 1}
    hidden = once | {step for name in once for step in loops[name]}
    for condition, names in _MEANINGLESS.get(command.opcode, ()):
        if condition(fields):
            hidden |= set(names)
    for place in command_places(command.opcode)[len(isa.HEADER) :]:
        usual = _DEFAULTS.get(place.name, 0)
        is_enum = isinstance(place.shape, type)
        if fields[place.name] == usual and place.name not in loops and not is_enum:
            hidden.add(place.name)
    return hidden
