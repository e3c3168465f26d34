"""Operators whose result is their input's bytes under another shape."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Alias:
    """``target`` shares the bytes of ``source``: no command."""

    source: int
    target: int
