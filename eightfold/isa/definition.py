"""The instruction set: commands and registers, each defined once.

The RTL decodes these layouts, the compiler packs them, ``eightfold compile`` lists them, and
docs/isa.md and the C header are generated from them. Everything is little-endian. A command is a
whole number of 32-bit words; a field crosses a word only within a structure, VECTOR's requantizer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from amaranth.hdl import Shape, ShapeLike, signed, unsigned
from amaranth.lib import data, enum

from eightfold.config import AcceleratorConfig
from eightfold.isa.packing import Scalar, pack, pack_scalars, scalars

VERSION = 2
"""Version of the instruction set; BEGIN carries it, the VERSION register shows it."""

ADDRESS_BITS = 32
"""Of a byte in memory."""

LOCAL_BITS = 24
"""Of a signed byte address, stride or coordinate in the scratchpad."""

MIN_LINE = 3
"""Fewest vectors between two rows of a depthwise window: what the lines' RAM needs."""


class Rounding(enum.Enum, shape=unsigned(3)):
    """How a right shift rounds what it drops; ``value`` is the exact quotient."""

    HALF_AWAY = 0  # nearest, ties away from zero (TFLite's rounding right shift)
    HALF_UP = 1  # nearest, ties toward +infinity
    HALF_DOWN = 2  # nearest, ties toward -infinity
    HALF_EVEN = 3  # nearest, ties to the even integer
    TOWARD_ZERO = 4  # truncate
    DOWN = 5  # floor
    UP = 6  # ceiling


REQUANTIZE_LAYOUT = data.StructLayout(
    {
        "bias": signed(32),  # added to the accumulator, wrapping
        "left": unsigned(5),  # left shift of the sum before the product, 0..30, wrapping to int32
        "multiplier": unsigned(31),  # 0..2^31-1
        "single": unsigned(1),  # 0: TFLite pair (SRDHM, then right shift); 1: one rounding shift
        "right": unsigned(6),  # right shift: pair 0..31, single 0..62
        "rounding": Rounding,  # of the right shift
        "zero_point": signed(8),  # added after the shift
        "low": signed(8),  # clamp to [low, high]
        "high": signed(8),  # clamp to [low, high]
    }
)
"""Parameters of one output channel; `eightfold.golden.requantize.requantize` is the formula.

In memory a record of 16 bytes, the highest bits 0.
"""


class Opcode(enum.Enum, shape=unsigned(8)):
    """What a command is; 0 is never one."""

    BEGIN = 1
    END = 2
    WEIGHTS = 3
    PARAMETERS = 4
    MOVE = 5
    MATRIX = 6
    VECTOR = 7
    GATHER = 8


class Engine(enum.Enum, shape=unsigned(2)):
    """Engines that exchange tokens: bit ``1 << value`` of a header's ``wait`` and ``signal``."""

    MOVER = 0
    MATRIX = 1
    VECTOR = 2


class Space(enum.Enum, shape=unsigned(3)):
    """What a MOVE or GATHER reads or writes; its addresses are byte offsets into it."""

    MODEL = 0  # the model region of memory, read only
    ARENA = 1  # the arena region of memory
    SCRATCHPAD = 2
    FILL = 3  # source of a MOVE only: the command's fill byte
    TABLES = 4  # target of a MOVE only: entry e of table t at 4 * (256 * t + e), int32


class Combine(enum.Enum, shape=unsigned(4)):
    """What VECTOR computes from the looked-up operands a and b."""

    A = 0  # a
    ADD = 1  # a + b
    SUBTRACT = 2  # a - b
    MULTIPLY = 3  # a * b, of a the low 16 bits, of b the low 22, each signed
    MAXIMUM = 4
    MINIMUM = 5
    EQUAL = 6  # 1 if a = b, else 0
    NOT_EQUAL = 7  # 0 if a = b, else 1
    RECTIFY = 8  # a if a >= 0, else a * b as MULTIPLY


class Operand(enum.Enum, shape=unsigned(2)):
    """What operand b of VECTOR is."""

    BYTES = 0  # a byte for each element of the run
    REPEAT = 1  # one byte for the whole run
    WORD = 2  # one little-endian int32 for the whole run, not looked up
    POSITION = 3  # the number of the window's position, w1 * window0 + w0, not looked up


class Reduce(enum.Enum, shape=unsigned(2)):
    """What VECTOR does with the combined values of one output element's window."""

    NONE = 0  # the last position counts
    SUM = 1
    MAXIMUM = 2
    MINIMUM = 3


