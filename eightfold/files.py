"""Writing files that a user named."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from eightfold.errors import InputError

T = TypeVar("T")

IMPORT_ROOT = Path(__file__).resolve().parents[1]
"""The folder that `eightfold` is imported from; in a checkout its root."""


def write_file(path: Path, write: Callable[[], T]) -> T:
    """Write a file or directory; a full disk or a wrong path is the user's to hear about."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write()
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
