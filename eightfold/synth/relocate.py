"""Cells of late paths put where the paths are short, on Lattice ECP5.

A placer weighs all wires against each other, and leaves a few paths long. `Relocation` looks at
these alone, with the delays that nextpnr estimates or those of a routed netlist: it moves LUTs,
registers and RAM blocks along such a path to free places where it is shorter and no other path
becomes late, or copies a LUT for the sake of the late reader. Their nets are routed again, all
others stay as they are.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from eightfold.synth.netlist import free_net, place_of, readers, top_module
from eightfold.synth.paths import NEVER, Delays, Paths, Pin

Tile = tuple[int, int]

MARGIN = 100.0
"""Picoseconds that a path must have left to become longer: delays are estimates until routed."""

SPOTS = 220
"""How many places of a unit are looked at."""

_TOGETHER = frozenset({"F1", "OFX", "FXA", "FXB", "FCI", "FCO", "M", "WD", "WCK", "WRE"})
"""Pins that tie a LUT to its neighbours: wide multiplexers, carries, distributed RAM."""


@dataclass(frozen=True)
class Unit:
    """Cells that move together: a LUT, a register or both, the LUT first; or a RAM block."""

    cells: tuple[str, ...]
    mobile: bool = True


class Floor:
    """Which cell is where on an ECP5, which cells may move, and which places are free for them."""

    def __init__(self, netlist: dict[str, Any]) -> None:
        self.top = top_module(netlist)
        self.cells = self.top["cells"]
        self.tiles: dict[str, Tile] = {}
        self._bels: dict[tuple[int, int, str], str] = {}
        for name in self.cells:
            self._note(name)
        logic = [name for name in self.cells if self._type(name) == "TRELLIS_COMB"]
        memory = [name for name in logic if self._mode(name) in ("DPRAM", "RAMW_BLOCK")]
        self.free = {self.tiles[name] for name in logic} - {self.tiles[name] for name in memory}
        blocks = [key for key in self._bels if key[2].startswith("EBR")]
        self._columns = {x: bel for x, _, bel in blocks}
        self._rows = {y for _, y, _ in blocks}
        self._units = self._find_units()
        self._wire = free_net(self.top)
        self._rewired: dict[str, list[tuple[Pin, list[Any]]]] = {}

    def _type(self, cell: str) -> str:
        return self.cells[cell]["type"]

    def _mode(self, cell: str) -> str:
        return self.cells[cell]["parameters"].get("MODE", "LOGIC")

    def _wired(self, cell: str, port: str) -> bool:
        return bool(self.cells[cell]["connections"].get(port))

    def _find_units(self) -> dict[str, Unit]:
        pins = readers(self.top)
        units: dict[str, Unit] = {}
        for name, cell in self.cells.items():
            if cell["type"] == "DP16KD":
                units[name] = Unit((name,))
            elif cell["type"] == "TRELLIS_FF" and not self._wired(name, "DI"):
                units[name] = Unit((name,), self._wired(name, "M"))
            elif cell["type"] == "TRELLIS_COMB" and self._mode(name) == "LOGIC":
                if any(self._wired(name, port) for port in _TOGETHER):
                    continue
                ends = [pin for bit in cell["connections"].get("F", ()) for pin in pins[bit]]
                together = [reader for reader, port in ends if port == "DI"]
                if len(together) < 2 and not any(port in _TOGETHER - {"M"} for _, port in ends):
                    unit = Unit((name, *together))
                    units |= dict.fromkeys(unit.cells, unit)
        return units

    def unit(self, cell: str) -> Unit:
        """Return the unit of a cell."""
        return self._units.get(cell) or Unit((cell,), mobile=False)

    def put(self, cell: str, bel: str) -> None:
        """Put a cell at a place."""
        self.cells[cell]["attributes"]["NEXTPNR_BEL"] = bel
        self._note(cell)

    def _note(self, cell: str) -> None:
        x, y, part = place_of(self.cells[cell])
        self.tiles[cell] = (x, y)
        self._bels[x, y, part] = cell

    def take(self, cells: Iterable[str]) -> dict[str, str]:
        """Take cells away from their places, and return these."""
        bels = {cell: self.cells[cell]["attributes"]["NEXTPNR_BEL"] for cell in cells}
        for cell in bels:
            del self._bels[place_of(self.cells[cell])]
        return bels

    def copy_lut(self, cell: str) -> Unit:
        """Add a copy of a LUT, which has no place and no reader yet."""
        names = (f"{cell}$copy{number}" for number in count())
        name = next(name for name in names if name not in self.cells)
        self.cells[name] = copy.deepcopy(self.cells[cell])
        self.cells[name]["connections"]["F"] = [self._wire]
        self.top["netnames"][name] = {"hide_name": 1, "bits": [self._wire], "attributes": {}}
        self._wire += 1
        self._rewired[name] = []
        self._units[name] = Unit((name,))
        return self._units[name]

    def sharing(self, pin: Pin) -> list[Pin]:
        """Return the pins that get their net by the same wire: CE has one for the registers of a
        slice, LSR one for those of a tile."""
        cell, port = pin
        bits = self.cells[cell]["connections"][port]
        if port not in ("CE", "LSR"):
            return [pin]
        x, y, place = place_of(self.cells[cell])
        slices = place[len("SLICE")] if port == "CE" else "ABCD"
        bels = [(x, y, f"SLICE{letter}.FF{i}") for letter in slices for i in (0, 1)]
        found = [self._bels[bel] for bel in bels if bel in self._bels]
        return [(name, port) for name in found if self.cells[name]["connections"].get(port) == bits]

    def connect(self, pin: Pin, copy_of: str) -> None:
        """Let a pin read a copy."""
        cell, port = pin
        connections = self.cells[cell]["connections"]
        self._rewired[copy_of].append((pin, connections[port]))
        connections[port] = self.cells[copy_of]["connections"]["F"]

    def remove_copies(self, names: Sequence[str]) -> None:
        """Take copies back, which have no place, the last first."""
        for name in reversed(names):
            for (cell, port), bits in reversed(self._rewired.pop(name)):
                self.cells[cell]["connections"][port] = bits
            del self.cells[name], self.top["netnames"][name], self._units[name]
            self.tiles.pop(name, None)

    def put_near(self, units: Sequence[Unit], tiles: Sequence[Tile]) -> bool:
        """Put units, which have no place, into tiles, or beside a full one; return if all fit."""
        placed: list[str] = []
        for unit, (x, y) in zip(units, tiles, strict=True):
            around = [(x + i, y + j) for i in range(-4, 5) for j in range(-4, 5)]
            around.sort(key=lambda t: (abs(t[0] - x) + abs(t[1] - y), t))
            bels = next((bels for tile in around if (bels := self.place(unit, tile))), None)
            if bels is None:
                self.take(placed)
                return False
            for cell, bel in zip(unit.cells, bels, strict=True):
                self.put(cell, bel)
                placed.append(cell)
        return True

    def spots(self, unit: Unit, near: Sequence[Tile], absent: frozenset[str]) -> list[Tile]:
        """Return tiles with a place for a unit, those on the way between some tiles.

        ``absent``: cells whose places count as free.
        """
        low, high = np.min(near, axis=0), np.max(near, axis=0)
        if self._type(unit.cells[0]) == "DP16KD":
            tiles = [(x, y) for x in self._columns for y in self._rows]
            places = [tile for tile in tiles if self.place(unit, tile, absent)]
            x, y = (low + high) / 2
            return sorted(places, key=lambda t: (abs(t[0] - x) + abs(t[1] - y), t))[:SPOTS]
        (x0, y0), (x1, y1) = low - 3, high + 3
        box = sorted((x, y) for x, y in self.free if x0 <= x <= x1 and y0 <= y <= y1)
        places = [tile for tile in _some(box, 4 * SPOTS) if self.place(unit, tile, absent)]
        return _some(places, SPOTS)

    def _at(self, x: int, y: int, bel: str, absent: frozenset[str]) -> str | None:
        name = self._bels.get((x, y, bel))
        return None if name in absent else name

    def place(self, unit: Unit, tile: Tile, absent: frozenset[str] = frozenset()) -> list[str]:
        """Return the places in a tile that a unit can have, by cell; none if there is no room."""
        x, y = tile
        kinds = [self._type(cell) for cell in unit.cells]
        if kinds == ["DP16KD"]:
            bel = self._columns.get(x)
            if bel is None or y not in self._rows or self._at(x, y, bel, absent):
                return []
            return [f"X{x}/Y{y}/{bel}"]
        if tile not in self.free:
            return []
        register = next((c for c in unit.cells if self._type(c) == "TRELLIS_FF"), None)
        if register and len(self._resets(tile, absent) | {self._control(register)[1]}) > 2:
            return []
        for letter in "ABCD":
            bels = {
                (kind, i): self._at(x, y, f"SLICE{letter}.{kind}{i}", absent)
                for kind in ("K", "FF")
                for i in (0, 1)
            }
            luts = [lut for lut in (bels["K", 0], bels["K", 1]) if lut]
            if any(self._mode(lut) != "LOGIC" for lut in luts):
                continue
            for i in (0, 1):
                if self._fits(kinds, register, bels, i):
                    names = {"TRELLIS_COMB": "K", "TRELLIS_FF": "FF"}
                    return [f"X{x}/Y{y}/SLICE{letter}.{names[kind]}{i}" for kind in kinds]
        return []

    def _fits(
        self,
        kinds: Sequence[str],
        register: str | None,
        bels: dict[tuple[str, int], str | None],
        i: int,
    ) -> bool:
        """Return whether half ``i`` of a slice with the cells ``bels`` has room for a unit."""
        lut, here, beside = bels["K", i], bels["FF", i], bels["FF", 1 - i]
        if register is None:
            return lut is None
        if here or (beside and self._control(beside) != self._control(register)):
            return False
        if "TRELLIS_COMB" in kinds:
            return lut is None
        return not (lut and self._wired(lut, "M"))  # the register's own input

    def _control(self, register: str) -> tuple[Any, ...]:
        """Return what both registers of a slice share; at 1, what a tile has two of."""
        cell = self.cells[register]
        clock, reset, enable = (tuple(cell["connections"].get(p, ())) for p in ("CLK", "LSR", "CE"))
        options = cell["parameters"]
        return (
            (clock, options.get("CLKMUX")),
            (reset, options.get("LSRMUX"), options.get("SRMODE")),
            (enable, options.get("CEMUX"), options.get("GSR")),
        )

    def _resets(self, tile: Tile, absent: frozenset[str]) -> set[tuple[Any, ...]]:
        bels = [f"SLICE{letter}.FF{i}" for letter in "ABCD" for i in (0, 1)]
        found = [name for bel in bels if (name := self._at(*tile, bel, absent))]
        return {self._control(name)[1] for name in found}


def _some(tiles: list[Tile], most: int) -> list[Tile]:
    """Return as many tiles at most, evenly taken."""
    return tiles[:: max(1, -(-len(tiles) // most))]


@dataclass(frozen=True)
class Step:
    """A unit on a path: the pin by which the path comes in, that by which it goes on, and to which.

    Numbers of `Paths`; None at the path's ends.
    """

    unit: Unit
    entry: int | None = None
    exit: int | None = None
    reader: int | None = None


@dataclass(frozen=True)
class Move:
    """A unit of a path that goes to a tile, or whose copy does."""

    step: Step
    tile: Tile
    copied: bool


@dataclass(frozen=True)
class Plan:
    """Where units of a path would go, the last first, and what its end would have to spare."""

    slack: float
    moves: tuple[Move, ...]


class View:
    """The paths of a netlist, with the tiles between which their wires run.

    ``reading``, ``driving``: tiles by reading and by driving pin; ``inputs``, ``outputs``: the
    numbers of such pins by cell.
    """

    def __init__(self, delays: Delays, tiles: Mapping[str, Tile]) -> None:
        self.paths = Paths(delays)
        self.reading = np.array([tiles[cell] for cell, _ in self.paths.readers], float)
        self.driving = np.array([tiles[cell] for cell, _ in self.paths.drivers], float)
        self.inputs: defaultdict[str, list[int]] = defaultdict(list)
        self.outputs: defaultdict[str, list[int]] = defaultdict(list)
        for number, (cell, port) in enumerate(self.paths.readers):
            if not port.startswith("CLK"):
                self.inputs[cell].append(number)
        for number, (cell, _) in enumerate(self.paths.drivers):
            self.outputs[cell].append(number)

    def move(self, cells: Iterable[str], tiles: Mapping[str, Tile]) -> list[int]:
        """Note the tiles of some cells; return the pins that read from them, or that they read."""
        pins: list[int] = []
        for cell in cells:
            for pin in self.inputs[cell]:
                self.reading[pin] = tiles[cell]
                pins.append(pin)
            for output in self.outputs[cell]:
                self.driving[output] = tiles[cell]
                pins += self.paths.fan[output]
        inner = [self.paths.readers[pin][1] == "DI" for pin in pins]
        return sorted({pin for pin, tied in zip(pins, inner, strict=True) if not tied})


class Relocation:
    """The cells of a placed netlist, moved until no path is late, or none of these gets shorter.

    ``netlist``: Yosys' JSON with nextpnr's places and wires, which `run` changes; ``delays``: those
    of its SDF file, estimates if it is not routed yet. A path is late at a clock ``stretch`` times
    as fast as the netlist is. After `run` the netlist is to be routed: the nets that it changed
    have lost their wires.
    """

    def __init__(self, netlist: dict[str, Any], delays: Delays, stretch: float = 1.1) -> None:
        self.floor = Floor(netlist)
        self.delays = delays
        self.view = View(delays, self.floor.tiles)
        self.stretch = stretch
        self.period = 0.0
        self._set_period()
        self.moved: set[str] = set()
        self._nets: set[Any] = set()
        self._estimate = self._wire_delays()

    @property
    def paths(self) -> Paths:
        """The paths as the cells are placed now."""
        return self.view.paths

    def run(self) -> int:
        """Move cells until every late path was looked at; return how many have another place."""
        tried: set[Pin] = set()
        while ends := [end for end in self.paths.late() if self.paths.readers[end] not in tried]:
            pin = self.paths.readers[ends[0]]
            if not self._shorten(ends[0]):
                tried.add(pin)
        for net in self.floor.top["netnames"].values():
            if self._nets.intersection(net["bits"]):
                net["attributes"].pop("ROUTING", None)
        return len(self.moved)

    def run_on(self) -> int:
        """Run for one clock after the other until paths are late that do not get shorter."""
        while self.run() and not self.paths.late():
            self._set_period()
        return len(self.moved)

    def _set_period(self) -> None:
        self.paths.analyse(self.period)
        self.period = (self.period + self._lateness()[1]) / self.stretch
        self.paths.analyse(self.period)

    def _wire_delays(self) -> np.ndarray:
        """Fit delays of wires to LUTs: within a tile; between tiles, per column, per row."""
        paths, view = self.paths, self.view
        luts = [n for n, (_, port) in enumerate(paths.readers) if port in ("A", "B", "C", "D")]
        apart = np.abs(view.reading[luts] - view.driving[paths.source[luts]])
        wires = paths.wires[luts]
        far = apart.sum(axis=1) > 0
        rows = np.column_stack((np.ones(far.sum()), apart[far]))
        fit, *_ = np.linalg.lstsq(rows, wires[far], rcond=None)
        return np.array([fit[0] if far.all() else wires[~far].mean(), *fit])

    def _delay(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Estimate the delay of wires between tiles."""
        near, start, column, row = self._estimate
        apart = np.abs(a - b)
        far = start + apart[..., 0] * column + apart[..., 1] * row
        return np.where(apart.sum(axis=-1) == 0, near, far)

    def _shorten(self, end: int) -> bool:
        """Carry out a plan for a late path, rather one with few moves; return whether there was."""
        slack = float(self.paths.slack[end])
        steps = self._steps(end)
        mobile = [n for n, step in enumerate(steps) if step.unit.mobile]
        near = [self.floor.tiles[step.unit.cells[0]] for step in steps]
        absent = frozenset(cell for n in mobile for cell in steps[n].unit.cells)
        spots = {n: self.floor.spots(steps[n].unit, near, absent) for n in mobile}
        windows = [
            {n: spots[n] for n in mobile[begin : begin + size]}
            for size in range(1, len(mobile) + 1)
            for begin in range(len(mobile) - size + 1)
        ]
        for copies in (False, True):
            plans = [self._search(steps, window, end, copies) for window in windows]
            better = [plan for plan in plans if plan and plan.slack > slack + MARGIN / 2]
            better.sort(key=lambda plan: (-min(plan.slack, 0), len(plan.moves)))
            if any(self._take(plan) for plan in better[:4]):
                return True
        return False

    def _steps(self, end: int) -> list[Step]:
        """Return the units along the longest path to a pin."""
        paths, floor = self.paths, self.floor
        pins = paths.path(end)
        steps = [Step(floor.unit(paths.drivers[paths.source[pins[0]]][0]))]
        for pin in pins:
            unit = floor.unit(paths.readers[pin][0])
            if unit != steps[-1].unit:
                steps[-1] = replace(steps[-1], exit=int(paths.source[pin]), reader=pin)
                steps.append(Step(unit, entry=pin))
        return steps

    def _search(
        self, steps: Sequence[Step], window: Mapping[int, list[Tile]], end: int, copies: bool
    ) -> Plan | None:
        """Find the places for a window of a path's units at which the end is reached earliest."""
        on_path = {step.entry for step in steps}
        table = []
        times, tiles = np.zeros(1), np.zeros((1, 2))
        for number, step in enumerate(steps):
            here = [self.floor.tiles[step.unit.cells[0]], *window.get(number, ())]
            spots = np.array(here, float)
            back, entry = np.zeros(len(spots), int), None
            if step.entry is not None:
                reached = times[:, None] + self._delay(tiles[:, None], spots[None])
                reached[0, 0] = times[0] + self.paths.wires[step.entry]
                back, entry = reached.argmin(axis=0), reached.min(axis=0)
            alone = copies and number in window and self._has_others(step)
            times = self._through(step, spots, entry, end, on_path if not alone else None)
            tiles = spots
            table.append((step, here, back, alone))
        best = int(times.argmin())
        slack = self.period - float(times[best])
        moves = []
        for step, here, back, alone in reversed(table):
            if best:
                moves.append(Move(step, here[best], alone))
            best = int(back[best])
        if not moves or (copies and not any(move.copied for move in moves)):
            return None
        return Plan(slack, tuple(moves))

    def _has_others(self, step: Step) -> bool:
        """Return whether a unit of a path is a LUT with other readers than the path's."""
        if step.entry is None or step.exit is None or len(step.unit.cells) > 1:
            return False
        return len(self.paths.fan[step.exit]) > 1

    def _through(
        self,
        step: Step,
        spots: np.ndarray,
        entry: np.ndarray | None,
        end: int,
        on_path: set[int | None] | None,
    ) -> np.ndarray:
        """Return when a path leaves a unit, by its spot, or is at its end; never where it can't be.

        It can't where a pin would be late by it that was not, or later than it was, but for the
        pins ``on_path``. None: the unit has no other readers.
        """
        paths, view, cells = self.paths, self.view, step.unit.cells
        inputs = [pin for cell in cells for pin in view.inputs[cell]]
        times: dict[int, np.ndarray] = {}
        for pin in inputs:
            source = paths.source[pin]
            if pin == step.entry and entry is not None:
                times[pin] = entry
            elif paths.drivers[source][0] not in cells and paths.arrivals[source] > NEVER / 2:
                times[pin] = paths.arrivals[source] + self._delay(view.driving[source], spots)
                times[pin][0] = paths.arrivals[source] + paths.wires[pin]
        fits, leaves = np.ones(len(spots), bool), np.full(len(spots), NEVER)
        for output in (pin for cell in cells for pin in view.outputs[cell]):
            arrival = np.full(len(spots), paths.launches[output])
            for pin, delay in paths.arcs[output]:
                if pin in times:
                    arrival = np.maximum(arrival, times[pin] + delay)
            if output == step.exit:
                leaves = arrival
            for reader in paths.fan[output]:
                if reader in inputs:
                    times[reader] = arrival + paths.wires[reader]
                elif on_path is not None and reader not in on_path:
                    fits &= self._in_time(
                        reader, arrival + self._delay(spots, view.reading[reader])
                    )
        for pin, reached in times.items():
            if pin == end:
                leaves = reached + paths.setups[pin]
            elif paths.setups[pin] < -NEVER and pin != step.entry:
                fits &= self._in_time(pin, reached)
        fits[0] = True
        return np.where(fits, leaves, -NEVER)

    def _in_time(self, reader: int, reached: np.ndarray) -> np.ndarray:
        """Return where a pin is reached in time, or no later than it is now."""
        now = self.paths.arrivals[self.paths.source[reader]] + self.paths.wires[reader]
        return reached <= max(self.paths.required[reader] - MARGIN, now)

    def _take(self, plan: Plan) -> bool:
        """Carry out a plan if paths are less late by it; return whether they are."""
        before, view, delays, floor = self._lateness(), self.view, self.delays, self.floor
        wires = self.paths.wires.copy()
        copies = self._add_copies(plan)
        units = [copies.get(move.step.unit, move.step.unit) for move in plan.moves]
        cells = [cell for unit in units for cell in unit.cells]
        bels = floor.take(cell for cell in cells if cell in floor.tiles)
        if floor.put_near(units, [move.tile for move in plan.moves]):
            if copies:
                self.view = View(self.delays, floor.tiles)
            outer = self.view.move(cells, floor.tiles)
            paths = self.paths
            source = paths.source[outer]
            paths.wires[outer] = self._delay(self.view.driving[source], self.view.reading[outer])
            paths.analyse(self.period)
            if self._lateness() < before:
                self._keep(cells, outer, copies)
                return True
            floor.take(cells)
        for cell, bel in bels.items():
            floor.put(cell, bel)
        floor.remove_copies([unit.cells[0] for unit in copies.values()])
        self.view, self.delays = view, delays
        view.move(bels, floor.tiles)
        self.paths.wires[:] = wires
        self.paths.analyse(self.period)
        return False

    def _keep(
        self, cells: Sequence[str], outer: Sequence[int], copies: Mapping[Unit, Unit]
    ) -> None:
        """Note which cells were moved, and which nets have to be routed again."""
        paths = self.paths
        self.delays.wires |= {paths.readers[pin]: float(paths.wires[pin]) for pin in outer}
        self.moved.update(cells)
        originals = [(unit.cells[0], "F") for unit in copies]
        pins = [(cell, port) for cell in cells for port in self.floor.cells[cell]["connections"]]
        for cell, port in originals + pins:
            if not port.startswith("CLK"):
                self._nets.update(self.floor.cells[cell]["connections"][port])

    def _lateness(self) -> tuple[float, float]:
        """Return how much all paths are late together, and the latest: what is to become less."""
        slack = self.paths.slack[self.paths.ends]
        return -float(slack[slack < 0].sum()), -float(slack.min())

    def _add_copies(self, plan: Plan) -> dict[Unit, Unit]:
        """Add the copies of a plan, which have no place yet; return them by their originals."""
        copies: dict[Unit, Unit] = {}
        if any(move.copied for move in plan.moves):
            self.delays = replace(
                self.delays,
                wires=dict(self.delays.wires),
                drivers=dict(self.delays.drivers),
                cells=self.delays.cells.copy(),
            )
        for move in plan.moves:
            if not move.copied:
                continue
            [cell] = move.step.unit.cells
            copies[move.step.unit] = unit = self.floor.copy_lut(cell)
            [name] = unit.cells
            for pin in self.view.inputs[cell]:
                port = self.paths.readers[pin][1]
                self.delays.drivers[name, port] = self.delays.drivers[cell, port]
                self.delays.wires[name, port] = self.delays.wires[cell, port]
            self.delays.cells[name, "F"] = self.delays.cells[cell, "F"]
            for pin in self._readers_of_copy(plan, move, copies):
                self.delays.drivers[pin] = (name, "F")
                self.floor.connect(pin, name)
        return copies

    def _readers_of_copy(
        self, plan: Plan, move: Move, copies: Mapping[Unit, Unit]
    ) -> Iterator[Pin]:
        """Yield what reads a copy: the path, late pins that are nearer to it, and what cannot read
        another net than these."""
        moving = {cell for each in plan.moves for cell in each.step.unit.cells}
        for pin in self._near_readers(move, copies):
            alone = pin[0] in moving or pin[0] not in self.floor.tiles
            others = [] if alone else self.floor.sharing(pin)
            yield pin
            yield from (other for other in others if other[0] not in {pin[0], *moving})

    def _near_readers(self, move: Move, copies: Mapping[Unit, Unit]) -> Iterator[Pin]:
        paths, slack = self.paths, self.paths.slack
        tile = self.floor.tiles[move.step.unit.cells[0]]
        assert move.step.exit is not None
        for reader in paths.fan[move.step.exit]:
            cell, port = paths.readers[reader]
            if reader == move.step.reader:
                following = copies.get(self.floor.unit(cell))
                yield (following.cells[0] if following else cell), port
            elif slack[reader] < 0:
                old, new = (np.abs(self.view.reading[reader] - t).sum() for t in (tile, move.tile))
                if new < old:
                    yield cell, port
