"""Builds kept by the hash of everything that they are made from.

Programs run from them: the folder is the user's alone, and each build has a manifest by which it is
seen, whenever it is used, that it is whole and as it was made. The simulators' tools need folders
whose paths are one word for make.
"""

import atexit
import errno
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.posix import locked, require_posix

ROOM = 1 << 20
"""A disk with fewer free bytes is full."""

MANIFEST = "manifest.json"
"""File of a build: the SHA-256 of each of the others, by name."""


def cache_directory() -> Path:
    """Return where builds are kept: ``$EIGHTFOLD_CACHE``, or ``build/sim`` of a checkout.

    An installed package uses ``eightfold`` in the user's cache folder.
    """
    if chosen := os.environ.get("EIGHTFOLD_CACHE"):
        return Path(chosen).absolute()
    if (IMPORT_ROOT / "pyproject.toml").exists():
        return IMPORT_ROOT / "build" / "sim"
    return _user_cache()


def _user_cache() -> Path:
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user whom the system does not know
        return private_folder()
    return folder.absolute() / "eightfold"


def writable_cache() -> Path:
    """Return `cache_directory`, or another folder where that cannot be used.

    It cannot if it cannot be written, or if others can write to it: programs run from it. Then
    builds are kept in the user's cache folder, or as long as this process runs. Which is said once,
    in one line on standard error (by `logging`).
    """
    return _writable(cache_directory())


@cache
def _writable(directory: Path) -> Path:
    if not (reason := _unusable(directory)):
        return directory
    folder = _user_cache()
    until = ""
    if _unusable(folder):
        folder = private_folder()
        until = " until this ends; EIGHTFOLD_CACHE chooses a folder"
    logging.getLogger(__name__).warning(
        "eightfold: %s: %s; builds are kept in %s%s", directory, reason, folder, until
    )
    return folder


def _unusable(directory: Path) -> str:
    """Return why no builds can be kept in a folder, or nothing; it is made if it is not there."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(directory.resolve()):
            return NOT_PRIVATE
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return ""  # others may fill it now, and have done when it is needed
        return f"cannot be written: {error.strerror}"


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
    is there of it is kept until the next attempt. What is damaged or not the user's is made again.
    Raises InputError if the cache cannot be written, because the disk is full for example, or
    others can write to its folder ``kind``.
    """
    place = cache_directory()
    private = is_private(place.resolve()) and is_private((place / kind).resolve())
    if private and is_sound(place / kind / key):
        return place / kind / key  # a cache that cannot be written is good to read
    folder = writable_cache() / kind / key
    try:
        make_private(folder.parent)
        with locked(folder.with_name(f"{folder.name}.lock"), wait=True):
            if not is_sound(folder):
                _discard(folder)
                _make(folder, make)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made: {error.strerror or error}; "
            "EIGHTFOLD_CACHE chooses another folder for builds"
        ) from None
    return folder


def is_sound(folder: Path) -> bool:
    """Return whether a build is as it was made: no file is changed, missing or added, and nobody
    but this user, or root, could write any."""
    try:
        known = json.loads((folder / MANIFEST).read_bytes())
        if not is_private(folder) or not is_trusted((folder / MANIFEST).lstat()):
            return False
        return known == _hashes(folder)
    except (OSError, ValueError, RecursionError):
        return False


def _hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of a build's files by name; raise `ValueError` if others can write one."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) or not is_trusted(status):
            raise ValueError(path)
        if stat.S_ISREG(status.st_mode) and path.name != MANIFEST:
            with path.open("rb") as file:
                found[path.relative_to(folder).as_posix()] = hashlib.file_digest(
                    file, "sha256"
                ).hexdigest()
    return found


def _seal(folder: Path) -> None:
    """Write the manifest of a build that is complete."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o755)
    text = json.dumps(_hashes(folder))
    number = os.open(folder / MANIFEST, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with open(number, "w", encoding="utf-8") as file:
        file.write(text)
    (folder / MANIFEST).chmod(0o644)


def _discard(folder: Path) -> None:
    if folder.is_symlink() or folder.exists():
        # Somebody else's cannot be emptied; its name is ours.
        away = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.unsound")
        folder.rename(away)
        shutil.rmtree(away, ignore_errors=True)


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    if is_one_word(partial):
        partial.mkdir(mode=0o700)
        make(partial)
    else:  # make refuses to work there
        place = Path(tempfile.mkdtemp(".partial", dir=private_folder()))
        make(place)
        shutil.copytree(place, partial)
        shutil.rmtree(place)
    _seal(partial)
    partial.rename(folder)


ELSEWHERE = ("/tmp", "/var/tmp")
"""Where temporary files may lie if the user's own choice cannot be used."""

ROOT = 0
"""The user who can write everywhere."""

NOT_PRIVATE = "others can write to it (chmod go-w), or it is somebody else's"
"""Why nothing runs from a folder."""

_ONE_WORD = re.compile(r"[\w./+@,-]+")


def is_one_word(path: Path) -> bool:
    """Return whether make and a shell take a path as one word, without blanks, $ and the like."""
    return _ONE_WORD.fullmatch(str(path)) is not None


def is_trusted(found: os.stat_result) -> bool:
    """Return whether only this user, or root, can have written a file or a folder.

    Windows has neither owners nor modes of this kind: a user's folders are the user's alone there.
    """
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid in (ROOT, os.getuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_private(path: Path) -> bool:
    """Return whether there is such a folder, no link, to which nobody else can write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and is_trusted(found)


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can open, whatever the umask, unless one is there.

    Raises OSError if it cannot be made. Raises InputError if others can write to what is there. It
    may be reached by a link.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_private(folder.resolve()):
        raise InputError(f"{folder}: {NOT_PRIVATE}")


@cache
def private_folder() -> Path:
    """Return a new folder that only this user can open, and which goes when this process ends.

    Nobody knows its name before. It lies in the system's folder for temporary files; its path is
    one word. Raises InputError if there is no such place.
    """
    require_posix("a folder for simulators")
    for parent in dict.fromkeys((tempfile.gettempdir(), *ELSEWHERE)):
        if not is_one_word(Path(parent)):
            continue
        try:
            folder = tempfile.mkdtemp(prefix="eightfold-", dir=parent)
        except OSError:
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)
    raise InputError(
        "no folder for temporary files: set TMPDIR to one that can be written, without blanks"
    )


def one_word(folder: Path) -> Path:
    """Return a path of one word to a folder, by way of a link unless its own is.

    The link goes when this process ends.
    """
    if is_one_word(folder):
        return folder
    link = private_folder() / hashlib.sha256(os.fsencode(folder)).hexdigest()[:20]
    try:
        link.symlink_to(folder)
    except FileExistsError:
        pass  # made before: its name is a hash of where it leads
    except OSError as error:
        raise InputError(f"{link}: cannot be written: {error.strerror}") from None
    return link
