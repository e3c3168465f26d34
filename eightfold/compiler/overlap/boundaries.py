"""Where a MATRIX command waits for the end of the one before it, pieces of both do not.

From the last vector of a command to the first one of a command that waits for its results, the
matrix engine has nothing to do. Let the first be cut in A and B, the second in C and D, such that C
needs nothing of B: the results of A are there before C begins, for B is computed meanwhile, and
those of B before D begins.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from eightfold.compiler.overlap.cutting import Piece, by_depth, by_groups, by_rows
from eightfold.estimate.estimate import estimate_stream
from eightfold.isa import Engine, Opcode
from eightfold.isa.issued import Issued
from eightfold.isa.tokens import conflict
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

Way = Callable[[Piece, int], list[Piece]]
"""Cuts a piece behind so many of its rows, groups or vectors; nothing if it cannot."""

WAIT = 50
"""Cycles from a command's last vector to the first one of a command that waits for it, about."""

ASKED = 2000
"""Commands of a stream that is estimated: it takes time, and of many pieces few do not pay."""

NEXT = 4
"""Cycles that a piece takes beyond its own, about."""


def overlapped(
    config: AcceleratorConfig, issued: Sequence[Issued], memory: MemoryTiming
) -> list[list[Issued]]:
    """Return, for each command of a stream, what replaces it: itself, or pieces of it.

    Pieces, if the stream then takes fewer cycles by the estimate; one of more than `ASKED` commands
    is not estimated, and has pieces.
    """
    whole = [[command] for command in issued]
    cut = _cut(config, issued)
    if cut == whole or len(issued) > ASKED:
        return cut
    streams = [issued, list(chain.from_iterable(cut))]
    before, after = (estimate_stream(config, stream, memory)[1] for stream in streams)
    return cut if after < before else whole


def pieces_of(config: AcceleratorConfig, issued: Sequence[Issued]) -> Iterator[tuple[int, Piece]]:
    """Yield index and MATRIX commands of a stream, each with the constants that it takes alone."""
    constants: list[Issued] = []
    for index, command in enumerate(issued):
        if command.instruction.opcode in (Opcode.WEIGHTS, Opcode.PARAMETERS):
            constants.append(command)
        elif command.engine == Engine.MATRIX:
            yield index, Piece(config, command, _alone(config, command, constants))
            constants = []


def replaced(issued: Sequence[Issued], pieces: Mapping[int, Sequence[Piece]]) -> list[list[Issued]]:
    """Return what replaces each command: pieces, by index, with the constants they take again."""
    result = [[command] for command in issued]
    for index, each in pieces.items():
        result[index] = [command for piece in each for command in (*piece.again, piece.issued)]
    return result


def _cut(config: AcceleratorConfig, issued: Sequence[Issued]) -> list[list[Issued]]:
    pieces: dict[int, list[Piece]] = {}
    last = len(issued)
    for index, piece in pieces_of(config, issued):
        pieces[index] = [piece]
        others = (other for other in issued[last + 1 : index] if other.engine)
        if last < index and not any(conflict(other, piece.issued) for other in others):
            _overlap(pieces[last], pieces[index])
        last = index
    return replaced(issued, pieces)


def _alone(
    config: AcceleratorConfig, command: Issued, constants: Sequence[Issued]
) -> tuple[Issued, ...]:
    """Return the constants if a command takes them all; those of others come before or behind."""
    f = command.fields
    buffers = sum(each.fields.get("full", 0) + each.fields.get("partial", 0) for each in constants)
    channels = sum(each.fields.get("channels", 0) for each in constants)
    taken = f["groups"] * f["ky"] * f["kx"] * f["kc"]
    own = (f["groups"] - 1) * config.lanes + f["last_lanes"]
    return tuple(constants) if (buffers, channels) == (taken, own) else ()


def _overlap(before: list[Piece], after: list[Piece]) -> None:
    """Cut the last piece of a command and the next command, if that takes fewer cycles."""
    end, (whole,) = before[-1], after
    if not conflict(end.issued, whole.issued):
        return
    best, chosen = WAIT - NEXT, ([end], [whole])
    for ends in ([end], *_endings(end)):
        for pieces in _beginnings(ends[-1], whole):
            cycles = (
                max(0, WAIT - ends[-1].cycles)
                + max(0, WAIT - pieces[0].cycles)
                + _beyond(ends, end)
                + _beyond(pieces, whole)
            )
            if cycles < best:
                best, chosen = cycles, (ends, pieces)
    before[-1:], after[:] = chosen


def _beyond(pieces: Sequence[Piece], whole: Piece) -> int:
    """Return the cycles that pieces take beyond those of the whole."""
    return sum(piece.cycles + NEXT for piece in pieces) - whole.cycles - NEXT


def _endings(whole: Piece) -> Iterator[list[Piece]]:
    """Yield ways to cut a command such that the last piece takes as long as one has to wait."""
    for way, count in ((by_groups, whole.command.groups), (by_rows, whole.rows)):
        for first in range(count - 1, 0, -1):
            if not (pieces := way(whole, first)):
                break
            if pieces[-1].cycles >= WAIT or first == 1:
                yield pieces
                break


def _beginnings(end: Piece, whole: Piece) -> Iterator[list[Piece]]:
    """Yield ways to cut a command such that its first piece needs nothing of ``end``.

    That piece is as large as can be, or no larger than the other needs to wait for it.
    """
    ways = (
        (by_groups, whole.command.groups),
        (by_depth, whole.command.kc),
        (by_rows, whole.rows),
    )
    for way, count in ways:

        def waits(size: int, way: Way = way) -> bool:
            pieces = way(whole, size)
            return bool(pieces) and conflict(end.issued, pieces[0].issued)

        def lasts(size: int, way: Way = way) -> bool:
            pieces = way(whole, size)
            return bool(pieces) and pieces[0].cycles >= WAIT

        # What a piece needs grows with it; of padding alone there is none, at both ends.
        most = bisect_left(range(1, count), True, key=waits)
        while most and not way(whole, most):
            most -= 1
        if most:
            yield way(whole, most)
            yield way(whole, 1 + bisect_left(range(1, most), True, key=lasts))
