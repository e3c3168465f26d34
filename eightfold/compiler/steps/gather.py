"""GATHER: runs that indices choose, in parts that fit."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.steps.step import Step
from eightfold.isa import SPACES, Opcode, Space
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True)
class Box:
    """Some batches, outer positions, indices, and bytes of a slice, each a range."""

    batches: range
    outer: range
    chosen: range
    run: range

    def halves(self) -> Iterator["Box"]:
        """Yield two parts, along the first range of more than one."""
        for name in ("batches", "outer", "chosen", "run"):
            whole = getattr(self, name)
            if len(whole) > 1:
                middle = whole.start + len(whole) // 2
                yield replace(self, **{name: range(whole.start, middle)})
                yield replace(self, **{name: range(middle, whole.stop)})
                return


@dataclass(frozen=True, kw_only=True)
class Gather(Step):
    """``target[b, i, j] = source[b, i, indices[b, j]]``, of slices of ``run`` bytes.

    ``batches``, ``outer``, ``length`` are the source's sizes, ``chosen`` the indices of a batch,
    signed integers of ``index_bytes`` bytes each.
    """

    source: int
    indices: int
    batches: int
    outer: int
    length: int
    chosen: int
    run: int
    index_bytes: int

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        return (self.source, self.indices, self.target)

    @property
    def only_copies(self) -> bool:
        """The mover does it."""
        return True

    def room(self, config: AcceleratorConfig) -> int:
        """Return the room for indices if all tensors are where GATHER can reach them."""
        size = fits([self.batches * self.chosen * self.index_bytes])
        return min(size, config.scratchpad // 8)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands."""
        sizes = self.batches, self.outer, self.chosen, self.run
        self._emit(emitter, staging, Box(*(range(size) for size in sizes)), whole=True)

    def _emit(self, emitter: Emitter, staging: Staging, box: Box, whole: bool = False) -> None:
        """Emit a box; in halves until it fits."""
        batches, outer, chosen, run = (
            len(part) for part in (box.batches, box.outer, box.chosen, box.run)
        )
        index = box.batches.start * self.chosen + box.chosen.start
        span = ((batches - 1) * self.chosen + chosen) * self.index_bytes
        # From memory to memory through the room.
        result = batches * outer * chosen * run if self._through_room(staging) else 0
        sizes = [result] if staging.resident(self.indices) is not None else [result, span]
        if fits(sizes) > staging.room[1] // (1 if whole else 2) and any(sizes):
            parts = list(box.halves())
            if not parts:
                raise NoRoomError
            for part in parts:
                self._emit(emitter, staging, part)
            return
        staging.begin(fits(sizes))
        indices = staging.load(self.indices, index * self.index_bytes, span)
        self._command(emitter, staging, box, indices)

    def _through_room(self, staging: Staging) -> bool:
        pair = staging.places[self.source][0], staging.places[self.target][0]
        return pair not in SPACES[Opcode.GATHER]

    def _command(self, emitter: Emitter, staging: Staging, box: Box, indices: int) -> None:
        """Emit GATHER, and the copy out of the room if it is needed."""
        counts = len(box.batches), len(box.outer), len(box.chosen)
        run = len(box.run)
        first = box.batches.start * self.outer + box.outer.start
        from_, to = staging.places[self.source], staging.places[self.target]
        source = (from_[0], from_[1] + first * self.length * self.run + box.run.start)
        start = (first * self.chosen + box.chosen.start) * self.run + box.run.start
        target = (to[0], to[1] + start)
        sources = [self.outer * self.length * self.run, self.length * self.run, 0]
        targets = [self.outer * self.chosen * self.run, self.chosen * self.run, self.run]
        looked_up = [self.chosen * self.index_bytes, 0, self.index_bytes]
        packed = [counts[1] * counts[2] * run, counts[2] * run, run]
        into, steps = target, targets
        if self._through_room(staging):
            into = (Space.SCRATCHPAD, staging.take(counts[0] * packed[0]))
            steps = packed
        emitter.gather(
            source,
            into,
            run,
            list(zip(counts, sources, steps, looked_up, strict=True)),
            indices=indices,
            index_bytes=self.index_bytes,
            limit=self.length,
            step=self.run,
        )
        if self._through_room(staging):
            emitter.move(into, target, run, zip(counts, packed, targets, strict=True))
