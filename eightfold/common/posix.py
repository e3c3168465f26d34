"""Calls that POSIX has and Windows has not, and what takes their place there.

Their modules are imported where they are used: whatever imports this starts on every system.
"""

import os
import time
from pathlib import Path
from typing import IO

from eightfold.common.errors import InputError

_PAUSE = 0.05  # seconds after which a lock is tried again where nothing waits for it


def require_posix(what: str) -> None:
    """Raise `InputError` on Windows, which has no process groups and passes no sockets on."""
    if not hasattr(os, "killpg"):
        raise InputError(
            f"{what} needs Linux or macOS; on Windows use WSL, its subsystem for Linux"
        )


def open_lock(path: Path) -> int:
    """Open a file for `lock`, which only its user can open; it is made, or it is no link.

    Raises `OSError` if it cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag
    return os.open(path, flags, 0o600)


def lock(file: IO | int, *, wait: bool) -> None:
    """Lock an open file until it is closed, or its process ends.

    Raises `BlockingIOError` if another process has it, and ``wait`` is not set.

    ``wait``: whether to wait while another process has the lock.
    """
    try:
        import fcntl
    except ImportError:
        _lock_first_byte(file if isinstance(file, int) else file.fileno(), wait)
    else:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_first_byte(descriptor: int, wait: bool) -> None:
    import msvcrt

    while True:
        try:
            return msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            if not wait:
                raise BlockingIOError(*error.args) from None
            time.sleep(_PAUSE)


def limit_data(size: int) -> None:
    """Let this process have no more than ``size`` bytes of data, where the system has such a limit.

    An allocation beyond it fails.
    """
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
