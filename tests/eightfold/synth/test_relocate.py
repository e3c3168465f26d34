"""Cells of late paths are moved to where a netlist is faster, and it stays the same netlist."""

import copy
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eightfold.synth.paths import Delays, Paths
from eightfold.synth.relocate import Relocation

COMB, REGISTER, MEMORY = "TRELLIS_COMB", "TRELLIS_FF", "DP16KD"
LUT, LAUNCH, SETUP = 240, 525, 20
OUTPUTS = {COMB: "F", REGISTER: "Q", MEMORY: "DOA0"}
SLICES = [f"SLICE{half}" for half in "ABCD"]

Netlist = dict[str, Any]


def cells_of(netlist: Netlist) -> dict[str, Any]:
    return netlist["modules"]["top"]["cells"]


def bel_of(cell: dict[str, Any]) -> tuple[int, int, str]:
    found = re.fullmatch(r"X(\d+)/Y(\d+)/(.*)", cell["attributes"]["NEXTPNR_BEL"])
    assert found is not None
    return int(found[1]), int(found[2]), found[3]


class Design:
    """A placed netlist that grows by a cell at a time."""

    def __init__(self) -> None:
        top = {"attributes": {"top": "1"}, "ports": {}, "cells": {}, "netnames": {}}
        self.netlist: Netlist = {"modules": {"top": top}}

    def add(self, kind: str, bel: str, reads: dict[str, str], **parameters: str) -> str:
        """Add a cell that reads others, by port, and return its name."""
        cells = cells_of(self.netlist)
        name, bits = f"n{len(cells)}", [2 + len(cells)]
        cells[name] = {
            "type": kind,
            "attributes": {"NEXTPNR_BEL": bel},
            "parameters": parameters,
            "port_directions": {OUTPUTS[kind]: "output"},
            "connections": {OUTPUTS[kind]: bits},
        }
        for port, source in reads.items():
            self.connect(name, port, source)
        nets = self.netlist["modules"]["top"]["netnames"]
        nets[name] = {"bits": bits, "attributes": {"ROUTING": name}}
        return name

    def connect(self, cell: str, port: str, source: str) -> None:
        cells = cells_of(self.netlist)
        cells[cell]["port_directions"][port] = "input"
        cells[cell]["connections"][port] = cells[source]["connections"][
            OUTPUTS[cells[source]["type"]]
        ]


def sources_of(netlist: Netlist) -> dict[tuple[str, str], str]:
    """Return which cell each pin reads."""
    cells = cells_of(netlist)
    drivers = {cell["connections"][OUTPUTS[cell["type"]]][0]: name for name, cell in cells.items()}
    return {
        (name, port): drivers[bits[0]]
        for name, cell in cells.items()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "input"
    }


def delays_of(netlist: Netlist, folder: Path) -> Delays:
    """Return what is read of the SDF file of a netlist whose wires all run straight."""
    cells = cells_of(netlist)
    lines = ["(DELAYFILE", "(CELL", '(CELLTYPE "top")', "(INSTANCE )"]
    for (name, port), source in sources_of(netlist).items():
        (ax, ay, _), (bx, by, _) = bel_of(cells[source]), bel_of(cells[name])
        wire = 0 if port == "DI" else 400 + 60 * abs(ax - bx) + 70 * abs(ay - by)
        pins = f"{source}/{OUTPUTS[cells[source]['type']]} {name}/{port}".replace("$", "\\$")
        lines.append(f"(INTERCONNECT {pins} (1:2:{wire}) (1:2:{wire}))")
    for name, cell in cells.items():
        out = OUTPUTS[cell["type"]]
        lines.append(f"(INSTANCE {name})".replace("$", "\\$"))
        ports = [port for port, way in cell["port_directions"].items() if way == "input"]
        if cell["type"] == COMB:
            lines += [f"(IOPATH {port} {out} (1:2:{LUT}) (1:2:{LUT}))" for port in ports]
            continue
        lines.append(f"(IOPATH CLK {out} (1:2:{LAUNCH}) (1:2:{LAUNCH}))")
        setup = f"(posedge CLK) (1:2:{SETUP}) (0:0:0)"
        lines += [f"(SETUPHOLD (posedge {port}) {setup})" for port in ports]
    (folder / "x.sdf").write_text("\n".join(lines))
    return Delays.load(folder / "x.sdf")


