"""Commands, each defined once: opcode, purpose and fields.

The RTL decodes these layouts, the compiler packs them, ``eightfold compile`` lists them, and
docs/isa.md and the C header are generated from them. Everything is little-endian. A command is a
whole number of 32-bit words; a field crosses a word only within a structure, VECTOR's requantizer.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eightfold.isa.entries import Entry, aligned_layout
from eightfold.isa.enumerations import Combine, Opcode, Operand, Reduce, Rounding, Row, Space
from eightfold.isa.packing import Scalar, pack_scalars, scalars
from eightfold.isa.shapes import Layout, signed, struct, unsigned

VERSION = 2
"""Version of the instruction set; BEGIN carries it, the VERSION register shows it."""

ADDRESS_BITS = 32
"""Of a byte in memory."""

LOCAL_BITS = 24
"""Of a signed byte address, stride or coordinate in the scratchpad."""

MIN_LINE = 3
"""Fewest vectors between two rows of a depthwise window: what the lines' RAM needs."""

REQUANTIZE = (
    Entry("bias", signed(32), "added to the accumulator, wrapping"),
    Entry(
        "left", unsigned(5), "left shift of the sum before the product, 0..30, wrapping to int32"
    ),
    Entry("multiplier", unsigned(31), "0..2^31-1"),
    Entry("single", unsigned(1), "0: TFLite pair (SRDHM, then right shift); 1: one rounding shift"),
    Entry("right", unsigned(6), "right shift: pair 0..31, single 0..62"),
    Entry("rounding", Rounding, "of the right shift"),
    Entry("zero_point", signed(8), "added after the shift"),
    Entry("low", signed(8), "clamp to [low, high]"),
    Entry("high", signed(8), "clamp to [low, high]"),
)
"""Parameters of one output channel; `eightfold.golden.requantize.requantize` is the formula.

In memory a record of 16 bytes, the highest bits 0.
"""

REQUANTIZE_LAYOUT = struct({entry.name: entry.shape for entry in REQUANTIZE})

HEADER = (
    Entry("opcode", Opcode, "the command"),
    Entry("wait", unsigned(4), "take a token from each engine with a set bit before starting"),
    Entry("signal", unsigned(4), "give a token to each engine with a set bit when complete"),
    Entry("index", unsigned(16), "number of the command in the stream, modulo 2^16"),
)
"""First word of every command. WEIGHTS, PARAMETERS, BEGIN and END take no tokens."""


@dataclass(frozen=True)
class Command:
    """A command: opcode, purpose, fields behind the header."""

    opcode: Opcode
    text: str
    fields: tuple[Entry, ...]

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

    def encode(self, **values: int) -> np.ndarray:
        """Return the command as uint32 words; fields not given are 0.

        Raises
        ------
        ValueError
            If a field is unknown or does not fit.
        """
        word = pack_scalars(self._scalars, {"opcode": self.opcode.value, **values})
        return np.frombuffer(word.to_bytes(4 * self.words, "little"), dtype="<u4")


COUNT = unsigned(16)
LOCAL = signed(LOCAL_BITS)

