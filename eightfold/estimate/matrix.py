"""Cycles of the matrix engine: passes of vectors, each behind its weights and parameters."""

from collections import deque
from collections.abc import Callable, Sequence

from eightfold import isa
from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.estimate.memory import Fetch, Reader, ReadPort, Traffic
from eightfold.isa.instructions import BIAS, RECORD
from eightfold.isa.issued import FURTHEST, Issued
from eightfold.target.config import AcceleratorConfig


class Job:
    """A MATRIX command as the engine sees it, ``taken`` in a cycle, with its ``distance``.

    ``rows``: vectors and results of each row of a pass, the lead with the first one. The last
    result comes from the vector ``behind`` before the last one. Results of a row come from the
    vectors ``fired``, counted from its last one.
    """

    def __init__(self, index: int, command: Issued, taken: int, distance: int) -> None:
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


class WeightBuffers:
    """eightfold.hw.matrix.weight_stream and eightfold.hw.array.weights: buffers in the order of
    their use."""

    def __init__(self, clock: Clock, config: AcceleratorConfig, port: ReadPort) -> None:
        self.config = config
        unit = min(config.weight_word, config.port)
        self._parts = config.weight_word // unit
        depth = config.weight_buffer // config.port
        self.fetch = Fetch(clock, port, Reader.WEIGHTS, depth, config.port // unit)
        self._runs: deque[list[int]] = deque()  # buffers, words of each
        self._more = Change(clock)
        self._free = self._cycle = 0

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        taken = max(cycle, self._free)
        begun = yield from self.fetch.free(taken + timing.WEIGHT_PARSE)
        self._free = begun + timing.WEIGHT_COMMAND
        weights = command.instruction
        assert isinstance(weights, isa.Weights)
        runs = [[weights.full, self.config.lanes], [weights.partial, weights.partial_lanes]]
        units = weights.words(self.config.lanes) * self._parts
        self.fetch.begin(begun, weights.address // self.config.port, units)
        self._runs.extend(run for run in runs if run[0])
        self._more.tell()
        return taken

    def load(self, swap: int) -> Process[int]:
        """Return when the next buffer is full if the one before is in use from ``swap`` on."""
        while not self._runs:
            yield self._more
        run = self._runs[0]
        run[0] -= 1
        if not run[0]:
            self._runs.popleft()
        words = run[1]
        behind = swap - timing.WEIGHT_LOAD - timing.WEIGHT_WORDS * self._parts
        begun = max(self._cycle, behind)
        self._cycle = yield from self.fetch.take(words * self._parts, begun)
        return max(swap + words, self._cycle + timing.WEIGHT_LOAD)


class ParameterBanks:
    """eightfold.hw.matrix.parameter_stream and eightfold.hw.array.parameters: banks in the order of
    their use."""

    def __init__(self, clock: Clock, config: AcceleratorConfig, port: ReadPort) -> None:
        self.config = config
        self._unit = min(RECORD, config.port)
        units = config.port // self._unit
        self._fetch = Fetch(clock, port, Reader.PARAMETERS, timing.PARAMETER_BEATS, units)
        self._commands: deque[isa.Parameters] = deque()
        self._ready: deque[int] = deque()
        self._retired: deque[int] = deque([0] * (config.matrix_banks - 1))
        self._more, self._loaded, self._freed = Change(clock), Change(clock), Change(clock)
        self._free = 0
        clock.start(self._load())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        taken = max(cycle, self._free)
        begun = yield from self._fetch.free(taken + timing.PARAMETER_PARSE)
        self._free = begun + timing.PARAMETER_COMMAND
        banks = command.instruction
        assert isinstance(banks, isa.Parameters)
        self._fetch.begin(begun, banks.address // self.config.port, -(-banks.size // self._unit))
        self._commands.append(banks)
        self._more.tell()
        return taken

    def take(self) -> Process[int]:
        """Return when the next bank is ready."""
        while not self._ready:
            yield self._loaded
        return self._ready.popleft()

    def retire(self, cycle: int) -> None:
        """Free a bank in ``cycle``."""
        self._retired.append(cycle)
        self._freed.tell()

    def _load(self) -> Process[None]:
        cycle = 0
        while True:
            while not self._commands:
                yield self._more
            banks = self._commands.popleft()
            left = banks.channels
            taken = 0
            if banks.shared:
                cycle = yield from self._fetch.take(RECORD // self._unit, cycle)
            while left:
                channels = min(left, self.config.lanes)
                while not self._retired:
                    yield self._freed
                cycle = max(cycle, self._retired.popleft() - timing.PARAMETER_LOAD)
                left = left - channels
                taken = taken + channels
                if banks.shared:
                    cycle = yield from self._biases(taken, channels, cycle)
                else:
                    units = channels * RECORD // self._unit
                    cycle = yield from self._fetch.take(units, cycle)
                yield cycle + timing.PARAMETER_LOAD
                self._ready.append(cycle + timing.PARAMETER_LOAD)
                self._loaded.tell()

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
        self._job: Job | None = None
        self._changed = Change(clock)
        self._free = 0  # the walk may take a command
        self._read = 0  # by when the last vector that was read could be issued
        self._others = 0  # reads of others before it
        self._issued = 0  # last vector
        self._swap = 0  # first vector of its pass
        self._done = 0
        # Rows with results: their last vector's issue, and the vectors that fire before it.
        self._rows: deque[tuple[int, range]] = deque(maxlen=FURTHEST)
        self._writes: list[int] = []  # of results before this command, the last one first
        self._vector = 0
        clock.start(self._run())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        while self._job:
            yield self._changed
        taken = max(cycle, self._free)
        self._job = Job(index, command, taken, self.distances[index])
        self._changed.tell()
        return taken

    def _run(self) -> Process[None]:
        while True:
            while not self._job:
                yield self._changed
            yield from self._execute(self._job)

    def _execute(self, job: Job) -> Process[None]:
        self._read = max(self._read, job.taken + timing.MATRIX_WALK + self.BEFORE - 1)
        self._writes = [
            cycle - place + self.latency
            for cycle, fired in reversed(self._rows)
            for place in reversed(fired)
        ][:FURTHEST]
        self._vector = 0
        yield job.taken + timing.MATRIX_WALK + timing.MATRIX_LOCATE
        self._others = self.traffic.reads(self.clock.now)
        for _ in range(job.groups):
            for number in range(job.passes):
                self._read = max(self._read, self._kept(job, 1) - 1)
                full = yield from self.weights.load(self._swap)
                start = max(self._issued + 1, self._read + 1, full)
                if not number and job.last:
                    start = max(start, (yield from self.parameters.take()))
                    self.parameters.retire(start + self.latency - timing.QUEUE)
                elif number:
                    start = max(start, self._swap + timing.REVISIT)
                yield start
                self._swap = start
                results = job.fires and number == job.passes - 1
                yield from self._issue(job, start, job.rows if results else ((job.vectors, 0),))
        self._job = None
        self._free = self._read - self.BEFORE + 1
        self._changed.tell()
        self.clock.start(self._complete(job), self._issued)

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
            cycles = max(vectors, fired * self.turns)
            if fired:
                traffic.results.add(start + self.latency, cycles, fired)
            self._read = max(self._read, self._issued - timing.MATRIX_AHEAD) + vectors
            self._read = max(self._read, self._kept(job, vectors))
            traffic.matrix_reads.add(self._read - timing.MATRIX_READ - vectors, vectors, vectors)
            self._vector += vectors
            while True:
                yield self._read - timing.MATRIX_READ
                others = traffic.reads(self._read - timing.MATRIX_READ)
                if others == self._others:
                    break
                self._read += others - self._others
                self._others = others
            last = start + cycles - 1
            if fired:
                last = yield from self._requantizers(start, cycles, fired)
            self._issued = max(last, self._read)
            if fired:
                self._rows.append((self._issued, job.fired))
            yield self._issued
            start = self._issued + 1

    def _requantizers(self, start: int, vectors: int, fired: int) -> Process[int]:
        """Return the last cycle of a row some of whose vectors give way to the vector engine."""
        reserved = self.traffic.reserved
        before = reserved.until(start - 1)
        first = last = start + vectors - 1
        while True:
            yield last
            taken = (reserved.until(last) - before) * fired * self.turns // vectors
            if first + taken <= last:
                return last
            last = first + taken

    def _complete(self, job: Job) -> Process[None]:
        """Wait until a command's last result is written, which nothing delays."""
        done = self._read - timing.MATRIX_READ
        if job.fires:
            done = max(done, self.clock.now - job.behind + self.latency)
        self._done = max(self._done, done) + 1
        yield self._done
        self.finish(job.index)
