"""Tensors that only the steps of one operator see."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Temporary:
    """``size`` bytes between an operator's steps; ``content`` is what a constant one holds."""

    size: int
    content: bytes | None = None
