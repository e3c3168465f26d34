"""What a cascade costs in cycles, about: the engines' work, and what waits for what.

The estimate of cycles (`eightfold.estimate`) is close, but takes long: this compares thousands of
ways to cut a chain into strips. Durations are those of `eightfold.estimate.cost` for the commands
of as many rows. Networks repeat their blocks: what was found out about the strips of one block
holds for all that are like it, with other tensors.
"""

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from eightfold.compiler.cascade.row_wise import Held, RowWise
from eightfold.compiler.cascade.schedule import Act, Action, Chain, Choice, Impossible, Schedule
from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.exact import CompileError
from eightfold.compiler.steps.elementwise import Pointwise
from eightfold.estimate.cost import LATENCY, MOVE_COMMAND, Cost, copied, quick
from eightfold.isa import COMMANDS, Engine, Opcode, Space
from eightfold.isa.shapes import FieldError
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming

WORDS = {
    Engine.MATRIX: COMMANDS[Opcode.MATRIX].words,
    Engine.VECTOR: COMMANDS[Opcode.VECTOR].words,
    Engine.MOVER: COMMANDS[Opcode.MOVE].words,
}
"""The words of a command in an engine's queue."""

TABLE = 256 + MOVE_COMMAND + LATENCY[Engine.MOVER]
"""Cycles until a table is there."""


