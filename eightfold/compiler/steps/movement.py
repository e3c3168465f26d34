"""Operators that only move bytes, as programs of the mover."""

from collections.abc import Sequence
from dataclasses import dataclass

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.staging import NoRoomError, Staging, fits
from eightfold.compiler.steps.step import Step
from eightfold.isa import SPACES, Opcode, Space


@dataclass(frozen=True)
class Copy:
    """Runs from a tensor, or of a byte if ``source`` is None, into the operator's result.

    ``loops``: (count, source stride, target stride), outermost first; offsets in bytes.
    """

    source: int | None
    source_offset: int
    target_offset: int
    run: int
    loops: tuple[tuple[int, int, int], ...] = ()
    fill: int = 0


@dataclass(frozen=True, kw_only=True)
class Movement(Step):
    """Copies into ``target``, in order: later ones read or overwrite what earlier ones wrote."""

    copies: tuple[Copy, ...]

    @property
    def uses(self) -> tuple[int, ...]:
        """The tensors that must be reachable."""
        sources = {copy.source for copy in self.copies if copy.source is not None}
        return (*sorted(sources - {self.target}), self.target)

    @property
    def only_copies(self) -> bool:
        """The mover does it."""
        return True

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands."""
        for copy in self.copies:
            space, offset = staging.places[self.target]
            target = (space, offset + copy.target_offset)
            if copy.source is None:
                # A run of fill needs no source strides.
                loops = [(count, 0, step) for count, _, step in copy.loops]
                emitter.move((Space.FILL, 0), target, copy.run, loops, copy.fill)
                continue
            space, offset = staging.places[copy.source]
            source = (space, offset + copy.source_offset)
            if (source[0], target[0]) in SPACES[Opcode.MOVE]:
                emitter.move(source, target, copy.run, copy.loops)
            else:
                _through_room(emitter, staging, source, target, copy.run, list(copy.loops))


def _through_room(
    emitter: Emitter,
    staging: Staging,
    source: tuple[Space, int],
    target: tuple[Space, int],
    run: int,
    loops: list[tuple[int, int, int]],
) -> None:
    """Copy from memory to memory by way of the scratchpad, in pieces that fit."""
    size = run
    for count, _, _ in loops:
        size *= count
    limit = staging.room[1] // 2
    if limit < 1:
        raise NoRoomError
    if size <= limit:
        staging.begin(fits([size]))
        local = (Space.SCRATCHPAD, staging.take(size))
        packed = _packed(run, loops)
        into = [(n, s, p) for (n, s, _), p in zip(loops, packed, strict=True)]
        out = [(n, p, t) for (n, _, t), p in zip(loops, packed, strict=True)]
        emitter.move(source, local, run, into)
        emitter.move(local, target, run, out)
        return
    if loops:
        (count, step, target_step), *inner = loops
        half = -(-count // 2)
        pieces = [(start, n) for start, n in ((0, half), (half, count - half)) if n]
        for start, n in pieces:
            rest = inner if n == 1 else [(n, step, target_step), *inner]
            _through_room(
                emitter,
                staging,
                (source[0], source[1] + start * step),
                (target[0], target[1] + start * target_step),
                run,
                rest,
            )
        return
    for start in range(0, run, limit):
        _through_room(
            emitter,
            staging,
            (source[0], source[1] + start),
            (target[0], target[1] + start),
            min(limit, run - start),
            [],
        )


def _packed(run: int, loops: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return the strides of the runs without gaps."""
    strides = []
    step = run
    for count, _, _ in reversed(loops):
        strides.append(step)
        step *= count
    return strides[::-1]
