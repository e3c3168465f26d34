"""What steps do row by row: the rows that they need for some rows of their result, their commands.

A tensor (N, H, W, C) is N images of H rows, each a run of bytes. Steps may see other axes W and C
in the same bytes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from eightfold.compiler.emit.emitter import Emitter, Loop
from eightfold.compiler.emit.regions import Nest, Tile
from eightfold.compiler.steps.channelwise import MaximumPool
from eightfold.compiler.steps.elementwise import Pointwise, emit_elementwise
from eightfold.compiler.steps.movement import Copy, Movement
from eightfold.compiler.steps.step import Step
from eightfold.compiler.steps.windowed import LONGEST, Windowed
from eightfold.isa import Engine, Space
from eightfold.isa.issued import Interval


@dataclass(frozen=True)
class Image:
    """How many images a tensor has, the rows of each, and a row's bytes."""

    count: int
    rows: int
    size: int

    @classmethod
    def of(cls, shape: tuple[int, ...], item: int = 1) -> "Image":
        """Return those of a shape (N, H, W, C) of elements of ``item`` bytes."""
        return cls(shape[0], shape[1], prod(shape[2:]) * item)


@dataclass(frozen=True)
class Held:
    """Some rows of one image, without gaps from ``address`` on."""

    space: Space
    address: int
    rows: range

    def at(self, row: int, size: int) -> int:
        """Return the address of a row of ``size`` bytes."""
        return self.address + (row - self.rows.start) * size


@dataclass(frozen=True)
class RowWise(ABC):
    """A step that computes any rows of its result from some rows of its operands.

    ``target`` and ``images``: its result, and the images of all tensors by rows, the result's too;
    ``whole``: operands that every row needs whole. Tensors are told by their storages.
    """

    step: Step
    target: int
    images: Mapping[int, Image]
    whole: tuple[int, ...]
    engine: Engine
    """What executes its commands."""

    @cached_property
    def sources(self) -> tuple[int, ...]:
        """The operands by rows."""
        return tuple(storage for storage in self.images if storage != self.target)

    @property
    @abstractmethod
    def likeness(self) -> Hashable:
        """What is equal for steps that need the same rows, and take the same cycles for as many.

        Beside ``images``, and what the commands for some rows take.
        """

    @abstractmethod
    def needed(self, source: int, rows: range) -> range:
        """Return the rows of an operand that some rows of the result need; none if it is empty."""

    @abstractmethod
    def emit(self, emitter: Emitter, held: Mapping[int, Held], image: int, rows: range) -> None:
        """Emit the commands for some rows of one image.

        ``held`` has the rows of the result and at least the needed ones of each operand; of
        ``whole`` ones the bytes from ``address`` on.
        """


@dataclass(frozen=True)
class WindowedRows(RowWise):
    """Windows: convolutions and pools."""

    step: Windowed
    source: int

    @property
    def likeness(self) -> Hashable:
        return self.step.rows, self.step.columns

    def needed(self, source: int, rows: range) -> range:
        return self.step.rows.inputs(rows)

    def emit(self, emitter: Emitter, held: Mapping[int, Held], image: int, rows: range) -> None:
        (_, _, *inside), (_, _, *results) = self.step.source_shape, self.step.target_shape
        tiles = [
            Tile.packed(held[storage].address, held[storage].rows, *map(range, pixels))
            for storage, pixels in ((self.source, inside), (self.target, results))
        ]
        part = (rows, *map(range, results))
        self.step.emit_tiles(emitter, tiles[0], tiles[1], (part[0], part[1], part[2]))


@dataclass(frozen=True)
class PointwiseRows(RowWise):
    """Element-wise operators; an operand is broadcast to all rows, or has them.

    ``uses``: the storages of the step's tensors.
    """

    step: Pointwise
    uses: tuple[int, ...]

    @property
    def likeness(self) -> Hashable:
        """The number of tables, and what has which shape."""
        shapes = tuple(shape for _, shape in self.step.operands)
        return len(self.step.operation.tables), shapes, self.step.shape

    def needed(self, source: int, rows: range) -> range:
        return rows

    def emit(self, emitter: Emitter, held: Mapping[int, Held], image: int, rows: range) -> None:
        nest = self.step.nest.some(0, 0, 1).some(1, 0, len(rows))
        addresses = (
            held[storage].at(rows.start, self.images[storage].size)
            if storage in self.images
            else held[storage].address
            for storage in self.uses
        )
        emit_elementwise(emitter, self.step.operation, Nest(tuple(addresses), nest.loops))


