"""What every step tells the compiler: its tensors, its room, its commands."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import Staging
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Temporary:
    """``size`` bytes between an operator's steps; ``content`` is what a constant one holds."""

    size: int
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """A piece of an operator's work, which writes one tensor: the graph's or a temporary.

    ``target`` is that tensor; no other step writes it.
    """

    target: int

    only_copies: ClassVar[bool] = False
    """Whether the mover does it: a constant is then read where it is, in the model region."""

    awaits: ClassVar[bool] = False
    """Whether `emit` has operands arrive as it needs them; else they are loaded before."""

    @property
    @abstractmethod
    def uses(self) -> tuple[int, ...]:
        """The tensors that the commands touch, ``target`` the last of them; none without any."""

    @property
    def targets(self) -> tuple[int, ...]:
        """The tensors that are there afterwards: ``target``, of a cascade perhaps others too."""
        return (self.target,)

    @property
    def shares(self) -> int | None:
        """The tensor whose bytes ``target`` has under another shape; None if it has its own."""
        return None

    @property
    def replaceable(self) -> int | None:
        """The tensor whose place the result may take, if no step needs it later."""
        return None

    @property
    def feature(self) -> str:
        """The one of `eightfold.target.config.FEATURES` that the commands need; empty for none."""
        return ""

    def told(self, given: Collection[int]) -> "Step":
        """Return the step, told which tensors memory has from the beginning."""
        return self

    def room(self, config: AcceleratorConfig) -> int:
        """Return the bytes of scratchpad needed even if all tensors are there."""
        return 0

    @property
    def cycles(self) -> int | None:
        """Cycles of the step for itself, about, where they are not those of its rows."""
        return None

    def room_beside(self, config: AcceleratorConfig, outside: Collection[int]) -> int | None:
        """Return the bytes of scratchpad needed if ``outside`` tensors are not there.

        None if any number may do, and more is better.
        """
        return None if set(self.uses) & set(outside) else self.room(config)

    @abstractmethod
    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands; raise NoRoomError if the room is too small for the smallest part."""


@dataclass(frozen=True, kw_only=True)
class UnaryStep(Step):
    """A step that reads one tensor."""

    source: int

    @property
    def uses(self) -> tuple[int, ...]:
        return (self.source, self.target)


@dataclass(frozen=True, kw_only=True)
class Alias(Step):
    """``target`` shares the bytes of ``source``: no command."""

    source: int

    @property
    def uses(self) -> tuple[int, ...]:
        return ()

    @property
    def shares(self) -> int:
        return self.source

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit nothing."""
