"""Builds kept by the hash of everything that they are made from."""

import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from eightfold.errors import InputError
from eightfold.files import IMPORT_ROOT
from eightfold.posix import lock
from eightfold.sim.simulator.places import is_one_word, temporary_folder

ROOM = 1 << 20
"""A disk with fewer free bytes is full."""


def cache_directory() -> Path:
    """Return where builds are kept: ``$EIGHTFOLD_CACHE``, or ``build/sim`` of a checkout.

    An installed package uses ``eightfold`` in the user's cache folder.
    """
    if chosen := os.environ.get("EIGHTFOLD_CACHE"):
        return Path(chosen).absolute()
    if (IMPORT_ROOT / "pyproject.toml").exists():
        return IMPORT_ROOT / "build" / "sim"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "eightfold"


def writable_cache() -> Path:
    """Return `cache_directory`, or where it cannot be written a folder for temporary files.

    Which is said once, in one line on standard error (by `logging`).
    """
    return _writable(cache_directory())


@cache
def _writable(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return directory  # others may fill it now, and have done when it is needed
        folder = temporary_folder()
        logging.getLogger(__name__).warning(
            "eightfold: %s: cannot be written: %s; builds are kept in %s",
            directory,
            error.strerror,
            folder,
        )
        return folder


def check_room(*folders: Path) -> None:
    """Raise `InputError` if a disk is full, to be told instead of whatever failed because of it."""
    for folder in folders:
        if folder.exists() and shutil.disk_usage(folder).free < ROOM:
            raise InputError(f"{folder}: {os.strerror(errno.ENOSPC)}")


def content_key(*parts: object) -> str:
    """Return a short hash of JSON-able parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``kind/key`` of the cache, made once by ``make(folder)``.

    A folder appears under its name only when complete: it is made under another name while a lock
    is held, so that two processes that want the same thing make it once. If making it fails, what
    is there of it is kept until the next attempt.

    Raises
    ------
    InputError
        If the cache cannot be written, because the disk is full for example.
    """
    folder = cache_directory() / kind / key
    if folder.exists():  # a cache that cannot be written is good to read
        return folder
    folder = writable_cache() / kind / key
    try:
        with _lock(folder):
            if not folder.exists():
                _make(folder, make)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made: {error.strerror or error}; "
            "EIGHTFOLD_CACHE chooses another folder for builds"
        ) from None
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    if is_one_word(partial):
        partial.mkdir()
        make(partial)
    else:  # make refuses to work there
        place = temporary_folder() / f"{content_key(str(partial))}.partial"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        make(place)
        shutil.copytree(place, partial)
        shutil.rmtree(place)
    partial.rename(folder)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        lock(file, wait=True)
        yield
