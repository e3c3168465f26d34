"""Commands in program order, with what they read and write, and the constants they refer to.

Nested loops of runs, as a MOVE has them, are joined where they continue each other, and split where
a command cannot count them. Tokens come later (`eightfold.isa.issued`).
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np

from eightfold import isa
from eightfold.compiler.emit.memory import aligned
from eightfold.compiler.exact import CompileError
from eightfold.isa import Instruction, Space
from eightfold.isa.issued import Interval, Issued
from eightfold.isa.shapes import pack
from eightfold.isa.vector_fields import used_tables
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming


class ModelImage:
    """Bytes of the model region; equal constants are stored once, each one aligned."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._known: dict[bytes, int] = {}

    def add(self, content: bytes) -> int:
        """Return the offset of ``content``, which is stored if it is new."""
        if content not in self._known:
            self._known[content] = len(self._content)
            self._content += content.ljust(aligned(len(content)), b"\0")
        return self._known[content]

    def __bytes__(self) -> bytes:
        return bytes(self._content)


Loop = tuple[int, int, int]
"""Iterations, and the bytes that each moves on in source and target."""

LOOPS = 4
"""The loops of a MOVE."""

LONGEST_RUN = (1 << 24) - 1
MOST_ITERATIONS = (1 << 16) - 1


def joined(loops: list[Loop]) -> list[Loop]:
    """Return the loops, in any order, with each that goes on where another ends made part of it."""
    for outer, inner in permutations(loops, 2):
        if outer[1:] == (inner[0] * inner[1], inner[0] * inner[2]):
            left = [loop for loop in loops if loop != outer]
            left[left.index(inner)] = (outer[0] * inner[0], *inner[1:])
            return joined(left)
    return loops


def movable(
    source: int, target: int, run: int, loops: Sequence[Loop]
) -> Iterator[tuple[int, int, int, Sequence[Loop]]]:
    """Yield source, target, run and loops of programs that a MOVE has room for.

    Long runs and loops of many iterations are cut; of too many loops the first one is repeated.
    """
    if run > LONGEST_RUN:
        for start in range(0, run, LONGEST_RUN):
            part = min(LONGEST_RUN, run - start)
            yield from movable(source + start, target + start, part, loops)
        return
    place = next((i for i, loop in enumerate(loops) if loop[0] > MOST_ITERATIONS), 0)
    if len(loops) <= LOOPS and not (loops and loops[place][0] > MOST_ITERATIONS):
        yield source, target, run, loops
        return
    count, step, target_step = loops[place]
    size = MOST_ITERATIONS if count > MOST_ITERATIONS else 1
    for start in range(0, count, size):
        part = min(size, count - start)
        left = [(part, step, target_step)] if part > 1 else []
        inner = [*loops[:place], *left, *loops[place + 1 :]]
        yield from movable(source + start * step, target + start * target_step, run, inner)


MAX_COMMANDS = 1 << 18
"""Commands of a stream before its END; a hundred layers on the smallest preset take a tenth."""


@dataclass(frozen=True)
class Buffered:
    """``rows`` of a tensor in a buffer, from ``first`` to ``last`` of the commands that use them.

    ``offset`` and ``size`` in bytes of the scratchpad; ``rows`` is None for all of the tensor.
    """

    tensor: int
    offset: int
    size: int
    rows: range | None
    first: Issued
    last: Issued


