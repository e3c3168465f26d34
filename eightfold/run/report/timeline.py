"""What is drawn over the cycles of a run: who worked when, and where tensors lay.

The timeline has engines, what the matrix engine did, and the memory port; the maps have scratchpad
and arena.

`Axis` is an axis of cycles, and the paths over it, in pixels of an SVG.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.run.report.result import OperatorReport, StreamRecord

LEFT, RIGHT = 120, 16
"""Pixels before and behind an axis: in front are the names of what is drawn over it."""

LABEL = 90
"""Pixels between two numbers, about."""


@dataclass(frozen=True)
class Axis:
    """``total`` cycles on ``length`` pixels."""

    total: int
    length: int

    @property
    def width(self) -> int:
        """Pixels with what is before and behind."""
        return LEFT + self.length + RIGHT

    def x(self, cycle: float) -> float:
        """Return where a cycle is."""
        return round(LEFT + cycle * self.length / max(1, self.total), 2)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield place and text of round numbers."""
        for cycle in ticks(self.total, max(2, self.length // LABEL)):
            yield self.x(cycle), f"{cycle:,}"

    def area(self, low: NDArray, high: NDArray, top: float, height: float) -> str:
        """Return the path between two step functions of as many equal parts of the axis.

        ``low`` and ``high`` are from 0 at the bottom, ``top + height``, to 1 at the top.
        """
        edges = [self.x(part * self.total / len(low)) for part in range(len(low) + 1)]
        bottom = top + height

        def steps(values: NDArray, places: Sequence[float]) -> str:
            """Return a line that holds each value between two places."""
            parts = []
            for value, start, stop in zip(values, places, places[1:], strict=False):
                y = round(bottom - height * value, 1)
                if parts and parts[-1][0] == y:
                    parts[-1] = (y, parts[-1][1], stop)
                else:
                    parts.append((y, start, stop))
            return "L".join(f"{start:g},{y:g}L{stop:g},{y:g}" for y, start, stop in parts)

        return f"M{steps(high, edges)}L{steps(low[::-1], edges[::-1])}Z"


def ticks(total: int, count: int, base: int = 10) -> Iterator[int]:
    """Yield 0 and multiples of a round number up to ``total``, about ``count`` of them.

    Round is 1, 2 or 5 times a power of ten, or with ``base`` 2 a power of two.
    """
    step = 1
    factors = (2, 2.5, 2) if base == 10 else (2,)
    while total / step > count:
        step = round(step * factors[0])
        factors = (*factors[1:], factors[0])
    yield from range(0, total + 1, step)


def shares(
    cycles: NDArray[np.int64], counts: NDArray[np.int64], total: int, parts: int
) -> NDArray[np.float64]:
    """Return how much was counted per cycle in each of equal parts of the time.

    ``cycles``, ``counts``: times in order, shape (n,), and a counter's value at each; both begin
    with 0. ``total``: cycles that are parted.
    """
    edges = np.linspace(0, total, parts + 1)
    return np.diff(np.interp(edges, cycles, counts)) * parts / max(1, total)


NAMES = [name for name, _ in isa.COUNTERS]

ENGINES = {
    isa.Engine.MOVER: ("Mover", "var(--series-2)"),
    isa.Engine.MATRIX: ("Matrix engine", "var(--series-1)"),
    isa.Engine.VECTOR: ("Vector engine", "var(--series-3)"),
}
"""Name and colour."""

MATRIX = {
    "MATRIX_ISSUE": ("issues a vector", "var(--series-1)"),
    "MATRIX_OPERANDS": ("no vector there yet", "var(--series-4)"),
    "MATRIX_WEIGHTS": ("waits for weights", "var(--series-2)"),
    "MATRIX_PARAMETERS": ("waits for parameters", "var(--series-5)"),
    "MATRIX_HELD": ("held back by results", "var(--series-3)"),
    "MATRIX_DRAIN": ("results on their way", "var(--series-6)"),
    "MATRIX_WAIT": ("waits for another engine", "var(--line)"),
}
"""What the matrix engine does in a cycle, in a word or two, and its colour; from bottom to top."""

PORT = {
    "READ_BEATS": ("Port reads", "var(--series-4)"),
    "WRITE_BEATS": ("Port writes", "var(--series-5)"),
}
"""Name and colour."""

MERGED = 0.5
"""Pixels between commands of one operator that are drawn as one, if one of them is as narrow."""

PART = 3
"""Pixels of an area in which it has one height."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """From ``x``, ``width`` pixels; ``title`` is what a pointer on it shows, ``text`` fits."""

    x: float
    width: float
    title: str
    text: str = ""
    odd: bool = False


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A line of the timeline: bars, or paths with their colours."""

    name: str
    note: str
    top: int
    height: int
    colour: str = ""
    bars: Sequence[Bar] = ()
    areas: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """All lanes, over one axis; ``cuts`` are where one command stream ends and the next begins."""

    axis: Axis
    lanes: Sequence[Lane]
    height: int
    cuts: Sequence[float]


def starts(streams: Sequence[StreamRecord]) -> list[int]:
    """Return the cycles before each stream; those in golden between them take none."""
    return [sum(stream.cycles for stream in streams[:i]) for i in range(len(streams))]


def axis_of(streams: Sequence[StreamRecord]) -> Axis:
    """Return the axis of a run, which is longer for more operators."""
    operators = sum(len(stream.compiled.operators) for stream in streams)
    return Axis(sum(stream.cycles for stream in streams), min(6000, max(1060, 18 * operators)))


def counts_of(streams: Sequence[StreamRecord]) -> NDArray[np.int64]:
    """Return the counters of all streams at all times, as of one; the first row is 0."""
    parts = [np.zeros((1, len(NAMES)), np.int64)]
    for stream in streams:
        parts.append(parts[-1][-1] + stream.counts)
    return np.concatenate(parts)


def timeline(streams: Sequence[StreamRecord], operators: Sequence[OperatorReport]) -> Timeline:
    """Return what is drawn of at least one stream."""
    axis = axis_of(streams)
    counts = counts_of(streams)
    lanes: list[Lane] = []

    def add(height: int, areas: Sequence[tuple[NDArray, NDArray, str]] = (), **lane: Any) -> None:
        """Add a lane below the others; areas are between two step functions, with a colour."""
        gap = 16 if areas else 8
        top = lanes[-1].top + lanes[-1].height + gap if lanes else 4
        paths = [(axis.area(low, high, top, height), colour) for low, high, colour in areas]
        lanes.append(Lane(top=top, height=height, areas=paths, **lane))

    add(22, name="Operator", note="", bars=list(_operators(axis, operators)))
    for engine, (name, colour) in ENGINES.items():
        bars = list(_engine(axis, streams, engine, operators))
        works = sum(counts[-1, NAMES.index(counter)] for counter in isa.WORK[engine])
        add(26, name=name, note=_share(works, axis), colour=colour, bars=bars)
    parts = axis.length // PART
    levels = [np.zeros(parts)]
    for name in MATRIX:
        levels.append(np.minimum(1, levels[-1] + _shares(counts, name, axis, parts)))
    colours = (colour for _, colour in MATRIX.values())
    areas = [*zip(levels, levels[1:], colours, strict=False)]
    issued = _share(counts[-1, NAMES.index("MATRIX_ISSUE")], axis)
    add(60, areas, name="Matrix cycles", note=f"{issued} issue")
    for counter, (name, colour) in PORT.items():
        used = np.minimum(1, _shares(counts, counter, axis, parts))
        note = _share(counts[-1, NAMES.index(counter)], axis)
        add(34, [(np.zeros(parts), used, colour)], name=name, note=note)
    height = lanes[-1].top + lanes[-1].height
    cuts = [axis.x(start) for start in starts(streams)[1:]]
    return Timeline(axis=axis, lanes=lanes, height=height, cuts=cuts)


def _shares(counts: NDArray[np.int64], name: str, axis: Axis, parts: int) -> NDArray[np.float64]:
    return shares(counts[:, 0], counts[:, NAMES.index(name)], axis.total, parts)


def _share(count: int, axis: Axis) -> str:
    return f"{count / max(1, axis.total):.0%}"


def _operators(axis: Axis, operators: Sequence[OperatorReport]) -> Iterator[Bar]:
    """Yield the time from the end of the operator before to its own end."""
    end = 0
    for number, operator in enumerate(o for o in operators if o.cycles):
        assert operator.cycles
        start, end = end, end + operator.cycles
        x = axis.x(start)
        width = round(axis.x(end) - axis.x(start), 2)
        name = f"{operator.index} {operator.name}"
        texts = [text for text in (name, str(operator.index)) if 7 * len(text) + 4 <= width]
        yield Bar(
            x=x,
            width=width,
            title=f"{name}: cycles {start:,} to {end:,}",
            text=texts[0] if texts else "",
            odd=number % 2 == 1,
        )


def _engine(
    axis: Axis,
    streams: Sequence[StreamRecord],
    engine: isa.Engine,
    operators: Sequence[OperatorReport],
) -> Iterator[Bar]:
    """Yield an engine's commands; what is too narrow is drawn with its neighbours."""
    by_index = {operator.index: operator for operator in operators}
    for before, stream in zip(starts(streams), streams, strict=True):
        issued = stream.compiled.issued
        groups: list[list[int]] = []  # first command, last command, begin, end
        for index, begin, end in stream.spans.tolist():
            if issued[index].engine is not engine:
                continue
            if groups and _joins(axis, groups[-1], begin, end):
                first = groups[-1][0]
                if issued[first].operator == issued[index].operator:
                    groups[-1][1], groups[-1][3] = index, end
                    continue
            groups.append([index, index, begin, end])
        for first, last, begin, end in groups:
            operator = by_index[issued[first].operator]
            kinds = dict.fromkeys(
                issued[i].instruction.opcode.name
                for i in range(first, last + 1)
                if issued[i].engine is engine
            )
            numbers = f"command {first}" if first == last else f"commands {first} to {last}"
            yield Bar(
                x=axis.x(before + begin),
                width=max(MERGED, round(axis.x(end) - axis.x(begin), 2)),
                title=(
                    f"{', '.join(kinds)}, {numbers}, of {operator.index} {operator.name}: "
                    f"cycles {before + begin:,} to {before + end:,}"
                ),
                odd=operator.index % 2 == 1,
            )


def _joins(axis: Axis, group: list[int], begin: int, end: int) -> bool:
    """Return whether a command cannot be told from the one before on this axis."""
    pixel = axis.total / axis.length * MERGED
    return begin - group[3] < pixel and min(end - begin, group[3] - group[2]) < 2 * pixel


MAP_HEIGHT = 220
"""Pixels of a map."""

COLOURS = 4
"""How many colours tensors have, in turn."""

CHARACTER, LETTERS = 6.7, 12
"""Pixels of a letter, about, and of a line of them."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """A rectangle of cycles and bytes; ``colour`` counts from 1, 0 is for what is no tensor.

    ``text`` is ``below`` pixels below the upper edge.
    """

    x: float
    y: float
    width: float
    height: float
    colour: int
    title: str
    text: str
    below: int


@dataclass(frozen=True, kw_only=True)
class MemoryMap:
    """One space: ``peak`` is the end of its last byte in use, which is at the top of the map."""

    name: str
    axis: Axis
    height: int
    peak: int
    capacity: int
    regions: Sequence[Region]
    ticks: Sequence[tuple[float, str]]
    cuts: Sequence[float]


def memory_maps(streams: Sequence[StreamRecord], names: Mapping[int, str]) -> list[MemoryMap]:
    """Return the maps of scratchpad and arena; ``names`` are those of the graph's tensors."""
    capacities = {
        isa.Space.SCRATCHPAD: ("Scratchpad", max(s.compiled.config.scratchpad for s in streams)),
        isa.Space.ARENA: ("Arena", max(s.compiled.arena for s in streams)),
    }
    axis = axis_of(streams)
    maps = []
    for space, (name, capacity) in capacities.items():
        placed = [p for s in streams for p in s.compiled.placements if p.space == space]
        peak = max((p.offset + p.size for p in placed), default=0)
        each = MemoryMap(
            name=name,
            axis=axis,
            height=MAP_HEIGHT,
            peak=peak,
            capacity=capacity,
            regions=list(_regions(streams, space, peak, names)),
            ticks=[(_y(byte, peak), size(byte)) for byte in ticks(peak, 6, base=2)],
            cuts=[axis.x(start) for start in starts(streams)[1:]],
        )
        maps.append(each)
    return maps


def _regions(
    streams: Sequence[StreamRecord], space: isa.Space, peak: int, names: Mapping[int, str]
) -> Iterator[Region]:
    axis = axis_of(streams)
    written: set[tuple[float, float]] = set()
    for before, stream in zip(starts(streams), streams, strict=True):
        begins = {index: begin for index, begin, _ in stream.spans.tolist()} | {0: 0}
        ends = {index: end for index, _, end in stream.spans.tolist()}
        ends[len(stream.compiled.issued) - 1] = stream.cycles
        placements = [p for p in stream.compiled.placements if p.space == space]
        # Large ones first, so that small ones in their place are seen, as where a result replaces
        # its operand.
        for placement in sorted(placements, key=lambda p: -p.size):
            begin = before + begins.get(placement.first, 0)
            end = before + ends.get(placement.last, stream.cycles)
            tensor = placement.tensor
            what = f"{tensor} {names[tensor]}" if tensor is not None else "room"
            if placement.rows is not None:
                what += f", rows {placement.rows.start} to {placement.rows.stop - 1}"
            x, y = axis.x(begin), _y(placement.offset + placement.size, peak)
            width = max(1, round(axis.x(end) - x, 2))
            height = max(1, round(_y(placement.offset, peak) - y, 2))
            below = LETTERS
            while (x, y + below) in written:  # a result in the place of its operand
                below += LETTERS
            written.add((x, y + below))
            yield Region(
                x=x,
                y=y,
                width=width,
                height=height,
                colour=0 if tensor is None else 1 + tensor % COLOURS,
                title=(
                    f"{f'tensor {what}' if tensor is not None else 'room'}, of operator "
                    f"{placement.operator}: {placement.size:,} bytes from {placement.offset:,}, "
                    f"cycles {begin:,} to {end:,}, commands {placement.first} to {placement.last}"
                ),
                text=_fitting(what, width, height - below + LETTERS),
                below=below,
            )


def _fitting(text: str, width: float, height: float) -> str:
    """Return what there is room for: the text, its beginning, its number, or nothing."""
    room = int((width - 8) / CHARACTER)
    number = text.partition(" ")[0]
    if height < 14 or room < len(number):
        return ""
    if room >= len(text):
        return text
    return f"{text[: room - 1]}…" if room > len(number) + 5 else number


def _y(byte: int, peak: int) -> float:
    return round(MAP_HEIGHT * (1 - byte / max(1, peak)), 2)


def size(count: int) -> str:
    """Return a number of bytes for an axis."""
    return f"{count // 1024:,} KiB" if count and count % 1024 == 0 else f"{count:,} B"
