"""Where tensors lie in scratchpad and arena over the cycles of a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eightfold.isa import Space
from eightfold.run.report.result import StreamRecord
from eightfold.run.report.timeline import Axis, axis_of, starts, ticks

HEIGHT = 220
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
        Space.SCRATCHPAD: ("Scratchpad", max(s.compiled.config.scratchpad for s in streams)),
        Space.ARENA: ("Arena", max(s.compiled.arena for s in streams)),
    }
    return [
        _map(streams, space, name, capacity, names)
        for space, (name, capacity) in capacities.items()
    ]


def _map(
    streams: Sequence[StreamRecord],
    space: Space,
    name: str,
    capacity: int,
    names: Mapping[int, str],
) -> MemoryMap:
    axis = axis_of(streams)
    ends = [p.offset + p.size for s in streams for p in s.compiled.placements if p.space == space]
    peak = max(ends, default=0)
    return MemoryMap(
        name=name,
        axis=axis,
        height=HEIGHT,
        peak=peak,
        capacity=capacity,
        regions=list(_regions(streams, space, axis, peak, names)),
        ticks=[(_y(byte, peak), size(byte)) for byte in ticks(peak, 6, base=2)],
        cuts=[axis.x(start) for start in starts(streams)[1:]],
    )


def _regions(
    streams: Sequence[StreamRecord], space: Space, axis: Axis, peak: int, names: Mapping[int, str]
) -> Iterator[Region]:
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
    return round(HEIGHT * (1 - byte / max(1, peak)), 2)


def size(count: int) -> str:
    """Return a number of bytes for an axis."""
    return f"{count // 1024:,} KiB" if count and count % 1024 == 0 else f"{count:,} B"
