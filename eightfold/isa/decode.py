"""A stream of 32-bit words as commands, which the machine model runs, and as a listing.

That is for people: one line per command, ``name=value`` for what matters in it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.shapes import FieldShape, Layout, leaves, number
from eightfold.isa.vector_fields import has_b, is_on_rows, reads_b
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Place:
    """Where a scalar field lies: ``offset`` in bits from the command's first bit."""

    name: str
    offset: int
    shape: FieldShape
    text: str

    @cached_property
    def width(self) -> int:
        """Bits of the field."""
        return number(self.shape).width

    @cached_property
    def signed(self) -> bool:
        """Whether the field is a two's complement number."""
        return number(self.shape).signed


def places(layout: Layout, entries: tuple[isa.Entry, ...]) -> tuple[Place, ...]:
    """Return the scalar fields of ``entries`` in ``layout``, structures taken apart.

    A part of a structure is called ``structure.part``, as `isa.Command.encode` takes it.
    """
    texts = {entry.name: entry.text for entry in entries}
    return tuple(
        Place(name, offset, shape, texts.get(name, ""))
        for name, (offset, shape) in leaves(layout)
        if name.partition(".")[0] in texts
    )


@cache
def command_places(opcode: isa.Opcode) -> tuple[Place, ...]:
    """Return the places of a command's fields, the header's first."""
    command = isa.COMMANDS[opcode]
    return places(command.layout, (*isa.HEADER, *command.fields))


@dataclass(frozen=True)
class Decoded:
    """One command of a stream.

    ``number`` counts from 0 in the stream; ``fields`` are those behind the header, named as
    `isa.Command.encode` takes them.
    """

    number: int
    opcode: isa.Opcode
    wait: tuple[isa.Engine, ...]
    signal: tuple[isa.Engine, ...]
    fields: dict[str, int]


class CommandError(Exception):
    """A stream that the accelerator refuses: the error code, and the command's number."""

    def __init__(self, code: isa.ErrorCode, index: int, text: str) -> None:
        super().__init__(f"command {index}: {text} ({code.name})")
        self.code, self.index = code, index


def decode(words: NDArray[np.uint32]) -> Iterator[Decoded]:
    """Yield the commands up to END.

    Raises CommandError: VERSION, if the first one is not BEGIN, or has a set bit that no field
    uses; ILLEGAL_COMMAND, at a second BEGIN, an unknown opcode, a wrong index, such a bit in
    another command, a token of an engine that does not exist or of a command that takes none, words
    that end before the command does, or words behind END, which the hardware ignores.
    """
    stream = np.asarray(words, dtype="<u4", order="C").tobytes()
    place, number = 0, 0
    while place < len(stream):
        opcode = stream[place]
        if number == 0 and opcode != isa.Opcode.BEGIN.value:
            raise CommandError(isa.ErrorCode.VERSION, number, "the first one is not BEGIN")
        if opcode not in _OPCODES:
            raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, number, f"no opcode {opcode}")
        command = isa.COMMANDS[isa.Opcode(opcode)]
        if number > 0 and command.opcode == isa.Opcode.BEGIN:
            raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, number, "a second BEGIN")
        part = stream[place : place + 4 * command.words]
        if len(part) < 4 * command.words:
            raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, number, "the stream ends in it")
        yield read_command(number, command.opcode, part)
        place = place + 4 * command.words
        number = number + 1
        if command.opcode == isa.Opcode.END:
            break
    else:
        raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, number, "the stream has no END")
    if place < len(stream):
        raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, number, "words behind END")


def read(config: AcceleratorConfig, words: NDArray[np.uint32]) -> Iterator[Decoded]:
    """Yield the commands of a stream that was compiled for ``config``.

    Raises CommandError as `decode`, and VERSION, if BEGIN is of another version or configuration;
    ILLEGAL_COMMAND, of a command that needs what ``config`` leaves out.
    """
    for command in decode(words):
        if command.opcode == isa.Opcode.BEGIN:
            _require_version(command, isa.begin(config))
        if lacks := isa.lacking(isa.COMMANDS[command.opcode], command.fields, config):
            text = f"{command.opcode.name} needs {lacks}, which the configuration leaves out"
            raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, command.number, text)
        yield command


def _require_version(command: Decoded, expected: isa.Begin) -> None:
    for name, value in expected.values().items():
        if command.fields[name] != value:
            text = f"{name} {command.fields[name]:#x} is not {value:#x}"
            raise CommandError(isa.ErrorCode.VERSION, command.number, text)


def read_stream(config: AcceleratorConfig, words: NDArray[np.uint32]) -> list[Decoded]:
    """Return the commands of a stream; raises as `read`."""
    return list(read(config, words))


_OPCODES = {opcode.value for opcode in isa.COMMANDS}


def read_command(number: int, opcode: isa.Opcode, words: bytes) -> Decoded:
    """Return a command of its words; raises `CommandError` as `decode`."""
    bits = int.from_bytes(words, "little")
    fields = {}
    rest = bits
    for place in command_places(opcode):
        mask = (1 << place.width) - 1
        value = (bits >> place.offset) & mask
        rest &= ~(mask << place.offset)
        fields[place.name] = value - (mask + 1) if place.signed and value > mask >> 1 else value
    illegal = isa.ErrorCode.ILLEGAL_COMMAND
    if rest:
        bit = rest.bit_length() - 1
        # Everything behind its header says what BEGIN is for.
        code = isa.ErrorCode.VERSION if opcode == isa.Opcode.BEGIN else illegal
        raise CommandError(code, number, f"word {bit // 32}, bit {bit % 32} is set")
    header = {entry.name: fields.pop(entry.name) for entry in isa.HEADER}
    if header["index"] != number % (1 << 16):
        raise CommandError(illegal, number, f"index {header['index']}")
    tokens = {name: _engines(header[name]) for name in ("wait", "signal")}
    if (header["wait"] | header["signal"]) >> len(isa.Engine):
        raise CommandError(illegal, number, "a token of no engine")
    if opcode not in isa.ENGINES and (header["wait"] or header["signal"]):
        raise CommandError(illegal, number, f"{opcode.name} takes no tokens")
    return Decoded(number, opcode, tokens["wait"], tokens["signal"], fields)


def _engines(bits: int) -> tuple[isa.Engine, ...]:
    return tuple(engine for engine in isa.Engine if bits >> engine.value & 1)


_HEXADECIMAL = ("configuration", "memories")

_DEFAULTS = {"requantize.low": -128, "requantize.high": 127}
"""Values that a line leaves out; 0 for other fields, and 1 for loop counts."""

LOOPS: dict[isa.Opcode, dict[str, tuple[str, ...]]] = {
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
        (lambda f: not f["depthwise"], ("line", "lead", "pairs")),
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
    loops = LOOPS.get(command.opcode, {})
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
