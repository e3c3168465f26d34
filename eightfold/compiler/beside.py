"""Element-wise work of the vector engine beside the convolutions before and behind it.

An ADD that waits for a whole convolution, and for which the next one waits, leaves the multipliers
without work. Let the convolution before be cut in rows A and B, the ADD in C and D, and the
convolution behind in E and F, such that C needs nothing of B, and E nothing of D. Then C is
computed beside B, and D beside E: the scratchpad has a port for each of the two engines.

A command is cut only where it is known which bytes each piece reads and writes, so that the tokens
of the pieces order no more than they must. Of convolutions that both are added, the longer one
comes last, if they need nothing of each other: beside it there is more time.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from eightfold.estimate.cost import matrix_cycles
from eightfold.estimate.estimate import estimate_stream
from eightfold.isa import Matrix, Parameters, Space, Vector, Weights
from eightfold.isa.issued import Interval, Issued, conflict
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

SHARES = (Fraction(1, 2), Fraction(3, 4), Fraction(7, 8))
"""How much of an element-wise command comes first."""

SMALL = 1024
"""Elements of a command that is not worth a cut."""

ASKED = 2000
"""Commands of a stream beyond which none is cut: its estimate takes long."""

Part = tuple[Issued, ...]
"""A MATRIX behind the constants that it takes, or another command alone."""


def beside(
    config: AcceleratorConfig, issued: Sequence[Issued], memory: MemoryTiming
) -> list[Issued]:
    """Return the stream with commands in pieces, if it then takes fewer cycles by the estimate."""
    if len(issued) > ASKED or not any(map(_divisible, issued)):
        return [*issued]
    streams = [[*issued], *(_divided(config, issued, share) for share in SHARES)]
    return min(streams, key=lambda stream: estimate_stream(config, stream, memory)[1])


def _divided(config: AcceleratorConfig, issued: Sequence[Issued], share: Fraction) -> list[Issued]:
    """Return the stream with element-wise commands in two parts, of which ``share`` is first."""
    parts = _parts(config, issued)
    number = 0
    while number < len(parts):
        (*_, command) = parts[number]
        if _divisible(command):
            number = _divide(config, parts, number, share)
        number += 1
    return [command for part in parts for command in part]


def _divisible(command: Issued) -> bool:
    """Return whether a command works on one run of bytes, each result from those in its place."""
    c = command.instruction
    return (
        isinstance(c, Vector)
        and c.run > SMALL
        and c.runs * c.positions == 1
        and not (c.row.value or c.reduce.value or c.repeat_a)
        and all(_own(c, each) for each in (*command.reads, *command.writes))
    )


def _own(c: Vector, interval: Interval) -> bool:
    """Return whether an interval is a table, or bytes of one of the command's runs alone."""
    runs = {(start, start + c.run) for start in (c.source_a, c.source_b, c.target)}
    return interval.space is Space.TABLES or (interval.start, interval.stop) in runs


def _parts(config: AcceleratorConfig, issued: Sequence[Issued]) -> list[Part]:
    """Return MATRIX commands with the constants in front of them, if they take these alone."""
    parts: list[Part] = []
    constants: list[Issued] = []
    for command in issued:
        if _constant(command):
            constants.append(command)
            continue
        if not _takes(config, command, constants):
            parts += [(each,) for each in constants]
            constants = []
        parts.append((*constants, command))
        constants = []
    return parts


def _takes(config: AcceleratorConfig, command: Issued, constants: Sequence[Issued]) -> bool:
    """Return whether a command is a MATRIX that takes all of these constants and no others."""
    taken = [each.instruction for each in constants]
    buffers = sum(each.buffers for each in taken if isinstance(each, Weights))
    channels = sum(each.channels for each in taken if isinstance(each, Parameters))
    c = command.instruction
    own = (c.passes, c.channels(config.lanes)) if isinstance(c, Matrix) else None
    return (buffers, channels) == own


def _divide(config: AcceleratorConfig, parts: list[Part], number: int, share: Fraction) -> int:
    """Divide an element-wise command and its neighbours; return where its second part is then."""
    (command,) = parts[number]
    first, second = _halves(command, config, share)
    # The producers: the last MATRIX commands before.
    place = _longer_last(config, parts, number)
    before = parts[place] if place >= 0 else ()
    if before and conflict(before[-1], first):
        cuts = _cut(config, before, lambda pieces: not conflict(pieces[1][-1], first), least=True)
        parts[place : place + 1] = cuts
        number += len(cuts) - 1
    parts[number : number + 1] = [(first,), (second,)]
    # The first half moves ahead of all that it does not need.
    at = number
    while at and not any(_ordered(each, first) for each in parts[at - 1]):
        at -= 1
    parts.insert(at, parts.pop(number))
    number += 1
    behind = next((n for n in range(number + 1, len(parts)) if _matrix(parts[n])), None)
    if behind is not None and conflict(second, parts[behind][-1]):
        parts[behind : behind + 1] = _cut(
            config, parts[behind], lambda pieces: not conflict(second, pieces[0][-1]), least=False
        )
    return number


def _ordered(one: Issued, other: Issued) -> bool:
    """Return whether a command has to stay in front of another one."""
    return conflict(one, other) or (one.engine in (None, other.engine) and not _constant(one))


