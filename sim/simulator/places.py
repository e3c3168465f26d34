"""Folders that the simulators' tools can work in: ours alone, and one word for make."""

import atexit
import hashlib
import os
import re
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.common.posix import require_posix

ELSEWHERE = ("/tmp", "/var/tmp")
"""Where temporary files may lie if the user's own choice cannot be used."""

ROOT = 0
"""The user who can write everywhere."""

NOT_PRIVATE = "others can write to it (chmod go-w), or it is somebody else's"
"""Of a folder: why nothing runs from it."""

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

    Raises
    ------
    OSError
        If it cannot be made.
    InputError
        If others can write to what is there. It may be reached by a link.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_private(folder.resolve()):
        raise InputError(f"{folder}: {NOT_PRIVATE}")


@cache
def private_folder() -> Path:
    """Return a new folder that only this user can open, and which goes when this process ends.

    Nobody knows its name before. It lies in the system's folder for temporary files; its path is
    one word.

    Raises
    ------
    InputError
        If there is no such place.
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