@dataclass
class Costs:
    """Cycles of chains in strips, with a memory; remembers what steps take."""

    config: AcceleratorConfig
    memory: MemoryTiming = IDEAL
    _known: dict[tuple[int, int, bool, bool], Cost] = field(default_factory=dict)

    def work(self, step: RowWise, rows: range) -> Cost:
        """Return what a step takes for some rows; rows at the ends see padding.

        Raises Impossible if a command has no room for its numbers.
        """
        image = step.images[step.target]
        key = (step.target, len(rows), rows.start == 0, rows.stop == image.rows)
        if key not in self._known:
            emitter = Emitter(self.config)
            held = {p: Held(Space.SCRATCHPAD, 0, range(i.rows)) for p, i in step.images.items()}
            held |= {tensor: Held(Space.SCRATCHPAD, 0, range(1)) for tensor in step.whole}
            try:
                step.emit(emitter, held, 0, rows)
            except (CompileError, FieldError):
                raise Impossible from None
            works = [
                quick(command.instruction, self.config, self.memory)
                for command in emitter.issued
                if command.engine is step.engine
            ]
            self._known[key] = sum(works, Cost())
        return self._known[key]

    def cycles(self, schedule: Schedule) -> int:
        """Return the cycles of a chain's images in strips."""
        chain = schedule.chain
        timing = _Timing(schedule, self.config.command_queue)
        tables = sum(_tables(step) for step in chain.steps)
        reloaded = tables if tables > self.config.tables else 0
        for action in schedule.actions():
            engine, work = self._action(chain, action)
            if reloaded and engine is Engine.VECTOR:
                step = chain.steps[chain.producers[action.tensor]]
                work += Cost(_tables(step) * TABLE)
            timing.add(action, engine, work)
        images = chain.images[chain.steps[-1].target].count
        return images * timing.end

    def _action(self, chain: Chain, action: Action) -> tuple[Engine, Cost]:
        if action.act is Act.COMPUTE:
            step = chain.steps[chain.producers[action.tensor]]
            return step.engine, self.work(step, action.rows)
        inside = action.act is Act.MOVE
        unit = self.config.vector if inside else self.config.port
        units = -(-len(action.rows) * chain.images[action.tensor].size // unit)
        reads = 0 if action.act is Act.LOAD else units
        cost = copied(units, reads, self.config, None if inside else self.memory)
        return Engine.MOVER, cost if inside else cost + Cost(self.memory.latency - IDEAL.latency)


def _tables(step: RowWise) -> int:
    """Return how many tables a step's commands take."""
    return len(step.step.operation.tables) if isinstance(step.step, Pointwise) else 0


class _Timing:
    """When each engine is free, and when the rows of each tensor are there, and read."""

    def __init__(self, schedule: Schedule, queue: int) -> None:
        self._schedule = schedule
        self._started = {engine: deque[int](maxlen=queue // WORDS[engine]) for engine in Engine}
        self._dispatched = 0
        self._free = dict.fromkeys(Engine, 0)
        self._written: dict[int, list[tuple[int, int]]] = {}
        self._read: dict[int, list[int]] = {}
        self._reads: list[tuple[int, int, int]] = []  # from, until, reads of the scratchpad
        self._touched: dict[int, int] = {}
        self._sharing = _sharing(schedule)
        self.end = 0

    def add(self, action: Action, engine: Engine, work: Cost) -> None:
        """Note an action, in the order of the stream."""
        chain = self._schedule.chain
        tensor = action.tensor
        sources: tuple[int, ...] = ()
        if action.act is Act.COMPUTE:
            sources = chain.steps[chain.producers[tensor]].sources
        elif action.act is not Act.LOAD:
            sources = (tensor,)
        # When the rows of the strip are there, at the latest.
        written = (reversed(self._written.get(source, ())) for source in sources)
        there = (next((done for n, done in each if n <= action.strip), 0) for each in written)
        start = max(self._free[engine], *there, 0)
        started = self._started[engine]
        if len(started) == started.maxlen:  # commands wait in order, also for other engines' queues
            self._dispatched = max(self._dispatched, started[0])
        start = max(start, self._dispatched)
        writes = action.act is not Act.STORE
        if writes:
            start = max(start, self._reusable(tensor, action.strip))
        end = start + work.cycles
        if engine is Engine.MATRIX:
            end += self._stalled_by(start, end)
        elif work.reads:
            self._reads.append((start, end, work.reads))
            if (busy := self._free[Engine.MATRIX]) > start:
                self._free[Engine.MATRIX] += self._stalled_by(start, busy, self._reads.pop())
                self._reads.append(
                    (min(busy, end), end, work.reads * max(0, end - busy) // (end - start))
                )
        started.extend([start] * work.commands)
        self._free[engine] = end
        done = end + LATENCY[engine]
        if writes:
            self._written.setdefault(tensor, []).append((action.strip, done))
            self._touched[tensor] = done
        for source in sources:
            self._touched[source] = done
            read = self._read.setdefault(source, [0] * self._schedule.strips)
            strip = action.strip - (action.act is Act.MOVE)  # a halo is the strip's before
            read[strip] = max(read[strip], done)
        self.end = max(self.end, done)

    def _stalled_by(self, start: int, end: int, *reads: tuple[int, int, int]) -> int:
        """Return by how many cycles others' reads make the matrix engine's work longer."""
        if not reads:
            reads = tuple(each for each in self._reads if each[1] > start)
            self._reads = list(reads)
        overlaps = (
            (min(end, until) - max(start, since), until - since, n) for since, until, n in reads
        )
        return sum(count * max(0, shared) // max(1, length) for shared, length, count in overlaps)

    def _reusable(self, tensor: int, strip: int) -> int:
        """Return when what a strip's rows take the place of was read."""
        earlier = strip - 1 - self._schedule.lags[tensor]
        read = self._read[tensor][earlier] if earlier >= 0 and tensor in self._read else 0
        return max(
            [read, *(self._touched.get(other, 0) for other in self._sharing.get(tensor, ()))]
        )


def _sharing(schedule: Schedule) -> dict[int, list[int]]:
    """Return the tensors whose buffers share bytes with each one's."""
    chain, (offsets, _) = schedule.chain, schedule.buffers
    spans = {
        tensor: (offset, offset + schedule.tracks[tensor].capacity * chain.images[tensor].size)
        for tensor, offset in offsets.items()
        if tensor in chain.images
    }
    return {
        tensor: [
            p for p, other in spans.items() if p != tensor and start < other[1] and other[0] < stop
        ]
        for tensor, (start, stop) in spans.items()
    }


@dataclass
class Trial:
    """A chain in strips: what they need and take.

    ``size``: bytes of the room that the buffers need; ``halo``: whether strips keep rows of those
    before. ``cycles`` raises Impossible if a command has no room for its numbers.
    """

    _schedule: Schedule
    _costs: Costs

    def __post_init__(self) -> None:
        self.size = self._schedule.buffers[1]
        self.halo = any(track.halo for track in self._schedule.tracks.values())

    @cached_property
    def cycles(self) -> int:
        return self._costs.cycles(self._schedule)


@dataclass
class Trials:
    """Tries chains in strips, each kind of chain and strips once; ``costs`` knows steps' work.

    ``schedules`` are those of chains and choices, whatever the memory: those of several searches.
    """

    costs: Costs
    schedules: dict[Hashable, Schedule | None] = field(default_factory=dict)
    _tried: dict[Hashable, Trial | None] = field(default_factory=dict)
    _steps: dict[int, Hashable] = field(default_factory=dict)
    _kinds: dict[Hashable, int] = field(default_factory=dict)
    _like: dict[Hashable, Schedule] = field(default_factory=dict)

    def of(self, chain: Chain) -> Callable[[Choice], Trial]:
        """Return what tries strips of a chain; it raises Impossible for impossible ones."""
        names = _numbers(chain)
        kind = self._kind(chain, names)

        def trial(choice: Choice) -> Trial:
            recomputed = frozenset(names[tensor] for tensor in choice.recomputed)
            key = (kind, replace(choice, recomputed=recomputed))
            if key not in self._tried:
                schedule = self._schedule(chain, choice)
                self._tried[key] = None if schedule is None else Trial(schedule, self.costs)
            if (found := self._tried[key]) is None:
                raise Impossible
            return found

        return trial

    def _schedule(self, chain: Chain, choice: Choice) -> Schedule | None:
        """Return the strips of a chain; None for impossible ones."""
        steps = tuple(step.target for step in chain.steps)
        rows = (steps, chain.outside, choice.height, choice.recomputed)
        key = (rows, choice)
        if key not in self.schedules:
            try:
                self.schedules[key] = Schedule(chain, choice, self._like.get(rows))
            except Impossible:
                self.schedules[key] = None
        if (found := self.schedules[key]) is not None:
            self._like.setdefault(rows, found)
        return found

    def _kind(self, chain: Chain, names: Mapping[int, int]) -> int:
        """Return what is equal for chains whose strips need and take the same, as a number."""
        steps = []
        for step in chain.steps:
            images = tuple((names[tensor], image) for tensor, image in step.images.items())
            whole = tuple((names[tensor], chain.sizes[tensor]) for tensor in step.whole)
            steps.append((self._likeness(step), names[step.target], images, whole))
        tensors = (frozenset(names[p] for p in some) for some in (chain.results, chain.outside))
        return self._kinds.setdefault((*steps, *tensors), len(self._kinds))

    def _likeness(self, step: RowWise) -> Hashable:
        if step.target not in self._steps:
            rows = step.images[step.target].rows
            work = [self._work(step, part) for part in (range(1), range(rows // 2), range(rows))]
            self._steps[step.target] = (type(step.step), step.likeness, *work)
        return self._steps[step.target]

    def _work(self, step: RowWise, rows: range) -> Cost | None:
        try:
            return self.costs.work(step, rows)
        except Impossible:
            return None


def _numbers(chain: Chain) -> dict[int, int]:
    """Return the numbers of a chain's tensors, in the order in which its steps name them."""
    tensors = (tensor for step in chain.steps for tensor in (*step.images, *step.whole))
    return {tensor: number for number, tensor in enumerate(dict.fromkeys(tensors))}
