"""Places of RAM blocks and multipliers, which are few, and where many wires end.

nextpnr's electrostatic placer decides in which part of an ECP5 they are, for all logic at once.
Which of them has which place there is then decided here, for short wires: blocks of a kind exchange
their places, by simulated annealing. Logic stays where that placer has put it; it is placed anew
around the blocks afterwards.

A wire's length is half the circumference of the rectangle around its cells, in tiles.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from math import exp
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from eightfold.common.errors import InputError
from eightfold.synth.area import area_of
from eightfold.synth.netlist import Cell, Wire, place_of, top_module

PASSES = 5
"""How often the costs of all places are calculated: exchanges change those of other blocks."""

TRIES = 600_000
"""How many exchanges are tried for each kind in a pass."""

HOT, COLD = 60.0, 0.05
"""Tiles by which an exchange may lengthen wires with a probability of 1/e: in the first pass' first
try, and in each pass' last; each later pass begins at a quarter of the one before."""

SIGNALS = 4
"""How many clocks the multipliers of a group may have at most, how many enables, how many resets:
nextpnr refuses more."""

LOCAL = 10_000
"""Cells on a wire above which it is everywhere, as the clock is, whatever a block's place."""


class Kind(NamedTuple):
    """What nextpnr calls the places of a kind of block, before their numbers in their group; how
    many columns of tiles are from one number to the next; which pins share signals in a group."""

    place: str
    step: int
    shared: tuple[str, ...]


KINDS = {
    "DP16KD": Kind("EBR", 2, ()),
    "MULT18X18D": Kind("MULT18_", 1, ("CLK", "CE", "RST")),
}


class Place(NamedTuple):
    """A place in a group of them, such as a DSP block: the group's row and first column of tiles,
    the place's number."""

    y: int
    first: int
    number: int


def fix_blocks(
    netlist: Path, placed: Path, fixed: Path, family: str = "ecp5", *, exchange: bool = False
) -> None:
    """Write `netlist` as `fixed`, its blocks tied to the places that they have in `placed`.

    Both are Yosys' JSON; in `placed`, which nextpnr wrote, ``NEXTPNR_BEL`` names a place, which in
    `fixed` is the attribute ``BEL``. With ``exchange`` places are those of `arrange`. Raises
    InputError if a block has no place.
    """
    found = json.loads(placed.read_text(encoding="utf-8"))
    cells = top_module(found)["cells"]
    places = {name: cell["attributes"].get("NEXTPNR_BEL") for name, cell in cells.items()}
    if exchange:
        places |= arrange(found)
    design = json.loads(netlist.read_text(encoding="utf-8"))
    for name, cell in top_module(design)["cells"].items():
        area = area_of({cell["type"]: 1}, family)
        if area.dsps + area.rams > 0:
            if (place := places.get(name)) is None:
                raise InputError(f"{placed}: no place of {name}; remove the file, place it again")
            cell.setdefault("attributes", {})["BEL"] = place
    fixed.write_text(json.dumps(design), encoding="utf-8")


def arrange(placed: dict[str, Any], tries: int = TRIES) -> dict[str, str]:
    """Return better places of RAM blocks and multipliers than a placement has, by their names.

    ``placed``: Yosys' JSON as nextpnr writes it, where ``NEXTPNR_BEL`` names the places. The same
    placement gives the same places, in a quarter of a minute for 300 blocks.
    """
    cells = top_module(placed)["cells"]
    wires = _Wires(cells)
    rng = Random(1)
    found = {cell["type"] for cell in cells.values()}
    kinds = [_Blocks(cells, kind) for kind in KINDS if kind in found]
    for number in range(PASSES):
        for blocks in kinds:
            blocks.anneal(wires.costs(blocks), HOT / 4**number, tries, rng)
            wires.put(blocks)
    return {name: blocks.bel(place) for blocks in kinds for name, place in blocks.places()}


