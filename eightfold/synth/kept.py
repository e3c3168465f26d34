"""Figures of steps that take long, kept by the content that they come from."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eightfold.common.files import write_file


def digest_of(*parts: str) -> str:
    """Return the SHA-256 of some texts, as hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def kept(
    path: Path, key: str, run: Callable[[], dict[str, Any]], *, makes: Path | None = None
) -> dict[str, Any]:
    """Return the figures kept in `path` under `key`, or run the step and keep its figures.

    A step that `makes` a file for the next one runs again if that file is gone.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["key"] == key and (makes is None or makes.exists()):
            return record["figures"]
    except (OSError, ValueError, KeyError):
        pass
    path.unlink(missing_ok=True)
    figures = run()
    write_file(path, json.dumps({"key": key, "figures": figures}, indent=1))
    return figures
