"""Cycles of the matrix engine: passes of vectors, each behind its weights."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from eightfold.compiler import estimate_timing as timing
from eightfold.compiler.emitter import Issued
from eightfold.compiler.estimate_clock import Change, Clock, Process
from eightfold.compiler.estimate_constants import ParameterBanks, WeightBuffers
from eightfold.compiler.estimate_memory import Traffic
from eightfold.config import AcceleratorConfig


@dataclass(frozen=True)
class Job:
    """A command as the engine sees it.

    ``fired`` of the ``vectors`` of a pass fire, the last one ``behind`` vectors before its end.
    """

    index: int
    taken: int
    groups: int
    passes: int
    vectors: int
    fired: int
    behind: int
    last: bool


def matrix_job(index: int, command: Issued, taken: int) -> Job:
    """Return a MATRIX command that was taken in a cycle."""
    f = command.fields
    counts, ends = [], []
    for axis in ("y", "x"):
        first, step = f.get(f"fire_{axis}0", 0), f["fire_" + axis + "_step"]
        counts.append(max(0, -(-(f[axis] - first) // step)))
        ends.append(first + (counts[-1] - 1) * step)
    return Job(
        index=index,
        taken=taken,
        groups=f["groups"],
        passes=f["ky"] * f["kx"] * f["kc"],
        vectors=f.get("lead", 0) + f["y"] * f["x"],
        fired=counts[0] * counts[1],
        behind=f["y"] * f["x"] - 1 - (ends[0] * f["x"] + ends[1]),
        last=bool(f.get("last", 0)),
    )


class Results:
    """Results that wait for the scratchpad, which takes one in each cycle without other writes.

    Seen from the issue of their vectors, as if the way to the queue took no time.
    """

    def __init__(self, traffic: Traffic) -> None:
        self.waiting = 0
        self._traffic, self._others, self._until = traffic, 0, 0

    def advance(self, cycle: int, new: int = 0) -> None:
        """Go on to a cycle, until which so many results have come."""
        # Others' writes are counted in bursts: there may be more of them than cycles for a while.
        free = cycle - self._until - (self._traffic.writes - self._others)
        self.waiting = max(0, self.waiting + new - free)
        self._others, self._until = self._traffic.writes, cycle


class Matrix:
    """hw.matrix_engine: one vector per cycle, from pass to pass as well.

    A vector's cycle is that of its issue; it is read some cycles earlier, up to as far ahead as the
    queue behind the scratchpad allows.
    """

    def __init__(
        self,
        clock: Clock,
        config: AcceleratorConfig,
        constants: tuple[WeightBuffers, ParameterBanks],
        traffic: Traffic,
        finish: Callable[[int], None],
    ) -> None:
        self.clock, self.traffic, self.finish = clock, traffic, finish
        self.weights, self.parameters = constants
        self.latency = timing.array_latency(config)
        self.depth = config.output_depth
        self._jobs: deque[Job] = deque()
        self._walks, self._changed = False, Change(clock)
        self._free = 0  # the walk may take a command
        self._read = 0  # by when the last vector that was read could be issued
        self._others = 0  # reads of others before it
        self._issued = 0  # last vector
        self._swap = 0  # first vector of its pass
        self._results = Results(traffic)
        self._done = 0
        clock.start(self._run())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        """Take a MATRIX command."""
        while self._walks:
            yield self._changed
        taken = max(cycle, self._free)
        self._walks = True
        self._jobs.append(matrix_job(index, command, taken))
        self._changed.tell()
        return taken

    def _run(self) -> Process[None]:
        while True:
            while not self._jobs:
                yield self._changed
            yield from self._execute(self._jobs.popleft())

    def _execute(self, job: Job) -> Process[None]:
        before = timing.MATRIX_LOCATE + timing.MATRIX_READ
        self._read = max(self._read, job.taken + timing.MATRIX_WALK + before - 1)
        yield job.taken + timing.MATRIX_WALK + timing.MATRIX_LOCATE
        self._others = self.traffic.reads
        for _ in range(job.groups):
            for number in range(job.passes):
                full = yield from self.weights.load(self._swap)
                start = max(self._issued + 1, self._read + 1, full)
                if not number and job.last:
                    start = max(start, (yield from self.parameters.take()))
                    self.parameters.retire(start + self.latency)
                elif number:
                    start = max(start, self._swap + timing.REVISIT)
                yield start
                self.weights.fetch.release()
                self._swap = start
                results = job.last and number == job.passes - 1
                yield from self._issue(job, start, results)
        self._walks, self._free = False, self._read - before + 1
        self._changed.tell()
        self.clock.start(self._complete(job), self._issued)

    def _issue(self, job: Job, start: int, results: bool) -> Process[None]:
        """Issue a pass; who goes first at the scratchpad makes it longer."""
        traffic = self.traffic
        if results:
            self._results.advance(start - 1)
        begun, stolen = max(self._read, self._issued - timing.MATRIX_AHEAD), -1
        while traffic.reads - self._others != stolen:
            stolen = traffic.reads - self._others
            self._read = begun + job.vectors + stolen
            yield self._read - timing.MATRIX_READ
        self._others += stolen
        self._issued = max(start + job.vectors - 1, self._read)
        yield self._issued
        if results:
            self._results.advance(self._issued, job.fired)
        while self._results.waiting > self.depth:
            yield self._issued + self._results.waiting - self.depth
            self._issued = self.clock.now
            self._results.advance(self._issued)

    def _complete(self, job: Job) -> Process[None]:
        """Wait until a command's last result is written."""
        done = self._read - timing.MATRIX_READ
        if job.last and job.fired:
            behind, left = job.behind, self._results.waiting
            while left:
                others = self.traffic.writes
                yield self.clock.now + left
                left = self.traffic.writes - others
                behind = 0
            done = max(done, self.clock.now - behind + self.latency)
        self._done = max(self._done, done) + 1
        yield self._done
        self.finish(job.index)
