"""A stream of 32-bit words as commands: what the machine model runs and a listing shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.shapes import FieldShape, Layout, leaves, number
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


def read_stream(config: AcceleratorConfig, words: NDArray[np.uint32]) -> list[Decoded]:
    """Return the commands of a stream that was compiled for ``config``.

    Raises CommandError as `decode`, and VERSION, if BEGIN is of another version or configuration;
    ILLEGAL_COMMAND, of a command that needs what ``config`` leaves out.
    """
    commands = decode(words)
    begin = next(commands)
    configuration, memories = isa.configuration_words(config)
    expected = {"version": isa.VERSION, "configuration": configuration, "memories": memories}
    for name, value in expected.items():
        if begin.fields[name] != value:
            text = f"{name} {begin.fields[name]:#x} is not {value:#x}"
            raise CommandError(isa.ErrorCode.VERSION, begin.number, text)
    found = [begin, *commands]
    for command in found:
        if lacks := isa.lacking(isa.COMMANDS[command.opcode], command.fields, config):
            text = f"{command.opcode.name} needs {lacks}, which the configuration leaves out"
            raise CommandError(isa.ErrorCode.ILLEGAL_COMMAND, command.number, text)
    return found


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
