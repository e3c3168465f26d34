"""Operators whose result is their input's bytes under another shape."""

from dataclasses import dataclass

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import Staging
from eightfold.compiler.steps.step import Step


@dataclass(frozen=True, kw_only=True)
class Alias(Step):
    """``target`` shares the bytes of ``source``: no command."""

    source: int

    @property
    def uses(self) -> tuple[int, ...]:
        """Nothing: there is no command."""
        return ()

    @property
    def shares(self) -> int:
        """The tensor whose bytes the result has."""
        return self.source

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit nothing."""