def _constant(command: Issued) -> bool:
    return isinstance(command.instruction, (Weights, Parameters))


def _matrix(part: Part) -> bool:
    return isinstance(part[-1].instruction, Matrix)


def _longer_last(config: AcceleratorConfig, parts: list[Part], number: int) -> int:
    """Bring the longer of two MATRIX commands in front of ``number`` behind the other.

    Return the place of the last one, -1 if there is none.
    """
    places = [n for n in range(number) if _matrix(parts[n])][-2:]
    if not places:
        return -1
    last = places[-1]
    if len(places) == 2 and last == places[0] + 1:
        pair = parts[places[0] : last + 1]
        longer, other = (_cycles(config, part) for part in pair)
        if not conflict(pair[0][-1], pair[1][-1]) and longer > other:
            parts[places[0] : last + 1] = reversed(pair)
    return last


def _cycles(config: AcceleratorConfig, part: Part) -> int:
    command = part[-1].instruction
    assert isinstance(command, Matrix)
    return matrix_cycles(command, config)


def _halves(command: Issued, config: AcceleratorConfig, share: Fraction) -> tuple[Issued, Issued]:
    """Return the two parts of an element-wise command."""
    c = command.instruction
    assert isinstance(c, Vector)
    size = int(c.run * share) // config.vector * config.vector

    def part(start: int, stop: int) -> Issued:
        moved = {name: getattr(c, name) + start for name in ("source_a", "source_b", "target")}
        reads, writes = (
            tuple(
                each
                if each.space is Space.TABLES
                else replace(each, start=each.start + start, stop=each.start + stop)
                for each in intervals
            )
            for intervals in (command.reads, command.writes)
        )
        half = c.with_fields(run=stop - start, **moved)
        return replace(command, instruction=half, reads=reads, writes=writes)

    return part(0, size), part(size, c.run)


def _cut(
    config: AcceleratorConfig, part: Part, fits: Callable[[list[Part]], bool], least: bool
) -> list[Part]:
    """Return a MATRIX in two pieces by rows that fit, the first one as short or as long as may be.

    The part itself if there are none.
    """
    command = part[-1].instruction
    assert isinstance(command, Matrix)
    rows = range(1, len(command.firing_rows))

    def good(row: int) -> bool:
        pieces = by_rows(config, part, row)
        return bool(pieces) and fits(pieces)

    if least:
        place = bisect_left(rows, True, key=good)
    else:
        place = bisect_left(rows, True, key=lambda row: not good(row)) - 1
    return by_rows(config, part, rows[place]) if 0 <= place < len(rows) else [part]


def by_rows(config: AcceleratorConfig, part: Part, row: int) -> list[Part]:
    """Return the first ``row`` rows of results and the others, nothing if that cannot be.

    Each piece takes all constants: they are fetched twice.
    """
    *constants, whole = part
    c = whole.instruction
    assert isinstance(c, Matrix)
    rises = min(c.target_y, c.target_x, c.target_group) >= 0
    if not (constants and c.first and c.last and rises and 0 < row < len(c.firing_rows)):
        return []
    if (whole.reads, whole.writes) != _accesses(c, config):
        return []
    vectors = row * c.fire_y_step
    first = c.with_fields(y=vectors - c.fire_y_step + c.fire_y0 + 1)
    second = c.with_fields(
        y=c.y - vectors,
        base=c.base + vectors * c.y_step,
        row0=c.row0 + vectors * c.y_rows,
        target=c.target + row * c.target_y,
    )
    pieces: list[Part] = []
    for command in (first, second):
        reads, writes = _accesses(command, config)
        if not reads:
            return []
        piece = replace(whole, instruction=command, reads=reads, writes=writes)
        pieces.append((*constants, piece))
    return pieces


def _accesses(
    c: Matrix, config: AcceleratorConfig
) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    """Return what a command reads and writes; no reads if its rows do not follow each other."""
    loops = ((c.y, c.y_step, c.y_rows), (c.ky, c.ky_step, c.ky_rows))
    moving = [(step, rows) for count, step, rows in loops if count > 1]
    pitches = {step // rows if rows > 0 and step % rows == 0 else 0 for step, rows in moving}
    last = c.row0 + sum((count - 1) * rows for count, _, rows in loops if count > 1)
    low, high = max(c.row0, 0), min(last, c.rows - 1)
    if len(pitches) != 1 or min(pitches) <= 0 or low > high:
        return (), ()
    (pitch,) = pitches
    start, end = (c.base + (row - c.row0) * pitch for row in (low, high))
    beyond = config.vector if c.depthwise else 0
    rows, columns = len(c.firing_rows), len(c.firing_columns)
    channels = (c.groups - 1) * c.target_group + c.last_lanes
    stop = c.target + (rows - 1) * c.target_y + (columns - 1) * c.target_x + channels
    whole = rows == 1 or c.target_y == columns * c.target_x
    results = Interval.repeated(c.target, stop, c.target_x, channels)
    return (
        (Interval(Space.SCRATCHPAD, start, end + c.columns + beyond),),
        (results if whole else Interval(Space.SCRATCHPAD, c.target, stop),),
    )
