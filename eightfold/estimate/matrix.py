"""Cycles of the matrix engine: passes of vectors, each behind its weights and parameters."""

from collections import deque
from collections.abc import Callable, Sequence

from eightfold import isa
from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Channel, Clock, Process
from eightfold.estimate.memory import Fetch, Reader, ReadPort, Traffic
from eightfold.isa.instructions import BIAS, RECORD
from eightfold.isa.issued import FURTHEST, Issued
from eightfold.target.config import AcceleratorConfig


class Job:
    """A MATRIX command as the engine sees it, ``taken`` in a cycle, with its ``distance``.

    ``rows``: vectors and results of each row of a pass, the lead with the first one. The last
    result comes from the vector ``behind`` before the last one. Results of a row come from the
    vectors ``fired``, counted from its last one, each ``step`` cycles behind the one before, as the
    requantizers have them for ``turns``; a row with results is longer by ``pauses``.
    """

    def __init__(self, index: int, command: Issued, taken: int, distance: int, turns: int) -> None:
        c = command.instruction
        assert isinstance(c, isa.Matrix)
        self.index, self.taken, self.distance = index, taken, distance
        self.groups, self.passes, self.last = c.groups, c.passes // c.groups, bool(c.last)
        y, x = c.firing_rows, c.firing_columns
        rows = [(c.x, len(x) if c.last and row in y else 0) for row in range(c.y)]
        rows[0] = (c.x + c.lead, rows[0][1])
        self.rows = tuple(rows)
        self.vectors = sum(vectors for vectors, _ in rows)  # of a pass
        self.fires = any(fired for _, fired in rows)
        self.behind = c.y * c.x - 1 - (y[-1] * c.x + x[-1]) if y and x else 0
        self.fired = range(c.x - 1 - c.fire_x0, -1, -c.fire_x_step)
        self.step = max(turns, c.fire_x_step)
        self.pauses = (len(x) - 1) * (self.step - c.fire_x_step)


