"""Cycles of the mover: runs, cut into units, asked for, and written."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, product
from math import prod
from typing import NamedTuple

from eightfold import isa
from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.estimate.memory import ARENA, MODEL, Memory, Reader
from eightfold.isa import Space
from eightfold.isa.issued import Issued
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import SIXTEENTHS, Transfer

# So many runs of a program are looked at one by one, which takes some seconds of processor time.
# Then only so many of each command are: there can be millions. Those left out take as long as the
# second half of these on average.
ALL, SAMPLE = 1 << 17, 1 << 8

REGIONS = {Space.MODEL: MODEL, Space.ARENA: ARENA}


class Cut(NamedTuple):
    """A part of a run that crosses no burst: units, the bytes in them, and where it is."""

    units: int
    size: int
    address: int


class Move:
    """A command as the mover sees it: runs of units, which memory has at multiples of its port.

    The first index of a GATHER counts as 0, each one behind it as one more, modulo its limit.
    ``gathers``: whether the places of its runs are looked up. ``most``: runs that are looked at one
    by one; ``left_out`` are the ones behind them, but for the last one.
    """

    def __init__(
        self, index: int, command: Issued, config: AcceleratorConfig, taken: int, most: int
    ) -> None:
        c = command.instruction
        assert isinstance(c, (isa.Move, isa.Gather))
        self.index, self.taken = index, taken
        self.source, self.target = c.source_space, c.target_space
        self.from_memory, self.to_memory = c.source_space in REGIONS, c.target_space in REGIONS
        self.from_scratchpad = self.source == Space.SCRATCHPAD
        memory = self.from_memory or self.to_memory
        self.unit = config.port if memory else config.vector
        side = "target" if self.to_memory else "source"
        self._start = getattr(c, side) if memory else 0
        self._region = REGIONS.get(self.target if self.to_memory else self.source, 0)
        self._run = c.run
        self._counts = c.of_loops("count")
        self._most = most
        self.left_out = max(0, c.runs - most - 1)
        strides = c.of_loops(f"{side}_stride")
        self._strides = strides if memory else (0,) * len(strides)
        self._gather = c if isinstance(c, isa.Gather) else None
        self.gathers = isinstance(c, isa.Gather)
        self._limit, self._step = 1, 0
        if self._gather and self.from_memory:
            self._limit = max(1, self._gather.limit)
            self._step = self._gather.step
        self._vector = config.vector

    def runs(self) -> Iterator[list[Cut]]:
        """Yield the pieces of each run that is not left out."""
        places = enumerate(product(*map(range, self._counts)))
        end = [(prod(self._counts) - 1, tuple(count - 1 for count in self._counts))]
        for number, place in chain(
            islice(places, self._most + (not self.left_out)), end if self.left_out else []
        ):
            strides = zip(place, self._strides, strict=True)
            start = self._start + sum(i * stride for i, stride in strides)
            start += number % self._limit * self._step
            yield list(self._pieces(start, start + self._run))

    def index_reads(self) -> Iterator[int]:
        """Yield the scratchpad's reads for the index of each of a GATHER's runs: a window, or none.

        See `eightfold.hw.mover.indices.Indices`.
        """
        assert self._gather
        before = None
        size = 1 << self._gather.index_size
        window = max(timing.GATHER_WINDOW, self._vector)
        strides = self._gather.of_loops("index_stride")
        for place in islice(product(*map(range, self._counts)), self._most + 1):
            distance = sum(i * stride for i, stride in zip(place, strides, strict=True))
            start = distance if distance % size else distance // window * window
            yield window // self._vector if start != before else 0
            before = start

    def _pieces(self, start: int, stop: int) -> Iterator[Cut]:
        burst = timing.BURST * self.unit
        while start < stop:
            end = min(stop, (start // burst + 1) * burst)
            first = start // self.unit
            yield Cut(-(-end // self.unit) - first, end - start, self._region + first * self.unit)
            start = end


class Burst(NamedTuple):
    """Units of a command that are handled together: of one run, at most a burst.

    ``writes``: cycles; ``arrives``: cycle in which the first unit's bytes are there, for memory
    only if that is known; ``last``: of its command.
    """

    move: Move
    cut: Cut
    writes: int
    arrives: int
    last: bool


class Mover:
    """eightfold.hw.mover.engine: units are asked for in order, one per cycle, and written behind
    that."""

    def __init__(
        self, clock: Clock, config: AcceleratorConfig, memory: Memory, finish: Callable[[int], None]
    ) -> None:
        self.clock, self.config, self.memory, self.finish = clock, config, memory, finish
        self._move: Move | None = None
        self._free = 0  # a command may be taken
        self._pieces: deque[Burst] = deque()
        self._changed, self._written = Change(clock), Change(clock)
        self._cut, self._granted, self._cleared = Change(clock), Change(clock), Change(clock)
        self._beats = self._units = self._vectors = 0  # on their way
        self._begun = Change(clock)
        self._reads = False  # a run that lies in memory is cut
        self._requests: deque[tuple[int, int, int]] = deque()
        self._arrivals: deque[Transfer] = deque()  # of bursts
        self._leaving: deque[Sequence[int]] = deque()  # cycles in which a burst's places are free
        self._writes = self._done = 0
        self._runs: deque[tuple[Move, int, list[Cut], int, bool]] = deque()
        self._sent = Change(clock)
        self._loaded = Change(clock)
        self._left = 0
        self._looked_at = 0  # runs
        clock.start(self._walk())
        clock.start(self._ask())
        clock.start(self._request())
        clock.start(self._write())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        while self._move:
            yield self._changed
        taken = max(cycle, self._free)
        self._move = Move(index, command, self.config, taken, max(SAMPLE, ALL - self._looked_at))
        self._changed.tell()
        return taken

    def _walk(self) -> Process[None]:
        """Send out the runs of commands, as far as their queue has room."""
        while True:
            while not self._move:
                yield self._changed
            move = self._move
            begin = timing.GATHER_OFFSET if move.gathers else timing.MOVE_RUN - 1
            step = move.taken + begin
            runs = list(move.runs())
            self._looked_at += len(runs)
            reads = list(move.index_reads()) if move.gathers else [0] * len(runs)
            meanwhile = [*reads[timing.GATHER_AHEAD :], *[0] * len(runs)]
            half = 0
            for number, pieces in enumerate(runs):
                while len(self._runs) >= timing.MOVE_RUNS:
                    yield self._loaded
                step = max(step + max(1, reads[number]), self._left)
                if number == SAMPLE // 2:
                    half = step
                elif number == SAMPLE:
                    step += move.left_out * (step - half) // (SAMPLE - SAMPLE // 2)
                last = number == len(runs) - 1
                self._runs.append((move, step, pieces, meanwhile[number], last))
                self._sent.tell()
            self._move = None
            self._free = step + timing.MOVE_COMMAND
            self._changed.tell()

    def _ask(self) -> Process[None]:
        """Cut runs into units, and ask for their bytes."""
        cycle = 0  # of the last unit
        while True:
            while not self._runs:
                yield self._sent
            move, step, pieces, reads, final = self._runs[0]
            cycle = max(cycle, step + timing.MOVE_CUT - 1)
            yield cycle
            self._runs.popleft()
            self._reads = move.from_memory
            self._note()
            self._left = self.clock.now
            self._loaded.tell()
            if reads:
                self.memory.scratchpad.index_reads.add(self.clock.now, reads, reads)
                cycle += reads if move.from_scratchpad else 0
            for place, cut in enumerate(pieces):
                yield cycle + 1
                yield from self._wait(move, cut.units)
                self._send(move, cut, final and place == len(pieces) - 1)
                cycle = self.clock.now + cut.units - 1
            if self._reads:
                yield cycle
                self._reads = False
                self._note()

    def _note(self) -> None:
        """Say whether there is something to ask memory for: who fetches ahead holds back by it."""
        reads = self._reads or bool(self._requests)
        self.clock.call(
            partial(self.memory.read.note_mover, reads), self.clock.now + timing.MOVE_READS
        )

    def _request(self) -> Process[None]:
        """Ask memory for one burst after the other."""
        while True:
            while not self._requests:
                yield self._cut
            cycle, address, beats = self._requests[0]
            yield cycle
            transfer = yield from self.memory.read.request(Reader.MOVER, address, beats)
            self._requests.popleft()
            self._note()
            self._arrivals.append(transfer)
            self._granted.tell()

    def _wait(self, move: Move, units: int) -> Process[None]:
        """Wait for places for units, and for those of a burst from memory."""
        most = timing.MOVE_BEATS - timing.BURST
        if move.from_memory and self._held() > most:
            # The hardware's count is a cycle late: only right behind a burst there is one more.
            while (over := self._held() - most) >= 0:
                yield self._left_at(over)
        while self._units + units > timing.MOVE_UNITS:
            yield self._written
        while move.from_scratchpad and self._vectors + units > timing.MOVE_VECTORS:
            yield self._begun
        while len(self._requests) >= timing.MOVE_REQUESTS:
            yield self._granted

    def _send(self, move: Move, cut: Cut, last: bool) -> None:
        units, size, address = cut
        now = self.clock.now
        arrives = self.clock.now + timing.QUEUE
        if move.from_memory:
            self._requests.append((now + timing.MOVE_REQUEST, address, units))
            self._beats += units
        elif move.from_scratchpad:
            arrives = now + timing.MOVE_VECTOR
            self.memory.scratchpad.mover_reads.add(now, units, units)
            self._vectors += units
        self._units += units
        entries = size // timing.TABLE_ENTRY if move.target == Space.TABLES else units
        self._pieces.append(Burst(move, cut, entries, arrives, last))
        self._cut.tell()

    def _write(self) -> Process[None]:
        """Write units in order, and say when all of a command's are."""
        while True:
            while not self._pieces:
                yield self._cut
            piece = self._pieces.popleft()
            move, cut = piece.move, piece.cut
            units = cut.units
            # The last unit waits in its register until the command before is done.
            after = self._done if piece.last else 0
            arrives = piece.arrives
            all_there = 0
            transfer = None
            if move.from_memory:
                while not self._arrivals:
                    yield self._granted
                transfer = self._arrivals.popleft()
                arrives = transfer.beat(0) + timing.MOVE_BEAT
                # The last unit's bytes, and its writing.
                all_there = transfer.beat(units - 1) + timing.MOVE_BEAT + piece.writes // units
            cycle = max(self._writes + 1, arrives)
            if transfer is not None:
                self._leave(piece, transfer, cycle)
            if move.from_scratchpad:
                self.clock.call(partial(self._take, units), cycle)
            room = self.memory.write.room(units) if move.target == Space.ARENA else 0
            cycle = max(cycle + piece.writes, all_there, room, after)
            if move.target == Space.SCRATCHPAD:
                cycle = yield from self._give_way(cycle, piece.writes)
            # From its bytes to the register, and to the other side.
            yield cycle
            self._writes = cycle - 1
            self._units -= units
            self._written.tell()
            written = cycle
            if move.target == Space.ARENA:
                written = self.memory.write.write(cycle, cut.address, units)
            if piece.last:
                self._done = written + 1
                self.clock.call(partial(self.finish, move.index), self._done)

    def _give_way(self, cycle: int, writes: int) -> Process[int]:
        """Return when the last of some writes is made that would be in a cycle without others."""
        traffic = self.memory.scratchpad
        begun = cycle - writes
        yield begun
        traffic.mover_writes.add(begun, writes, writes)
        others = traffic.writes(begun)
        while True:
            yield cycle
            late = begun + writes + traffic.writes(cycle) - others - cycle
            if late <= 0:
                return cycle
            cycle += late

    def _take(self, vectors: int) -> None:
        """Free the places of vectors, each of which leaves before the next one comes."""
        self._vectors -= vectors
        self._begun.tell()

    def _leave(self, piece: Burst, transfer: Transfer, cycle: int) -> None:
        """Note when the places of a burst's beats are free: as they come and are written."""
        units = piece.cut.units
        pace = piece.writes // units
        cycles: Sequence[int] = range(cycle, cycle + pace * units, pace)
        if transfer.pace > pace * SIXTEENTHS:  # else they come no slower than they are written
            cycles = [cycle]
            for beat in transfer.beats(range(1, units)):
                cycle = max(cycle + pace, beat + timing.MOVE_BEAT)
                cycles.append(cycle)
        self._leaving.append(cycles)
        self._cleared.tell()

    def _held(self) -> int:
        """Return how many places for beats are taken, or will be."""
        leaving = self._leaving
        now = self.clock.now
        while leaving and leaving[0][-1] <= now:
            self._beats -= len(leaving.popleft())
        return self._beats - (bisect_right(leaving[0], now) if leaving else 0)

    def _left_at(self, over: int) -> int | Change:
        """Return when so many places more than one are free; what tells, if that is not known."""
        for number, cycles in enumerate(self._leaving):
            if not number:
                over += bisect_right(cycles, self.clock.now)
            if over < len(cycles):
                return cycles[over]
            over -= len(cycles)
        return self._cleared
