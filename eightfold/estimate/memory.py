"""Cycles of the memory ports, of what fetches ahead, and of the scratchpad's ports."""

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.target.memory import SIXTEENTHS, DataBus, MemoryTiming, Transfer, Way

REGION = 1 << 32
"""Bytes from one region to the next: where they will lie is not known, but no row has two."""

COMMANDS, MODEL, ARENA = (number * REGION for number in range(3))
"""Addresses of commands, model and arena."""


class Reader(IntEnum):
    """Clients of the read port, in the order in which it serves them one after the other."""

    COMMANDS = 0
    PARAMETERS = 1
    WEIGHTS = 2
    MOVER = 3


class ReadPort:
    """eightfold.hw.memory.reader, and memory: bursts, round robin among those who ask.

    ``size``: bytes of a beat. ``mover_reads``: the mover has bursts to ask for, and who fetches
    ahead holds back; ``relaxed`` tell when it has none any more.
    """

    def __init__(self, clock: Clock, latency: int, bus: DataBus, size: int) -> None:
        self.size = size
        self.mover_reads = False
        self.relaxed: list[Change] = []
        self._clock, self._latency, self._bus = clock, latency, bus
        self._asking: dict[Reader, tuple[int, int]] = {}
        self._transfers: dict[Reader, Transfer] = {}
        self._asked = Change(clock)
        self._granted = {reader: Change(clock) for reader in Reader}
        self._ends: deque[int] = deque([0] * timing.READS, timing.READS)
        clock.start(self._serve())

    def request(self, reader: Reader, address: int, beats: int) -> Process[Transfer]:
        """Ask for a burst now; return its beats in the cycle in which it is granted."""
        self._asking[reader] = address, beats
        self._asked.tell()
        while reader not in self._transfers:
            yield self._granted[reader]
        return self._transfers.pop(reader)

    def note_mover(self, reads: bool) -> None:
        """Note whether the mover has bursts to ask for."""
        falls = self.mover_reads and not reads
        self.mover_reads = reads
        if falls:
            for change in self.relaxed:
                change.tell()

    def _serve(self) -> Process[None]:
        """Grant a burst per cycle, to the next one of those who ask behind whom it served last."""
        free = 0
        last = Reader.MOVER
        while True:
            while not self._asking:
                yield self._asked
            yield max(free, self._ends[0])
            last = min(self._asking, key=lambda reader: (reader - last - 1) % len(Reader))
            address, beats = self._asking.pop(last)
            valid = self._clock.now + timing.READ + self._latency
            transfer = self._bus.serve(Way.READ, valid, address, beats)
            self._ends.append(transfer.beat(beats - 1) + 1)
            self._transfers[last] = transfer
            self._granted[last].tell()
            free = self._clock.now + 1


class WritePort:
    """eightfold.hw.memory.writer, and memory: bursts in order, each when all of its beats are
    there."""

    def __init__(self, latency: int, bus: DataBus) -> None:
        self._latency, self._bus = latency, bus
        self._answers: deque[int] = deque([0] * timing.WRITES, timing.WRITES)
        self._waiting: deque[tuple[int, int]] = deque()  # beats, cycle in which they have left
        self._beats = self._sent = 0

    def room(self, beats: int) -> int:
        """Return the cycle from which on there is a place for so many beats."""
        cycle = 0
        while self._beats + beats > timing.WRITE_BEATS and self._waiting:
            left, cycle = self._waiting.popleft()
            self._beats -= left
        return cycle

    def write(self, cycle: int, address: int, beats: int) -> int:
        """Return when a burst is answered whose last beat comes in ``cycle``."""
        begun = max(cycle + timing.WRITE_BEGIN, self._answers[0])
        self._sent = max(begun, self._sent) + beats
        self._waiting.append((beats, self._sent))
        self._beats += beats
        stored = self._bus.serve(Way.WRITE, begun + self._latency, address, beats)
        self._answers.append(stored.beat(beats - 1) + timing.WRITE_ANSWER)
        return self._answers[-1]


