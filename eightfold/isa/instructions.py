"""Commands as values, each field with its shape, what it means, and its usual value.

A field is ``name: Annotated[int, shape, text]``; one of an enumeration has the shape stated there.
The order is that of the bits. `eightfold.isa.commands` says what the commands do, and where their
fields lie follows from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from math import prod
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Self, get_type_hints

from eightfold.isa.enumerations import Combine, Opcode, Operand, Reduce, Rounding, Row, Space
from eightfold.isa.shapes import Entry, Enumeration, Layout, signed, struct, unsigned

LOCAL_BITS = 24
"""The bits of a signed byte address, stride or coordinate in the scratchpad."""

LOCAL = signed(LOCAL_BITS)

MIN_LINE = 3
"""Fewest vectors between two rows of a depthwise window: what the lines' RAM needs."""


RECORD = 16
"""The bytes of `Requantize` in memory, and what its address is a multiple of."""

BIAS = 4
"""The bytes of a bias by itself."""


@dataclass(frozen=True)
class Fields:
    """What a command or a structure in one holds."""

    @classmethod
    def entries(cls) -> tuple[Entry, ...]:
        """Return the fields in the order of their bits."""
        return _entries(cls)

    @classmethod
    def structure(cls) -> Layout:
        """Return the fields without gaps."""
        return struct({entry.name: entry.shape for entry in cls.entries()})

    def of_loops(self, name: str) -> tuple[int, ...]:
        """Return the fields ``name0``, ``name1`` and so on, that of the outermost loop first."""
        found: list[int] = []
        while (number := getattr(self, f"{name}{len(found)}", None)) is not None:
            found.append(number)
        return tuple(reversed(found))

    def with_fields(self, **changes: Any) -> Self:
        """Return the same with other fields: `dataclasses.replace`, in a tenth of the time."""
        if unknown := changes.keys() - self.__dict__.keys():
            raise TypeError(f"{type(self).__name__} has no fields {sorted(unknown)}")
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, **changes)
        return changed

    def values(self) -> dict[str, int]:
        """Return the fields by name, as numbers; those of a structure as ``structure.part``."""
        found = {name: read(self) for name, read in _readers(type(self)).items()}
        for name, value in found.items():
            if type(value) is not int:
                found[name] = int(value.value if isinstance(value, Enumeration) else value)
        return found