def chain(*places: str) -> Netlist:
    """Return a register, a LUT and a register, one after the other, with free tiles between."""
    design = Design()
    start = design.add(REGISTER, places[0], {})
    lut = design.add(COMB, places[1], {"A": start})
    design.add(REGISTER, places[2], {"M": lut})
    for x in range(30):
        design.add(COMB, f"X{x}/Y1/SLICED.K1", {})
    return design.netlist


def test_arrivals_and_what_is_spare(tmp_path: Path) -> None:
    netlist = chain("X0/Y0/SLICEA.FF0", "X20/Y0/SLICEA.K0", "X4/Y0/SLICEA.FF0")
    paths = Paths(delays_of(netlist, tmp_path))
    paths.analyse(5000.0)
    end = paths.reader["n2", "M"]
    reached = LAUNCH + (400 + 20 * 60) + LUT + (400 + 16 * 60)
    assert paths.slack[end] == 5000 - SETUP - reached
    assert paths.late() == []
    paths.analyse(3000.0)
    assert paths.late() == [end]
    assert [paths.readers[pin] for pin in paths.path(end)] == [("n1", "A"), ("n2", "M")]


def test_what_no_register_begins_is_never_late(tmp_path: Path) -> None:
    design = Design()
    constant = design.add(COMB, "X0/Y0/SLICEA.K0", {})
    follows = design.add(COMB, "X1/Y0/SLICEA.K0", {"A": constant})
    design.add(REGISTER, "X9/Y9/SLICEA.FF0", {"M": follows})
    paths = Paths(delays_of(design.netlist, tmp_path))
    paths.analyse(0.0)
    assert paths.late() == []


def test_a_lut_beside_its_path_is_moved_onto_it(tmp_path: Path) -> None:
    netlist = chain("X0/Y0/SLICEA.FF0", "X20/Y0/SLICEA.K0", "X4/Y0/SLICEA.FF0")
    relocation = Relocation(netlist, delays_of(netlist, tmp_path), 1.3)
    assert relocation.run() > 0
    assert relocation.paths.late() == []
    nets = netlist["modules"]["top"]["netnames"]
    kept = [name for name, net in nets.items() if "ROUTING" in net["attributes"]]
    assert kept == [name for name in nets if name not in ("n0", "n1")]


def test_running_on_shortens_the_path_again(tmp_path: Path) -> None:
    periods: list[float] = []
    for run in (Relocation.run, Relocation.run_on):
        netlist = chain("X0/Y0/SLICEA.FF0", "X20/Y0/SLICEA.K0", "X4/Y0/SLICEA.FF0")
        assert run(Relocation(netlist, delays_of(netlist, tmp_path), 1.01)) > 0
        periods.append(Relocation(netlist, delays_of(netlist, tmp_path), 1.0).period)
    assert periods[1] < periods[0]


def test_a_fast_netlist_is_left_alone(tmp_path: Path) -> None:
    netlist = chain("X0/Y0/SLICEA.FF0", "X2/Y0/SLICEA.K0", "X4/Y0/SLICEA.FF0")
    before = copy.deepcopy(netlist)
    assert Relocation(netlist, delays_of(netlist, tmp_path), 1.0).run() == 0
    assert netlist == before


