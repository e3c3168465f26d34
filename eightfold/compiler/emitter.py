"""Commands in program order, with what they read and write; tokens come later."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eightfold import isa
from eightfold.compiler.image import ModelImage
from eightfold.compiler.loops import Loop, movable
from eightfold.config import AcceleratorConfig
from eightfold.isa import Command, Engine, Space
from eightfold.packing import pack
from eightfold.vector_fields import used_tables


@dataclass(frozen=True)
class Interval:
    """Bytes ``[start, stop)`` of a space."""

    space: Space
    start: int
    stop: int

    def overlaps(self, other: "Interval") -> bool:
        """Return whether a byte is in both."""
        return self.space == other.space and self.start < other.stop and other.start < self.stop


@dataclass(frozen=True, kw_only=True)
class Issued:
    """A command of the stream, without its tokens and index.

    ``reads`` and ``writes`` cover the bytes that it touches; ``operator`` is the one it belongs to.
    """

    command: Command
    fields: Mapping[str, int]
    engine: Engine | None
    operator: int
    reads: tuple[Interval, ...] = ()
    writes: tuple[Interval, ...] = ()


@dataclass
class Emitter:
    """Collects the commands and the model image of one network.

    ``operator`` is the one whose commands are being emitted.
    """

    config: AcceleratorConfig
    image: ModelImage = field(default_factory=ModelImage)
    issued: list[Issued] = field(default_factory=list)
    operator: int = 0
    _tables: OrderedDict[int, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._tables = OrderedDict((number, b"") for number in range(self.config.tables))

    def begin(self) -> None:
        """Start the stream, with what it was compiled for."""
        configuration, memories = isa.configuration_words(self.config)
        fields = {"version": isa.VERSION, "configuration": configuration, "memories": memories}
        self._issue(isa.BEGIN, fields, None)

    def end(self) -> None:
        """End the stream."""
        self._issue(isa.END, {}, None)

    def weights(self, buffers: Iterable[np.ndarray]) -> None:
        """Stream weight buffers, int8 (lanes, width) each; all but the last ones have all lanes."""
        width, word = self.config.width, self.config.weight_word
        parts, lanes = [], []
        for buffer in buffers:
            padded = np.zeros((len(buffer), word), dtype=np.int8)
            padded[:, :width] = buffer
            parts.append(padded.tobytes())
            lanes.append(len(buffer))
        full = lanes.count(self.config.lanes)
        partial = len(lanes) - full
        assert all(count == lanes[-1] for count in lanes[full:]), "partial buffers come last"
        address = self.image.add(b"".join(parts))
        fields = {
            "address": address,
            "full": full,
            "partial": partial,
            "partial_lanes": lanes[-1] if partial else 1,
        }
        self._issue(isa.WEIGHTS, fields, None)

    def parameters(self, channels: Mapping[str, np.ndarray]) -> None:
        """Stream requantization parameters: fields of `isa.REQUANTIZE_LAYOUT`, (channels,) each."""
        records = pack(isa.REQUANTIZE_LAYOUT, channels)
        bias = np.asarray(channels["bias"], dtype="<i4")
        without_bias = pack(isa.REQUANTIZE_LAYOUT, {**channels, "bias": 0 * bias})
        shared = len(set(without_bias)) == 1
        content = (
            records[0].to_bytes(16, "little") + bias.tobytes()
            if shared
            else b"".join(record.to_bytes(16, "little") for record in records)
        )
        fields = {
            "address": self.image.add(content),
            "channels": len(records),
            "shared": int(shared),
        }
        self._issue(isa.PARAMETERS, fields, None)

    def move(
        self,
        source: tuple[Space, int],
        target: tuple[Space, int],
        run: int,
        loops: Iterable[Loop] = (),
        fill: int = 0,
    ) -> None:
        """Copy runs; ``loops`` are (count, source stride, target stride), outermost first.

        Loops of one iteration are dropped, and inner ones that continue a run become part of it.
        More than four loops become several commands.
        """
        remaining = [loop for loop in loops if loop[0] > 1]
        while remaining and remaining[-1][1:] == (run, run) and run * remaining[-1][0] < 1 << 24:
            run *= remaining.pop()[0]
        for start, place, size, inner in movable(source[1], target[1], run, remaining):
            self._move((source[0], start), (target[0], place), size, inner, fill)

    def _move(
        self,
        source: tuple[Space, int],
        target: tuple[Space, int],
        run: int,
        loops: Sequence[Loop],
        fill: int,
    ) -> None:
        fields = {
            "source_space": source[0].value,
            "target_space": target[0].value,
            "fill": fill & 255,
            "source": source[1],
            "target": target[1],
            "run": run,
            **{f"count{i}": 1 for i in range(4)},
        }
        for i, (count, step, target_step) in enumerate(reversed(loops)):
            fields |= {f"count{i}": count, f"source_stride{i}": step}
            fields[f"target_stride{i}"] = target_step
        reads = _span(source, run, [(count, step) for count, step, _ in loops])
        writes = _span(target, run, [(count, step) for count, _, step in loops])
        fixed = source[0] in (Space.FILL, Space.MODEL)
        self._issue(isa.MOVE, fields, Engine.MOVER, () if fixed else (reads,), (writes,))

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
        source = (Space.MODEL, self.image.add(content))
        self.move(source, (Space.TABLES, 1024 * number), 1024)
        return number

    def matrix(self, fields: Mapping[str, int], reads: Interval, writes: Interval | None) -> None:
        """Emit a MATRIX command."""
        self._issue(isa.MATRIX, fields, Engine.MATRIX, (reads,), (writes,) if writes else ())

    def vector(
        self, fields: Mapping[str, int], reads: Iterable[Interval], writes: Interval
    ) -> None:
        """Emit a VECTOR command; the tables that it uses are added to what it reads."""
        tables = [
            Interval(Space.TABLES, 1024 * table, 1024 * table + 1024)
            for table in used_tables(fields).values()
        ]
        self._issue(isa.VECTOR, fields, Engine.VECTOR, (*reads, *tables), (writes,))

    def _issue(
        self,
        command: Command,
        fields: Mapping[str, int],
        engine: Engine | None,
        reads: tuple[Interval, ...] = (),
        writes: tuple[Interval, ...] = (),
    ) -> None:
        self.issued.append(
            Issued(
                command=command,
                fields={name: int(value) for name, value in fields.items()},
                engine=engine,
                operator=self.operator,
                reads=reads,
                writes=writes,
            )
        )


def _span(start: tuple[Space, int], run: int, loops: list[tuple[int, int]]) -> Interval:
    """Return the bytes from the first to the last that the runs touch."""
    reach = [(count - 1) * step for count, step in loops]
    low = start[1] + sum(step for step in reach if step < 0)
    high = start[1] + sum(step for step in reach if step > 0) + run
    return Interval(start[0], low, high)
