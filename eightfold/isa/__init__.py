"""The instruction set: what a command and a register is, said once for compiler, hardware and host.

`commands`, `registers` and `enumerations` define it, in the terms of `shapes` and `entries`: plain
values, without an HDL. `packing` puts numbers into the words and `decode` takes them apart again;
`streams` has the words between the memory's fetchers and the MAC array. `listing`, `document` and
`c_header` write them down for people and for C. What is defined is here too: ``from eightfold
import isa`` and ``isa.MATRIX``.

The ground that compiler, hardware and simulation stand on: it imports `eightfold.config` and
`eightfold.errors`, and everybody may import it.
"""

from eightfold.isa.commands import (
    ADDRESS_BITS,
    BEGIN,
    COMMANDS,
    END,
    GATHER,
    HEADER,
    LOCAL,
    LOCAL_BITS,
    MATRIX,
    MIN_LINE,
    MOVE,
    PARAMETERS,
    REQUANTIZE,
    REQUANTIZE_LAYOUT,
    VECTOR,
    VERSION,
    WEIGHTS,
    Command,
)
from eightfold.isa.entries import (
    Entry,
    aligned_layout,
)
from eightfold.isa.enumerations import (
    ENGINES,
    ROW_RESULTS,
    Combine,
    Engine,
    ErrorCode,
    Opcode,
    Operand,
    Reduce,
    Rounding,
    Row,
    Space,
)
from eightfold.isa.registers import (
    COUNTERS,
    IDENTIFICATION,
    REGISTERS,
    Access,
    Register,
    configuration_words,
)

__all__ = [
    "ADDRESS_BITS",
    "BEGIN",
    "COMMANDS",
    "COUNTERS",
    "END",
    "ENGINES",
    "GATHER",
    "HEADER",
    "IDENTIFICATION",
    "LOCAL",
    "LOCAL_BITS",
    "MATRIX",
    "MIN_LINE",
    "MOVE",
    "PARAMETERS",
    "REGISTERS",
    "REQUANTIZE",
    "REQUANTIZE_LAYOUT",
    "ROW_RESULTS",
    "VECTOR",
    "VERSION",
    "WEIGHTS",
    "Access",
    "Combine",
    "Command",
    "Engine",
    "Entry",
    "ErrorCode",
    "Opcode",
    "Operand",
    "Reduce",
    "Register",
    "Rounding",
    "Row",
    "Space",
    "aligned_layout",
    "configuration_words",
]