@cache
def _entries(cls: type[Fields]) -> tuple[Entry, ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple(_entry(item.name, hints[item.name]) for item in fields(cls))


def _entry(name: str, hint: Any) -> Entry:
    *shape, text = hint.__metadata__
    kind = hint.__origin__
    own = kind.structure() if issubclass(kind, Fields) else kind
    return Entry(name, shape[0] if shape else own, text)


@cache
def _readers(cls: type[Fields]) -> dict[str, Callable[[Any], Any]]:
    """Return what reads each of `Fields.values`, by its name there."""
    found = {}
    for entry in cls.entries():
        kind = get_type_hints(cls)[entry.name]
        parts = _readers(kind) if issubclass(kind, Fields) else ()
        names = [f"{entry.name}.{part}" for part in parts] or [entry.name]
        found |= {name: attrgetter(name) for name in names}
    return found


@dataclass(frozen=True)
class Instruction(Fields):
    """A command without its header."""

    opcode: ClassVar[Opcode]

    @property
    def runs(self) -> int:
        """How many runs are copied or computed, where it has loops of them."""
        return prod(self.of_loops("count"))


@dataclass(frozen=True, kw_only=True)
class Requantize(Fields):
    """Parameters of one output channel; the usual ones only clamp to int8.

    `eightfold.golden.requantize.requantize` is the formula. In memory a record of 16 bytes, the
    highest bits 0.
    """

    bias: Annotated[int, signed(32), "added to the accumulator, wrapping"] = 0
    left: Annotated[
        int, unsigned(5), "left shift of the sum before the product, 0..30, wrapping to int32"
    ] = 0
    multiplier: Annotated[int, unsigned(31), "0..2^31-1"] = 1 << 30
    single: Annotated[
        int, unsigned(1), "0: TFLite pair (SRDHM, then right shift); 1: one rounding shift"
    ] = 1
    right: Annotated[int, unsigned(6), "right shift: pair 0..31, single 0..62"] = 30
    rounding: Annotated[Rounding, "of the right shift"] = Rounding.HALF_AWAY
    zero_point: Annotated[int, signed(8), "added after the shift"] = 0
    low: Annotated[int, signed(8), "clamp to [low, high]"] = -128
    high: Annotated[int, signed(8), "clamp to [low, high]"] = 127

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> "Requantize":
        """Return the parameters given as numbers, `Rounding`'s too; those left out are usual."""
        mode = Rounding(numbers.get("rounding", Rounding.HALF_AWAY.value))
        return cls(**{**numbers, "rounding": mode})


@dataclass(frozen=True, kw_only=True)
class Begin(Instruction):
    """What a stream was compiled for."""

    opcode = Opcode.BEGIN

    version: Annotated[int, unsigned(16), "of the instruction set"]
    configuration: Annotated[int, unsigned(32), "sizes, equal to register CONFIGURATION_0"]
    memories: Annotated[int, unsigned(32), "sizes, equal to register CONFIGURATION_1"]


@dataclass(frozen=True, kw_only=True)
class End(Instruction):
    """The end of a stream."""

    opcode = Opcode.END


@dataclass(frozen=True, kw_only=True)
class Weights(Instruction):
    """Weight buffers for the matrix engine."""

    opcode = Opcode.WEIGHTS

    address: Annotated[int, unsigned(32), "model offset, a multiple of the memory port's bytes"]
    full: Annotated[int, unsigned(32), "buffers with a word for every lane, before the others"]
    partial: Annotated[int, unsigned(24), "buffers with `partial_lanes` words"] = 0
    partial_lanes: Annotated[int, unsigned(8), "words of a partial buffer, 1 to lanes"] = 1

    @property
    def buffers(self) -> int:
        """Weight buffers, a pass of a MATRIX each."""
        return self.full + self.partial

    def words(self, lanes: int) -> int:
        """Return the words of all buffers, of which a full one has ``lanes``."""
        return self.full * lanes + self.partial * self.partial_lanes


@dataclass(frozen=True, kw_only=True)
class Parameters(Instruction):
    """Banks of requantization parameters."""

    opcode = Opcode.PARAMETERS

    address: Annotated[int, unsigned(32), "model offset, a multiple of 16 and of the port's bytes"]
    channels: Annotated[int, unsigned(24), "output channels, at least 1"]
    shared: Annotated[
        int,
        unsigned(1),
        "0: a 16-byte record for each channel; 1: one record, then an int32 bias for each",
    ] = 0

    @property
    def size(self) -> int:
        """Bytes in the model region."""
        if self.shared:
            return RECORD + BIAS * self.channels
        return RECORD * self.channels


@dataclass(frozen=True, kw_only=True)
class Move(Instruction):
    """Runs of bytes to copy."""

    opcode = Opcode.MOVE

    source_space: Annotated[Space, "MODEL, ARENA, SCRATCHPAD or FILL"]
    target_space: Annotated[Space, "ARENA, SCRATCHPAD or TABLES"]
    fill: Annotated[int, unsigned(8), "value of every byte with source FILL"] = 0
    source: Annotated[int, unsigned(32), "byte offset; a multiple of 4 if the target is TABLES"]
    target: Annotated[int, unsigned(32), "byte offset; a multiple of 4 if it is TABLES"]
    run: Annotated[int, unsigned(24), "bytes, at least 1; a multiple of 4 if the target is TABLES"]
    count0: Annotated[int, unsigned(16), "iterations of i0, at least 1"] = 1
    count1: Annotated[int, unsigned(16), "iterations of i1, at least 1"] = 1
    count2: Annotated[int, unsigned(16), "iterations of i2, at least 1"] = 1
    count3: Annotated[int, unsigned(16), "iterations of i3, at least 1"] = 1
    source_stride0: Annotated[int, signed(32), "bytes"] = 0
    source_stride1: Annotated[int, signed(32), "bytes"] = 0
    source_stride2: Annotated[int, signed(32), "bytes"] = 0
    source_stride3: Annotated[int, signed(32), "bytes"] = 0
    target_stride0: Annotated[int, signed(32), "bytes"] = 0
    target_stride1: Annotated[int, signed(32), "bytes"] = 0
    target_stride2: Annotated[int, signed(32), "bytes"] = 0
    target_stride3: Annotated[int, signed(32), "bytes"] = 0


@dataclass(frozen=True, kw_only=True)
class Matrix(Instruction):
    """A matrix multiplication, whole or in parts."""

    opcode = Opcode.MATRIX

    groups: Annotated[int, unsigned(16), "groups of output channels, at least 1"] = 1
    last_lanes: Annotated[
        int, unsigned(8), "channels of the last group, 1 to those of a full one"
    ] = 1
    fill: Annotated[int, signed(8), "padding"] = 0
    ky: Annotated[int, unsigned(16), "kernel rows, at least 1"] = 1
    kx: Annotated[int, unsigned(16), "kernel columns, at least 1"] = 1
    kc: Annotated[int, unsigned(16), "vectors per kernel row and column, at least 1"] = 1
    first: Annotated[int, unsigned(1), "sums start at 0 in the first pass of a group"] = 1
    last: Annotated[int, unsigned(1), "sums are requantized in the last pass of a group"] = 1
    depthwise: Annotated[int, unsigned(1), "lane l takes byte l of the vector into its window"] = 0
    pairs: Annotated[
        int, unsigned(1), "depthwise: a vector has two pixels, each lane's window bytes of both"
    ] = 0
    lead: Annotated[
        int, unsigned(8), "depthwise: vectors of fill before the first one of each pass"
    ] = 0
    y: Annotated[int, unsigned(16), "rows of vectors, at least 1"] = 1
    x: Annotated[int, unsigned(16), "vectors per row, at least 1"] = 1
    line: Annotated[
        int, unsigned(16), f"depthwise: vectors between a window's rows, {MIN_LINE} to line_depth"
    ] = MIN_LINE
    fire_y0: Annotated[int, unsigned(16), "first row that fires"] = 0
    fire_x0: Annotated[int, unsigned(16), "first vector of a row that fires"] = 0
    fire_y_step: Annotated[int, unsigned(8), "rows from one that fires to the next, at least 1"] = 1
    fire_x_step: Annotated[
        int, unsigned(8), "vectors from one that fires to the next, at least 1"
    ] = 1
    base: Annotated[
        int, LOCAL, "scratchpad address of column 0 of row number row0, if that existed"
    ]
    group_step: Annotated[int, LOCAL, "bytes"] = 0
    ky_step: Annotated[int, LOCAL, "bytes"] = 0
    y_step: Annotated[int, LOCAL, "bytes"] = 0
    column0: Annotated[int, LOCAL, "first column, in bytes; negative in the padding"] = 0
    kx_step: Annotated[int, LOCAL, "bytes"] = 0
    x_step: Annotated[int, LOCAL, "bytes"] = 0
    columns: Annotated[int, LOCAL, "bytes of an input row"]
    row0: Annotated[int, signed(16), "first row number; negative in the padding"] = 0
    rows: Annotated[int, unsigned(16), "input rows"]
    ky_rows: Annotated[int, signed(16), "rows"] = 0
    y_rows: Annotated[int, signed(16), "rows"] = 0
    target: Annotated[int, LOCAL, "scratchpad address of the first result"] = 0
    target_group: Annotated[int, LOCAL, "bytes"] = 0
    target_y: Annotated[int, LOCAL, "bytes"] = 0
    target_x: Annotated[int, LOCAL, "bytes"] = 0
    distance: Annotated[
        int, unsigned(8), "what vectors keep from results of commands before; 0: none"
    ] = 0

    @property
    def passes(self) -> int:
        """Passes over all groups, each of which takes a weight buffer."""
        return self.groups * self.ky * self.kx * self.kc

    @property
    def vectors(self) -> int:
        """Vectors of a pass, those that lead in included; one is issued per cycle."""
        return self.y * self.x + self.lead

    @property
    def firing_rows(self) -> range:
        """The rows of vectors that fire: one for each row of results."""
        return range(self.fire_y0, self.y, self.fire_y_step)

    @property
    def firing_columns(self) -> range:
        """The vectors of a row that fire: one for each column of results."""
        return range(self.fire_x0, self.x, self.fire_x_step)

    def channels(self, lanes: int) -> int:
        """Return the output channels if a full group has ``lanes`` of them."""
        return (self.groups - 1) * lanes + self.last_lanes


@dataclass(frozen=True, kw_only=True)
class Vector(Instruction):
    """An element-wise operation, a reduction or an operation on rows."""

    opcode = Opcode.VECTOR

    combine: Annotated[Combine, "operation on the operands"] = Combine.A
    reduce: Annotated[Reduce, "operation over the window"] = Reduce.NONE
    row: Annotated[Row, "operation over rows"] = Row.NONE
    relative: Annotated[int, unsigned(1), "rows: whether the row's maximum is subtracted"] = 0
    resume: Annotated[int, unsigned(1), "rows: whether the row goes on from the command before"] = 0
    operand_b: Annotated[Operand, "what operand b is"] = Operand.BYTES
    repeat_a: Annotated[int, unsigned(1), "whether operand a is one byte for the whole run"] = 0
    lookup_a: Annotated[int, unsigned(1), "whether operand a goes through a table"] = 0
    lookup_b: Annotated[int, unsigned(1), "whether operand b goes through a table"] = 0
    table_a: Annotated[int, unsigned(4), "number of operand a's table"] = 0
    table_b: Annotated[int, unsigned(4), "number of operand b's table"] = 0
    fill: Annotated[int, signed(8), "operand a outside of the rows and columns"] = 0
    run: Annotated[int, unsigned(16), "contiguous elements, at least 1"]
    count0: Annotated[int, unsigned(16), "iterations of i0, at least 1"] = 1
    count1: Annotated[int, unsigned(16), "iterations of i1, at least 1"] = 1
    count2: Annotated[int, unsigned(16), "iterations of i2, at least 1"] = 1
    window0: Annotated[int, unsigned(16), "iterations of w0, at least 1"] = 1
    window1: Annotated[int, unsigned(16), "iterations of w1, at least 1"] = 1
    source_a: Annotated[int, LOCAL, "scratchpad address; may point into the padding"]
    a_step0: Annotated[int, LOCAL, "bytes"] = 0
    a_step1: Annotated[int, LOCAL, "bytes"] = 0
    a_step2: Annotated[int, LOCAL, "bytes"] = 0
    a_window0: Annotated[int, LOCAL, "bytes"] = 0
    a_window1: Annotated[int, LOCAL, "bytes"] = 0
    source_b: Annotated[int, LOCAL, "scratchpad address"] = 0
    b_step0: Annotated[int, LOCAL, "bytes"] = 0
    b_step1: Annotated[int, LOCAL, "bytes"] = 0
    b_step2: Annotated[int, LOCAL, "bytes"] = 0
    b_window0: Annotated[int, LOCAL, "bytes"] = 0
    b_window1: Annotated[int, LOCAL, "bytes"] = 0
    target: Annotated[int, LOCAL, "scratchpad address"]
    target_step0: Annotated[int, LOCAL, "bytes"] = 0
    target_step1: Annotated[int, LOCAL, "bytes"] = 0
    target_step2: Annotated[int, LOCAL, "bytes"] = 0
    row0: Annotated[int, signed(16), "first row number"] = 0
    rows: Annotated[int, unsigned(16), "rows"] = 1
    row_step: Annotated[int, signed(16), "rows per i1"] = 0
    row_window: Annotated[int, signed(16), "rows per w1"] = 0
    column0: Annotated[int, signed(16), "first column number"] = 0
    columns: Annotated[int, unsigned(16), "columns"] = 1
    column_step: Annotated[int, signed(16), "columns per i0"] = 0
    column_window: Annotated[int, signed(16), "columns per w0"] = 0
    requantize: Annotated[Requantize, "of the reduced value"] = Requantize()

    @property
    def positions(self) -> int:
        """Positions of the window."""
        return self.window0 * self.window1


@dataclass(frozen=True, kw_only=True)
class Gather(Instruction):
    """Runs of bytes to copy whose places are looked up."""

    opcode = Opcode.GATHER

    source_space: Annotated[Space, "MODEL, ARENA or SCRATCHPAD"]
    target_space: Annotated[Space, "ARENA or SCRATCHPAD"]
    index_size: Annotated[int, unsigned(2), "an index has `1 << index_size` bytes"]
    source: Annotated[int, unsigned(32), "byte offset"]
    target: Annotated[int, unsigned(32), "byte offset"]
    run: Annotated[int, unsigned(24), "bytes, at least 1"]
    count0: Annotated[int, unsigned(16), "iterations of i0, at least 1"] = 1
    count1: Annotated[int, unsigned(16), "iterations of i1, at least 1"] = 1
    count2: Annotated[int, unsigned(16), "iterations of i2, at least 1"] = 1
    source_stride0: Annotated[int, signed(32), "bytes"] = 0
    source_stride1: Annotated[int, signed(32), "bytes"] = 0
    source_stride2: Annotated[int, signed(32), "bytes"] = 0
    step: Annotated[int, unsigned(32), "bytes from one n to the next"]
    target_stride0: Annotated[int, signed(32), "bytes"] = 0
    target_stride1: Annotated[int, signed(32), "bytes"] = 0
    target_stride2: Annotated[int, signed(32), "bytes"] = 0
    limit: Annotated[int, unsigned(32), "what n must be below"]
    indices: Annotated[int, LOCAL, "scratchpad address"]
    index_stride0: Annotated[int, LOCAL, "bytes"] = 0
    index_stride1: Annotated[int, LOCAL, "bytes"] = 0
    index_stride2: Annotated[int, LOCAL, "bytes"] = 0
