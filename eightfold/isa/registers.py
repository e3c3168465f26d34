"""Registers of the AXI4-Lite slave, each defined once."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from eightfold.isa.commands import VERSION, Command
from eightfold.isa.enumerations import ENGINES, Engine, ErrorCode, Opcode
from eightfold.isa.instructions import Begin
from eightfold.isa.shapes import Entry, Layout, aligned_layout, pack, unsigned
from eightfold.target.config import FEATURES, AcceleratorConfig


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
    def entries(self) -> tuple[Entry, ...]:
        """The fields, or one field ``value``."""
        return self.fields or (Entry("value", unsigned(32), self.text),)

    @property
    def layout(self) -> Layout:
        """Where the `entries` lie."""
        return aligned_layout(self.entries)


CONFIGURATION_0 = (
    Entry("lanes", unsigned(8), "lanes of the MAC array"),
    Entry("width", unsigned(8), "multipliers per lane"),
    Entry("port", unsigned(8), "bytes of the memory port"),
    Entry("vector_lanes", unsigned(8), "lanes of the vector engine"),
)
CONFIGURATION_1 = (
    Entry("scratchpad", unsigned(5), "log2 of the scratchpad's bytes"),
    Entry("no_gather", unsigned(1), "1: there is no GATHER"),
    Entry("no_rows", unsigned(1), "1: VECTOR has no row functions"),
    Entry("no_counters", unsigned(1), "1: counters but CYCLES read 0"),
    Entry("psum_depth", unsigned(6), "log2 of the partial sums per lane"),
    Entry("no_watchdog", unsigned(1), "1: TIMEOUT reads 0 and ignores writes"),
    Entry("no_wide_strides", unsigned(1), "1: offsets of MOVE and GATHER wrap at 24 bits"),
    Entry("line_depth", unsigned(8), "log2 of the depthwise lines' vectors"),
    Entry("tables", unsigned(8), "tables of the vector engine"),
)

CONTROL = (
    Entry("start", unsigned(1), "doorbell: run the commands; ignored while busy or after an error"),
    Entry(
        "soft_reset",
        unsigned(1),
        "end what runs, finish what is open on the bus, clear status and error",
    ),
)
STATUS = (
    Entry("busy", unsigned(1), "commands run, or a soft reset is not finished"),
    Entry("done", unsigned(1), "END was reached; cleared by the doorbell"),
    Entry("error", unsigned(1), "an error stopped the accelerator"),
    Entry("interrupt", unsigned(1), "the interrupt is pending"),
)
ERROR = (
    Entry("code", ErrorCode, "what it was"),
    Entry("engine", unsigned(8), "value of Engine; 255 sequencer; 254 weights; 253 parameters"),
    Entry("index", unsigned(16), "number of the command, modulo 2^16"),
)

COUNTERS: tuple[tuple[str, str], ...] = (
    ("CYCLES", "cycles from doorbell to done"),
    ("MOVER_BUSY", "cycles in which the mover had a command that has its tokens"),
    ("MOVER_WAIT", "cycles in which the mover had none, and the next one waited for tokens"),
    ("MATRIX_ISSUE", "cycles in which the matrix engine issued a vector"),
    (
        "MATRIX_WAIT",
        "cycles in which the matrix engine had no command, and the next one waited for tokens",
    ),
    ("MATRIX_WEIGHTS", "cycles in which the matrix engine's next vector waited for weights"),
    ("MATRIX_PARAMETERS", "cycles in which the matrix engine's next vector waited for parameters"),
    ("MATRIX_OPERANDS", "cycles in which the matrix engine had a command but no vector to issue"),
    (
        "MATRIX_HELD",
        "cycles in which the matrix engine's next vector waited for a partial sum or a result's "
        "place",
    ),
    (
        "MATRIX_DRAIN",
        "cycles in which the matrix engine had issued all it might and results were on their way",
    ),
    ("VECTOR_BUSY", "cycles in which the vector engine had a command that has its tokens"),
    (
        "VECTOR_WAIT",
        "cycles in which the vector engine had none, and the next one waited for tokens",
    ),
    ("READ_BEATS", "beats on the memory's read channel"),
    ("WRITE_BEATS", "beats on the memory's write channel"),
)
"""Counters, cleared by the doorbell; they stop with the accelerator."""

WORK: dict[Engine, tuple[str, ...]] = {
    Engine.MOVER: ("MOVER_BUSY",),
    Engine.MATRIX: (
        *("MATRIX_ISSUE", "MATRIX_WEIGHTS", "MATRIX_PARAMETERS"),
        *("MATRIX_OPERANDS", "MATRIX_HELD", "MATRIX_DRAIN"),
    ),
    Engine.VECTOR: ("VECTOR_BUSY",),
}
"""For each engine the counters of cycles in which it works at a command; at most one of them counts
in a cycle."""

REGISTERS: tuple[Register, ...] = (
    Register("ID", 0x00, Access.READ_ONLY, "0x38464C44, ASCII 8FLD"),
    Register("VERSION", 0x04, Access.READ_ONLY, "version of the instruction set"),
    Register("CONFIGURATION_0", 0x08, Access.READ_ONLY, "sizes", CONFIGURATION_0),
    Register("CONFIGURATION_1", 0x0C, Access.READ_ONLY, "sizes of memories", CONFIGURATION_1),
    Register("CONTROL", 0x10, Access.WRITE_ONE, "doorbell and reset", CONTROL),
    Register("STATUS", 0x14, Access.READ_ONLY, "state", STATUS),
    Register("ERROR", 0x18, Access.READ_ONLY, "the first error, until a soft reset", ERROR),
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

AT_DOORBELL: tuple[str, ...] = tuple(
    register.name
    for register in REGISTERS
    if register.access is Access.READ_WRITE and register.name != "INTERRUPT_ENABLE"
)
"""Registers whose values a run takes at its doorbell, and keeps."""

IDENTIFICATION = 0x38464C44


def configuration_words(config: AcceleratorConfig) -> tuple[int, int]:
    """Return the values of CONFIGURATION_0 and CONFIGURATION_1."""
    sizes = {name: getattr(config, name) for name in ("lanes", "width", "port", "vector_lanes")}
    memories = {
        "scratchpad": config.scratchpad.bit_length() - 1,
        "psum_depth": config.psum_depth.bit_length() - 1,
        "line_depth": config.line_depth.bit_length() - 1,
        "tables": config.tables,
        **{f"no_{name}": name in config.left_out for name in FEATURES},
    }
    return (
        pack(aligned_layout(CONFIGURATION_0), sizes)[0],
        pack(aligned_layout(CONFIGURATION_1), memories)[0],
    )


def begin(config: AcceleratorConfig) -> Begin:
    """Return the BEGIN of the streams that are compiled for a configuration."""
    configuration, memories = configuration_words(config)
    return Begin(version=VERSION, configuration=configuration, memories=memories)


FIELDS = {
    Opcode.GATHER: ("gather", ()),
    Opcode.VECTOR: ("rows", ("row", "relative", "resume")),
    Opcode.MATRIX: ("pairs", ("pairs",)),
}
"""Commands that a feature is needed for: which, and the fields that are 0 without it; no fields:
there is no such command then."""


def _has(feature: str, config: AcceleratorConfig) -> bool:
    return config.pixel > 0 if feature == "pairs" else feature not in config.left_out


def lacking(command: Command, values: Mapping[str, int], config: AcceleratorConfig) -> str:
    """Return the feature that a command needs and a configuration lacks; empty if there is none."""
    feature, names = FIELDS.get(command.opcode, ("", ()))
    needs = not names or any(values[name] for name in names)
    return feature if needs and not _has(feature, config) else ""


def used_bits(command: Command, config: AcceleratorConfig) -> int:
    """Return the bits of a command that may be 1 in a configuration, as ones; none of a command
    that it does not have, whose opcode is not 0."""
    feature, names = FIELDS.get(command.opcode, ("", ()))
    if _has(feature, config):
        names = ()
    elif not names:
        return 0
    used = 0
    for name, field in command.layout:
        width = 0 if name in names else field.width
        if name in ("wait", "signal"):
            width = len(Engine) if command.opcode in ENGINES else 0
        used |= ((1 << width) - 1) << field.offset
    return used
