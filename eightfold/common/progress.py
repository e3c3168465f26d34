"""How far a build or a simulation is."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """``done`` of ``total`` steps, and what is being done; ``total`` is None where nobody knows."""

    done: int
    total: int | None
    text: str


OnProgress = Callable[[Progress], None]
"""Called with the latest progress."""


def tell(
    on_progress: OnProgress | None, text: str, done: int = 0, total: int | None = None
) -> None:
    """Say what begins, if anybody listens."""
    if on_progress is not None:
        on_progress(Progress(done, total, text))
