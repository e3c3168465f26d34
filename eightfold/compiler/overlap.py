"""Where a MATRIX command waits for the end of the one before it, pieces of both do not.

From the last vector of a command to the first one of a command that waits for its results, the
matrix engine has nothing to do. Let the first be cut in A and B, the second in C and D, such that C
needs nothing of B: the results of A are there before C begins, for B is computed meanwhile, and
those of B before D begins.

A command is cut by rows, by groups of output channels, or by the depth of its sums. Together the
pieces compute what the whole does, vector for vector, but for the rows that a depthwise window
reads again. A command is cut only where it is known which bytes each piece reads and writes, so
that the tokens of the pieces order no more than they must.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from eightfold.estimate.cost import LATENCY, matrix_cycles
from eightfold.estimate.estimate import estimate_stream
from eightfold.estimate.timing import MATRIX_WALK
from eightfold.isa import Engine, Matrix, Opcode, Parameters, Space, Weights
from eightfold.isa.issued import Interval, Issued, conflict
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming


@dataclass(frozen=True)
class MatrixPiece:
    """A MATRIX command, or a piece of one.

    ``constants`` are the WEIGHTS and PARAMETERS before it, if it takes all of them and no others;
    else none. ``refetched`` are those that must come once more in front of it.
    """

    config: AcceleratorConfig
    issued: Issued
    constants: tuple[Issued, ...] = ()
    refetched: tuple[Issued, ...] = ()

    @cached_property
    def command(self) -> Matrix:
        """The command."""
        command = self.issued.instruction
        assert isinstance(command, Matrix)
        return command

    @cached_property
    def cycles(self) -> int:
        """Cycles of all passes: of their vectors, or of loading a word into each lane."""
        return matrix_cycles(self.command, self.config)

    @property
    def rows(self) -> int:
        """Rows of results."""
        return len(self.command.firing_rows)

    @property
    def group(self) -> int:
        """Channels of a full group."""
        lanes, width = self.config.lanes, self.config.width
        return min(lanes, width) if self.command.depthwise else lanes

    def parts(self, *commands: tuple[Matrix, Interval]) -> "list[MatrixPiece]":
        """Return parts of the command, which share its constants, with what they read."""
        whole = self.issued
        pieces: list[MatrixPiece] = []
        for command, reads in commands:
            results = _results(command, self.config)
            writes = (results,) if results else ()
            issued = Issued(  # `replace` takes several times as long
                instruction=command,
                operator=whole.operator,
                step=whole.step,
                reads=(reads,),
                writes=writes,
            )
            refetched = () if pieces else self.refetched
            pieces.append(MatrixPiece(self.config, issued, refetched=refetched))
        return pieces


def by_rows(whole: MatrixPiece, row: int) -> list[MatrixPiece]:
    """Return the first ``row`` rows of results and the others, nothing if that cannot be.

    Each piece takes all constants: they are fetched twice.
    """
    c = whole.command
    if not (whole.constants and c.first and 0 < row < whole.rows and _covers_own_bytes(whole)):
        return []
    vectors = row * c.fire_y_step
    first = c.with_fields(y=vectors - c.fire_y_step + c.fire_y0 + 1)
    second = c.with_fields(
        y=c.y - vectors,
        base=c.base + vectors * c.y_step,
        row0=c.row0 + vectors * c.y_rows,
        target=c.target + row * c.target_y,
    )
    reads = [_read_rows(command, whole.config) for command in (first, second)]
    if reads[0] is None or reads[1] is None:
        return []
    one, other = whole.parts((first, reads[0]), (second, reads[1]))
    constants = whole.constants
    return [
        replace(one, constants=constants),
        replace(other, constants=constants, refetched=constants),
    ]


def by_groups(whole: MatrixPiece, groups: int) -> list[MatrixPiece]:
    """Return the first ``groups`` groups and the others, nothing if that cannot be."""
    c, (reads,) = whole.command, whole.issued.reads
    if not (0 < groups < c.groups and c.target_group == whole.group and _covers_own_bytes(whole)):
        return []
    first = c.with_fields(groups=groups, last_lanes=whole.group)
    second = c.with_fields(
        groups=c.groups - groups,
        base=c.base + groups * c.group_step,
        target=c.target + groups * c.target_group,
    )
    spans = [reads, reads]
    if c.group_step and _regular(c):
        beyond = whole.config.vector - c.group_step
        spans = [
            _columns(reads, 0, first.groups * c.group_step + beyond, c.x_step),
            _columns(reads, groups * c.group_step, second.groups * c.group_step + beyond, c.x_step),
        ]
    return whole.parts((first, spans[0]), (second, spans[1]))


def by_depth(whole: MatrixPiece, vectors: int) -> list[MatrixPiece]:
    """Return the sums over the first ``vectors`` vectors of the depth, and over the others.

    Of the first group only, for the partial sums hold one; the other groups come third. Nothing if
    that cannot be.
    """
    c, (reads,) = whole.command, whole.issued.reads
    one_tap = c.ky == c.kx == 1 and not c.depthwise and not c.column0
    if not (
        0 < vectors < c.kc and c.first and one_tap and _regular(c) and _covers_own_bytes(whole)
    ):
        return []
    size = vectors * whole.config.width
    group = c.with_fields(groups=1, last_lanes=whole.group if c.groups > 1 else c.last_lanes)
    first = group.with_fields(kc=vectors, last=0)
    second = group.with_fields(kc=c.kc - vectors, column0=size, first=0)
    pieces = [
        (first, _columns(reads, 0, size, c.x_step)),
        (second, _columns(reads, size, second.kc * whole.config.width, c.x_step)),
    ]
    if c.groups > 1:
        third = c.with_fields(groups=c.groups - 1, target=c.target + c.target_group)
        pieces.append((third, reads))
    return whole.parts(*pieces)


def _covers_own_bytes(piece: MatrixPiece) -> bool:
    """Return whether the command's bytes are those that follow from its fields."""
    spans = _read_rows(piece.command, piece.config), _results(piece.command, piece.config)
    return (piece.issued.reads, piece.issued.writes) == ((spans[0],), (spans[1],))


