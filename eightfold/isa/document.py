"""docs/isa.md from the instruction set; ``make documents`` writes it."""

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from eightfold import isa
from eightfold.common.markers import markdown
from eightfold.isa.decode import Place, command_places, places
from eightfold.isa.shapes import Enumeration

DOCUMENT = Path(__file__).parents[2] / "docs" / "isa.md"
"""Where the document is."""

_INTRODUCTION = f"""\
# Instruction set

Version {isa.VERSION}. Written by `make documents` from `eightfold/isa/`; a test compares the two.
`eightfold compile` makes streams and lists them, `sim/machine/machine.py` runs them in numpy.

## Streams

A stream is a sequence of commands in memory, from BEGIN to END. A command is a whole number of
32-bit words. Everything is little-endian, negative numbers are two's complement. In the tables
below, word 0 is a command's first, bit 0 the lowest of a word; bits that no field uses are 0. A
field that goes on in the next word continues at its bit 0. `u8` is an unsigned number of 8 bits,
`s8` a signed one.

To run a stream, write COMMAND_ADDRESS and COMMAND_LENGTH, the two regions, and CONTROL.start.
STATUS says when it is done; so does the interrupt, if INTERRUPT_ENABLE is set.

The sequencer reads the stream and hands each command to the one who executes it, in order: MOVE and
GATHER to the mover, MATRIX to the matrix engine, VECTOR to the vector engine, WEIGHTS and
PARAMETERS to a fetcher each. All five work at the same time, each with a queue of commands of its
own. The sequencer waits while the queue of the next command is full.

## Tokens

An engine starts its commands in order and completes them in order, but may start one before the
last one is complete. Everything else is ordered by tokens. There is a counter for every ordered
pair of engines, also from an engine to itself: a command waits until the counter from each engine
in `wait` is above 0, takes one from each, and starts; when it is complete, that is when its last
write can be read, it adds one to the counter to each engine in `signal`. Bit 0 stands for the
mover, bit 1 for the matrix engine, bit 2 for the vector engine. All counters are 0 at BEGIN and
should be at END. A counter holds 4,095 tokens: one that is given beyond them is lost, and a command
may then wait for ever, but none starts too early.

Two commands that touch the same byte of arena, scratchpad or tables, one of them writing, need a
chain of tokens between them, also if the same engine executes both. Two MATRIX commands need none:
the matrix engine keeps partial sums and accesses in order, and `distance` what one reads of the
other's results. `eightfold.sim.machine.tokens.check_tokens` proves all this for a stream, and that
no command waits for ever.

Weights and parameters are constants: their fetchers run ahead as far as there is room. The matrix
engine takes weight buffers and parameter banks in the order of the stream, so WEIGHTS and
PARAMETERS stand before the MATRIX that uses what they make, and together they make exactly what is
used.

## Regions and memories

| space | bytes | contents |
|---|---|---|
| model region | MODEL_SIZE at MODEL_BASE | weights, parameters, tables, constants; never written |
| arena | ARENA_SIZE at ARENA_BASE | inputs, outputs, tensors that do not fit in the scratchpad |
| scratchpad | 2^CONFIGURATION_1.scratchpad | tensors, at any byte address |
| tables | 1024 * CONFIGURATION_1.tables | 256 int32 entries each; byte q looks up `q & 255` |

Memory addresses in commands are offsets into a region, so a stream does not depend on where the
regions are. Scratchpad and tables hold what was left there when a stream starts. Nothing outside
of the arena is ever written.

A weight buffer in memory has a word for each lane, lane 0 first: `width` bytes rounded up to a
power of two, tap 0 first. A parameter record has 16 bytes:
"""

_ERRORS = """\
## Errors

The first error stops the accelerator: STATUS.error and the interrupt are set, ERROR says what, who
and which command. CONTROL.soft_reset makes the accelerator usable again. A stream that breaks a
rule of this page without an error computes something undefined, within the arena.

ADDRESS has these causes:

- MOVE, GATHER: a run that leaves its region, the scratchpad or the tables, or an index outside of
  the scratchpad; spaces that the command does not allow; `run` = 0; with target TABLES a source,
  target or `run` that is no multiple of 4.
- MATRIX, VECTOR: a result outside of the scratchpad. Addresses that they read wrap around its end.
- WEIGHTS, PARAMETERS: bytes outside of the model region; an `address` that is not aligned; partial
  buffers with no words or more than lanes; no channels.
- The doorbell: COMMAND_ADDRESS, MODEL_BASE or ARENA_BASE is not a multiple of the port's bytes
  (engine 255, index 0).

END waits for the engines, not for the fetchers. So an error of what nobody takes may come too late,
and the run is done as if it were not there: constants that no MATRIX takes, outside of the model
region or answered by memory with an error, and words behind END. Nothing outside of the regions is
read either way.
"""

