"""Commands in program order, with what they read and write, and what orders them.

That is tokens between engines, and of a MATRIX command how far it keeps from results of the
commands before it: its ``distance``. Vectors and results are numbered in the order in which they
are read and written. If vector v of a command reads what the n-th last result of the commands
before it has written, then that result is one of at least n that are not written until it is, and v
has to wait: ``distance`` <= v + n.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.isa.commands import COMMANDS, Command
from eightfold.isa.enumerations import ENGINES, Engine, Space
from eightfold.isa.instructions import Instruction, Matrix
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Interval:
    """Bytes ``[start, stop)`` of a space; with a ``pitch``, of each so many the first ``size``."""

    space: Space
    start: int
    stop: int
    pitch: int = 0
    size: int = 0

    @classmethod
    def repeated(cls, start: int, stop: int, pitch: int, size: int) -> "Interval":
        """Return ``size`` bytes of each ``pitch`` in the scratchpad; all if that leaves no gaps."""
        pitched = (pitch, size) if size < pitch else ()
        return cls(Space.SCRATCHPAD, start, stop, *pitched)

    @classmethod
    def of_runs(
        cls, start: int, run: int, loops: Iterable[tuple[int, int]], space: Space = Space.SCRATCHPAD
    ) -> "Interval":
        """Return the bytes from the first to the last of runs in loops of (count, step)."""
        reach = [(count - 1) * step for count, step in loops]
        low = start + sum(step for step in reach if step < 0)
        return cls(space, low, start + sum(step for step in reach if step > 0) + run)

    def overlaps(self, other: "Interval") -> bool:
        """Return whether a byte may be in both: of different pitches, if their ends overlap."""
        if self.space != other.space or self.start >= other.stop or other.start >= self.stop:
            return False
        if not self.pitch or self.pitch != other.pitch:
            return True
        ahead = (other.start - self.start) % self.pitch
        return ahead < self.size or self.pitch - ahead < other.size


@dataclass(frozen=True, kw_only=True)
class Issued:
    """A command of the stream, without its tokens and index.

    ``reads`` and ``writes`` cover the bytes that it touches; ``operator`` is the one it belongs to,
    ``step`` the number of the step: -1 before the first, of END that behind the last.
    """

    instruction: Instruction
    operator: int
    step: int = -1
    reads: tuple[Interval, ...] = ()
    writes: tuple[Interval, ...] = ()

    @property
    def loads_table(self) -> bool:
        """Whether it fills a table of the vector engine."""
        return any(write.space == Space.TABLES for write in self.writes)

    @property
    def command(self) -> Command:
        """What kind of command it is."""
        return COMMANDS[self.instruction.opcode]

    @property
    def engine(self) -> Engine | None:
        """Which engine executes it, if any."""
        return ENGINES.get(self.instruction.opcode)

    @cached_property
    def fields(self) -> Mapping[str, int]:
        """The fields by name, as numbers."""
        return self.instruction.values()


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The commands of consecutive operators, for a configuration.

    ``operators`` are their indices, in order: also of those that have no commands.
    """

    config: AcceleratorConfig
    issued: tuple[Issued, ...]
    operators: tuple[int, ...]


def assign_tokens(issued: Sequence[Issued]) -> tuple[list[int], list[int]]:
    """Return the ``wait`` and ``signal`` bits of every command.

    A command waits, for each engine, for the last command of that engine before it that touches the
    same bytes, at least one of the two writing. Engines complete commands in order, so an engine
    that has waited for a command need not wait for an earlier one, and the n-th token from an
    engine to another is the one that the n-th wait takes. Dependences point backwards only: tokens
    cannot deadlock. MATRIX commands need none among each other: they keep `distances`.
    """
    waits = [0] * len(issued)
    signals = [0] * len(issued)
    before = {engine: _History(issued) for engine in Engine}
    waited: dict[tuple[Engine, Engine], int] = {}
    for index, command in enumerate(issued):
        if command.engine is None:
            continue
        for engine, earlier in before.items():
            if engine is command.engine is Engine.MATRIX:
                continue
            known = waited.get((engine, command.engine), -1)
            other = earlier.last_conflict(command, known)
            if other > known:
                waited[engine, command.engine] = other
                signals[other] |= 1 << command.engine.value
                waits[index] |= 1 << engine.value
        before[command.engine].append(index)
    return waits, signals


class _History:
    """An engine's commands so far, in blocks with hulls: most blocks have nothing of a command."""

    BLOCK = 32

    def __init__(self, issued: Sequence[Issued]) -> None:
        self._issued = issued
        self._blocks: list[list[int]] = []
        self._hulls: list[tuple[dict[Space, Interval], dict[Space, Interval]]] = []

    def append(self, index: int) -> None:
        """Note a command, behind all others."""
        if not self._blocks or len(self._blocks[-1]) == self.BLOCK:
            self._blocks.append([])
            self._hulls.append(({}, {}))
        self._blocks[-1].append(index)
        command = self._issued[index]
        for hull, intervals in zip(self._hulls[-1], (command.reads, command.writes), strict=True):
            for each in intervals:
                known = hull.get(each.space, each)
                low, high = min(known.start, each.start), max(known.stop, each.stop)
                hull[each.space] = Interval(each.space, low, high)

    def last_conflict(self, command: Issued, known: int) -> int:
        """Return the last command that conflicts with one; ``known`` if there is none behind it."""
        for block, (reads, writes) in zip(
            reversed(self._blocks), reversed(self._hulls), strict=True
        ):
            if block[-1] <= known:
                break
            if not (
                _any_overlap(tuple(writes.values()), command.reads + command.writes)
                or _any_overlap(tuple(reads.values()), command.writes)
            ):
                continue
            for other in reversed(block):
                if other <= known:
                    return known
                if conflict(self._issued[other], command):
                    return other
        return known


