"""A Python process that answers, and may die without harm; a command that is ended with its all.

`Closing` is what holds something open, such as a child process, and ends it.
"""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

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


class NoAnswer(Exception):  # noqa: N818 (says what happened)
    """A child has ended, or was too slow and has been killed: one line that says which.

    ``status``: as `subprocess` has it; None: it was too slow.
    """

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


class _Channel:
    """Objects over a stream socket, the same at both ends."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._reader = end.makefile("rb")

    def send(self, message: Any) -> None:
        # Protocol 4 writes arrays such that they are read as ones that can be written to.
        self._socket.sendall(pickle.dumps(message, protocol=4))

    def receive(self) -> Any:
        """Return the next message; raise `EOFError` if the other end is gone."""
        try:
            return pickle.load(self._reader)
        except pickle.UnpicklingError:  # it went while it sent one
            raise EOFError("the other end closed the connection") from None

    def close(self) -> None:
        """Close this end, which the other one sees."""
        self._reader.close()
        self._socket.close()


Serve = Callable[..., Generator[Any, Any, None]]
"""A function of a module: it yields a greeting, then it is sent each message and yields the answer.
The process ends with it."""


class Child(Closing):
    """A Python process that answers messages; what it writes to its streams is kept apart.

    What is sent either way is pickled: what runs there is trusted as what runs here is.

    ``serve``: what runs there, with ``arguments``; ``timeout``: seconds that an answer may take;
    ``name``: what messages call it.
    """

    def __init__(self, serve: Serve, *arguments: Any, timeout: float, name: str) -> None:
        self._call = (serve, arguments)
        self._timeout = timeout
        self._name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.greeting: Any = None
        """What it said when it was started last."""
        self._channel: _Channel | None = None
        self._streams = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)

    def begin(self) -> None:
        """Start the process, unless it runs; raise `NoAnswer` if it does not greet."""
        if self.process is not None:
            return
        require_posix(f"a process for {self._name}")
        local, remote = socket.socketpair()
        local.settimeout(self._timeout)
        self._forget()
        with remote:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(remote.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._streams,
                stderr=self._streams,
                pass_fds=[remote.fileno()],
                env={**os.environ, "PYTHONPATH": python_path(IMPORT_ROOT)},
                start_new_session=True,  # what it starts is ended with it
            )
        self._channel = _Channel(local)
        self.greeting = self._answer(self._call)

    def ask(self, message: Any = None) -> Any:
        """Send a message to the process, which runs, and return the answer.

        Raises `NoAnswer` if there is none; the process is gone then. An interrupt ends it as well.
        """
        self._forget()
        return self._answer(message)

    def _forget(self) -> None:
        self._streams.seek(0)
        self._streams.truncate()

    def _answer(self, message: Any) -> Any:
        assert self._channel is not None
        try:
            self._channel.send(message)
            return self._channel.receive()
        except TimeoutError:
            self.stop()
            text = f"{self._name} took longer than {self._timeout:g} s"
            raise NoAnswer(text, None) from None
        except (OSError, EOFError):
            raise self._ended() from None
        except BaseException:
            self.stop()  # interrupted halfway: the answer would be taken for the next one's
            raise

    def _ended(self) -> NoAnswer:
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(self._timeout)  # it is ending: its own status, not that of a kill
        status = self.stop()
        last = "".join(f": {line}" for line in self.said()[-1:])
        return NoAnswer(f"{self._name} ended with {ending(status)}{last}", status)

    def stop(self) -> int:
        """Kill the process, if it still runs, and return its exit status as `subprocess` does."""
        if self._channel is not None:
            self._channel.close()
        status = 0 if self.process is None else _killed(self.process)
        self._channel = self.process = None
        return status

    def said(self) -> list[str]:
        """Return the lines that it has written since the last message to it."""
        return lines_of(_text(self._streams))

    def close(self) -> None:
        """End the process, if there is one; it cannot be started again."""
        self.stop()
        self._streams.close()


_PROGRAM = "from eightfold.common.child import _serve; _serve()"


def _serve() -> None:
    """Answer on the socket whose number is the first argument, until it closes: what a `Child`
    runs."""
    channel = _Channel(socket.socket(fileno=int(sys.argv[1])))
    serve, arguments = channel.receive()
    answers = serve(*arguments)
    with contextlib.suppress(EOFError, StopIteration):
        channel.send(next(answers))
        while True:
            channel.send(answers.send(channel.receive()))


def python_path(*folders: Path) -> str:
    """Return a ``PYTHONPATH`` on which some folders lie before those of this process."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def run_alone(command: Sequence[str], seconds: float, **options: Any) -> tuple[int | None, str]:
    """Run a command in a session of its own; all that it has started ends with it.

    Returns its exit status as `subprocess` has it, None if it was killed after so many seconds, and
    what it has written to its streams. ``options``: of `subprocess.Popen`, whose exceptions pass.
    """
    with tempfile.TemporaryFile() as streams:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=streams,
            stderr=streams,
            start_new_session=True,
            **options,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _killed(process)
        return status, _text(streams)


def run_to_end(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command without input; return its exit status, and what each of its streams was told.

    ``options``: of `subprocess.run`, whose exceptions pass.
    """
    texts: Any = {"text": True, "errors": "replace"}
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, **texts, **options
    )


def _killed(process: subprocess.Popen[Any]) -> int:
    """Kill a process, if it still runs, and all that it has started; return its exit status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _text(streams: IO[bytes]) -> str:
    streams.seek(0)
    return streams.read().decode("utf-8", "replace")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that have words, without blanks around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


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
