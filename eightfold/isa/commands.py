"""Commands, each defined once: what it does; `eightfold.isa.instructions` has its fields.

The RTL decodes these layouts, the compiler packs them, ``eightfold compile`` lists them, and
docs/isa.md and the C header are generated from them. Everything is little-endian. A command is a
whole number of 32-bit words; a field crosses a word only within a structure, VECTOR's requantizer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eightfold.isa import instructions
from eightfold.isa.enumerations import Opcode
from eightfold.isa.shapes import (
    Entry,
    FieldError,
    Layout,
    Scalar,
    aligned_layout,
    pack_scalars,
    scalars,
    unsigned,
)

VERSION = 3
"""Version of the instruction set; BEGIN carries it, the VERSION register shows it."""

ADDRESS_BITS = 32
"""The bits of a byte's address in memory."""

REQUANTIZE = instructions.Requantize.entries()
"""Fields of the parameters of one output channel."""

REQUANTIZE_LAYOUT = instructions.Requantize.structure()

HEADER = (
    Entry("opcode", Opcode, "the command"),
    Entry("wait", unsigned(4), "take a token from each engine with a set bit before starting"),
    Entry("signal", unsigned(4), "give a token to each engine with a set bit when complete"),
    Entry("index", unsigned(16), "number of the command in the stream, modulo 2^16"),
)
"""First word of every command. WEIGHTS, PARAMETERS, BEGIN and END take no tokens."""


@dataclass(frozen=True)
class Command:
    """A command: what it holds behind the header, and what it does."""

    instruction: type[instructions.Instruction]
    text: str

    @property
    def opcode(self) -> Opcode:
        """What the header says."""
        return self.instruction.opcode

    @property
    def fields(self) -> tuple[Entry, ...]:
        """The fields behind the header."""
        return self.instruction.entries()

    @cached_property
    def layout(self) -> Layout:
        """Header and fields; unused bits are 0."""
        return aligned_layout((*HEADER, *self.fields))

    @property
    def words(self) -> int:
        """Length in 32-bit words."""
        return self.layout.size // 32

    @cached_property
    def _scalars(self) -> dict[str, Scalar]:
        return scalars(self.layout)

    def packed(self, values: Mapping[str, int]) -> int:
        """Return the command as one number; fields not given are 0.

        Raises FieldError if a value does not fit its field, which the message names, and its
        command; ValueError if a field is unknown.
        """
        try:
            return pack_scalars(self._scalars, {"opcode": self.opcode.value, **values})
        except FieldError as error:
            raise FieldError(f"{self.opcode.name}: {error}") from None

    def encode(self, **values: int) -> np.ndarray:
        """Return the command as uint32 words; raises as `packed`."""
        return np.frombuffer(self.packed(values).to_bytes(4 * self.words, "little"), dtype="<u4")


