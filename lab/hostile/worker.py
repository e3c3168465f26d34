"""A child process that answers calls within limits of processor time and memory."""

import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from eightfold.common.child import Closing

_PATIENCE = 60
"""Wall-clock seconds per second of processor time: other processes run on the machine too."""


class Worker(Closing):
    """Calls a function in a child process that is started once, and again behind a call that
    ended it.

    Use it as a context manager, or call `close`. ``work``: a function of a module, which yields its
    answers one by one. ``seconds``: of processor time for one call. ``memory``: bytes that the
    process may hold, what it needs by itself included.
    """

    def __init__(
        self, work: Callable[..., Iterator[Any]], seconds: float = 10, memory: int = 2 << 30
    ) -> None:
        self._work = work
        self._seconds = seconds
        self._memory = memory
        self._process: SpawnProcess | None = None
        self._channel: Connection | None = None

    def call(self, *args: Any) -> tuple[list[Any], str]:
        """Return what the function yielded, and how the process ended; empty if it lives."""
        channel = self._start()
        answers: list[Any] = []
        try:
            channel.send(args)
            while channel.poll(_PATIENCE * self._seconds):
                more, answer = channel.recv()
                if not more:
                    return answers, ""
                answers.append(answer)
        except (EOFError, OSError):
            return answers, self._end()
        except BaseException:
            self.close()  # interrupted halfway: the answers would be taken for the next call's
            raise
        self.close()
        return answers, f"no answer within {_PATIENCE * self._seconds:g} s"

    def close(self) -> None:
        """Kill the process, if there is one; the next call starts another."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _start(self) -> Connection:
        if self._channel is None:
            context = multiprocessing.get_context("spawn")
            self._channel, remote = context.Pipe()
            arguments = (self._work, remote, self._seconds, self._memory)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            self._process = process
            remote.close()
        return self._channel

    def _end(self) -> str:
        assert self._process is not None
        assert self._channel is not None
        self._process.join()
        status = self._process.exitcode or 0
        self._channel.close()
        self._process.close()
        self._process = self._channel = None
        if status == -signal.SIGXCPU:
            return f"more than {self._seconds:g} s of processor time"
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _serve(
    work: Callable[..., Iterator[Any]], channel: Connection, seconds: float, memory: int
) -> None:
    """Answer calls until the channel closes: the child's side of `Worker`."""
    import resource  # not on Windows

    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what is judged is the answers
        os.dup2(silent, stream)
    _limit_memory(memory)
    while True:
        try:
            args = channel.recv()
        except EOFError:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        soonest = math.ceil(used.ru_utime + used.ru_stime + seconds)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (soonest, hard))
        for answer in work(*args):
            channel.send((True, answer))
        channel.send((False, None))


def _limit_memory(memory: int) -> None:
    """Let the address space grow until what is resident could be ``memory`` bytes."""
    import resource  # not on Windows

    size, resident = Path("/proc/self/statm").read_text().split()[:2]
    limit = memory + (int(size) - int(resident)) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