def hoist_tables(issued: Sequence[Issued]) -> list[Issued]:
    """Return the commands with every table's load right behind the table's last use before it.

    Loads then run while other engines work. Those of tables that were not used before come behind
    the first operator's commands, whose inputs are waited for.
    """
    ordered: list[Issued] = []
    for command in issued:
        targets = [interval for interval in command.writes if interval.space == Space.TABLES]
        place = len(ordered)
        first = issued[1].operator if len(issued) > 1 else 0
        while targets and place > 0 and ordered[place - 1].operator != first:
            touched = ordered[place - 1].reads + ordered[place - 1].writes
            if _any_overlap(touched, tuple(targets)):
                break
            place -= 1
        ordered.insert(place, command)
    return ordered


def conflict(first: Issued, second: Issued) -> bool:
    """Return whether two commands touch the same byte, at least one of them writing."""
    return (
        _any_overlap(first.writes, second.reads)
        or _any_overlap(first.writes, second.writes)
        or _any_overlap(first.reads, second.writes)
    )


def _any_overlap(some: tuple[Interval, ...], others: tuple[Interval, ...]) -> bool:
    for a in some:
        for b in others:
            if a.overlaps(b):
                return True
    return False


def encode(config: AcceleratorConfig, issued: Sequence[Issued]) -> np.ndarray:
    """Return the commands with tokens, distances and indices, uint32 words."""
    waits, signals = assign_tokens(issued)
    own = distances(config, [command.instruction for command in issued])
    words = []
    for i, command in enumerate(issued):
        header = {"wait": waits[i], "signal": signals[i], "index": i & 0xFFFF}
        distance = {"distance": own[i]} if command.engine is Engine.MATRIX else {}
        words.append(command.command.encode(**{**command.fields, **header, **distance}))
    return np.concatenate(words)


FURTHEST = 255
"""The longest distance: of vectors and results beyond it none counts."""

_Spans = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Where the bytes of each vector or result start and stop in the scratchpad."""


def distances(config: AcceleratorConfig, instructions: Sequence[Instruction | None]) -> list[int]:
    """Return the longest ``distance`` of every MATRIX, 0 for what is none or has none before it."""
    found = [0] * len(instructions)
    results = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for index, matrix in enumerate(instructions):
        if isinstance(matrix, Matrix):
            found[index] = _distance(_first_vectors(config, matrix), results)
            own = _last_results(config, matrix)
            starts, stops = (
                np.concatenate(each)[-FURTHEST:] for each in zip(results, own, strict=True)
            )
            results = starts, stops
    return found


def _distance(vectors: _Spans, results: _Spans) -> int:
    count = len(results[0])
    starts, stops = vectors[0][:, None], vectors[1][:, None]
    if not count or starts.min() >= results[1].max() or stops.max() <= results[0].min():
        return min(count, 1) * FURTHEST
    common = (starts < results[1]) & (results[0] < stops) & (starts < stops)
    numbers = np.flatnonzero(common.any(axis=1))
    behind = 1 + np.argmax(common[numbers, ::-1], axis=1)
    return int(min([FURTHEST, *(numbers + behind)]))


@lru_cache(maxsize=4096)  # a stream is looked at for its estimate and for its words
def _first_vectors(config: AcceleratorConfig, c: Matrix) -> _Spans:
    """Return the bytes of a command's first vectors that do not read as fill."""
    passes, places = np.divmod(np.arange(min(c.passes * c.vectors, FURTHEST)), c.vectors)
    group, ky, kx, kc = np.unravel_index(passes, (c.groups, c.ky, c.kx, c.kc))
    y, x = np.divmod(np.maximum(places - c.lead, 0), c.x)
    number = c.row0 + ky * c.ky_rows + y * c.y_rows
    row = c.base + group * c.group_step + ky * c.ky_step + y * c.y_step
    column = c.column0 + kx * c.kx_step + kc * config.width + x * c.x_step
    size = bytes_used(config, bool(c.depthwise), bool(c.pairs), _lanes(config, c, group))
    low, high = np.maximum(column, 0), np.minimum(column + size, c.columns)
    inside = (places >= c.lead) & (number >= 0) & (number < c.rows)
    return row + low, row + np.where(inside, high, low)


@lru_cache(maxsize=4096)
def _last_results(config: AcceleratorConfig, c: Matrix) -> _Spans:
    """Return the bytes of a command's last results."""
    shape = c.groups, len(c.firing_rows), len(c.firing_columns)
    count = int(np.prod(shape)) if c.last else 0
    group, y, x = np.unravel_index(np.arange(max(0, count - FURTHEST), count), shape)
    starts = c.target + group * c.target_group + y * c.target_y + x * c.target_x
    return starts, starts + _lanes(config, c, group)


def bytes_used(config: AcceleratorConfig, depthwise: bool, pairs: bool, lanes: Any) -> Any:
    """Return how many bytes of a vector reach the ``lanes`` channels of a group."""
    if depthwise:
        return 2 * config.pixel if pairs else lanes
    return config.width


def _lanes(config: AcceleratorConfig, c: Matrix, group: NDArray[np.int64]) -> NDArray[np.int64]:
    full = min(config.lanes, config.width) if c.depthwise else config.lanes
    return np.where(group == c.groups - 1, c.last_lanes, full)
