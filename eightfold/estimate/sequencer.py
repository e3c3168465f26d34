"""Cycles of the sequencer: when each command is there, and when it has its tokens."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Channel, Clock, Process
from eightfold.estimate.memory import Fetch, Reader, ReadPort
from eightfold.isa import Engine, Opcode
from eightfold.isa.issued import Issued, assign_tokens
from eightfold.target.config import AcceleratorConfig

WORD = 4
"""Bytes of a word of the command stream."""


Accept = Callable[[int, Issued, int], Process[int]]
"""Returns when a unit takes a command of an index that is offered in a cycle."""


class Queue:
    """eightfold.hw.control.command_queue: words wait, become commands, and start when they may.

    ``start`` returns when command ``index`` may start that is complete in a cycle.
    """

    def __init__(
        self, clock: Clock, capacity: int, take: Accept, start: Callable[[int, int], Process[int]]
    ) -> None:
        self.capacity, self._take, self._start = capacity, take, start
        self._accepted: Channel[tuple[int, Issued, int]] = Channel(clock)
        self._moved = Change(clock)
        self._words = 0
        self._ends = [0]  # words that came, and those up to each command's end
        self._taken: list[int] = []  # when each command was taken
        clock.start(self._serve())

    def room(self, words: int, size: int) -> Process[int]:
        """Return the cycle from which on the last of some words of a command has a place."""
        if self._words == self._ends[-1]:
            self._ends.append(self._words + size)
        self._words += words
        word = self._words - self.capacity - 1
        # The word that must have left is one of command ``number``, which takes the place of the
        # one before when that is taken.
        number = bisect_right(self._ends, word) - 1
        if number < 1:
            return 0
        while len(self._taken) < number:
            yield self._moved
        return self._taken[number - 1] + word - self._ends[number]

    def accept(self, index: int, command: Issued, cycle: int) -> None:
        """Take a command whose last word came in ``cycle``."""
        self._accepted.put((index, command, cycle))

    def _serve(self) -> Process[None]:
        free = 0
        while True:
            index, command, cycle = yield from self._accepted.take()
            complete = max(cycle + timing.ASSEMBLE, free + command.command.words)
            yield complete
            offered = yield from self._start(index, complete)
            taken = yield from self._take(index, command, offered)
            free = taken + 1
            self._taken.append(taken)
            self._moved.tell()


class Sequencer:
    """eightfold.hw.control.sequencer: fetches the stream, and orders the engines by tokens.

    ``begun`` and ``done``: when each command with an engine had its tokens, and when it was
    complete, by its index; ``end``: when the last command came.
    """

    def __init__(self, clock: Clock, config: AcceleratorConfig, issued: Sequence[Issued]) -> None:
        self.clock, self.config, self.issued = clock, config, issued
        self.waits, self.signals = assign_tokens(issued)
        self.begun: dict[int, int] = {}
        self.done: dict[int, int] = {}
        self.end = 0
        self._tokens = {(giver, taker): deque[int]() for giver in Engine for taker in Engine}
        self._changed = Change(clock)
        self._ends = {engine: deque([0] * timing.FLIGHT) for engine in Engine}

    def begin(self, port: ReadPort, units: Mapping[tuple[Opcode, ...], Accept]) -> None:
        """Start a run; what accepts commands for ``units``, by those that they execute."""
        queues: dict[Opcode, Queue] = {}
        for opcodes, accept in units.items():
            queue = Queue(self.clock, self.config.command_queue, accept, self._may_start)
            queues |= dict.fromkeys(opcodes, queue)
        words = self.config.port // WORD
        fetch = Fetch(self.clock, port, Reader.COMMANDS, timing.COMMAND_BEATS, words)
        fetch.begin(timing.BEGIN, 0, sum(command.command.words for command in self.issued))
        self.clock.start(self._dispatch(fetch, queues))

    def finish(self, index: int) -> None:
        """Note that a command is complete, and give its tokens."""
        engine = self.issued[index].engine
        assert engine is not None
        self.done[index] = self.clock.now
        self._ends[engine].append(self.clock.now + 1)
        for taker in Engine:
            if self.signals[index] >> taker.value & 1:
                self._tokens[engine, taker].append(self.clock.now + 1)
        self._changed.tell()

    def _dispatch(self, fetch: Fetch, queues: Mapping[Opcode, Queue]) -> Process[None]:
        """Send words to the queues, one per cycle, in order."""
        cycle = 0
        for index, command in enumerate(self.issued):
            queue = queues.get(command.command.opcode)
            words = command.command.words
            while words:
                part = min(words, (yield from fetch.available()))
                if queue:
                    room = yield from queue.room(part, command.command.words)
                    cycle = max(cycle, room - part)
                arrived = yield from fetch.take(part, cycle - timing.DECODE)
                cycle = arrived + timing.DECODE
                words -= part
            yield cycle
            if queue:
                queue.accept(index, command, cycle)
        self.end = cycle

    def _may_start(self, index: int, cycle: int) -> Process[int]:
        """Return when a command with its tokens is offered; take them."""
        engine = self.issued[index].engine
        if engine is None:
            return cycle
        givers = [giver for giver in Engine if self.waits[index] >> giver.value & 1]
        needed = [self._tokens[giver, engine] for giver in givers] + [self._ends[engine]]
        while not all(needed):
            yield self._changed
        begin = max(cycle, *(tokens.popleft() for tokens in needed)) + 1
        self.begun[index] = begin
        return begin
