"""Processes in simulated time: what the estimate of cycles runs on."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from heapq import heappop, heappush, heappushpop
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")

Process = Generator["int | Change", None, Result]
"""Yields the cycle in which it goes on, at once if that is past, or a change that it waits for."""


class Change:
    """Something that processes wait for."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self.waiting: list[Process[None]] = []

    def tell(self) -> None:
        """Let all that wait go on in this cycle."""
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, []
        for process in waiting:
            self._clock.start(process)


class Channel(Generic[Item]):
    """What one process puts and another one takes, in that order, waiting until something is there.

    ``items``: what is there at first.
    """

    def __init__(self, clock: "Clock", items: Iterable[Item] = ()) -> None:
        self._items = deque(items)
        self._more = Change(clock)

    def put(self, item: Item) -> None:
        """Add something behind what is there."""
        self._items.append(item)
        self._more.tell()

    def take(self) -> Process[Item]:
        """Return what was put first and not taken."""
        while not self._items:
            yield self._more
        return self._items.popleft()


def _once(action: Callable[[], None]) -> Process[None]:
    action()
    yield from ()


class Clock:
    """Runs processes in the order of the cycles that they wait for; ``now`` is the current one."""

    def __init__(self) -> None:
        self.now = 0
        self._queue: list[tuple[int, int, Process[Any]]] = []
        self._started = 0

    def start(self, process: Process[Any], cycle: int = 0) -> None:
        """Let a process go on in a cycle, or now if that is past."""
        self._started += 1  # who waited first goes first
        heappush(self._queue, (max(cycle, self.now), self._started, process))

    def call(self, action: Callable[[], None], cycle: int) -> None:
        """Do something in a cycle, or now if that is past."""
        self.start(_once(action), cycle)

    def run(self) -> None:
        """Run until no process waits for a cycle."""
        while self._queue:
            self.now, _, process = heappop(self._queue)
            while (wanted := next(process, None)) is not None:
                if isinstance(wanted, Change):
                    wanted.waiting.append(process)
                    break
                if wanted > self.now:
                    self._started += 1
                    later = (wanted, self._started, process)
                    self.now, _, process = heappushpop(self._queue, later)
