"""TRANSPOSE on the matrix engine, where it takes fewer cycles than the mover, in parts that fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits, halvings, parts
from eightfold.compiler.steps.arriving import Piece, emit_pieces
from eightfold.compiler.steps.movement import Movement
from eightfold.compiler.steps.swap import Swap, Way


@dataclass(frozen=True, kw_only=True)
class Transposition(Movement):
    """A TRANSPOSE by the matrix engine in some ``way``; ``copies`` are what a cascade does."""

    source: int
    swap: Swap
    way: Way

    @property
    def only_copies(self) -> bool:
        """False: the source must be in the scratchpad."""
        return False

    @property
    def cycles(self) -> int:
        """The matrix engine's cycles; rows in a cascade are copies."""
        return self.way.cycles(self.swap)

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, in parts that fit, each brought while the one before is computed."""
        try:
            found = list(self._parts(staging))
        except NoRoomError:
            super().emit(emitter, staging)
            return
        emit_pieces([self._piece(emitter, staging, *part) for part in found], 1)

    def _piece(
        self, emitter: Emitter, staging: Staging, some: Swap, begin: int, into: int
    ) -> Piece:
        """Return what brings and computes a part, whose first bytes are at ``begin``, ``into``."""
        read = _axes(some.source_axes, self.swap.source_axes)
        written = _axes(some.target_axes, self.swap.target_axes)
        places: list[tuple[int, list[int]]] = []

        def bring() -> None:
            staging.begin(self._room(staging, some))
            places.append(staging.load_block(self.source, begin, read))
            places.append(staging.result_block(self.target, into, written))

        def compute() -> None:
            (source, steps), (target, target_steps) = places
            for block in self.way.blocks(some, steps, target_steps):
                block.emit(emitter, source, target)
            staging.store_block(self.target, into, written, target)

        return bring, compute

    def _parts(self, staging: Staging) -> Iterator[tuple[Swap, int, int]]:
        """Yield parts, with their first byte in source and target.

        All at once if it is in the scratchpad, else as much as a command has partial sums for.
        """
        swap, way = self.swap, self.way
        lines, unit, most = way.lines(swap), way.unit(swap), way.config.psum_depth
        sizes = [
            *((outer, lines) for outer in halvings(swap.outer)),
            *((1, some) for some in halvings(min(lines, most * unit), unit)),
        ]
        for outer, some in sizes:
            first, *_ = way.part(swap, range(outer), range(some))
            room = self._room(staging, first)
            if not room or (outer * some <= most * unit and 2 * room <= staging.room[1]):
                break
        else:
            raise NoRoomError
        for matrices, part in product(parts(range(swap.outer), outer), parts(range(lines), some)):
            yield way.part(swap, matrices, part)

    def _room(self, staging: Staging, some: Swap) -> int:
        """Return the bytes that a part takes of the room."""
        outside = [t for t in (self.source, self.target) if staging.resident(t) is None]
        return fits([some.size] * len(outside))


def _axes(
    some: Sequence[tuple[int, int]], whole: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the counts of a part, with the steps of all."""
    return [(count, step) for (count, _), (_, step) in zip(some, whole, strict=True)]