class Row(enum.Enum, shape=unsigned(3)):
    """What VECTOR does with whole runs, the rows."""

    NONE = 0  # nothing: elements and windows
    SUM = 1  # one result per row: the sum
    MAXIMUM = 2  # one result per row: the largest byte, and where it is first
    MINIMUM = 3  # one result per row: the smallest byte, and where it is first
    RECIPROCAL = 4  # scale the row by 1 / sum
    LOGARITHM = 5  # subtract log(sum) from the row
    INVERSE_ROOT = 6  # scale the row by 1 / sqrt(sum)


ROW_RESULTS = (Row.SUM, Row.MAXIMUM, Row.MINIMUM)
"""What leaves one result of a row."""


class ErrorCode(enum.Enum, shape=unsigned(8)):
    """What stopped the accelerator; the first error stays until a soft reset."""

    NONE = 0
    VERSION = 1  # BEGIN is missing, or of another version or configuration
    ILLEGAL_COMMAND = 2  # unknown opcode, wrong index, unused bits set, or no END
    ADDRESS = 3  # outside of a region, the scratchpad or the tables; misaligned; spaces: see above
    AXI_READ = 4  # error response on the read channel
    AXI_WRITE = 5  # error response on the write channel
    TIMEOUT = 6  # no engine moved for TIMEOUT cycles
    INDEX = 7  # an index of a GATHER outside of [0, limit)


@dataclass(frozen=True)
class Entry:
    """A field of a command or register: name, shape and what it means."""

    name: str
    shape: ShapeLike
    text: str


