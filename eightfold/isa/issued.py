"""Commands in program order, with what they read and write: what the compiler makes of a network.

Tokens and indices come later (`eightfold.isa.tokens`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from eightfold.isa.commands import COMMANDS, Command
from eightfold.isa.enumerations import ENGINES, Engine, Space
from eightfold.isa.instructions import Instruction
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Interval:
    """Bytes ``[start, stop)`` of a space; with a ``pitch``, of each so many the first ``size``."""

    space: Space
    start: int
    stop: int
    pitch: int = 0
    size: int = 0

    @classmethod
    def repeated(cls, start: int, stop: int, pitch: int, size: int) -> "Interval":
        """Return ``size`` bytes of each ``pitch`` in the scratchpad; all if that leaves no gaps."""
        pitched = (pitch, size) if size < pitch else ()
        return cls(Space.SCRATCHPAD, start, stop, *pitched)

    def overlaps(self, other: "Interval") -> bool:
        """Return whether a byte may be in both: of different pitches, if their ends overlap."""
        if self.space != other.space or self.start >= other.stop or other.start >= self.stop:
            return False
        if not self.pitch or self.pitch != other.pitch:
            return True
        ahead = (other.start - self.start) % self.pitch
        return ahead < self.size or self.pitch - ahead < other.size


@dataclass(frozen=True, kw_only=True)
class Issued:
    """A command of the stream, without its tokens and index.

    ``reads`` and ``writes`` cover the bytes that it touches; ``operator`` is the one it belongs to,
    ``step`` the number of the step: -1 before the first, of END that behind the last.
    """

    instruction: Instruction
    operator: int
    step: int = -1
    reads: tuple[Interval, ...] = ()
    writes: tuple[Interval, ...] = ()

    @property
    def command(self) -> Command:
        """What kind of command it is."""
        return COMMANDS[self.instruction.opcode]

    @property
    def engine(self) -> Engine | None:
        """Which engine executes it, if any."""
        return ENGINES.get(self.instruction.opcode)

    @cached_property
    def fields(self) -> Mapping[str, int]:
        """The fields by name, as numbers."""
        return self.instruction.values()


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The commands of consecutive operators, for a configuration.

    ``operators`` are their indices, in order: also of those that have no commands.
    """

    config: AcceleratorConfig
    issued: tuple[Issued, ...]
    operators: tuple[int, ...]
