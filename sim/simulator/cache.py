"""Builds kept by the hash of everything that they are made from."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from eightfold.files import IMPORT_ROOT


def cache_directory() -> Path:
    """Return where builds are kept: ``$EIGHTFOLD_CACHE``, or ``build/sim`` of a checkout.

    An installed package uses ``eightfold`` in the user's cache folder.
    """
    if chosen := os.environ.get("EIGHTFOLD_CACHE"):
        return Path(chosen).absolute()
    if (IMPORT_ROOT / "pyproject.toml").exists():
        return IMPORT_ROOT / "build" / "sim"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "eightfold"


def content_key(*parts: object) -> str:
    """Return a short hash of JSON-able parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``kind/key`` of the cache, made once by ``make(folder)``.

    A folder appears under its name only when complete: it is made under another name while a lock
    is held, so that two processes that want the same thing make it once.
    """
    folder = cache_directory() / kind / key
    if folder.exists():
        return folder
    with _lock(folder):
        if not folder.exists():
            partial = folder.with_name(f"{key}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            make(partial)
            partial.rename(folder)
    return folder


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