@dataclass
class Burst:
    """Units of a burst that was asked for, by number, and when its beats come."""

    start: int
    stop: int
    beats: Transfer


class Fetch:
    """eightfold.hw.memory.linear_fetch and eightfold.hw.blocks.gearbox: runs of beats, fetched
    ahead, taken as units of a beat.

    ``idle``: no run is left to ask for; ``changed`` tells. Constants yield to the mover's reads.
    """

    def __init__(
        self, clock: Clock, port: ReadPort, reader: Reader, depth: int, units: int
    ) -> None:
        self.clock, self.port, self.units = clock, port, units
        self._reader = reader
        self._region = COMMANDS if reader == Reader.COMMANDS else MODEL
        self.idle = True
        self.changed = Change(clock)
        self._depth = self._room = depth
        self._yields = reader != Reader.COMMANDS
        self._more = Change(clock)
        self._freed = Change(clock)
        if self._yields:
            port.relaxed.append(self._freed)
        self._bursts: deque[Burst] = deque()
        self._asked = self._taken = 0
        # Beats that left the queue, for its output register, and those that left that as well,
        # and in which cycle the last one did.
        self._left = self._complete = self._end = 0

    def free(self, cycle: int) -> Process[int]:
        """Return when the next run can begin: in ``cycle``, or once this one is all asked for."""
        while not self.idle:
            yield self.changed
        begun = max(cycle, self.clock.now)
        yield begun
        return begun

    def begin(self, cycle: int, beat: int, units: int) -> None:
        """Take a run in ``cycle``: its first beat's number in memory, and units."""
        self.idle = False
        self.clock.start(self._ask(cycle, beat, units), cycle)

    def _ask(self, cycle: int, beat: int, units: int) -> Process[None]:
        while units:
            yield cycle + timing.REQUEST
            beats = min(-(-units // self.units), timing.BURST - beat % timing.BURST)
            while self._room < beats or self._holds_back():
                yield self._freed
            address = self._region + beat * self.port.size
            transfer = yield from self.port.request(self._reader, address, beats)
            cycle = self.clock.now
            taken = min(units, beats * self.units)
            self._bursts.append(Burst(self._asked, self._asked + taken, transfer))
            self._asked += taken
            self._room -= beats
            if self._left == self._complete:
                self._move_up()
            beat = beat + beats
            units = units - taken
            self._more.tell()
        yield cycle + 1
        self.idle = True
        self.changed.tell()

    def _holds_back(self) -> bool:
        """Return whether enough is ahead of its use while the mover reads."""
        ahead = self._depth - self._room
        return self._yields and self.port.mover_reads and ahead > timing.YIELDING

    def available(self) -> Process[int]:
        """Return how many units can be taken as one part: those of the oldest burst."""
        while not self._bursts:
            yield self._more
        return self._bursts[0].stop - self._taken

    def take(self, count: int, cycle: int) -> Process[int]:
        """Take units, one per cycle; return the last one's cycle, from memory's ``valid`` on.

        ``cycle`` is that of the unit before.
        """
        while count:
            part = min(count, (yield from self.available()))
            burst = self._bursts[0]
            place = self._taken - burst.start
            end = place + part
            cycle = max(
                cycle + part,
                self._comes(burst, place) + part - 1,
                self._comes(burst, end - 1),
            )
            self._taken += part
            count -= part
            left = end % self.units
            complete = end // self.units - place // self.units
            if self._taken == burst.stop:
                complete += left > 0
                left = 0
                self._bursts.popleft()
            if complete:
                self._complete += complete
                self._end = cycle - left
                self._move_up()
        return cycle

    def _move_up(self) -> None:
        """Let beats leave the queue: each when the one before is complete, and it is there."""
        if behind := self._complete - self._left:
            self._leave(behind, self._end - self.units)
        if self._bursts:
            burst = self._bursts[0]
            place = (self._taken - burst.start) // self.units
            self._leave(1, max(self._end, burst.beats.beat(place) - 1))

    def _leave(self, beats: int, complete: int) -> None:
        """Free the places of beats, the last of which moves up when another one is complete."""
        self._left += beats
        self.clock.call(partial(self._make_room, beats), complete + 1 + timing.FETCH_AGAIN)

    def _comes(self, burst: Burst, place: int) -> int:
        """Return when a unit of a burst can be taken: a beat's come one after the other."""
        beat, unit = divmod(place, self.units)
        return burst.beats.beat(beat) + unit

    def _make_room(self, beats: int) -> None:
        self._room += beats
        self._freed.tell()


class Flow:
    """Accesses of one kind to the scratchpad, told when they begin, part by part."""

    def __init__(self) -> None:
        self._before = self._start = self._count = 0
        self._cycles = 1

    def add(self, start: int, cycles: int, count: int) -> None:
        """Add accesses, spread evenly over the cycles behind ``start``."""
        self._before += self._count
        self._start = start
        self._cycles = max(1, cycles)
        self._count = count

    def until(self, cycle: int) -> int:
        """Return how many there were up to a cycle, at most the current one."""
        part = cycle - self._start
        if part <= 0:
            return self._before
        if part >= self._cycles:
            return self._before + self._count
        return self._before + self._count * part // self._cycles


class Results:
    """Writes of results to the scratchpad, told as their vectors are issued, before they come."""

    def __init__(self) -> None:
        self._before = 0
        self._rows: deque[tuple[int, int, int]] = deque()

    def add(self, start: int, cycles: int, count: int) -> None:
        """Add the results of a row of vectors, spread evenly over the cycles behind ``start``."""
        self._rows.append((start, cycles, count))

    def until(self, cycle: int) -> int:
        """Return how many there were up to a cycle, which never goes back."""
        while self._rows:
            start, cycles, count = self._rows[0]
            if start + cycles > cycle:
                return self._before + count * max(0, cycle - start) // cycles
            self._before += count
            self._rows.popleft()
        return self._before


TURNS = 1024
"""Turns of the vector engine that are kept: the latest, for the row of vectors that is issued."""


@dataclass
class Traffic:
    """Accesses to the scratchpad.

    Of reads the mover's come before the matrix engine's, and these before the vector engine's,
    which has the port that writes beside. Of writes the mover's come last. ``turns``: when the
    vector engine begins to have the requantizers, by the matrix engine's issue.
    """

    index_reads: Flow = field(default_factory=Flow)
    mover_reads: Flow = field(default_factory=Flow)
    matrix_reads: Flow = field(default_factory=Flow)
    vector_writes: Flow = field(default_factory=Flow)
    mover_writes: Flow = field(default_factory=Flow)
    results: Results = field(default_factory=Results)
    turns: deque[int] = field(default_factory=lambda: deque(maxlen=TURNS))

    def reads(self, cycle: int) -> int:
        """Return the mover's reads up to a cycle."""
        return self.index_reads.until(cycle) + self.mover_reads.until(cycle)

    def writes(self, cycle: int) -> int:
        """Return the writes up to a cycle."""
        return self.results.until(cycle) + self.vector_writes.until(cycle)


class Memory:
    """What the engines share: ports of a memory, with beats of ``port`` bytes, and scratchpad."""

    def __init__(self, clock: Clock, memory: MemoryTiming, port: int) -> None:
        bus, writes = (DataBus(memory, port, timing.DOORBELL) for _ in Way)
        other = bus if memory.shared else writes
        self.read = ReadPort(clock, memory.latency, bus, port)
        self.write = WritePort(memory.latency, other)
        self.scratchpad = Traffic()
        self._buses = bus, other

    def bus_cycles(self) -> int:
        """Return the cycles in which the data bus was taken, of two the busier one."""
        return -(-max(bus.taken for bus in self._buses) // SIXTEENTHS)
