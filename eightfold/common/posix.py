"""Calls that POSIX has and Windows has not, and what takes their place there.

Their modules are imported where they are used: whatever imports this starts on every system.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eightfold.common.errors import InputError

_PAUSE = 0.05  # seconds after which a lock is tried again where nothing waits for it


def require_posix(what: str) -> None:
    """Raise `InputError` on Windows, which has no process groups and passes no sockets on."""
    if not hasattr(os, "killpg"):
        raise InputError(
            f"{what} needs Linux or macOS; on Windows use WSL, its subsystem for Linux"
        )


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock of a file, which only its user can open; it is made, or it is no link.

    Raises `BlockingIOError` if another process has it, and ``wait`` is not set; `OSError` if the
    file cannot be opened.

    ``wait``: whether to wait while another process has the lock.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag
    descriptor = os.open(path, flags, 0o600)
    try:
        _lock(descriptor, wait)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> None:
    try:
        import fcntl
    except ImportError:
        _lock_first_byte(descriptor, wait)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


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
