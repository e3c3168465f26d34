"""What a command costs in cycles, about: for searches that compare thousands of ways to do a work.

`eightfold.estimate.estimate` is close to the hardware, but simulates a whole stream, which takes
long. `quick` is what a command takes for itself, without waits for bytes, tokens or constants. The
constants beside it are the same in all searches; tests/eightfold/estimate/test_estimate.py holds
`LATENCY` and `MOVE_COMMAND` against the estimate of streams of few commands, and bounds one of them
by `MATRIX_APART`. `STEP_START` is a choice, which no stream of few commands shows.
"""

from dataclasses import dataclass

from eightfold.isa import Engine, Gather, Instruction, Matrix, Move, Space, Vector
from eightfold.isa.vector_fields import reads_b
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming

LATENCY = {Engine.MATRIX: 45, Engine.VECTOR: 48, Engine.MOVER: 40}
"""Cycles from a command's last beat until another that waits for it does its first.

Those of the matrix engine are of 16 bytes of width, the mover's of a memory with the latency of
`eightfold.target.memory.IDEAL`. A step whose commands wait for each other takes as many for each of
them beside its beats."""

MOVE_COMMAND = 12
"""Cycles of a MOVE beside those of its runs: checked, cut and placed, with those before under way.
"""

MATRIX_APART = 16
"""Cycles between two MATRIX commands whose constants are there, at most: their words arrive, are
decoded and queued, and vectors that are read ahead do not hide all of it."""

STEP_START = 100
"""Cycles until a step's first result: of its commands, its constants, its first operands. It is the
same for each step, so that it matters to how many steps a way through a program has."""


@dataclass(frozen=True)
class Cost:
    """Cycles of an engine, reads of the scratchpad that the matrix engine waits for, and commands.

    The reads of a step's MOVEs count as none: with them the plans of networks became up to 0.1 %
    slower by the estimate. Those that move a cascade's strips count.
    """

    cycles: int = 0
    reads: int = 0
    commands: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """Return the cost of one after the other."""
        return Cost(
            self.cycles + other.cycles, self.reads + other.reads, self.commands + other.commands
        )


def matrix_cycles(command: Matrix, config: AcceleratorConfig) -> int:
    """Return the cycles of all passes: of their vectors, or of loading a word into each lane."""
    return command.passes * max(command.vectors, config.lanes)


def quick(command: Instruction, config: AcceleratorConfig, memory: MemoryTiming = IDEAL) -> Cost:
    """Return what an engine's command takes, without waits; ``memory`` is behind the port.

    Raises TypeError if no engine executes the command.
    """
    if isinstance(command, Matrix):
        return Cost(matrix_cycles(command, config), 0, 1)
    if isinstance(command, Vector):
        operands = 1 + reads_b(command.values())
        rows = command.runs * command.positions
        chunks = -(-command.run // config.vector)
        beats = max(operands * chunks, -(-command.run // config.vector_lanes))
        return Cost(rows * beats, rows * chunks * operands, 1)
    if isinstance(command, (Move, Gather)):
        outside = {Space.MODEL, Space.ARENA} & {command.source_space, command.target_space}
        units = command.runs * -(-command.run // (config.port if outside else config.vector))
        return copied(units, 0, config, memory if outside else None)
    raise TypeError(f"no engine executes {command.opcode.name}")


def copied(
    units: int, reads: int, config: AcceleratorConfig, memory: MemoryTiming | None = None
) -> Cost:
    """Return what a MOVE takes for accesses of a beat of ``memory``, else of a vector each."""
    cycles = units if memory is None else memory.cycles(units, config.port)
    return Cost(MOVE_COMMAND + cycles, reads, 1)
