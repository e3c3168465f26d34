"""The instruction set: what a command and a register is, said once for compiler, hardware and host.

`commands`, `instructions`, `registers` and `enumerations` define it, in the terms of `shapes`:
plain values, without an HDL. ``isa.MATRIX`` is what a command is, an ``isa.Matrix`` one
of them with its fields. `shapes` puts numbers into the words and `decode` takes them apart again,
also for people; `streams` has the words between the memory's fetchers and the MAC array. `issued`
is a command with what it reads and writes, as the compiler makes it, and orders engines by that;
`shares` says whose the cycles are. `document` and `headers` write the set down for people, for C
and for debuggers. What is defined is here too: ``from eightfold import isa``.

The ground that compiler, hardware and simulation stand on: it imports `eightfold.target.config` and
`eightfold.common.errors`, and everybody may import it.
"""

from eightfold.isa.commands import (
    ADDRESS_BITS,
    BEGIN,
    COMMANDS,
    END,
    GATHER,
    HEADER,
    MATRIX,
    MOVE,
    PARAMETERS,
    REQUANTIZE,
    REQUANTIZE_LAYOUT,
    VECTOR,
    VERSION,
    WEIGHTS,
    Command,
)
from eightfold.isa.enumerations import (
    ENGINES,
    ROW_RESULTS,
    SPACES,
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
from eightfold.isa.instructions import (
    LOCAL,
    LOCAL_BITS,
    MIN_LINE,
    Begin,
    End,
    Gather,
    Instruction,
    Matrix,
    Move,
    Parameters,
    Requantize,
    Vector,
    Weights,
)
from eightfold.isa.registers import (
    AT_DOORBELL,
    COUNTERS,
    IDENTIFICATION,
    REGISTERS,
    WORK,
    Access,
    Register,
    begin,
    configuration_words,
    lacking,
    used_bits,
)
from eightfold.isa.shapes import Entry

__all__ = [
    "ADDRESS_BITS",
    "AT_DOORBELL",
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
    "SPACES",
    "VECTOR",
    "VERSION",
    "WEIGHTS",
    "WORK",
    "Access",
    "Begin",
    "Combine",
    "Command",
    "End",
    "Engine",
    "Entry",
    "ErrorCode",
    "Gather",
    "Instruction",
    "Matrix",
    "Move",
    "Opcode",
    "Operand",
    "Parameters",
    "Reduce",
    "Register",
    "Requantize",
    "Rounding",
    "Row",
    "Space",
    "Vector",
    "Weights",
    "begin",
    "configuration_words",
    "lacking",
    "used_bits",
]