@dataclass(frozen=True)
class MovementRows(RowWise):
    """Copies, each cut to the bytes of some rows; of one image."""

    step: Movement
    storage: Mapping[int, int]

    @property
    def likeness(self) -> Hashable:
        """The bytes that are copied, of which operand."""
        order = {tensor: number for number, tensor in enumerate(self.images)}
        return tuple(
            replace(copy, source=None if copy.source is None else order[self.storage[copy.source]])
            for copy in self.step.copies
        )

    @cached_property
    def _needed(self) -> dict[tuple[int, range], range]:
        """What `needed` has returned so far: a search asks for the same rows many times."""
        return {}

    def needed(self, source: int, rows: range) -> range:
        if (source, rows) not in self._needed:
            self._needed[source, rows] = self._find_needed(source, rows)
        return self._needed[source, rows]

    def _find_needed(self, source: int, rows: range) -> range:
        size = self.images[source].size
        spans = [
            Interval.of_runs(copy.source_offset, copy.run, [loop[:2] for loop in copy.loops])
            for copy in self._copies(rows)
            if copy.source is not None and self.storage[copy.source] == source
        ]
        if not spans:
            return range(0)
        stop = max(span.stop for span in spans)
        return range(min(span.start for span in spans) // size, -(-stop // size))

    def emit(self, emitter: Emitter, held: Mapping[int, Held], image: int, rows: range) -> None:
        places = {
            storage: (held[storage].space, held[storage].at(0, image_.size))
            for storage, image_ in self.images.items()
        }
        target = places[self.target]
        for copy in self._copies(rows):
            source = target if copy.source is None else places[self.storage[copy.source]]
            copy.emit(emitter, source, target)

    def _copies(self, rows: range) -> list[Copy]:
        size = self.images[self.target].size
        return [
            piece
            for copy in self.step.copies
            for piece in cut(copy, range(rows.start * size, rows.stop * size))
        ]


def row_wise(
    step: Step, storage: Callable[[int], int], image: Callable[[int], Image | None]
) -> RowWise | None:
    """Return how a step works row by row; None if it does not, or has a single row.

    ``storage``: of a tensor; ``image``: of a tensor whose shape the step does not know.
    """
    if isinstance(step, Windowed):
        return _windowed(step, storage)
    if isinstance(step, Pointwise):
        return _pointwise(step, storage)
    if isinstance(step, Movement):
        return _movement(step, storage, image)
    return None


def _windowed(step: Windowed, storage: Callable[[int], int]) -> RowWise | None:
    sizes = (*step.source_shape[1:3], *step.target_shape[1:3])
    if max(*sizes, step.rows.kernel, step.columns.kernel) > LONGEST or step.target_shape[1] < 2:
        return None
    source, target = storage(step.source), storage(step.target)
    images = {source: Image.of(step.source_shape), target: Image.of(step.target_shape)}
    engine = Engine.VECTOR if isinstance(step, MaximumPool) else Engine.MATRIX
    return WindowedRows(step, target, images, (), engine, source)


def _pointwise(step: Pointwise, storage: Callable[[int], int]) -> RowWise | None:
    if len(step.shape) != 4 or step.shape[1] < 2:
        return None
    images = dict[int, Image]()
    whole = list[int]()
    for tensor, shape in step.operands:
        padded = (1,) * (4 - len(shape)) + shape
        if padded[:2] == step.shape[:2]:
            images[storage(tensor)] = Image.of(padded)
        elif padded[:2] == (1, 1):
            whole.append(storage(tensor))
        else:
            return None
    target = storage(step.target)
    if not images or set(images) & set(whole) or target in images:
        return None
    images[target] = Image.of(step.shape)
    uses = tuple(map(storage, step.uses))
    return PointwiseRows(step, target, images, tuple(whole), Engine.VECTOR, uses)


def _movement(
    step: Movement, storage: Callable[[int], int], image: Callable[[int], Image | None]
) -> RowWise | None:
    storages = {tensor: storage(tensor) for tensor in step.uses}
    images = {storages[tensor]: image(tensor) for tensor in step.uses}
    target = storages[step.target]
    known = {t: each for t, each in images.items() if each is not None and each.count == 1}
    copied = [copy for copy in step.copies if copy.source is not None]
    if (
        len(known) < len(step.uses)
        or known[target].rows < 2
        or any(storages[copy.source] == target for copy in copied if copy.source is not None)
        or not all(_nested(copy) for copy in step.copies)
    ):
        return None
    return MovementRows(step, target, known, (), Engine.MOVER, storages)


def _nested(copy: Copy) -> bool:
    """Return whether each loop's iterations write behind each other, none into another's bytes."""
    extent = copy.run
    for count, _, step in sorted(copy.loops, key=lambda loop: loop[2]):
        if step < extent:
            return False
        extent += (count - 1) * step
    return True


def cut(copy: Copy, wanted: range) -> Iterator[Copy]:
    """Yield copies of what a copy writes into the ``wanted`` bytes of its target."""
    loops = sorted(copy.loops, key=lambda loop: -loop[2])
    for source, target, run, left in _cut(
        copy.source_offset, copy.target_offset, copy.run, loops, wanted
    ):
        yield Copy(copy.source, source, target, run, tuple(left), copy.fill)


def _cut(
    source: int, target: int, run: int, loops: list[Loop], wanted: range
) -> Iterator[tuple[int, int, int, list[Loop]]]:
    extent = run + sum((count - 1) * step for count, _, step in loops)
    if target >= wanted.stop or target + extent <= wanted.start:
        return
    if wanted.start <= target and target + extent <= wanted.stop:
        yield source, target, run, loops
        return
    if not loops:
        start = max(target, wanted.start)
        stop = min(target + run, wanted.stop)
        yield source + start - target, start, stop - start, []
        return
    (count, source_step, step), *inner = loops
    extent -= (count - 1) * step
    first = min(count, max(0, -((target - wanted.start) // step)))
    behind = max(first, min(count, (wanted.stop - extent - target) // step + 1))
    for i in (each for each in (first - 1, behind) if 0 <= each < count):
        yield from _cut(source + i * source_step, target + i * step, run, inner, wanted)
    if first < behind:
        whole = [(behind - first, source_step, step), *inner]
        yield source + first * source_step, target + first * step, run, whole