BEGIN = Command(
    Opcode.BEGIN,
    "First command: what the stream was compiled for.",
    (
        Entry("version", unsigned(16), "of the instruction set"),
        Entry("configuration", unsigned(32), "sizes, equal to register CONFIGURATION_0"),
        Entry("memories", unsigned(32), "sizes, equal to register CONFIGURATION_1"),
    ),
)
END = Command(
    Opcode.END, "Last command: wait until all engines are idle and all writes are answered.", ()
)
WEIGHTS = Command(
    Opcode.WEIGHTS,
    "Stream weight buffers from the model region to the matrix engine. A buffer has a word of "
    "`width` bytes, rounded up to a power of two, for each lane, lane 0 first; buffers follow "
    "each other without gaps.",
    (
        Entry("address", unsigned(32), "model offset, a multiple of the memory port's bytes"),
        Entry("full", unsigned(32), "buffers with a word for every lane, before the others"),
        Entry("partial", unsigned(24), "buffers with `partial_lanes` words"),
        Entry("partial_lanes", unsigned(8), "words of a partial buffer, 1 to lanes"),
    ),
)
PARAMETERS = Command(
    Opcode.PARAMETERS,
    "Stream requantization parameters from the model region to the matrix engine, a bank for "
    "each group of `lanes` channels, the last one possibly smaller.",
    (
        Entry("address", unsigned(32), "model offset, a multiple of 16 and of the port's bytes"),
        Entry("channels", unsigned(24), "output channels, at least 1"),
        Entry(
            "shared",
            unsigned(1),
            "0: a 16-byte record for each channel; 1: one record, then an int32 bias for each",
        ),
    ),
)
MOVE = Command(
    Opcode.MOVE,
    "Copy runs of bytes: for i3, i2, i1, i0 in loop order, i0 fastest, `run` bytes from "
    "`source + sum(i * source_stride)` to `target + sum(i * target_stride)`. Memory (MODEL, ARENA) "
    "to memory and FILL to TABLES are the error ADDRESS. Runs must not overlap what the command "
    "still reads.",
    (
        Entry("source_space", Space, "MODEL, ARENA, SCRATCHPAD or FILL"),
        Entry("target_space", Space, "ARENA, SCRATCHPAD or TABLES"),
        Entry("fill", unsigned(8), "value of every byte with source FILL"),
        Entry("source", unsigned(32), "byte offset; a multiple of 4 if the target is TABLES"),
        Entry("target", unsigned(32), "byte offset; a multiple of 4 if it is TABLES"),
        Entry("run", unsigned(24), "bytes, at least 1; a multiple of 4 if the target is TABLES"),
        *(Entry(f"count{i}", COUNT, f"iterations of i{i}, at least 1") for i in range(4)),
        *(Entry(f"source_stride{i}", signed(32), "bytes") for i in range(4)),
        *(Entry(f"target_stride{i}", signed(32), "bytes") for i in range(4)),
    ),
)
MATRIX = Command(
    Opcode.MATRIX,
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

A full group has `lanes` channels; with `depthwise`, where a lane needs a byte of the vector, the
smaller of `lanes` and `width`. Results of position (oy, ox) of group g go to
`target + g * target_group + oy * target_y + ox * target_x`, one byte per channel.""",
    (
        Entry("groups", COUNT, "groups of output channels, at least 1"),
        Entry("last_lanes", unsigned(8), "channels of the last group, 1 to those of a full one"),
        Entry("fill", signed(8), "padding"),
        Entry("ky", COUNT, "kernel rows, at least 1"),
        Entry("kx", COUNT, "kernel columns, at least 1"),
        Entry("kc", COUNT, "vectors per kernel row and column, at least 1"),
        Entry("first", unsigned(1), "sums start at 0 in the first pass of a group"),
        Entry("last", unsigned(1), "sums are requantized in the last pass of a group"),
        Entry("depthwise", unsigned(1), "lane l takes byte l of the vector into its window"),
        Entry("lead", unsigned(8), "depthwise: vectors of fill before the first one of each pass"),
        Entry("y", COUNT, "rows of vectors, at least 1"),
        Entry("x", COUNT, "vectors per row, at least 1"),
        Entry(
            "line", COUNT, f"depthwise: vectors between a window's rows, {MIN_LINE} to line_depth"
        ),
        Entry("fire_y0", COUNT, "first row that fires"),
        Entry("fire_x0", COUNT, "first vector of a row that fires"),
        Entry("fire_y_step", unsigned(8), "rows from one that fires to the next, at least 1"),
        Entry("fire_x_step", unsigned(8), "vectors from one that fires to the next, at least 1"),
        Entry("base", LOCAL, "scratchpad address of column 0 of row number row0, if that existed"),
        Entry("group_step", LOCAL, "bytes"),
        Entry("ky_step", LOCAL, "bytes"),
        Entry("y_step", LOCAL, "bytes"),
        Entry("column0", LOCAL, "first column, in bytes; negative in the padding"),
        Entry("kx_step", LOCAL, "bytes"),
        Entry("x_step", LOCAL, "bytes"),
        Entry("columns", LOCAL, "bytes of an input row"),
        Entry("row0", signed(16), "first row number; negative in the padding"),
        Entry("rows", COUNT, "input rows"),
        Entry("ky_rows", signed(16), "rows"),
        Entry("y_rows", signed(16), "rows"),
        Entry("target", LOCAL, "scratchpad address of the first result"),
        Entry("target_group", LOCAL, "bytes"),
        Entry("target_y", LOCAL, "bytes"),
        Entry("target_x", LOCAL, "bytes"),
    ),
)
VECTOR = Command(
    Opcode.VECTOR,
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
    (
        Entry("combine", Combine, "operation on the operands"),
        Entry("reduce", Reduce, "operation over the window"),
        Entry("row", Row, "operation over rows"),
        Entry("relative", unsigned(1), "rows: whether the row's maximum is subtracted"),
        Entry("resume", unsigned(1), "rows: whether the row goes on from the command before"),
        Entry("operand_b", Operand, "what operand b is"),
        Entry("repeat_a", unsigned(1), "whether operand a is one byte for the whole run"),
        Entry("lookup_a", unsigned(1), "whether operand a goes through a table"),
        Entry("lookup_b", unsigned(1), "whether operand b goes through a table"),
        Entry("table_a", unsigned(4), "number of operand a's table"),
        Entry("table_b", unsigned(4), "number of operand b's table"),
        Entry("fill", signed(8), "operand a outside of the rows and columns"),
        Entry("run", COUNT, "contiguous elements, at least 1"),
        *(Entry(f"count{i}", COUNT, f"iterations of i{i}, at least 1") for i in range(3)),
        *(Entry(f"window{i}", COUNT, f"iterations of w{i}, at least 1") for i in range(2)),
        Entry("source_a", LOCAL, "scratchpad address; may point into the padding"),
        *(Entry(f"a_step{i}", LOCAL, "bytes") for i in range(3)),
        *(Entry(f"a_window{i}", LOCAL, "bytes") for i in range(2)),
        Entry("source_b", LOCAL, "scratchpad address"),
        *(Entry(f"b_step{i}", LOCAL, "bytes") for i in range(3)),
        *(Entry(f"b_window{i}", LOCAL, "bytes") for i in range(2)),
        Entry("target", LOCAL, "scratchpad address"),
        *(Entry(f"target_step{i}", LOCAL, "bytes") for i in range(3)),
        Entry("row0", signed(16), "first row number"),
        Entry("rows", COUNT, "rows"),
        Entry("row_step", signed(16), "rows per i1"),
        Entry("row_window", signed(16), "rows per w1"),
        Entry("column0", signed(16), "first column number"),
        Entry("columns", COUNT, "columns"),
        Entry("column_step", signed(16), "columns per i0"),
        Entry("column_window", signed(16), "columns per w0"),
        Entry("requantize", REQUANTIZE_LAYOUT, "of the reduced value"),
    ),
)
GATHER = Command(
    Opcode.GATHER,
    "Copy runs of bytes whose places are looked up: for i2, i1, i0 in loop order, i0 fastest, n is "
    "the signed integer at scratchpad address `indices + sum(i * index_stride)`, and `run` bytes "
    "are copied from `source + sum(i * source_stride) + n * step` to `target + sum(i * "
    "target_stride)`. An n outside of [0, limit) is the error INDEX: neither its run nor any that "
    "follows is read or written. Memory (MODEL, ARENA) to memory is the error ADDRESS. Runs must "
    "not overlap what the command still reads. A field that MOVE has too is in the same place.",
    (
        Entry("source_space", Space, "MODEL, ARENA or SCRATCHPAD"),
        Entry("target_space", Space, "ARENA or SCRATCHPAD"),
        Entry("index_size", unsigned(2), "an index has `1 << index_size` bytes"),
        Entry("source", unsigned(32), "byte offset"),
        Entry("target", unsigned(32), "byte offset"),
        Entry("run", unsigned(24), "bytes, at least 1"),
        *(Entry(f"count{i}", COUNT, f"iterations of i{i}, at least 1") for i in range(3)),
        *(Entry(f"source_stride{i}", signed(32), "bytes") for i in range(3)),
        Entry("step", unsigned(32), "bytes from one n to the next"),
        *(Entry(f"target_stride{i}", signed(32), "bytes") for i in range(3)),
        Entry("limit", unsigned(32), "what n must be below"),
        Entry("indices", LOCAL, "scratchpad address"),
        *(Entry(f"index_stride{i}", LOCAL, "bytes") for i in range(3)),
    ),
)

COMMANDS: dict[Opcode, Command] = {
    command.opcode: command
    for command in (BEGIN, END, WEIGHTS, PARAMETERS, MOVE, MATRIX, VECTOR, GATHER)
}
"""Every command by its opcode."""
