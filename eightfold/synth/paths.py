"""Static timing of a routed netlist: when each pin is reached, and along which cells.

nextpnr reports one path. To shorten the others one needs the delays of all wires and cells, which
are in the SDF file that it writes beside the netlist.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

Pin = tuple[str, str]
"""A cell's name and the name of its port."""

NEVER = -1e9
"""Arrival in picoseconds of what no clock begins: constants, and what is made of them."""

_LINE = re.compile(r"\((INSTANCE|INTERCONNECT|IOPATH|SETUPHOLD) ?(.*)\)")
_WORDS = re.compile(r"\((?:pos|neg)edge (\S+)\)|\(([\d:.]*)\)|(\S+)")


@dataclass
class Delays:
    """Delays of a routed netlist in picoseconds, the slowest of each.

    ``wires``: of a pin that reads, from the pin that drives it; ``drivers``: which that is;
    ``cells``: from the cell's inputs, by driving pin; ``launches``: of pins that a clock begins;
    ``setups``: of pins where a path ends.
    """

    wires: dict[Pin, float] = field(default_factory=dict)
    drivers: dict[Pin, Pin] = field(default_factory=dict)
    cells: defaultdict[Pin, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    launches: dict[Pin, float] = field(default_factory=dict)
    setups: dict[Pin, float] = field(default_factory=dict)

    @classmethod
    def load(cls, sdf: Path) -> "Delays":
        """Return the delays in an SDF file that nextpnr wrote."""
        found = cls()
        cell = ""
        for kind, words in _entries(sdf):
            if kind == "INSTANCE":
                cell = words[0] if words else ""
            elif kind == "INTERCONNECT":
                driver, reader = (_pin(word) for word in words[:2])
                found.drivers[reader] = driver
                found.wires[reader] = _slowest(words[2:])
            elif kind == "IOPATH":
                begin, end, *delays = words
                if begin.startswith("CLK"):
                    pin = (cell, end)
                    found.launches[pin] = max(found.launches.get(pin, 0.0), _slowest(delays))
                else:
                    found.cells[cell, end][begin] = _slowest(delays)
            else:
                pin = (cell, words[0])
                found.setups[pin] = max(found.setups.get(pin, 0.0), _slowest(words[2:3]))
        return found


def _entries(sdf: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what a line of an SDF file is about, and its words, edges and brackets taken off."""
    with sdf.open(encoding="utf-8") as lines:
        for line in lines:
            if found := _LINE.match(line.strip()):
                words = _WORDS.findall(found[2].replace("\\", ""))
                yield found[1], ["".join(word) for word in words]


def _pin(word: str) -> Pin:
    cell, port = word.rsplit("/", 1)
    return cell, port


def _slowest(triples: list[str]) -> float:
    return max(float(triple.rsplit(":", 1)[-1] or 0) for triple in triples)


class Paths:
    """All paths between registers, and what is spare on each of them at a clock period.

    Numbers in picoseconds, in arrays by pin: ``arrivals`` of pins that drive, ``required`` times of
    pins that read; `analyse` makes them of ``wires``, which may be changed in between.
    """

    def __init__(self, delays: Delays) -> None:
        self.readers = list(delays.drivers)
        self.drivers = list(dict.fromkeys(delays.drivers.values()))
        self.reader = {pin: number for number, pin in enumerate(self.readers)}
        driver = {pin: number for number, pin in enumerate(self.drivers)}
        self.source = np.array([driver[delays.drivers[pin]] for pin in self.readers])
        self.wires = np.array([delays.wires[pin] for pin in self.readers])
        self.launches = np.array([delays.launches.get(pin, NEVER) for pin in self.drivers])
        self.setups = np.array([delays.setups.get(pin, -NEVER) for pin in self.readers])
        self.ends = np.flatnonzero(self.setups < -NEVER)
        self.fan: list[list[int]] = [[] for _ in self.drivers]
        for reader, source in enumerate(self.source):
            self.fan[source].append(reader)
        self.arcs: list[list[tuple[int, float]]] = [
            [
                (self.reader[pin[0], port], delay)
                for port, delay in delays.cells.get(pin, {}).items()
                if (pin[0], port) in self.reader
            ]
            for pin in self.drivers
        ]
        self._sort()

    def _sort(self) -> None:
        """Put arcs in the order in which they are reached, in groups that depend on none within."""
        level = np.full(len(self.drivers), -1)
        for root in range(len(self.drivers)):
            stack = [root]
            while stack:
                here = stack[-1]
                before = [self.source[reader] for reader, _ in self.arcs[here]]
                if waits := [source for source in before if level[source] < 0]:
                    stack += waits
                else:
                    level[here] = 1 + max((level[source] for source in before), default=-1)
                    stack.pop()
        rows = [(r, d, w) for d, arcs in enumerate(self.arcs) for r, w in arcs]
        reader, driver, delay = (np.array(column) for column in zip(*rows, strict=True))
        self._forward = _groups(level[driver], reader, driver, delay)
        self._backward = _groups(level[self.source[reader]], reader, driver, delay)
        readers = np.arange(len(self.readers))
        self._levels = _groups(level[self.source], readers)

    def analyse(self, period: float) -> None:
        """Compute when pins are reached, and when they would have to be for a clock period."""
        arrivals = self.launches.copy()
        for _, (reader, driver, delay) in sorted(self._forward.items()):
            np.maximum.at(
                arrivals, driver, arrivals[self.source[reader]] + self.wires[reader] + delay
            )
        required = np.where(self.setups < -NEVER, period - self.setups, -NEVER)
        before = np.full(len(self.drivers), -NEVER)
        for level, (readers,) in sorted(self._levels.items(), reverse=True):
            if level in self._backward:
                reader, driver, delay = self._backward[level]
                np.minimum.at(required, reader, before[driver] - delay)
            np.minimum.at(before, self.source[readers], required[readers] - self.wires[readers])
        self.arrivals, self.required = arrivals, required

    @property
    def slack(self) -> np.ndarray:
        """What is spare at each reading pin; negative where it is reached too late."""
        return self.required - self.arrivals[self.source] - self.wires

    def late(self) -> list[int]:
        """Return the pins that end a path too late, the latest first."""
        slack = self.slack[self.ends]
        order = np.argsort(slack, kind="stable")
        return [int(self.ends[i]) for i in order if slack[i] < 0]

    def path(self, end: int) -> list[int]:
        """Return the reading pins along the longest path to ``end``, itself the last."""
        pins = [end]
        while arcs := self.arcs[self.source[pins[-1]]]:
            times = [self.arrivals[self.source[r]] + self.wires[r] + delay for r, delay in arcs]
            pins.append(arcs[int(np.argmax(times))][0])
        return pins[::-1]


def _groups(level: np.ndarray, *columns: np.ndarray) -> dict[int, list[np.ndarray]]:
    """Return the rows of some columns by the level of each."""
    order = np.argsort(level, kind="stable")
    cuts = np.flatnonzero(np.diff(level[order])) + 1
    parts = [np.split(column[order], cuts) for column in columns]
    levels = [int(level[rows[0]]) for rows in np.split(order, cuts)]
    return {
        number: list(rows) for number, rows in zip(levels, zip(*parts, strict=True), strict=True)
    }