def aligned_layout(entries: Sequence[Entry]) -> data.FlexibleLayout:
    """Return the entries one after the other; none but a structure crosses a 32-bit word."""
    offset, placed = 0, {}
    for entry in entries:
        width = Shape.cast(entry.shape).width
        if offset % 32 + width > 32:
            offset = -(-offset // 32) * 32
        placed[entry.name] = data.Field(entry.shape, offset)
        offset += width
    return data.FlexibleLayout(-(-offset // 32) * 32, placed)


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
    def layout(self) -> data.FlexibleLayout:
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

ENGINES: dict[Opcode, Engine] = {
    Opcode.MOVE: Engine.MOVER,
    Opcode.MATRIX: Engine.MATRIX,
    Opcode.VECTOR: Engine.VECTOR,
    Opcode.GATHER: Engine.MOVER,
}
"""Which engine executes a command; those that are not here take and give no tokens."""


class Access(enum.Enum):
    """Who may do what with a register."""

    READ_ONLY = "RO"
    READ_WRITE = "RW"
    WRITE_ONE = "W1"  # writing 1 to a bit acts; it reads as 0


@dataclass(frozen=True)
class Register:
    """A 32-bit register of the AXI4-Lite slave at byte ``offset``; ``fields`` from bit 0."""

    name: str
    offset: int
    access: Access
    text: str
    fields: tuple[Entry, ...] = ()

    @property
    def layout(self) -> data.FlexibleLayout:
        """The fields, or one field ``value``."""
        return aligned_layout(self.fields or (Entry("value", unsigned(32), self.text),))


CONFIGURATION_0 = (
    Entry("lanes", unsigned(8), "lanes of the MAC array"),
    Entry("width", unsigned(8), "multipliers per lane"),
    Entry("port", unsigned(8), "bytes of the memory port"),
    Entry("vector_lanes", unsigned(8), "lanes of the vector engine"),
)
CONFIGURATION_1 = (
    Entry("scratchpad", unsigned(8), "log2 of the scratchpad's bytes"),
    Entry("psum_depth", unsigned(8), "log2 of the partial sums per lane"),
    Entry("line_depth", unsigned(8), "log2 of the depthwise lines' vectors"),
    Entry("tables", unsigned(8), "tables of the vector engine"),
)

COUNTERS: tuple[tuple[str, str], ...] = (
    ("CYCLES", "cycles from doorbell to done"),
    ("MOVER_BUSY", "cycles in which the mover had a command that has its tokens"),
    ("MOVER_WAIT", "cycles in which the mover waited for tokens"),
    ("MATRIX_ISSUE", "cycles in which the matrix engine issued a vector"),
    ("MATRIX_WAIT", "cycles in which it waited for tokens"),
    ("MATRIX_WEIGHTS", "cycles in which its next vector waited for weights"),
    ("MATRIX_PARAMETERS", "cycles in which its next vector waited for parameters"),
    ("MATRIX_OPERANDS", "cycles in which it had a command but no vector to issue"),
    ("MATRIX_HELD", "cycles in which its next vector waited for a partial sum or a result's place"),
    ("MATRIX_DRAIN", "cycles in which all was issued and results were still on their way"),
    ("VECTOR_BUSY", "cycles in which the vector engine had a command that has its tokens"),
    ("VECTOR_WAIT", "cycles in which it waited for tokens"),
    ("READ_BEATS", "beats on the memory's read channel"),
    ("WRITE_BEATS", "beats on the memory's write channel"),
)
"""Counters, cleared by the doorbell; they stop with the accelerator."""

REGISTERS: tuple[Register, ...] = (
    Register("ID", 0x00, Access.READ_ONLY, "0x38464C44, ASCII 8FLD"),
    Register("VERSION", 0x04, Access.READ_ONLY, "version of the instruction set"),
    Register("CONFIGURATION_0", 0x08, Access.READ_ONLY, "sizes", CONFIGURATION_0),
    Register("CONFIGURATION_1", 0x0C, Access.READ_ONLY, "sizes of memories", CONFIGURATION_1),
    Register(
        "CONTROL",
        0x10,
        Access.WRITE_ONE,
        "doorbell and reset",
        (
            Entry(
                "start",
                unsigned(1),
                "doorbell: run the commands; ignored while busy or after an error",
            ),
            Entry(
                "soft_reset",
                unsigned(1),
                "end what runs, finish what is open on the bus, clear status and error",
            ),
        ),
    ),
    Register(
        "STATUS",
        0x14,
        Access.READ_ONLY,
        "state",
        (
            Entry("busy", unsigned(1), "commands run, or a soft reset is not finished"),
            Entry("done", unsigned(1), "END was reached; cleared by the doorbell"),
            Entry("error", unsigned(1), "an error stopped the accelerator"),
            Entry("interrupt", unsigned(1), "the interrupt is pending"),
        ),
    ),
    Register(
        "ERROR",
        0x18,
        Access.READ_ONLY,
        "the first error, until a soft reset",
        (
            Entry("code", ErrorCode, "what it was"),
            Entry(
                "engine", unsigned(8), "value of Engine; 255 sequencer; 254 weights; 253 parameters"
            ),
            Entry("index", unsigned(16), "number of the command, modulo 2^16"),
        ),
    ),
    Register("INTERRUPT_ENABLE", 0x1C, Access.READ_WRITE, "bit 0: interrupt on done or error"),
    Register("INTERRUPT_CLEAR", 0x20, Access.WRITE_ONE, "bit 0: clear the pending interrupt"),
    Register("COMMAND_ADDRESS", 0x24, Access.READ_WRITE, "of the stream, port-aligned"),
    Register("COMMAND_LENGTH", 0x28, Access.READ_WRITE, "of the stream, in bytes"),
    Register("MODEL_BASE", 0x2C, Access.READ_WRITE, "address of the model region, port-aligned"),
    Register("MODEL_SIZE", 0x30, Access.READ_WRITE, "bytes of the model region"),
    Register("ARENA_BASE", 0x34, Access.READ_WRITE, "address of the arena, port-aligned"),
    Register("ARENA_SIZE", 0x38, Access.READ_WRITE, "bytes of the arena"),
    Register("TIMEOUT", 0x3C, Access.READ_WRITE, "cycles without progress; 0: no limit"),
    *(
        Register(name, 0x80 + 4 * number, Access.READ_ONLY, text)
        for number, (name, text) in enumerate(COUNTERS)
    ),
)
"""Every register of the AXI4-Lite slave; other offsets below 0x100 read 0 and ignore writes."""

IDENTIFICATION = 0x38464C44


def configuration_words(config: AcceleratorConfig) -> tuple[int, int]:
    """Return the values of CONFIGURATION_0 and CONFIGURATION_1."""
    sizes = {name: getattr(config, name) for name in ("lanes", "width", "port", "vector_lanes")}
    memories = {
        "scratchpad": config.scratchpad.bit_length() - 1,
        "psum_depth": config.psum_depth.bit_length() - 1,
        "line_depth": config.line_depth.bit_length() - 1,
        "tables": config.tables,
    }
    return (
        pack(aligned_layout(CONFIGURATION_0), sizes)[0],
        pack(aligned_layout(CONFIGURATION_1), memories)[0],
    )
