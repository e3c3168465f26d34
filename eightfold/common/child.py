"""A Python process that answers on a socket, and may die without harm; arrays sent both ways.

`Closing` is what holds something open, such as a child process, and ends it.
"""

import contextlib
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

import numpy as np

from eightfold.common.files import IMPORT_ROOT
from eightfold.common.posix import require_posix


class Closing(AbstractContextManager):
    """A context manager whose `close` is called at its end."""

    @abstractmethod
    def close(self) -> None:
        """End what is open, if anything; may be called more than once."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_TENSOR = struct.Struct("<i2sI")  # tensor index, dtype as kind and item size, rank


class Channel:
    """Length-prefixed messages over a stream socket, the same at both ends."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._reader = end.makefile("rb")
        self.send = end.sendall

    def receive(self, size: int) -> bytes:
        """Return exactly ``size`` bytes; raise `EOFError` if the other end is gone."""
        content = self._reader.read(size)
        if len(content) != size:
            raise EOFError("the other end closed the connection")
        return content

    def receive_tensors(self, count: int) -> dict[int, np.ndarray]:
        """Return ``count`` arrays by index, as `packed` has written them."""
        tensors = {}
        for _ in range(count):
            index, code, rank = _TENSOR.unpack(self.receive(_TENSOR.size))
            shape = struct.unpack(f"<{rank}Q", self.receive(8 * rank))
            dtype = np.dtype(code.decode())
            # From a bytearray, so that the array is writable like any other.
            content = bytearray(self.receive(math.prod(shape) * dtype.itemsize))
            tensors[index] = np.frombuffer(content, dtype).reshape(shape)
        return tensors

    def close(self) -> None:
        """Close this end, which the other one sees."""
        self._reader.close()
        self._socket.close()


def packed(tensors: Mapping[int, np.ndarray]) -> bytes:
    """Return arrays of numbers, of up to 9 bytes each, as `Channel.receive_tensors` reads them."""
    parts = []
    for index, tensor in tensors.items():
        array = np.asarray(tensor)
        code = f"{array.dtype.kind}{array.dtype.itemsize}".encode()
        parts += [
            _TENSOR.pack(index, code, array.ndim),
            struct.pack(f"<{array.ndim}Q", *array.shape),
        ]
        parts.append(array.tobytes())
    return b"".join(parts)


class Child(Closing):
    """A Python process and the channel to it; what it writes to its streams is kept apart.

    ``start``: Python statements that it runs. The first argument is the number of its socket.
    ``arguments``: further ones, behind that; ``timeout``: seconds that a message may take;
    ``name``: what messages call it.
    """

    def __init__(self, start: str, arguments: Sequence[str], *, timeout: float, name: str) -> None:
        self._start = start
        self._arguments = list(arguments)
        self.timeout = timeout
        self._name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.channel: Channel | None = None
        self._streams = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)

    def start(self) -> Channel:
        """Start the process and return the channel to it; it must not run."""
        require_posix(f"a process for {self._name}")
        paths = [str(IMPORT_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        local, remote = socket.socketpair()
        local.settimeout(self.timeout)
        with remote:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self._start, str(remote.fileno()), *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._streams,
                stderr=self._streams,
                pass_fds=[remote.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # what it starts is ended with it
            )
        self.channel = Channel(local)
        return self.channel

    def stop(self) -> int:
        """Kill the process, if it still runs, and return its exit status as `subprocess` does."""
        status = 0
        if self.channel is not None:
            self.channel.close()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            status = self.process.wait()
        self.channel = self.process = None
        return status

    def end(self, error: Exception) -> str:
        """Clear up after a message that has not come, and say in one line what happened."""
        if isinstance(error, TimeoutError):
            self.stop()
            return f"{self._name} took longer than {self.timeout:g} s"
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(self.timeout)  # it is ending: its own status, not that of a kill
        status = self.stop()
        said = self.said()
        return f"{self._name} ended with {ending(status)}" + (f": {said[-1]}" if said else "")

    def said(self) -> list[str]:
        """Return the lines that it has written since the last `forget`."""
        self._streams.seek(0)
        lines = self._streams.read().decode("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def forget(self) -> None:
        """Forget what it has written."""
        self._streams.seek(0)
        self._streams.truncate()

    def close(self) -> None:
        """End the process, if there is one; it cannot be started again."""
        self.stop()
        self._streams.close()


def ending(status: int) -> str:
    """Return an exit status, as `subprocess` has it, in words: a signal's name or the number."""
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def one_line(text: object) -> str:
    """Return a text as one line."""
    return " ".join(str(text).split())