_REGISTERS = f"""\
## Registers

Offsets from the base of the AXI4-Lite slave; RO is read only, RW read and write, W1 acts where 1 is
written and reads as 0. Other offsets below 0x100 read 0 and ignore writes.

The doorbell, CONTROL.start, copies the registers of a run, which has their values to its end:
{", ".join(isa.AT_DOORBELL)}.
Software may write them in a run, as with other engines that have shadow registers: that is no
error and changes neither the run nor what it has on the bus; it is for the next run, which is set
up while one is busy, and begins with a doorbell once STATUS.busy has fallen. They read as they were
written last. INTERRUPT_ENABLE, INTERRUPT_CLEAR and CONTROL.soft_reset act at once; a doorbell in a
run is ignored.
"""


def isa_document() -> str:
    """Return the document."""
    parts = [
        _INTRODUCTION,
        markdown(("bits", "field", "shape", "meaning"), _record_rows()),
        "## Commands\n\nThe first word of every command:\n",
        _fields_table(command_places(isa.Opcode.END)[: len(isa.HEADER)]),
        "WEIGHTS, PARAMETERS, BEGIN and END take and give no tokens.\n",
        *(part for opcode in isa.COMMANDS for part in _command(opcode)),
        "## Values of fields\n",
        *(part for members in ENUMS for part in _enum(members)),
        _ERRORS,
        markdown(("code", "name", "meaning"), _values(isa.ErrorCode)),
        _REGISTERS,
        markdown(("offset", "register", "access", "bits", "field", "meaning"), _register_rows()),
        "### Counters\n\nCleared by the doorbell, counted until the accelerator stops.\n",
        markdown(("offset", "register", "counts"), _counter_rows()),
    ]
    return "\n".join(parts)


ENUMS: tuple[type[Enumeration], ...] = (
    isa.Space,
    isa.Combine,
    isa.Operand,
    isa.Reduce,
    isa.Row,
    isa.Rounding,
    isa.Engine,
)
"""Enumerations that fields have values of."""


def comments(source: str) -> dict[str, str]:
    """Return what Python source says behind ``name = 1  # text``."""
    return dict(re.findall(r"^\s*(\w+) = [^#\n]*?  # (.+)$", source, re.MULTILINE))


def _command(opcode: isa.Opcode) -> Iterator[str]:
    command = isa.COMMANDS[opcode]
    words = f"{command.words} word{'s' if command.words > 1 else ''}"
    yield f"### {opcode.name}\n\nOpcode {opcode.value}, {words}. {command.text}\n"
    fields = command_places(opcode)[len(isa.HEADER) :]
    if fields:
        yield _fields_table(fields)


def _fields_table(fields: Iterable[Place]) -> str:
    parts = {entry.name: entry.text for entry in isa.REQUANTIZE}
    rows = [
        (
            str(place.offset // 32),
            _bits(place.offset % 32, place.width),
            f"`{place.name}`",
            _shape(place),
            place.text or parts[place.name.partition(".")[2]],
        )
        for place in fields
    ]
    return markdown(("word", "bits", "field", "shape", "meaning"), rows)


def _record_rows() -> Iterator[tuple[str, ...]]:
    for place in places(isa.REQUANTIZE_LAYOUT, isa.REQUANTIZE):
        yield _bits(place.offset, place.width), f"`{place.name}`", _shape(place), place.text


def _enum(members: type[Enumeration]) -> Iterator[str]:
    yield f"### {members.__name__}\n\n{inspect.getdoc(members)}\n"
    yield markdown(("value", "name", "meaning"), _values(members))


def _values(members: type[Enumeration]) -> Iterator[tuple[str, ...]]:
    text = comments(inspect.getsource(members))
    for member in members:
        yield str(member.value), member.name, text.get(member.name, "")


def _register_rows() -> Iterator[tuple[str, ...]]:
    counters = {name for name, _ in isa.COUNTERS}
    for register in isa.REGISTERS:
        if register.name in counters:
            continue
        offset, access = f"0x{register.offset:02X}", register.access.value
        yield offset, register.name, access, "", "", register.text
        for place in places(register.layout, register.fields):
            yield "", "", "", _bits(place.offset, place.width), f"`{place.name}`", place.text


def _counter_rows() -> Iterator[tuple[str, ...]]:
    offsets = {register.name: register.offset for register in isa.REGISTERS}
    for name, text in isa.COUNTERS:
        yield f"0x{offsets[name]:02X}", name, text


def _shape(place: Place) -> str:
    if isinstance(place.shape, type):
        return place.shape.__name__
    return f"{'s' if place.signed else 'u'}{place.width}"


def _bits(low: int, width: int) -> str:
    return str(low) if width == 1 else f"{low + width - 1}:{low}"
