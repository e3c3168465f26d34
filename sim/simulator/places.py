"""Folders that the simulators' tools can work in: ours alone, and one word for make."""

import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from eightfold.errors import InputError
from eightfold.posix import require_posix

ELSEWHERE = ("/tmp", "/var/tmp")
"""Where temporary files may lie if the user's own choice cannot be used."""

_ONE_WORD = re.compile(r"[\w./+@,-]+")


def is_one_word(path: Path) -> bool:
    """Return whether make and a shell take a path as one word, without blanks, $ and the like."""
    return _ONE_WORD.fullmatch(str(path)) is not None


def temporary_folder() -> Path:
    """Return a folder that only this user can write, the same for all processes, made if needed.

    It lies in the system's folder for temporary files. Its path is one word.

    Raises
    ------
    InputError
        If there is no such place, or somebody else has taken the name: programs run from it.
    """
    require_posix("a folder for simulators")
    for parent in dict.fromkeys((tempfile.gettempdir(), *ELSEWHERE)):
        folder = Path(parent, f"eightfold-{os.getuid()}")
        if not is_one_word(folder):
            continue
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
        except OSError:
            continue
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022
        if private and found.st_uid == os.getuid():
            return folder
    raise InputError(
        "no folder for temporary files: set TMPDIR to one that can be written, without blanks"
    )


def one_word(folder: Path) -> Path:
    """Return a path of one word to a folder, by way of a link unless its own is."""
    if is_one_word(folder):
        return folder
    link = temporary_folder() / hashlib.sha256(os.fsencode(folder)).hexdigest()[:20]
    try:
        link.symlink_to(folder)
    except FileExistsError:
        pass  # made before: its name is a hash of where it leads
    except OSError as error:
        raise InputError(f"{link}: cannot be written: {error.strerror}") from None
    return link