@dataclass
class Emitter:
    """Collects the commands and the model image of one network.

    ``memory`` is the one that steps choose their commands for. A step that is ``undecided`` between
    two plans goes by the ``second`` or by the first. ``operator`` and ``step`` are those whose
    commands are being emitted. ``buffered`` is what parts of the room have held, as far as it is
    known, by step. Every method that emits raises FieldError if a command's field has no room for
    its value, and CompileError if the stream has `MAX_COMMANDS`.
    """

    config: AcceleratorConfig
    memory: MemoryTiming = IDEAL
    image: ModelImage = field(default_factory=ModelImage)
    issued: list[Issued] = field(default_factory=list)
    operator: int = 0
    step: int = -1
    buffered: dict[int, list[Buffered]] = field(default_factory=dict)
    second: bool = False
    undecided: bool = False
    _tables: OrderedDict[int, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._tables = OrderedDict((number, b"") for number in range(self.config.tables))

    def begin(self) -> None:
        """Start the stream, with what it was compiled for."""
        self._issue(isa.begin(self.config))

    def end(self) -> None:
        self._issue(isa.End())

    def weights(self, buffers: Iterable[np.ndarray]) -> None:
        """Stream weight buffers, int8 (lanes, width) each; all but the last ones have all lanes."""
        width, word = self.config.width, self.config.weight_word
        parts = list(buffers)
        lanes = [len(buffer) for buffer in parts]
        padded = np.zeros((sum(lanes), word), dtype=np.int8)
        np.concatenate(parts, out=padded[:, :width])
        full = lanes.count(self.config.lanes)
        partial = len(lanes) - full
        assert all(count == lanes[-1] for count in lanes[full:]), "partial buffers come last"
        self._issue(
            isa.Weights(
                address=self.image.add(padded.tobytes()),
                full=full,
                partial=partial,
                partial_lanes=lanes[-1] if partial else 1,
            )
        )

    def parameters(self, channels: Mapping[str, np.ndarray]) -> None:
        """Stream requantization parameters: fields of `isa.REQUANTIZE_LAYOUT`, (channels,) each."""
        arrays = {name: np.asarray(values) for name, values in channels.items()}
        content, shared = _records(
            tuple((name, each.dtype.str, each.tobytes()) for name, each in arrays.items())
        )
        count = arrays["bias"].size
        self._issue(isa.Parameters(address=self.image.add(content), channels=count, shared=shared))

    def move(
        self,
        source: tuple[Space, int],
        target: tuple[Space, int],
        run: int,
        loops: Iterable[Loop] = (),
        fill: int = 0,
    ) -> None:
        """Copy runs; ``loops`` are (count, source stride, target stride), outermost first.

        No bytes need no command. Loops of one iteration are dropped, and inner ones that
        continue a run become part of it. More than four loops become several commands.
        """
        remaining = [loop for loop in loops if loop[0] != 1]
        if run == 0 or any(count == 0 for count, _, _ in remaining):
            return
        while remaining and remaining[-1][1:] == (run, run) and run * remaining[-1][0] < 1 << 24:
            run *= remaining.pop()[0]
        spaces = source[0], target[0]
        assert spaces in isa.SPACES[isa.Opcode.MOVE], "no such MOVE"
        for start, place, size, inner in movable(source[1], target[1], run, remaining):
            command = isa.Move(
                source_space=spaces[0],
                target_space=spaces[1],
                fill=fill & 255,
                source=start,
                target=place,
                run=size,
                **loop_fields(inner, "source_stride", "target_stride"),
            )
            axes = ([(loop[0], loop[side]) for loop in inner] for side in (1, 2))
            reads, writes = map(Interval.of_runs, (start, place), (size, size), axes, spaces)
            fixed = spaces[0] in (Space.FILL, Space.MODEL)
            self._issue(command, () if fixed else (reads,), (writes,))

    def gather(
        self,
        source: tuple[Space, int],
        target: tuple[Space, int],
        run: int,
        loops: Iterable[tuple[int, int, int, int]] = (),
        *,
        indices: int,
        index_bytes: int,
        limit: int,
        step: int,
    ) -> None:
        """Copy runs from ``source + n * step``, n being the index of each, in [0, limit).

        ``loops`` are (count, source stride, target stride, index stride), outermost first; they
        are dropped, joined and split as in `move`. ``indices`` is the scratchpad address of the
        first index, a signed integer of 1, 2, 4 or 8 bytes. All that n may lead to is read.
        """
        if run == 0:
            return
        remaining = [loop for loop in loops if loop[0] > 1]
        while remaining and remaining[-1][1:] == (run, run, 0) and run * remaining[-1][0] < 1 << 24:
            run *= remaining.pop()[0]
        if len(remaining) > 3 or any(loop[0] > MOST_ITERATIONS for loop in remaining):
            (count, source_step, target_step, index_step), *inner = remaining
            options = {"index_bytes": index_bytes, "limit": limit, "step": step}
            for i in range(count):
                here = source[0], source[1] + i * source_step
                there = target[0], target[1] + i * target_step
                self.gather(here, there, run, inner, indices=indices + i * index_step, **options)
            return
        assert (source[0], target[0]) in isa.SPACES[isa.Opcode.GATHER], "no such GATHER"
        command = isa.Gather(
            source_space=source[0],
            target_space=target[0],
            index_size=index_bytes.bit_length() - 1,
            source=source[1],
            target=target[1],
            run=run,
            step=step,
            limit=limit,
            indices=indices,
            **loop_fields(remaining, "source_stride", "target_stride", "index_stride"),
        )
        chosen = [(count, stride) for count, stride, _, _ in remaining] + [(max(1, limit), step)]
        looked_up = [(count, stride) for count, _, _, stride in remaining]
        reads = [Interval.of_runs(indices, index_bytes, looked_up)]
        if source[0] != Space.MODEL:
            reads.append(Interval.of_runs(source[1], run, chosen, source[0]))
        written = [(count, stride) for count, _, stride, _ in remaining]
        writes = Interval.of_runs(target[1], run, written, target[0])
        self._issue(command, tuple(reads), (writes,))

    def table(self, entries: np.ndarray) -> int:
        """Return the number of the table with 256 int32 entries, loaded unless it is there.

        The table that was asked for longest ago is replaced.
        """
        content = np.asarray(entries, dtype="<i4").tobytes()
        for number in self._tables:
            if self._tables[number] == content:
                self._tables.move_to_end(number)
                return number
        number = next(iter(self._tables))
        self._tables[number] = content
        self._tables.move_to_end(number)
        self.move((Space.MODEL, self.image.add(content)), (Space.TABLES, 1024 * number), 1024)
        return number

    def matrix(self, command: isa.Matrix, reads: Interval, writes: Interval | None) -> None:
        self._issue(command, (reads,), (writes,) if writes else ())

    def vector(self, command: isa.Vector, reads: Iterable[Interval], writes: Interval) -> None:
        """Emit a VECTOR command; the tables that it uses are added to what it reads."""
        tables = [
            Interval(Space.TABLES, 1024 * table, 1024 * table + 1024)
            for table in used_tables(command.values()).values()
        ]
        self._issue(command, (*reads, *tables), (writes,))

    def _issue(
        self,
        command: Instruction,
        reads: tuple[Interval, ...] = (),
        writes: tuple[Interval, ...] = (),
    ) -> None:
        if len(self.issued) >= MAX_COMMANDS and not isinstance(command, isa.End):
            raise CompileError(f"its stream would have more than {MAX_COMMANDS} commands")
        owner = {"operator": self.operator, "step": self.step}
        issued = Issued(instruction=command, reads=reads, writes=writes, **owner)
        issued.command.packed(issued.fields)  # what cannot be encoded ends here
        self.issued.append(issued)


def loop_fields(
    loops: Sequence[tuple[int, ...]], *steps: str, count: str = "count"
) -> dict[str, Any]:
    """Return counts and steps of loops (count, a step for each of ``steps``), outermost first.

    ``steps`` and ``count`` are names of fields without the number of the loop, 0 for the innermost.
    """
    fields: dict[str, Any] = {}
    for i, loop in enumerate(reversed(loops)):
        names = (f"{name}{i}" for name in (count, *steps))
        fields |= zip(names, loop, strict=True)
    return fields


@lru_cache(maxsize=1024)
def _records(channels: tuple[tuple[str, str, bytes], ...]) -> tuple[bytes, bool]:
    """Return what memory has of parameters, and whether all channels share a record.

    ``channels``: name, type and bytes of each field. Strips of a layer have the same ones.
    """
    arrays = {name: np.frombuffer(content, kind) for name, kind, content in channels}
    records = pack(isa.REQUANTIZE_LAYOUT, arrays)
    bias = arrays["bias"].astype("<i4")
    without_bias = pack(isa.REQUANTIZE_LAYOUT, {**arrays, "bias": 0 * bias})
    if len(set(without_bias)) == 1:
        return records[0].to_bytes(16, "little") + bias.tobytes(), True
    return b"".join(record.to_bytes(16, "little") for record in records), False
