"""Memory behind an `eightfold.hw.ports.memory_read` port, for benches without a bus."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any

import cocotb

from eightfold import isa
from eightfold.hw.memory.linear_fetch import YIELDING
from eightfold.hw.ports import BURST
from eightfold.sim.bench import support
from eightfold.sim.bench.scoreboard import StreamScoreboard
from eightfold.sim.bench.stream import StreamSink, StreamSource, watchdog


def burst_addresses(request: int, port: int) -> list[int]:
    """Return the addresses of a request's beats, of ``port`` bytes each.

    ``request``: a word of `eightfold.hw.ports.burst_layout`. Raises AssertionError if it breaks one
    of the rules of requests.
    """
    address, beats = request & 0xFFFF_FFFF, request >> 32
    first = address // port
    assert address % port == 0, f"request at {address:#x} is not aligned to the port"
    assert 1 <= beats <= BURST, f"request of {beats} beats"
    assert first // BURST == (first + beats - 1) // BURST, f"{address:#x}+{beats} crosses"
    return [address + beat * port for beat in range(beats)]


class MemoryPort:
    """Answers read requests at the port ``memory`` in order with the beats of an array of bytes.

    - ``contents``: bytes from address 0; reads beyond its end are an error.
    - ``port``: bytes of a beat.
    - ``latency``: cycles from a request's transfer to its first beat's ``valid``, at least 2.
    - ``idle``: probability, 0 to below 1, of pausing for a cycle before a beat, or a request.

    ``requested``, ``beats``: beats requested, and answered.
    """

    def __init__(self, dut: Any, contents: bytes, port: int, latency: int, idle: float) -> None:
        self.contents, self.port, self.latency, self.idle = contents, port, latency, idle
        self.requested = self.beats = 0
        self._rng = support.stall_rng("memory")
        self._waiting: deque[tuple[int, int]] = deque()  # cycle from which it may come, address
        self._answers = False
        self._valid, self._data = dut.memory__valid, dut.memory__data
        self._valid.value = 0
        self.sink = StreamSink(dut, "memory__request", stall=idle)
        self.sink.add_callback(self._take)

    def _take(self, word: int) -> None:
        """Check a request and queue its beats."""
        addresses = burst_addresses(word, self.port)
        assert addresses[-1] + self.port <= len(self.contents), f"{addresses[-1]:#x} is outside"
        self.requested += len(addresses)
        due = support.cycle() + self.latency - 1
        self._waiting.extend((due, address) for address in addresses)

    def step(self) -> None:
        """Answer for a cycle what has been requested."""
        answers = bool(self._waiting) and self._waiting[0][0] <= support.cycle()
        if answers and self.idle:
            answers = self._rng.random() >= self.idle
        if answers:
            _, address = self._waiting.popleft()
            beat = self.contents[address : address + self.port]
            self._data.value = int.from_bytes(beat, "little")
            self.beats += 1
        if answers != self._answers:
            self._answers = answers
            self._valid.value = int(answers)


STALLS = (
    ("idle", "stall", "latency"),
    [(0.0, 0.0, 2), (0.3, 0.3, 9), (0.0, 0.8, 2), (0.7, 0.0, 30)],
)
"""Pauses of commands and memory, pauses of who takes the words, and the memory's latency."""


class FetchBench:
    """A unit that fetches what commands say, its memory, and the words that it should give.

    ``streams`` are the names of those of commands and of words. ``cycles`` has the clock cycle of
    each word, ``faults`` is in how many ``fault`` was there.
    """

    QUIET = 500
    """Cycles in which all is requested that will be while the output waits."""

    def __init__(
        self,
        dut: Any,
        contents: bytes,
        port: int,
        streams: tuple[str, str],
        idle: float,
        stall: float,
        latency: int,
    ) -> None:
        self.dut, self.contents = dut, contents
        self.memory = MemoryPort(dut, contents, port, latency, idle)
        commands, words = streams
        self.commands = StreamSource(dut, commands, idle=idle)
        self.sink = StreamSink(dut, words, stall=stall)
        self.scoreboard = StreamScoreboard(dut)
        self.cycles: list[int] = []
        self.faults = 0
        self.sink.add_callback(lambda _: self.cycles.append(support.cycle()))
        dut.yields.value = 0

    async def begin(self, commands: Sequence[int], words: Sequence[int]) -> None:
        """Reset, send the words of commands, and expect those that they ask for."""
        self.scoreboard.expect(self.sink, words)
        await support.start_clock_and_reset(self.dut)
        support.each_cycle(self.dut, self.memory.step)
        if hasattr(self.dut, "fault"):
            support.each_cycle(self.dut, self._count_faults)
        cocotb.start_soon(watchdog([self.commands, self.memory.sink, self.sink], 4000))
        if commands:
            self.commands.append(list(commands))

    async def release(self) -> None:
        """Let the words that were held go, and wait until all of them were right."""
        self.sink.stall = 0.0
        await self.scoreboard.finish()

    async def expect_little_ahead(self) -> None:
        """While the output waits less is requested with ``yields`` than without, the rest later.

        Commands for more than is fetched ahead have been sent, with ``yields``; it is set again.
        """
        await support.clock_cycles(self.dut, self.QUIET)
        requested = self.memory.requested
        self.dut.yields.value = 0
        await support.clock_cycles(self.dut, self.QUIET)
        assert YIELDING < requested < self.memory.requested
        self.dut.yields.value = 1
        await self.release()

    def _count_faults(self) -> None:
        self.faults += int(self.dut.fault.value)


Command = dict[str, int]


class CommandBench(FetchBench, ABC):
    """A fetch of the accelerator: commands, bad ones among them, and a model of random bytes.

    ``kind``: of the commands. ``words``: the stream of what it gives. ``base``, ``size``: the
    model's place in memory, and its bytes, behind which there are others.
    """

    BEYOND = 1024

    def __init__(
        self, dut: Any, kind: isa.Command, words: str, base: int, size: int, *pauses: Any
    ) -> None:
        self.config = support.configuration()
        self.kind, self.base, self.size = kind, base, size
        contents = support.rng(0).bytes(base + size + self.BEYOND)
        super().__init__(dut, contents, self.config.port, ("command", words), *pauses)
        dut.region.value = base | size << 32

    @abstractmethod
    def bytes(self, command: Command) -> int:
        """Return a command's bytes in memory."""

    def bad(self, command: Command) -> bool:
        """Return whether it is ignored with a fault."""
        return command["address"] + self.bytes(command) > self.size

    @abstractmethod
    def words(self, command: Command) -> list[int]:
        """Return the words that a command should give which is not bad."""

    def beats(self, command: Command) -> int:
        """Return what a command fetches."""
        return 0 if self.bad(command) else -(-self.bytes(command) // self.config.port)

    async def start(self, commands: list[Command]) -> None:
        """Reset, expect the words of some commands, and send these."""
        good = (command for command in commands if not self.bad(command))
        encoded = [self.kind.encode(**command).tobytes() for command in commands]
        words = [word for command in good for word in self.words(command)]
        await self.begin([int.from_bytes(word, "little") for word in encoded], words)

    async def run(self, commands: list[Command]) -> None:
        """Carry out commands, and check what they give, fetch and refuse."""
        await self.start(commands)
        await self.scoreboard.finish()
        assert self.faults == sum(self.bad(command) for command in commands)
        assert self.memory.requested == sum(self.beats(command) for command in commands)