def draw(rng: random.Random) -> Netlist:
    """Return a random netlist in a random, legal placement."""
    design, earlier = Design(), []
    wide, high = rng.randint(3, 40), rng.randint(1, 5)
    shared: dict[tuple[int, int], dict[str, str]] = {}
    carries: dict[tuple[int, int, str], bool] = {}
    waits: list[tuple[str, str]] = []

    def sources(ports: Sequence[str], most: int) -> dict[str, str]:
        names = rng.sample(ports, rng.randint(0 if not earlier else 1, most)) if earlier else []
        return {port: rng.choice(earlier) for port in names}

    for number in range(rng.randint(1, 4)):
        place = f"X{4 + 9 * number}/Y{rng.choice((0, 7))}/EBR0"
        earlier.append(design.add(MEMORY, place, {}))
        waits.append((earlier[-1], "ADA0"))
    slices = [(x, y, s, i) for x in range(wide) for y in range(high) for s in SLICES for i in "01"]
    memories = {(rng.randrange(wide), rng.randrange(high)) for _ in range(2)}
    for x, y, half, i in rng.sample(slices, min(len(slices) // 2, rng.randint(10, 120))):
        tile = f"X{x}/Y{y}/{half}"
        if (x, y) in memories:
            if half in ("SLICEA", "SLICEB"):
                earlier.append(design.add(COMB, f"{tile}.K{i}", sources("ABCD", 4), MODE="DPRAM"))
            continue
        if carries.setdefault((x, y, half), rng.random() < 0.2):
            earlier.append(design.add(COMB, f"{tile}.K{i}", sources("ABCD", 4), MODE="CCU2"))
            continue
        control = shared.setdefault((x, y), sources(("CE", "LSR"), 2))
        kind = rng.choice(("lut", "lut", "register", "both", "wide"))
        if kind in ("lut", "both", "wide"):
            lut = design.add(COMB, f"{tile}.K{i}", sources("ABCD", 4))
            earlier.append(lut)
            if kind == "wide":
                design.connect(lut, "M", rng.choice(earlier[:-1]))
            if kind == "both":
                earlier.append(design.add(REGISTER, f"{tile}.FF{i}", {"DI": lut, **control}))
        else:
            earlier.append(design.add(REGISTER, f"{tile}.FF{i}", control))
            waits.append((earlier[-1], "M"))
    for cell, port in waits:
        design.connect(cell, port, rng.choice(earlier))
    return design.netlist


def check_places(netlist: Netlist) -> None:
    """Check what nextpnr wants of a placement."""
    cells = cells_of(netlist)
    bels = Counter(bel_of(cell) for cell in cells.values())
    assert max(bels.values()) == 1
    at = {bel_of(cell): cell for cell in cells.values()}
    controls, resets, modes = defaultdict(set), defaultdict(set), defaultdict(set)
    for (x, y, bel), cell in at.items():
        half, kind = bel.split(".") if "." in bel else (bel, "")
        pins = cell["connections"]
        if cell["type"] == COMB:
            modes[x, y, half].add(cell["parameters"].get("MODE"))
        if cell["type"] == REGISTER:
            lut = at.get((x, y, f"{half}.K{kind[-1]}"))
            controls[x, y, half].add((str(pins.get("CE")), str(pins.get("LSR"))))
            resets[x, y].add(str(pins.get("LSR")))
            if "DI" in pins:
                assert lut and lut["connections"]["F"] == pins["DI"]
            else:
                assert not (lut and "M" in lut["connections"])
            assert not lut or lut["parameters"].get("MODE") != "DPRAM"
    assert all(len(found) == 1 for table in (controls, modes) for found in table.values())
    assert all(len(found) <= 2 for found in resets.values())


def original(name: str) -> str:
    return name.split("$copy")[0]


@pytest.mark.parametrize("seed", range(16))
def test_a_random_netlist_gets_faster_and_stays_the_same(seed: int, tmp_path: Path) -> None:
    netlist = draw(random.Random(seed))
    check_places(netlist)
    before = copy.deepcopy(netlist)
    relocation = Relocation(netlist, delays_of(netlist, tmp_path), 1.4)
    late = Paths(delays_of(netlist, tmp_path))
    late.analyse(relocation.period)
    relocation.run()

    check_places(netlist)
    reads = sources_of(before)
    for (name, port), source in sources_of(netlist).items():
        assert reads[original(name), port] == original(source)
    for name, cell in cells_of(netlist).items():
        assert cell["parameters"] == cells_of(before)[original(name)]["parameters"]
    assert cells_of(before).keys() == {original(name) for name in cells_of(netlist)}

    after = Paths(delays_of(netlist, tmp_path))
    after.analyse(relocation.period)
    slack = {pin: after.slack[after.reader[pin]] for pin in after.readers}
    estimate = relocation.paths
    for number, pin in enumerate(estimate.readers):
        assert abs(estimate.slack[number] - slack[pin]) < 1e-3 or slack[pin] > 1e8
    assert len(after.late()) <= len(late.late())
    nets = netlist["modules"]["top"]["netnames"]
    for name, cell in cells_of(netlist).items():
        moved = bel_of(cell) != bel_of(cells_of(before).get(name, cell))
        read = name in sources_of(netlist).values()
        if read and (moved or name not in cells_of(before)):
            assert "ROUTING" not in nets[name]["attributes"]


def test_a_lut_is_copied_where_its_move_makes_others_late(tmp_path: Path) -> None:
    """Of two signals, one from either end, each end has a reader; one of each is slow."""
    design = Design()
    start = design.add(REGISTER, "X0/Y0/SLICEA.FF0", {})
    other = design.add(REGISTER, "X40/Y0/SLICEA.FF0", {})
    constant = design.add(COMB, "X0/Y0/SLICED.K0", {})

    def fixed(source: str, bel: str) -> str:
        lut = design.add(COMB, bel, {"A": source})
        design.connect(lut, "M", constant)
        return lut

    slow = fixed(fixed(start, "X0/Y0/SLICEB.K0"), "X0/Y0/SLICEC.K0")
    lut = design.add(COMB, "X40/Y0/SLICEB.K0", {"A": slow, "B": other})
    after = fixed(fixed(lut, "X0/Y0/SLICEA.K0"), "X0/Y0/SLICEA.K1")
    design.add(REGISTER, "X0/Y0/SLICEB.FF1", {"CE": after})
    design.add(REGISTER, "X40/Y0/SLICEC.FF0", {"CE": lut})
    netlist = design.netlist
    relocation = Relocation(netlist, delays_of(netlist, tmp_path), 1.49)
    assert relocation.paths.late()
    relocation.run()
    assert not relocation.paths.late()
    copied = cells_of(netlist)[f"{lut}$copy0"]
    assert bel_of(copied)[:2] == (0, 0)
    assert bel_of(cells_of(netlist)[lut]) == (40, 0, "SLICEB.K0")
    readers = {pin for pin, source in sources_of(netlist).items() if source == f"{lut}$copy0"}
    assert [pin[1] for pin in readers] == ["A"]
    assert "ROUTING" not in netlist["modules"]["top"]["netnames"][lut]["attributes"]


def test_registers_of_a_slice_read_one_enable(tmp_path: Path) -> None:
    """A copy for the late one of two registers is for the other as well, which is not late."""
    design = Design()
    start = design.add(REGISTER, "X0/Y0/SLICEA.FF0", {})
    other = design.add(REGISTER, "X40/Y0/SLICEA.FF0", {})
    design.add(COMB, "X0/Y0/SLICED.K0", {})
    lut = design.add(COMB, "X40/Y0/SLICEB.K0", {"A": start, "B": other})
    late = design.add(REGISTER, "X0/Y0/SLICEB.FF1", {"CE": lut})
    beside = design.add(REGISTER, "X0/Y0/SLICEB.FF0", {"CE": lut})
    apart = design.add(REGISTER, "X0/Y0/SLICEC.FF0", {"CE": lut})
    far = design.add(REGISTER, "X40/Y0/SLICEC.FF0", {"CE": lut})
    delays = delays_of(design.netlist, tmp_path)
    # As if the router had found shorter ways.
    delays.wires |= {(beside, "CE"): 100.0, (apart, "CE"): 100.0}
    relocation = Relocation(design.netlist, delays, 1.4)
    assert relocation.run()
    sources = {register: source for (register, _), source in sources_of(design.netlist).items()}
    assert sources[late] == sources[beside] == f"{lut}$copy0"
    assert sources[apart] == sources[far] == lut
