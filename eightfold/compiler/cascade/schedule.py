"""Strips: which rows of which tensor are loaded, computed, kept and stored, and in which order.

The rows of the last result are cut into strips of one height. From each strip the rows that every
tensor must have follow backwards. Of these some may be there from the strip before: the halo, rows
that windows of both strips see. A tensor either keeps them, and only new rows are computed, or they
are computed again. A buffer takes rows one behind the other; where it ends, what is kept of the
halo is moved to its begin.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, reduce
from itertools import pairwise
from typing import NamedTuple

from eightfold.compiler.cascade.row_wise import Image, RowWise
from eightfold.compiler.emit.memory import Block, aligned, allocate
from eightfold.compiler.emit.regions import parts
from eightfold.isa import Engine

NONE = range(0)


@dataclass(frozen=True)
class Chain:
    """Consecutive steps, and where their tensors are.

    ``results`` are to be there whole afterwards; ``outside`` are tensors of ``results`` and
    operands from before that are not in the scratchpad, so that their rows are loaded, or stored;
    ``sizes``: bytes of operands that every row needs whole.
    """

    steps: tuple[RowWise, ...]
    results: frozenset[int] = frozenset()
    outside: frozenset[int] = frozenset()
    sizes: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def images(self) -> dict[int, Image]:
        """The tensors by rows."""
        return {tensor: image for step in self.steps for tensor, image in step.images.items()}

    @cached_property
    def producers(self) -> dict[int, int]:
        """The number of the step that computes each tensor."""
        return {step.target: number for number, step in enumerate(self.steps)}

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """The numbers of the steps that read each tensor by rows."""
        found: dict[int, list[int]] = {tensor: [] for tensor in self.images}
        for number, step in enumerate(self.steps):
            for source in step.sources:
                found[source].append(number)
        return found

    @cached_property
    def loaded(self) -> list[int]:
        """Operands by rows that must be loaded; what copies alone read is read where it is."""
        return [
            tensor
            for tensor in self.images
            if tensor in self.outside and tensor not in self.producers and not self.direct(tensor)
        ]

    @cached_property
    def buffered(self) -> list[int]:
        """Tensors by rows whose strips have buffers."""
        inside = [p for p in self.producers if p not in self.results or p in self.outside]
        return [*self.loaded, *inside]

    @cached_property
    def constants(self) -> list[int]:
        """Operands that every row needs whole and that must be loaded."""
        return sorted({tensor for step in self.steps for tensor in step.whole} & self.outside)

    def direct(self, tensor: int) -> bool:
        """Return whether only the mover reads a tensor that is outside."""
        return all(self.steps[k].engine is Engine.MOVER for k in self.consumers[tensor])

    @property
    def is_feasible(self) -> bool:
        """Whether steps see the same rows of as many images; whole operands come from before."""
        whole = {tensor for step in self.steps for tensor in step.whole}
        alike = all(self.images[p] == image for s in self.steps for p, image in s.images.items())
        counts = {image.count for image in self.images.values()}
        return alike and len(counts) == 1 and not whole & set(self.images)


@dataclass(frozen=True)
class Choice:
    """How a chain is cut into strips.

    ``height``: rows of the last result in a strip; ``recomputed``: tensors whose halo is computed,
    or loaded, again instead of kept; ``prefetch``: whether rows are loaded a strip ahead of their
    use, and what another engine computes, too; ``spare_strips``: strips that the buffer of a kept
    halo has room for beyond what it needs: it moves as much less often.
    """

    height: int
    recomputed: frozenset[int] = frozenset()
    prefetch: bool = False
    spare_strips: int = 0


class Act(Enum):
    """What is done with rows."""

    LOAD = "load"
    COMPUTE = "compute"
    STORE = "store"
    MOVE = "move"


class Action(NamedTuple):
    """Something that is done with ``rows`` of a tensor, in strip number ``strip``.

    ``start`` is the row that the buffer's first byte stands for, ``before`` the same for the rows
    that a MOVE reads.
    """

    act: Act
    tensor: int
    strip: int
    rows: range
    start: int = 0
    before: int = 0


class Track:
    """A tensor's rows over the strips: ``needed`` by steps, ``new`` ones, those ``held``.

    ``starts`` are the rows that the buffer's first byte stands for, ``moved`` the halo that is
    moved before a strip; ``capacity`` is the buffer's, in rows.
    """

    def __init__(self, strips: int) -> None:
        self.needed, self.new, self.held, self.moved = ([NONE] * strips for _ in range(4))
        self.starts = [0] * strips
        self.capacity = 0
        self.halo = False


class Impossible(Exception):  # noqa: N818 - a signal within this room, not an error
    """Strips of this height need more rows of a buffer than the tensor has."""


class Schedule:
    """A chain in strips: how many there are, and ``tracks``, the rows of each tensor.

    ``lags``: how many strips each tensor's consumers are behind it.

    ``like`` is a schedule of the same chain with strips of the same height that make the same halos
    again: its rows are the same, wherever they are. Raises Impossible if a halo is longer than what
    a strip goes on, for any buffer.
    """

    def __init__(self, chain: Chain, choice: Choice, like: "Schedule | None" = None) -> None:
        self.chain, self.choice = chain, choice
        last = chain.steps[-1].target
        self._ends = [p.stop for p in parts(range(chain.images[last].rows), choice.height)]
        self.strips = len(self._ends)
        self._stages = stages = self._stage()
        self.lags = {
            tensor: max((stages[chain.steps[k].target] for k in readers), default=stages[tensor])
            - stages[tensor]
            for tensor, readers in chain.consumers.items()
        }
        if like is None:
            self.tracks = {tensor: Track(self.strips) for tensor in chain.images}
            self._propagate()
            for tensor in chain.buffered:
                self._hold(tensor)
        else:
            self.tracks = {tensor: copy(track) for tensor, track in like.tracks.items()}
        for tensor in chain.buffered:
            self._allocate(tensor)

    def _stage(self) -> dict[int, int]:
        """Return by how many strips the work on each tensor is behind the first loads."""
        chain = self.chain
        prefetch = self.choice.prefetch
        stages = dict.fromkeys(chain.images, 0)
        for step in chain.steps:
            for source in step.sources:
                producer = chain.producers.get(source)
                loaded = source in chain.loaded
                other = producer is not None and chain.steps[producer].engine is not step.engine
                behind = stages[source] + int(prefetch and (loaded or other))
                stages[step.target] = max(stages[step.target], behind)
        return stages

    def _propagate(self) -> None:
        """Find the rows that are needed and the new ones, strip by strip from the last step."""
        chain = self.chain
        done = dict.fromkeys(chain.images, 0)
        for strip in range(self.strips):
            hull = self._wanted(strip, done)
            for step in reversed(chain.steps):
                new = self._grow(step.target, strip, hull, done)
                if new:
                    for source in step.sources:
                        hull[source] = _union(hull.get(source, NONE), step.needed(source, new))
            for tensor in chain.loaded:
                self._grow(tensor, strip, hull, done)

    def _wanted(self, strip: int, done: Mapping[int, int]) -> dict[int, range]:
        """Return the rows of results that are due with a strip."""
        chain = self.chain
        wanted = {}
        for tensor in chain.results:
            rows = chain.images[tensor].rows
            stop = 0
            if strip == self.strips - 1:
                stop = rows
            elif tensor == chain.steps[-1].target:
                stop = self._ends[strip]
            elif not chain.consumers[tensor]:
                stop = rows * (strip + 1) // self.strips
            if stop > done[tensor]:
                wanted[tensor] = range(done[tensor], stop)
        return wanted

    def _grow(
        self, tensor: int, strip: int, hull: Mapping[int, range], done: dict[int, int]
    ) -> range:
        """Note which rows of a tensor a strip needs; return those that it makes."""
        chain = self.chain
        track = self.tracks[tensor]
        needed = hull.get(tensor, NONE)
        if not needed:
            return NONE
        result = tensor in chain.results
        if result:
            needed = _union(needed, range(done[tensor], max(needed.stop, done[tensor])))
        gapless = result or len(chain.consumers[tensor]) > 1
        start = done[tensor] if gapless else max(done[tensor], needed.start)
        new = range(start, max(needed.stop, done[tensor]))
        if tensor in self.choice.recomputed:
            new = needed
        track.needed[strip] = needed
        track.new[strip] = new if len(new) else NONE
        done[tensor] = max(done[tensor], needed.stop)
        return track.new[strip]

    def _hold(self, tensor: int) -> None:
        """Find the rows that a buffer must have in each strip."""
        track = self.tracks[tensor]
        firsts = [rows.start if rows else None for rows in track.needed]
        later: int | None = None
        for strip in reversed(range(self.strips) if tensor not in self.choice.recomputed else NONE):
            first = firsts[strip]
            if first is not None:
                later = first if later is None else min(first, later)
            firsts[strip] = later  # what later strips need is kept
        done = 0
        for strip, (first, new) in enumerate(zip(firsts, track.new, strict=True)):
            before = done
            done = max(done, new.stop)
            if tensor in self.choice.recomputed:
                track.held[strip] = _union(track.needed[strip], new)
                continue
            starts = [row for row in (first, new.start if new else None) if row is not None]
            start = min(starts, default=done)
            track.held[strip] = range(start, done) if start < done else NONE
            track.halo |= start < min(before, done)

    def _allocate(self, tensor: int) -> None:
        """Find the smallest buffer, and the places of rows in it."""
        track = self.tracks[tensor]
        rows = self.chain.images[tensor].rows
        least = self._least(tensor)
        most = max(2 * rows, (self.lags[tensor] + 2) * least)
        for capacity in range(least, most + 1):
            if self._fill(track, capacity, tensor):
                break
        else:
            raise Impossible
        if track.halo and self.choice.spare_strips:
            longest = max(map(len, track.new))
            self._fill(track, track.capacity + self.choice.spare_strips * longest, tensor)

    def _least(self, tensor: int) -> int:
        """Return the rows that are there at once: of a strip, and of those before in use."""
        held = self.tracks[tensor].held
        lag = self.lags[tensor]
        if not lag:
            return max(map(len, held))
        if tensor in self.choice.recomputed:
            return max(sum(map(len, held[max(0, t - lag) : t + 1])) for t in range(len(held)))
        together = (held[max(0, t - lag) : t + 1] for t in range(len(held)))
        return max(len(reduce(_union, rows)) for rows in together)

    def _fill(self, track: Track, capacity: int, tensor: int) -> bool:
        """Place a tensor's rows in a buffer of so many rows, if that is possible."""
        lag = self.lags[tensor]
        recomputed = tensor in self.choice.recomputed
        start = end = 0
        done = 0
        starts, moved = [0] * self.strips, [NONE] * self.strips
        for strip, held in enumerate(track.held):
            if held:
                kept = NONE if recomputed else range(held.start, min(done, held.stop))
                shift = recomputed or held.start < start or held.stop - start > capacity
                if shift:
                    origin = held.start
                    if recomputed and end + len(held) <= capacity:
                        origin -= end
                    if len(kept) > 0 and origin - start < len(kept):
                        return False
                    moved[strip] = kept if len(kept) > 0 else NONE
                    start = origin
                end = held.stop - start
                for earlier in range(max(0, strip - lag), strip) if shift else ():
                    if _overlap(track.held[earlier], starts[earlier], held, start):
                        return False
                done = max(done, held.stop)
            starts[strip] = start
        track.starts, track.moved, track.capacity = starts, moved, capacity
        return True

    def overlaps(self, tensor: int) -> bool:
        """Return whether neighbouring strips need the same rows of a buffered tensor."""
        held = [rows for rows in self.tracks[tensor].held if rows]
        return any(a.stop > b.start for a, b in pairwise(held))

    def actions(self) -> Iterator[Action]:
        """Yield what is done with one image, in order."""
        chain = self.chain
        depth = max(self._stages.values())
        for turn in range(self.strips + depth):
            for tensor in chain.loaded:
                strip = turn - self._stages[tensor]
                yield from self._produce(Act.LOAD, tensor, strip)
            for number, step in enumerate(chain.steps):
                strip = turn - self._stages[step.target]
                yield from self._produce(Act.COMPUTE, step.target, strip)
                if 0 <= strip < self.strips:
                    yield from self._moves(number, strip + 1)

    def _produce(self, act: Act, tensor: int, strip: int) -> Iterator[Action]:
        """Yield what brings the new rows of a tensor, and stores them."""
        if not 0 <= strip < self.strips:
            return
        track = self.tracks[tensor]
        if self.lags[tensor] and (moved := track.moved[strip]):
            yield self._move(tensor, strip, moved)
        if not (new := track.new[strip]):
            return
        start = track.starts[strip]
        yield Action(act, tensor, strip, new, start)
        if act is Act.COMPUTE and tensor in self.chain.results & self.chain.outside:
            stored = max((rows.stop for rows in track.new[:strip]), default=0)
            fresh = range(max(stored, new.start), new.stop)
            if fresh:
                yield Action(Act.STORE, tensor, strip, fresh, start)

    def _moves(self, number: int, strip: int) -> Iterator[Action]:
        """Yield the moves of halos that the step of this number was the last to read."""
        if strip >= self.strips:
            return
        for tensor in self.chain.buffered:
            consumers = self.chain.consumers[tensor]
            moved = self.tracks[tensor].moved[strip]
            if moved and consumers and consumers[-1] == number and not self.lags[tensor]:
                yield self._move(tensor, strip, moved)

    def _move(self, tensor: int, strip: int, rows: range) -> Action:
        starts = self.tracks[tensor].starts
        return Action(Act.MOVE, tensor, strip, rows, starts[strip], starts[strip - 1])

    @cached_property
    def buffers(self) -> tuple[dict[int, int], int]:
        """Offsets of the buffers in the room, by tensor, and the bytes of the room."""
        chain = self.chain
        end = len(chain.steps) + 1
        blocks = {tensor: Block(chain.sizes[tensor], 0, end) for tensor in chain.constants}
        for tensor in chain.buffered:
            track = self.tracks[tensor]
            size = chain.images[tensor].size
            first = chain.producers.get(tensor, -1) + 1
            last = max((k + 1 for k in chain.consumers[tensor]), default=first)
            if tensor in chain.outside:
                last = end
            if track.halo or self.lags[tensor]:
                first, last = 0, end
            blocks[tensor] = Block(track.capacity * size, first, last)
        offsets = zip(blocks, allocate(list(blocks.values()), None), strict=True)
        found = {tensor: offset for tensor, offset in offsets if offset is not None}
        stops = (found[tensor] + aligned(block.size) for tensor, block in blocks.items())
        return found, max(stops, default=0)


def _union(some: range, other: range) -> range:
    """Return the rows from the first to the last of both."""
    if not len(some) or not len(other):
        return some if len(some) else other
    return range(min(some.start, other.start), max(some.stop, other.stop))


def _overlap(some: range, start: int, other: range, other_start: int) -> bool:
    """Return whether two ranges of rows share places in a buffer."""
    return bool(some) and (
        some.start - start < other.stop - other_start
        and other.start - other_start < some.stop - start
    )