class WeightBuffers:
    """eightfold.hw.matrix.weight_stream and eightfold.hw.array.weights: buffers in the order of
    their use."""

    def __init__(self, clock: Clock, config: AcceleratorConfig, port: ReadPort) -> None:
        self.config = config
        unit = min(config.weight_word, config.port)
        self._parts = config.weight_word // unit
        depth = config.weight_buffer // config.port
        self._fetch = Fetch(clock, port, Reader.WEIGHTS, depth, config.port // unit)
        self._runs: Channel[tuple[int, int]] = Channel(clock)  # buffers, words of each
        # When a buffer is full, and when it is in use, so that the next one is filled.
        self.full: Channel[int] = Channel(clock)
        self.swaps = Channel(clock, [0])
        self._free = 0
        clock.start(self._load())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        taken = max(cycle, self._free)
        begun = yield from self._fetch.free(taken + timing.WEIGHT_PARSE)
        self._free = begun + timing.WEIGHT_COMMAND
        weights = command.instruction
        assert isinstance(weights, isa.Weights)
        self._fetch.begin(
            begun,
            weights.address // self.config.port,
            weights.words(self.config.lanes) * self._parts,
        )
        self._runs.put((weights.full, self.config.lanes))
        self._runs.put((weights.partial, weights.partial_lanes))
        return taken

    def _load(self) -> Process[None]:
        cycle = 0
        ahead = timing.WEIGHT_WORDS * self._parts
        while True:
            buffers, words = yield from self._runs.take()
            units = words * self._parts
            for _ in range(buffers):
                early = min(ahead, units)
                cycle = yield from self._fetch.take(early, cycle)
                swap = yield from self.swaps.take()
                if units > early:
                    begun = max(cycle, swap - timing.WEIGHT_SWAP)
                    cycle = yield from self._fetch.take(units - early, begun)
                self.full.put(max(swap + words, cycle + timing.WEIGHT_LOAD))


class ParameterBanks:
    """eightfold.hw.matrix.parameter_stream and eightfold.hw.array.parameters: banks in the order of
    their use."""

    def __init__(self, clock: Clock, config: AcceleratorConfig, port: ReadPort) -> None:
        self.config = config
        self._unit = min(RECORD, config.port)
        units = config.port // self._unit
        self._fetch = Fetch(clock, port, Reader.PARAMETERS, timing.PARAMETER_BEATS, units)
        self._commands: Channel[isa.Parameters] = Channel(clock)
        # When a bank is ready, and when one is free again.
        self.ready: Channel[int] = Channel(clock)
        self.retired = Channel(clock, [0] * (config.matrix_banks - 1))
        self._free = 0
        clock.start(self._load())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        taken = max(cycle, self._free)
        begun = yield from self._fetch.free(taken + timing.PARAMETER_PARSE)
        self._free = begun + timing.PARAMETER_COMMAND
        banks = command.instruction
        assert isinstance(banks, isa.Parameters)
        self._fetch.begin(begun, banks.address // self.config.port, -(-banks.size // self._unit))
        self._commands.put(banks)
        return taken

    def _load(self) -> Process[None]:
        cycle = 0
        while True:
            banks = yield from self._commands.take()
            left = banks.channels
            taken = 0
            if banks.shared:
                cycle = yield from self._fetch.take(RECORD // self._unit, cycle)
            while left:
                channels = min(left, self.config.lanes)
                retired = yield from self.retired.take()
                cycle = max(cycle, retired - timing.PARAMETER_LOAD)
                left = left - channels
                taken = taken + channels
                if banks.shared:
                    cycle = yield from self._biases(taken, channels, cycle)
                else:
                    units = channels * RECORD // self._unit
                    cycle = yield from self._fetch.take(units, cycle)
                yield cycle + timing.PARAMETER_LOAD
                self.ready.put(cycle + timing.PARAMETER_LOAD)

    def _biases(self, taken: int, channels: int, cycle: int) -> Process[int]:
        """Take the units with the biases of channels up to ``taken``, a bias per cycle."""
        places = self._unit // BIAS
        before, after = -(-(taken - channels) // places), -(-taken // places)
        arrived = yield from self._fetch.take(after - before, cycle)
        return max(cycle + channels, arrived)


class Matrix:
    """eightfold.hw.matrix.engine: one vector per cycle, from pass to pass as well.

    A vector's cycle is that of its issue; it is read some cycles earlier, up to as far ahead as the
    queue behind the scratchpad allows. ``distances`` are those of all commands.
    """

    BEFORE = timing.MATRIX_LOCATE + timing.MATRIX_READ
    """From the walk to the issue."""

    def __init__(
        self,
        clock: Clock,
        config: AcceleratorConfig,
        constants: tuple[WeightBuffers, ParameterBanks],
        traffic: Traffic,
        finish: Callable[[int], None],
        distances: Sequence[int],
    ) -> None:
        self.clock, self.traffic, self.finish = clock, traffic, finish
        self.distances = distances
        self.weights, self.parameters = constants
        self.latency = timing.array_latency(config)
        self.turns = config.turns
        self.vector_turns = timing.vector_turn(config)
        self._jobs: deque[Job] = deque()
        self._walk: Job | None = None  # of these, the one some of whose vectors are to be located
        self._changed = Change(clock)
        self._free = 0  # the walk may take a command
        self._read = 0  # by when the last vector that was read could be issued
        self._others = 0  # reads of others before it
        self._issued = 0  # last vector
        self._fired = -self.turns  # last vector with results
        self._begun = 0  # first vector of its pass
        self._done = 0
        # Rows with results: their last vector's issue, and the vectors that fire before it.
        self._rows: deque[tuple[int, range]] = deque(maxlen=FURTHEST)
        self._writes: list[int] = []  # of results before this command, the last one first
        self._vector = self._left = 0  # of this command: vectors before a row, and behind it
        clock.start(self._run())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        while self._walk:
            yield self._changed
        taken = max(cycle, self._free)
        self._walk = Job(index, command, taken, self.distances[index], self.turns)
        self._jobs.append(self._walk)
        self._changed.tell()
        return taken

    def _run(self) -> Process[None]:
        while True:
            while not self._jobs:
                yield self._changed
            yield from self._execute(self._jobs.popleft())

    def _execute(self, job: Job) -> Process[None]:
        self._read = max(self._read, job.taken + timing.MATRIX_WALK + self.BEFORE - 1)
        self._writes = [
            cycle - place + self.latency
            for cycle, fired in reversed(self._rows)
            for place in reversed(fired)
        ][:FURTHEST]
        self._vector = 0
        self._left = job.vectors * job.passes * job.groups
        yield job.taken + timing.MATRIX_WALK + timing.MATRIX_LOCATE
        self._others = self.traffic.reads(self.clock.now)
        yield from self._end_walk(job, self._issued, 1)
        for _ in range(job.groups):
            for number in range(job.passes):
                self._read = max(self._read, self._kept(job, 1) - 1)
                full = yield from self.weights.full.take()
                start = max(self._issued + 1, self._read + 1, full)
                if not number and job.last:
                    start = max(start, (yield from self.parameters.ready.take()))
                    self.parameters.retired.put(start + self.latency - timing.QUEUE)
                elif number:
                    start = max(start, self._begun + timing.REVISIT)
                results = job.fires and number == job.passes - 1
                rows = job.rows if results else ((job.vectors, 0),)
                vectors, fired = rows[0]
                if fired:
                    start = max(start, self._fires_again(job, vectors))
                yield start
                self._begun = start
                self.weights.swaps.put(start)
                yield from self._issue(job, start, rows)
        self.clock.start(self._complete(job, self._read), self._issued)

    def _end_walk(self, job: Job, issued: int, pace: int) -> Process[None]:
        """Let the walk take the next command once the way is free for all vectors that are left.

        ``issued``: when the vector in front of these is, the ones before it ``pace`` cycles apart.
        """
        before = timing.MATRIX_WALKED - self._left
        if self._walk is job and before >= 0:
            yield issued - before * pace
            self._walk = None
            read = max(self._read + self._left, self._kept(job, self._left))
            self._free = max(read - self.BEFORE + 1, self.clock.now)
            self._changed.tell()

    def _kept(self, job: Job, vectors: int) -> int:
        """Return when the last of the next vectors may be issued for the sake of ``distance``."""
        kept = 0
        for number in range(self._vector, min(self._vector + vectors, FURTHEST)):
            ahead = job.distance - number - 1  # results that may be on their way
            if not job.distance or ahead >= len(self._writes):
                continue
            written = self._writes[ahead] if ahead >= 0 else self._writes[0] + 1
            kept = max(kept, written + 1 + self.BEFORE + self._vector + vectors - 1 - number)
        return kept

    def _issue(self, job: Job, start: int, rows: tuple[tuple[int, int], ...]) -> Process[None]:
        """Issue a pass; who goes first at the scratchpad makes it longer."""
        traffic = self.traffic
        for vectors, fired in rows:
            cycles = vectors
            if fired:
                start = max(start, self._fires_again(job, vectors))
                cycles += job.pauses
                traffic.results.add(start + self.latency, cycles, fired)
            self._read = max(self._read, self._issued - timing.MATRIX_AHEAD) + vectors
            self._read = max(self._read, self._kept(job, vectors))
            traffic.matrix_reads.add(self._read - timing.MATRIX_READ - vectors, vectors, vectors)
            self._vector += vectors
            self._left -= vectors
            while True:
                yield self._read - timing.MATRIX_READ
                others = traffic.reads(self._read - timing.MATRIX_READ)
                if others == self._others:
                    break
                self._read += others - self._others
                self._others = others
            last = start + cycles - 1
            if self._left <= timing.MATRIX_WALKED:
                yield from self._end_walk(job, max(last, self._read), cycles // vectors)
            if fired:
                fires = start + vectors - 1 - job.fired[0]
                fires = yield from self._requantizers(fires, fired, job.step)
                last = fires + job.fired[-1]
            self._issued = max(last, self._read)
            if fired:
                self._rows.append((self._issued, job.fired))
                self._fired = self._issued - job.fired[-1]
            yield self._issued
            start = self._issued + 1

    def _fires_again(self, job: Job, vectors: int) -> int:
        """Return when a row may begin whose results follow those of the row that fired last."""
        return self._fired + self.turns - (vectors - 1 - job.fired[0])

    def _requantizers(self, first: int, fired: int, step: int) -> Process[int]:
        """Return when the last vector of a row fires, after those that wait for the vector engine.

        A turn of its keeps back those whose own turn would begin before its end, and end behind
        its begin. The ``first`` one fires in that cycle if none waits, the others each ``step``
        cycles behind the one before.
        """
        turns = self.traffic.turns
        last = first + (fired - 1) * step
        while True:
            yield last
            cycle, left = first, fired
            for turn in turns:
                ahead = max(0, -((cycle + self.turns - 1 - turn) // step))
                if ahead >= left:
                    break
                left -= ahead
                cycle = max(cycle + ahead * step, turn + self.vector_turns)
            reached = cycle + (left - 1) * step
            if reached <= last:
                break
            last = reached
        while turns and turns[0] + self.vector_turns <= last:
            turns.popleft()
        return last

    def _complete(self, job: Job, read: int) -> Process[None]:
        """Wait until a command's last result is written, which nothing delays."""
        done = read - timing.MATRIX_READ
        if job.fires:
            done = max(done, self.clock.now - job.behind + self.latency)
        self._done = max(self._done, done) + 1
        yield self._done
        self.finish(job.index)
