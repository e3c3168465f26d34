"""Values of fields that have names, and who executes what."""

from itertools import product

from eightfold.isa.shapes import Enumeration, unsigned


class Rounding(Enumeration, shape=unsigned(3)):
    """How a right shift rounds what it drops; ``value`` is the exact quotient."""

    HALF_AWAY = 0  # nearest, ties away from zero (TFLite's rounding right shift)
    HALF_UP = 1  # nearest, ties toward +infinity
    HALF_DOWN = 2  # nearest, ties toward -infinity
    HALF_EVEN = 3  # nearest, ties to the even integer
    TOWARD_ZERO = 4  # truncate
    DOWN = 5  # floor
    UP = 6  # ceiling


class Opcode(Enumeration, shape=unsigned(8)):
    """What a command is; 0 is never one."""

    BEGIN = 1
    END = 2
    WEIGHTS = 3
    PARAMETERS = 4
    MOVE = 5
    MATRIX = 6
    VECTOR = 7
    GATHER = 8


class Engine(Enumeration, shape=unsigned(2)):
    """Engines that exchange tokens: bit ``1 << value`` of a header's ``wait`` and ``signal``."""

    MOVER = 0
    MATRIX = 1
    VECTOR = 2


class Space(Enumeration, shape=unsigned(3)):
    """What a MOVE or GATHER reads or writes; its addresses are byte offsets into it."""

    MODEL = 0  # the model region of memory, read only
    ARENA = 1  # the arena region of memory
    SCRATCHPAD = 2
    FILL = 3  # source of a MOVE only: the command's fill byte
    TABLES = 4  # target of a MOVE only: entry e of table t at 4 * (256 * t + e), int32


class Combine(Enumeration, shape=unsigned(4)):
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


class Operand(Enumeration, shape=unsigned(2)):
    """What operand b of VECTOR is."""

    BYTES = 0  # a byte for each element of the run
    REPEAT = 1  # one byte for the whole run
    WORD = 2  # one little-endian int32 for the whole run, not looked up
    POSITION = 3  # the number of the window's position, w1 * window0 + w0, not looked up


class Reduce(Enumeration, shape=unsigned(2)):
    """What VECTOR does with the combined values of one output element's window."""

    NONE = 0  # the last position counts
    SUM = 1
    MAXIMUM = 2
    MINIMUM = 3


class Row(Enumeration, shape=unsigned(3)):
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


class ErrorCode(Enumeration, shape=unsigned(8)):
    """What stopped the accelerator; the first error stays until a soft reset."""

    NONE = 0
    VERSION = 1  # BEGIN is missing, or of another version or configuration
    ILLEGAL_COMMAND = 2  # unknown opcode, wrong index, unused bits set, or no END
    ADDRESS = 3  # outside of a region, the scratchpad or the tables; misaligned; spaces: see above
    AXI_READ = 4  # error response on the read channel
    AXI_WRITE = 5  # error response on the write channel
    TIMEOUT = 6  # no engine moved for TIMEOUT cycles
    INDEX = 7  # an index of a GATHER outside of [0, limit)


ENGINES: dict[Opcode, Engine] = {
    Opcode.MOVE: Engine.MOVER,
    Opcode.MATRIX: Engine.MATRIX,
    Opcode.VECTOR: Engine.VECTOR,
    Opcode.GATHER: Engine.MOVER,
}
"""Which engine executes a command; those that are not here take and give no tokens."""

SPACES: dict[Opcode, tuple[tuple[Space, Space], ...]] = {
    Opcode.MOVE: (
        *product((Space.MODEL, Space.ARENA), (Space.SCRATCHPAD, Space.TABLES)),
        *product((Space.SCRATCHPAD,), (Space.ARENA, Space.SCRATCHPAD, Space.TABLES)),
        *product((Space.FILL,), (Space.ARENA, Space.SCRATCHPAD)),
    ),
    Opcode.GATHER: (
        *product((Space.MODEL, Space.ARENA, Space.SCRATCHPAD), (Space.SCRATCHPAD,)),
        (Space.SCRATCHPAD, Space.ARENA),
    ),
}
"""From where to where a command may copy; every other pair is the error ADDRESS."""