BEGIN = Command(instructions.Begin, "First command: what the stream was compiled for.")
END = Command(
    instructions.End, "Last command: wait until all engines are idle and all writes are answered."
)
WEIGHTS = Command(
    instructions.Weights,
    "Stream weight buffers from the model region to the matrix engine. A buffer has a word of "
    "`width` bytes, rounded up to a power of two, for each lane, lane 0 first; buffers follow "
    "each other without gaps.",
)
PARAMETERS = Command(
    instructions.Parameters,
    "Stream requantization parameters from the model region to the matrix engine, a bank for "
    "each group of `lanes` channels, the last one possibly smaller.",
)
MOVE = Command(
    instructions.Move,
    "Copy runs of bytes: for i3, i2, i1, i0 in loop order, i0 fastest, `run` bytes from "
    "`source + sum(i * source_stride)` to `target + sum(i * target_stride)`. Memory (MODEL, ARENA) "
    "to memory and FILL to TABLES are the error ADDRESS. Runs must not overlap what the command "
    "still reads.",
)
MATRIX = Command(
    instructions.Matrix,
    """Multiply, accumulate, requantize.

For group, ky, kx, kc (a pass each, which takes the next weight buffer), then y, x: one vector of
`width` bytes from scratchpad address `base + row + column`, with

- `row = group * group_step + ky * ky_step + y * y_step`,
- `column = column0 + kx * kx_step + kc * width + x * x_step`.

A byte at `column + d` outside of [0, columns) reads as `fill`, and so do all bytes if the row
number `row0 + ky * ky_rows + y * y_rows` is outside of [0, rows). A vector fires if y >= fire_y0,
(y - fire_y0) % fire_y_step = 0, and the same for x.

Sums are kept by position, the number of the firing vector within its pass. If they are kept beyond
a pass (a group has more passes than one, or `first` or `last` is 0), at most `psum_depth` vectors
of a pass may fire.

With `depthwise`, lane l multiplies byte l of earlier vectors instead: tap t takes the vector
s * line + t - s * C back, with C = width / 3 rounded down, but at least 1, and s = t / C rounded
down, but at most 2.

With `pairs` as well, a vector has two pixels of P bytes, P being half of a full group's channels,
and lanes l and l + P are one channel. Let h be C / 2 rounded down. Taps with t - s * C < h take
byte l as before; the others take the other pixel's byte, l + P or l - P, of the vector
s * line + t - s * C - h back. Where C is below 5 or a full group's channels are odd, `pairs` is 0.

A full group has `lanes` channels; with `depthwise`, where a lane needs a byte of the vector, the
smaller of `lanes` and `width`. Results of position (oy, ox) of group g go to
`target + g * target_group + oy * target_y + ox * target_x`, one byte per channel.

A command begins when all vectors of the one before it are read, while results of that one are on
their way: its reads come behind those of the commands before it, its results behind theirs. What
it reads of their results is kept by `distance`: the vectors of a command being numbered from 0, in
their order and with the lead, vector v is read when v + u < `distance`, u being the result vectors
of MATRIX commands before it that are not written yet, or when all these commands are complete. With
0 no vector waits.""",
)
VECTOR = Command(
    instructions.Vector,
    """Element-wise operators, reductions over windows, operators on rows.

**Elements.** For i2, i1, i0 and each element e of `run`,
`target + sum(i * target_step) + e` gets requantize(reduce(combine(A, B))), reduced over the window
(w1, w0).

- A is table_a[a] with `lookup_a`, else the signed byte a; B is table_b[b] with `lookup_b`, else b.
- a is the byte at `source_a + sum(i * a_step) + w1 * a_window1 + w0 * a_window0 + e`, without the e
  if `repeat_a`.
- a reads as `fill` if the row number `row0 + i1 * row_step + w1 * row_window` is outside of
  [0, rows), or the column number `column0 + i0 * column_step + w0 * column_window` outside of
  [0, columns).
- b is what `operand_b` says, at `source_b + sum(i * b_step) + w1 * b_window1 + w0 * b_window0`; it
  never reads as `fill`. With combine = A it is not read.

**Rows.** With `row`, each run is a row, `repeat_a` is 0, and `combine`, `reduce` and operand b have
no meaning. Let m be the row's max(a) if `relative`, else 0; c = a - m, wrapped to a byte; s the sum
of table_b[c], which is c without `lookup_b`. One byte for a row, to
`target + sum(i * target_step)`:

- SUM: requantize(s). With `relative`, m is the extreme that the MAXIMUM before has found.
- MAXIMUM, MINIMUM: requantize(v * 2^16 + e), v the largest or smallest a, e the number of the first
  one (if the window has one position).

One byte for every element, requantize(table_a[c]), which is c without `lookup_a`, without a window.
Fields of the requantizer are replaced, by what TFLite's kernels compute:

- RECIPROCAL: `multiplier` and `right` turn table_a's 31 fraction bits into 256ths of s, which has
  12 integer bits.
- LOGARITHM: `bias` is -log(s) with 5 integer bits, s with 12.
- INVERSE_ROOT: `multiplier`, `left` and `right` scale by 2^7 / sqrt(s).

**Rows in parts.** A row may be spread over commands, in parts of a multiple of `vector` elements
but the last, `vector` being the least power of two not below lanes, width and port. With `resume` a
command has one row, which goes on:

- SUM, MAXIMUM and MINIMUM continue with what the command before has found.
- RECIPROCAL, LOGARITHM and INVERSE_ROOT take m and s from it.""",
)
GATHER = Command(
    instructions.Gather,
    "Copy runs of bytes whose places are looked up: for i2, i1, i0 in loop order, i0 fastest, n is "
    "the signed integer at scratchpad address `indices + sum(i * index_stride)`, and `run` bytes "
    "are copied from `source + sum(i * source_stride) + n * step` to `target + sum(i * "
    "target_stride)`. An n outside of [0, limit) is the error INDEX: neither its run nor any that "
    "follows is read or written. Memory (MODEL, ARENA) to memory is the error ADDRESS. Runs must "
    "not overlap what the command still reads. A field that MOVE has too is in the same place.",
)

COMMANDS: dict[Opcode, Command] = {
    command.opcode: command
    for command in (BEGIN, END, WEIGHTS, PARAMETERS, MOVE, MATRIX, VECTOR, GATHER)
}
"""Every command by its opcode."""
