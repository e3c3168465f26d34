"""Cycles of the matrix engine: passes of vectors, each behind its weights."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.estimate.constants import ParameterBanks, WeightBuffers
from eightfold.estimate.memory import Traffic
from eightfold.isa.issued import Issued
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Job:
    """A command as the engine sees it.

    ``rows``: vectors and results of each row of a pass, the lead with the first one. The last
    result comes from the vector ``behind`` before the last one.
    """

    index: int
    taken: int
    groups: int
    passes: int
    rows: tuple[tuple[int, int], ...]
    behind: int
    last: bool

    @property
    def fires(self) -> bool:
        """Whether there are results."""
        return any(fired for _, fired in self.rows)

    @property
    def vectors(self) -> int:
        """Vectors of a pass."""
        return sum(vectors for vectors, _ in self.rows)


def matrix_job(index: int, command: Issued, taken: int) -> Job:
    """Return a MATRIX command that was taken in a cycle."""
    f = command.fields
    y, x = (range(f.get(f"fire_{axis}0", 0), f[axis], f[f"fire_{axis}_step"]) for axis in "yx")
    last = f.get("last", 0)
    rows = [(f["x"], len(x) if last and row in y else 0) for row in range(f["y"])]
    rows[0] = (f["x"] + f.get("lead", 0), rows[0][1])
    return Job(
        index=index,
        taken=taken,
        groups=f["groups"],
        passes=f["ky"] * f["kx"] * f["kc"],
        rows=tuple(rows),
        behind=f["y"] * f["x"] - 1 - (y[-1] * f["x"] + x[-1]) if y and x else 0,
        last=bool(last),
    )


class Matrix:
    """eightfold.hw.matrix.engine: one vector per cycle, from pass to pass as well.

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
        self._jobs: deque[Job] = deque()
        self._walks = False
        self._changed = Change(clock)
        self._free = 0  # the walk may take a command
        self._read = 0  # by when the last vector that was read could be issued
        self._others = 0  # reads of others before it
        self._issued = 0  # last vector
        self._swap = 0  # first vector of its pass
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
        self._others = self.traffic.reads(self.clock.now)
        for _ in range(job.groups):
            for number in range(job.passes):
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
                yield from self._issue(start, job.rows if results else ((job.vectors, 0),))
        self._walks = False
        self._free = self._read - before + 1
        self._changed.tell()
        self.clock.start(self._complete(job), self._issued)

    def _issue(self, start: int, rows: tuple[tuple[int, int], ...]) -> Process[None]:
        """Issue a pass; who goes first at the scratchpad makes it longer."""
        traffic = self.traffic
        for vectors, fired in rows:
            if fired:
                traffic.results.add(start + self.latency, vectors, fired)
            self._read = max(self._read, self._issued - timing.MATRIX_AHEAD) + vectors
            while True:
                yield self._read - timing.MATRIX_READ
                others = traffic.reads(self._read - timing.MATRIX_READ)
                if others == self._others:
                    break
                self._read += others - self._others
                self._others = others
            self._issued = max(start + vectors - 1, self._read)
            yield self._issued
            start = self._issued + 1

    def _complete(self, job: Job) -> Process[None]:
        """Wait until a command's last result is written, which nothing delays."""
        done = self._read - timing.MATRIX_READ
        if job.fires:
            done = max(done, self.clock.now - job.behind + self.latency)
        self._done = max(self._done, done) + 1
        yield self._done
        self.finish(job.index)
