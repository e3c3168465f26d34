"""Random programs: streams of all engines that are legal, their tokens, and what they work on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa import Opcode, Row, Space
from eightfold.isa.decode import CommandError, Decoded, command_places
from eightfold.isa.issued import distances
from eightfold.isa.shapes import FieldError
from eightfold.sim.machine.accesses import TABLE_BYTES, Accesses, accesses, overwritten
from eightfold.sim.machine.endings import Known
from eightfold.sim.machine.legality import check_legal
from eightfold.sim.machine.machine import Machine
from eightfold.sim.stimuli.beats import records
from eightfold.sim.stimuli.commands import begin_command, end_command
from eightfold.sim.stimuli.copies import CrowdedError, indices, random_gather, random_move
from eightfold.sim.stimuli.matrix import MatrixJob, MatrixRandom
from eightfold.sim.stimuli.vector import random_command, random_tables
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Item:
    """A command between BEGIN and END, without tokens; fields not given are 0."""

    opcode: isa.Opcode
    fields: Mapping[str, int] = field(hash=False)

    def decoded(self, number: int = 0) -> Decoded:
        """Return it as if read from a stream."""
        names = [place.name for place in command_places(self.opcode)[len(isa.HEADER) :]]
        fields = dict.fromkeys(names, 0) | dict(self.fields)
        return Decoded(number, self.opcode, (), (), fields)


def stream(
    config: AcceleratorConfig, items: Sequence[Item], rng: np.random.Generator
) -> list[NDArray[np.uint32]]:
    """Return the words of BEGIN, of each item with the tokens that it needs, and of END.

    A command waits for the last one before it, of each engine, that touches a byte which it touches
    too, one of them writing; now and then for a later one, which is as right. In half of the
    streams those of the matrix engine wait for each other by `distance` instead.
    """
    apart = [0] * len(items)
    if rng.random() < 0.5:
        matrix = [
            isa.Matrix(**item.decoded().fields) if item.opcode == Opcode.MATRIX else None
            for item in items
        ]
        apart = distances(config, matrix)
    tokens = _tokens(config, items, rng, any(apart))
    words = [begin_command(config).words]
    for item, distance, wait, signal in zip(items, apart, *tokens, strict=True):
        header = {"index": len(words), "wait": wait, "signal": signal}
        fields = dict(item.fields) | ({"distance": distance} if distance else {})
        words.append(isa.COMMANDS[item.opcode].encode(**header, **fields))
    return [*words, end_command(len(words)).words]


def _tokens(
    config: AcceleratorConfig, items: Sequence[Item], rng: np.random.Generator, apart: bool
) -> tuple[list[int], list[int]]:
    """Return the ``wait`` and ``signal`` bits of every item."""
    waits, signals = [0] * len(items), [0] * len(items)
    touched: list[Accesses] = []
    taken: dict[tuple[isa.Engine, isa.Engine], int] = {}
    for number, item in enumerate(items):
        touched.append(accesses(config, item.decoded()))
        if item.opcode not in isa.ENGINES:
            continue
        engine = isa.ENGINES[item.opcode]
        for other in isa.Engine:
            if apart and other is engine is isa.Engine.MATRIX:
                continue
            theirs = [n for n in range(number) if isa.ENGINES.get(items[n].opcode) == other]
            since = [n for n in theirs if n > taken.get((other, engine), -1)]
            needed = [n for n in since if _conflict(touched[n], touched[number])]
            if rng.random() < 0.15 and since:
                needed.append(int(rng.choice([n for n in since if n >= max(needed, default=0)])))
            if needed:
                last = taken[other, engine] = max(needed)
                waits[number] |= 1 << other.value
                signals[last] |= 1 << engine.value
    return waits, signals


def _conflict(one: Accesses, other: Accesses) -> bool:
    """Return whether both touch a byte, and one of them writes it; the model never changes."""
    pairs = ((one.writes, other.reads), (one.reads, other.writes), (one.writes, other.writes))
    return any(
        len(np.intersect1d(offsets, second[space], assume_unique=True)) > 0
        for first, second in pairs
        for space, offsets in first.items()
        if space in second
    )


WINDOW = 4096
"""Bytes of the scratchpad that a program works on, from its begin; as much of the arena comes first
in it."""

INDICES = 512
"""The first of these bytes are the indices of GATHER, and never written."""

BEHIND = 700
"""Bytes of the arena behind those."""

MODEL = 6144
"""Bytes of the model region at most."""

ROWS = (Row.NONE, Row.NONE, Row.NONE, *(row for row in Row if row != Row.NONE))

TRIALS = 200
"""Draws of a command, after which a program goes on without it."""


@dataclass(frozen=True)
class Program:
    """A legal program: its commands without BEGIN, END and tokens, and the regions."""

    items: tuple[Item, ...]
    model: bytes
    arena: NDArray[np.uint8]


class ProgramRandom:
    """Draws one program."""

    def __init__(self, config: AcceleratorConfig, rng: np.random.Generator) -> None:
        self.config, self.rng = config, rng
        self.small = config.replace(scratchpad=WINDOW)
        self.memory = rng.integers(0, 256, MODEL + WINDOW + BEHIND, dtype=np.uint8)
        self.arena = self.memory[MODEL:]
        self.machine = Machine(config, self.memory, (0, MODEL), (MODEL, WINDOW + BEHIND))
        self.known = Known(config)
        self.items: list[Item] = []
        self.used = 0  # bytes of the model region

    def program(self, count: int) -> Program:
        """Return a program of ``count`` draws, and what loads and stores the window."""
        arena = self.arena.copy()
        taken = np.zeros(WINDOW, np.bool_)
        gathers = [self._gather(arena, taken) for _ in range(int(self.rng.integers(3)))]
        self.arena[:] = arena
        self._load()
        draws = [self._vector, self._matrix, self._move, *gathers]
        for _ in range(count):
            draws[self.rng.integers(len(draws))]()
        self._store()
        return Program(tuple(self.items), self.memory[: self._aligned()].tobytes(), arena)

    def _load(self) -> None:
        """Bring the window's lower half or all into the scratchpad, in pieces, and tables."""
        stop = WINDOW if self.rng.random() < 0.2 else WINDOW // 2
        ends = sorted({0, stop, *self.rng.integers(1, stop, self.rng.integers(3)).tolist()})
        for start, stop in pairwise(ends):
            self._add(_copy(Space.ARENA, Space.SCRATCHPAD, start, start, stop - start))
        tables = random_tables(self.rng, self.config.tables)
        for number in range(self.config.tables):
            if number == 0 or self.rng.random() < 0.5:
                source = self._place(tables[number].tobytes())
                self._add(
                    _copy(Space.MODEL, Space.TABLES, source, TABLE_BYTES * number, TABLE_BYTES)
                )

    def _store(self) -> None:
        """Bring some of what was written back, and some of what lies around it."""
        written = np.flatnonzero(self.known.bytes[Space.SCRATCHPAD])
        for _ in range(int(self.rng.integers(1, 4))):
            start = int(self.rng.choice(written))
            stop = min(start + int(self.rng.integers(1, 600)), int(written[-1]) + 1)
            if self.known.bytes[Space.SCRATCHPAD][start:stop].all():
                to = int(self.rng.integers(WINDOW + BEHIND - (stop - start)))
                self._add(_copy(Space.SCRATCHPAD, Space.ARENA, start, to, stop - start))

    def _move(self) -> None:
        pairs = isa.SPACES[Opcode.MOVE]
        spaces = {
            Space.MODEL: (0, self.used),
            Space.ARENA: (0, WINDOW + BEHIND),
            Space.SCRATCHPAD: (0, WINDOW),
            Space.FILL: (0, WINDOW),
            Space.TABLES: (0, TABLE_BYTES * self.config.tables),
        }

        def draw() -> list[Item]:
            pair = pairs[self.rng.integers(len(pairs))]
            fields = random_move(self.rng, pair, (spaces[pair[0]], spaces[pair[1]]))
            return [Item(Opcode.MOVE, fields)]

        self._draw(draw)

    def _gather(self, arena: NDArray[np.uint8], taken: NDArray[np.bool_]) -> Callable[[], None]:
        """Put the indices of a GATHER into the arena; return what adds the command."""
        pairs = isa.SPACES[Opcode.GATHER]
        pair = pairs[self.rng.integers(len(pairs))]
        half = (WINDOW // 2, WINDOW)
        spaces = {
            Space.MODEL: (0, 1024),
            Space.ARENA: half,
            Space.SCRATCHPAD: (INDICES, WINDOW // 2),
        }
        areas = (spaces[pair[0]], half if pair[1] == Space.SCRATCHPAD else spaces[pair[1]])
        scratchpad = arena[:WINDOW].copy()
        areas = (*areas, (0, INDICES))
        try:
            fields = random_gather(
                self.rng, pair, areas, scratchpad, taken, far=False, trials=TRIALS
            )
        except CrowdedError:
            return lambda: None
        # A higher limit would do, but then all that it lets pass had to be known.
        fields["limit"] = max(indices(fields, scratchpad)) + 1
        arena[:INDICES] = scratchpad[:INDICES]
        return lambda: self._draw(lambda: [Item(Opcode.GATHER, fields)], 1)

    def _vector(self) -> None:
        tables = self.known.bytes[Space.TABLES].reshape(-1, TABLE_BYTES).all(axis=1)
        numbers = np.flatnonzero(tables).tolist()

        def draw() -> list[Item]:
            return [Item(Opcode.VECTOR, random_command(self.rng, self.small, numbers, ROWS))]

        self._draw(draw)

    def _matrix(self) -> None:
        def draw() -> list[Item]:
            jobs = MatrixRandom(self.small, self.rng).jobs(1)
            return [item for job in jobs for item in self._job(job)]

        self._draw(draw)

    def _job(self, job: MatrixJob) -> list[Item]:
        """Return a MATRIX behind the commands that fetch its constants."""
        items = []
        word = self.config.weight_word
        for lanes, buffers in groupby(job.weights, len):
            taps = np.concatenate(list(buffers))
            stored = np.zeros((len(taps), word), np.int8)
            stored[:, : self.config.width] = taps
            fields = {"address": self._place(stored.tobytes())}
            count = len(taps) // lanes
            if lanes == self.config.lanes and self.rng.random() < 0.8:
                fields["full"] = count
            else:
                fields |= {"partial": count, "partial_lanes": lanes}
            items.append(Item(Opcode.WEIGHTS, fields))
        for bank in job.parameters:
            channels = len(bank["bias"])
            fields = {"address": self._place(records(bank)), "channels": channels}
            items.append(Item(Opcode.PARAMETERS, fields))
        return [*items, Item(Opcode.MATRIX, job.fields)]

    def _place(self, contents: bytes) -> int:
        """Put constants into the model region; return where."""
        address = self._aligned()
        if address + len(contents) > MODEL:
            raise _FullError
        self.memory[address : address + len(contents)] = np.frombuffer(contents, np.uint8)
        self.used = address + len(contents)
        return address

    def _aligned(self) -> int:
        unit = max(16, self.config.port)
        return -(-self.used // unit) * unit

    def _draw(self, draw: Callable[[], list[Item]], trials: int = TRIALS) -> None:
        """Add commands that may stand here; none if none of the draws may."""
        for _ in range(trials):
            used = self.used
            try:
                items = draw()
            except _FullError:
                self.used = used
                return
            if all(self._fits(item) for item in items) and self._add(*items):
                return
            self.used = used

    def _fits(self, item: Item) -> bool:
        command = item.decoded()
        try:
            isa.COMMANDS[item.opcode].packed(item.fields)
            check_legal(self.config, command)
        except (FieldError, CommandError):
            return False
        f = item.fields
        if item.opcode == Opcode.VECTOR and f["row"] == Row.SUM.value and f["relative"]:
            return False  # it asks for an extreme's number, which has no meaning here
        touched = accesses(self.config, command)
        return (
            self.known.covers(touched)
            and not overwritten(command, touched).size
            and self._keeps(touched)
        )

    def _keeps(self, touched: Accesses) -> bool:
        """Return whether no index is written, and the scratchpad's window not left."""
        written = touched.writes.get(Space.SCRATCHPAD, np.zeros(0, np.int64))
        return not written.size or (written[0] >= INDICES and written[-1] < WINDOW)

    def _add(self, *items: Item) -> bool:
        """Run commands on the machine and keep them, unless it refuses one."""
        for place, item in enumerate(items):
            command = item.decoded(len(self.items) + place + 1)
            try:
                self.machine.execute(command)
            except CommandError:
                assert place == 0, f"{item} behind what it needs"
                return False
            self.known.add(accesses(self.config, command))
        self.items += items
        return True


class _FullError(Exception):
    """The model region has no room."""


def _copy(source: Space, target: Space, start: int, to: int, run: int) -> Item:
    fields = {"source_space": source.value, "target_space": target.value}
    fields |= {"source": start, "target": to, "run": run}
    return Item(Opcode.MOVE, fields | {f"count{i}": 1 for i in range(4)})
