"""What a cascade costs in cycles, about: the engines' work, and what waits for what.

The estimate of cycles (`eightfold.estimate`) is close, but takes long: this compares thousands of
ways to cut a chain into strips. Durations are those of the commands for as many rows.
"""

from dataclasses import dataclass, field
from math import prod

from eightfold.compiler.cascade.rows import Held, RowWise
from eightfold.compiler.cascade.schedule import Act, Action, Chain, Schedule
from eightfold.compiler.emit.emitter import Emitter, Issued
from eightfold.config import AcceleratorConfig
from eightfold.isa import Engine, Opcode, Space
from eightfold.isa.vector_fields import reads_b

LATENCY = {Engine.MATRIX: 52, Engine.VECTOR: 48, Engine.MOVER: 40}
"""Cycles from a command's last beat until another that waits for it does its first, about."""

MOVE = 12
"""Cycles of a MOVE beside those of its bytes."""


@dataclass(frozen=True)
class Work:
    """Cycles of an engine, and how many of the scratchpad's reads are not the matrix engine's."""

    cycles: int = 0
    reads: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.cycles + other.cycles, self.reads + other.reads)


def work_of(command: Issued, config: AcceleratorConfig) -> Work:
    """Return what a command takes, without waits."""
    f = command.fields
    if command.instruction.opcode is Opcode.MATRIX:
        vectors = f["y"] * f["x"] + f.get("lead", 0)
        passes = f["ky"] * f["kx"] * f["kc"]
        return Work(f["groups"] * passes * max(vectors, config.lanes))
    if command.instruction.opcode is Opcode.VECTOR:
        operands = 1 + reads_b(f)
        rows = prod(f[f"count{i}"] for i in range(3)) * f["window0"] * f["window1"]
        chunks = -(-f["run"] // config.vector)
        beats = max(operands * chunks, -(-f["run"] // config.vector_lanes))
        return Work(rows * beats, rows * chunks * operands)
    runs = prod(f.get(f"count{i}", 1) for i in range(4))
    memory = {Space.MODEL, Space.ARENA} & {f["source_space"], f["target_space"]}
    unit = config.port if memory else config.vector
    units = runs * -(-f["run"] // unit)
    read = f["source_space"] == Space.SCRATCHPAD
    return Work(MOVE + units, units if read else 0)


@dataclass
class Costs:
    """Cycles of chains in strips; remembers what steps take."""

    config: AcceleratorConfig
    _known: dict[tuple[int, int, bool, bool], Work] = field(default_factory=dict)

    def work(self, step: RowWise, rows: range) -> Work:
        """Return what a step takes for some rows; rows at the ends see padding."""
        image = step.images[step.target]
        key = (step.target, len(rows), rows.start == 0, rows.stop == image.rows)
        if key not in self._known:
            emitter = Emitter(self.config)
            held = {p: Held(Space.SCRATCHPAD, 0, range(i.rows)) for p, i in step.images.items()}
            held |= {place: Held(Space.SCRATCHPAD, 0, range(1)) for place in step.whole}
            step.emit(emitter, held, 0, rows)
            works = [
                work_of(command, self.config)
                for command in emitter.issued
                if command.engine is step.engine
            ]
            self._known[key] = sum(works, Work())
        return self._known[key]

    def cycles(self, schedule: Schedule) -> int:
        """Return the cycles of a chain's images in strips."""
        chain = schedule.chain
        timing = _Timing(schedule)
        for action in schedule.actions():
            engine, work = self._action(chain, action)
            timing.do(action, engine, work)
        images = chain.images[chain.steps[-1].target].count
        return images * timing.end

    def _action(self, chain: Chain, action: Action) -> tuple[Engine, Work]:
        if action.act is Act.COMPUTE:
            step = chain.steps[chain.producers[action.place]]
            return step.engine, self.work(step, action.rows)
        inside = action.act is Act.MOVE
        unit = self.config.vector if inside else self.config.port
        units = -(-len(action.rows) * chain.images[action.place].size // unit)
        return Engine.MOVER, Work(MOVE + units, 0 if action.act is Act.LOAD else units)


class _Timing:
    """When each engine is free, and when the rows of each tensor are there, and read."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._free = dict.fromkeys(Engine, 0)
        self._written: dict[int, int] = {}
        self._read: dict[int, list[int]] = {}
        self.end = 0

    def do(self, action: Action, engine: Engine, work: Work) -> None:
        """Note an action, in the order of the stream."""
        chain, place = self._schedule.chain, action.place
        sources: tuple[int, ...] = ()
        if action.act is Act.COMPUTE:
            sources = chain.steps[chain.producers[place]].sources
        elif action.act is not Act.LOAD:
            sources = (place,)
        start = max([self._free[engine], *(self._written.get(s, 0) for s in sources)])
        writes = action.act is not Act.STORE
        if writes:
            start = max(start, self._overwritten(place, action.strip))
        if work.reads and self._free[Engine.MATRIX] > start and engine is not Engine.MATRIX:
            self._free[Engine.MATRIX] += work.reads
        self._free[engine] = start + work.cycles
        done = start + work.cycles + LATENCY[engine]
        if writes:
            self._written[place] = done
        for source in sources:
            read = self._read.setdefault(source, [0] * self._schedule.strips)
            read[action.strip] = max(read[action.strip], done)
        self.end = max(self.end, done)

    def _overwritten(self, place: int, strip: int) -> int:
        """Return when the rows of the strip whose place a strip takes were read."""
        earlier = strip - 1 - self._schedule.lag(place)
        return self._read[place][earlier] if earlier >= 0 and place in self._read else 0