def _regular(c: Matrix) -> bool:
    """Return whether all vectors begin multiples of ``x_step`` behind the first byte of a row."""
    steps = (c.column0, c.y_step, c.ky_step, c.kx_step)
    return c.x_step > 0 and all(step % c.x_step == 0 for step in steps)


def _columns(span: Interval, start: int, size: int, pitch: int) -> Interval:
    """Return ``size`` bytes from ``start`` on of each ``pitch`` of a span."""
    return Interval.repeated(span.start + start, span.stop, pitch, size)


def _read_rows(c: Matrix, config: AcceleratorConfig) -> Interval | None:
    """Return the bytes of the rows that are seen; None if rows do not follow each other."""
    loops = ((c.y, c.y_step, c.y_rows), (c.ky, c.ky_step, c.ky_rows))
    moving = [(step, rows) for count, step, rows in loops if count > 1]
    if any(min(step, rows) <= 0 or step % rows for step, rows in moving):
        return None
    pitches = {step // rows for step, rows in moving} or {0}
    last = c.row0 + sum((count - 1) * rows for count, _, rows in loops if count > 1)
    low, high = max(c.row0, 0), min(last, c.rows - 1)
    if len(pitches) > 1 or low > high:
        return None
    (pitch,) = pitches
    start, end = (c.base + (row - c.row0) * pitch for row in (low, high))
    beyond = config.vector if c.depthwise else 0
    return Interval(Space.SCRATCHPAD, start, end + c.columns + beyond)


def _results(c: Matrix, config: AcceleratorConfig) -> Interval | None:
    """Return the bytes of all results; None if there are none, or if their places do not rise."""
    if not c.last or min(c.target_y, c.target_x, c.target_group) < 0:
        return None
    rows, columns = len(c.firing_rows), len(c.firing_columns)
    channels = (c.groups - 1) * c.target_group + c.last_lanes
    stop = c.target + (rows - 1) * c.target_y + (columns - 1) * c.target_x + channels
    if rows > 1 and c.target_y != columns * c.target_x:
        return Interval(Space.SCRATCHPAD, c.target, stop)
    return Interval.repeated(c.target, stop, c.target_x, channels)


Cutter = Callable[[MatrixPiece, int], list[MatrixPiece]]
"""Cuts a piece behind so many of its rows, groups or vectors; nothing if it cannot."""

WAIT = LATENCY[Engine.MATRIX]

ASKED = 2000
"""Commands of a stream that is estimated: it takes time, and of many pieces few do not pay."""


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


def pieces_of(
    config: AcceleratorConfig, issued: Sequence[Issued]
) -> Iterator[tuple[int, MatrixPiece]]:
    """Yield index and MATRIX commands of a stream, each with the constants that it takes alone."""
    constants: list[Issued] = []
    for index, command in enumerate(issued):
        if command.instruction.opcode in (Opcode.WEIGHTS, Opcode.PARAMETERS):
            constants.append(command)
        elif isinstance(matrix := command.instruction, Matrix):
            yield index, MatrixPiece(config, command, _alone(config, matrix, constants))
            constants = []


def replaced(
    issued: Sequence[Issued], pieces: Mapping[int, Sequence[MatrixPiece]]
) -> list[list[Issued]]:
    """Return what replaces each command: pieces, by index, with the constants they take again."""
    result = [[command] for command in issued]
    for index, each in pieces.items():
        result[index] = [command for piece in each for command in (*piece.refetched, piece.issued)]
    return result


def _cut(config: AcceleratorConfig, issued: Sequence[Issued]) -> list[list[Issued]]:
    pieces: dict[int, list[MatrixPiece]] = {}
    last = len(issued)
    for index, piece in pieces_of(config, issued):
        pieces[index] = [piece]
        others = (other for other in issued[last + 1 : index] if other.engine)
        if last < index and not any(conflict(other, piece.issued) for other in others):
            _overlap(pieces[last], pieces[index])
        last = index
    return replaced(issued, pieces)


def _alone(
    config: AcceleratorConfig, command: Matrix, constants: Sequence[Issued]
) -> tuple[Issued, ...]:
    """Return the constants if a command takes them all; those of others come before or behind."""
    taken = [each.instruction for each in constants]
    buffers = sum(each.buffers for each in taken if isinstance(each, Weights))
    channels = sum(each.channels for each in taken if isinstance(each, Parameters))
    own = (command.passes, command.channels(config.lanes))
    return tuple(constants) if (buffers, channels) == own else ()


def _overlap(before: list[MatrixPiece], after: list[MatrixPiece]) -> None:
    """Cut the last piece of a command and the next command, if that takes fewer cycles."""
    end, (whole,) = before[-1], after
    if not conflict(end.issued, whole.issued):
        return
    best = WAIT - MATRIX_WALK
    chosen = ([end], [whole])
    for ends in ([end], *_endings(end)):
        for pieces in _beginnings(ends[-1], whole):
            cycles = (
                max(0, WAIT - ends[-1].cycles)
                + max(0, WAIT - pieces[0].cycles)
                + _beyond(ends, end)
                + _beyond(pieces, whole)
            )
            if cycles < best:
                best = cycles
                chosen = (ends, pieces)
    before[-1:], after[:] = chosen


def _beyond(pieces: Sequence[MatrixPiece], whole: MatrixPiece) -> int:
    """Return the cycles that pieces take beyond those of the whole."""
    return sum(piece.cycles + MATRIX_WALK for piece in pieces) - whole.cycles - MATRIX_WALK


def _endings(whole: MatrixPiece) -> Iterator[list[MatrixPiece]]:
    """Yield ways to cut a command such that the last piece takes as long as one has to wait."""
    for cutter, count in ((by_groups, whole.command.groups), (by_rows, whole.rows)):
        for first in range(count - 1, 0, -1):
            if not (pieces := cutter(whole, first)):
                break
            if pieces[-1].cycles >= WAIT or first == 1:
                yield pieces
                break


def _beginnings(end: MatrixPiece, whole: MatrixPiece) -> Iterator[list[MatrixPiece]]:
    """Yield ways to cut a command such that its first piece needs nothing of ``end``.

    That piece is as large as can be, or no larger than the other needs to wait for it.
    """
    ways = (
        (by_groups, whole.command.groups),
        (by_depth, whole.command.kc),
        (by_rows, whole.rows),
    )
    for cutter, count in ways:

        def waits(size: int, cutter: Cutter = cutter) -> bool:
            pieces = cutter(whole, size)
            return bool(pieces) and conflict(end.issued, pieces[0].issued)

        def lasts(size: int, cutter: Cutter = cutter) -> bool:
            pieces = cutter(whole, size)
            return bool(pieces) and pieces[0].cycles >= WAIT

        # What a piece needs grows with it; of padding alone there is none, at both ends.
        most = bisect_left(range(1, count), True, key=waits)
        while most and not cutter(whole, most):
            most -= 1
        if most:
            yield cutter(whole, most)
            yield cutter(whole, 1 + bisect_left(range(1, most), True, key=lasts))