class _Blocks:
    """All blocks of a kind, and the places that they can have: those of all groups in the rows and
    columns where the placement has blocks of the kind."""

    def __init__(self, cells: dict[str, Cell], kind: str) -> None:
        self._kind = KINDS[kind]
        self.names = [name for name, cell in cells.items() if cell["type"] == kind]
        own = [self._place(cells[name]) for name in self.names]
        each = (sorted(set(values)) for values in zip(*own, strict=True))
        self.sites = [Place(*place) for place in product(*each)]
        self._where = [self.sites.index(place) for place in own]
        self._at: list[int | None] = [None] * len(self.sites)
        for block, site in enumerate(self._where):
            self._at[site] = block
        self._signals = [_signals(cells[name], self._kind.shared) for name in self.names]
        self._groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for number, site in enumerate(self.sites):
            self._groups[site[:2]].append(number)

    def _place(self, cell: Cell) -> Place:
        x, y, bel = place_of(cell)
        number = int(bel.removeprefix(self._kind.place))
        return Place(y, x - number * self._kind.step, number)

    def tile(self, place: Place) -> tuple[int, int]:
        """Return the column and row of a place."""
        return place.first + place.number * self._kind.step, place.y

    def bel(self, place: Place) -> str:
        """Return nextpnr's name of a place."""
        x, y = self.tile(place)
        return f"X{x}/Y{y}/{self._kind.place}{place.number}"

    def places(self) -> Iterator[tuple[str, Place]]:
        """Yield each block with its place."""
        for name, site in zip(self.names, self._where, strict=True):
            yield name, self.sites[site]

    def anneal(self, costs: np.ndarray, heat: float, tries: int, rng: Random) -> None:
        """Exchange places, of which ``costs[block, site]`` says how long wires are for them."""
        cost: list[list[float]] = costs.tolist()
        cooling = (COLD / heat) ** (1 / tries)
        for _ in range(tries):
            block = rng.randrange(len(self.names))
            site = rng.randrange(len(self.sites))
            own = self._where[block]
            if site == own:
                continue
            longer = cost[block][site] - cost[block][own]
            if (other := self._at[site]) is not None:
                longer += cost[other][own] - cost[other][site]
            heat *= cooling
            if longer <= 0 or rng.random() < exp(-longer / heat):
                self._exchange(own, site)

    def _exchange(self, one: int, two: int) -> None:
        """Exchange what is at two places, unless a group has too many signals then."""
        at = self._at
        at[one], at[two] = at[two], at[one]
        if not (self._routable(one) and self._routable(two)):
            at[one], at[two] = at[two], at[one]
        for site in (one, two):
            if (block := at[site]) is not None:
                self._where[block] = site

    def _routable(self, site: int) -> bool:
        blocks = [self._at[each] for each in self._groups[self.sites[site][:2]]]
        signals = [self._signals[block] for block in blocks if block is not None]
        return all(len(set().union(*each)) <= SIGNALS for each in zip(*signals, strict=True))


def _signals(cell: Cell, shared: Sequence[str]) -> list[set[Wire]]:
    """Return what numbered pins read, such as the clocks, the enables and the resets."""
    pins = cell["connections"].items()
    return [
        {bit for port, bits in pins if re.fullmatch(rf"{kind}\d", port) for bit in bits}
        for kind in shared
    ]


class _Wires:
    """Which cells each wire joins, and where these are."""

    def __init__(self, cells: dict[str, Cell]) -> None:
        self._number = {name: number for number, name in enumerate(cells)}
        self._tiles = np.zeros((len(cells), 2), dtype=int)
        self._of: dict[str, set[Wire]] = {}
        joined: defaultdict[Wire, set[int]] = defaultdict(set)
        for name, cell in cells.items():
            self._tiles[self._number[name]] = place_of(cell)[:2]
            self._of[name] = {bit for bits in cell["connections"].values() for bit in bits}
            for wire in self._of[name]:
                joined[wire].add(self._number[name])
        self._joined = {
            wire: np.array(sorted(found))
            for wire, found in joined.items()
            if 1 < len(found) < LOCAL
        }

    def costs(self, blocks: _Blocks) -> np.ndarray:
        """Return ``[block, site]``: by how many tiles the block there lengthens its wires."""
        sites = np.array([blocks.tile(site) for site in blocks.sites])
        costs = np.zeros((len(blocks.names), len(sites)))
        for block, name in enumerate(blocks.names):
            for wire in self._of[name] & self._joined.keys():
                joined = self._joined[wire]
                others = self._tiles[joined[joined != self._number[name]]]
                outside = np.maximum(others.min(axis=0) - sites, sites - others.max(axis=0))
                costs[block] += np.maximum(outside, 0).sum(axis=1)
        return costs

    def put(self, blocks: _Blocks) -> None:
        """Note where blocks are now."""
        for name, place in blocks.places():
            self._tiles[self._number[name]] = blocks.tile(place)
