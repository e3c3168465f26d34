"""RAM blocks and multipliers of one seed where another seed's placement put them, or exchanged."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from eightfold.common.errors import InputError
from eightfold.synth import blocks, run_synthesis
from eightfold.synth.blocks import arrange, fix_blocks
from eightfold.synth.device import Device
from eightfold.synth.flow import PlaceAndRoute
from eightfold.synth.netlist import top_module
from eightfold.target.config import PRESETS

PLACE = "X4/Y13/MULT18_0"


def write(path: Path, cells: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"modules": {"t": {"attributes": {"top": "1"}, "cells": cells}}}))
    return path


def cell(kind: str, **attributes: str) -> dict[str, Any]:
    return {"type": kind, "attributes": attributes}


def test_blocks_alone_are_tied_to_their_places(tmp_path: Path) -> None:
    netlist = write(tmp_path / "in", {"m": {"type": "MULT18X18D"}, "l": cell("LUT4", src="x")})
    places = {"m": cell("MULT18X18D", NEXTPNR_BEL=PLACE), "l": cell("TRELLIS_COMB", NEXTPNR_BEL="")}
    fix_blocks(netlist, write(tmp_path / "placed", places), tmp_path / "out")
    assert top_module(json.loads((tmp_path / "out").read_text()))["cells"] == {
        "m": cell("MULT18X18D", BEL=PLACE),
        "l": cell("LUT4", src="x"),
    }


def test_a_block_without_a_place_is_refused(tmp_path: Path) -> None:
    netlist = write(tmp_path / "in", {"ram": cell("DP16KD")})
    with pytest.raises(InputError, match=r"placed: no place of ram; remove the file"):
        fix_blocks(netlist, write(tmp_path / "placed", {}), tmp_path / "out")


def placement(places: dict[str, tuple[str, str]], wires: list[list[str]]) -> dict[str, Any]:
    """Return a placement of cells with kinds and places, each wire on the cells that it joins."""
    cells = {
        name: cell(kind, NEXTPNR_BEL=bel) | {"connections": defaultdict(list)}
        for name, (kind, bel) in places.items()
    }
    for wire, joined in enumerate(wires, 2):
        for name in joined:
            cells[name]["connections"]["A0"].append(wire)
    return {"modules": {"t": {"attributes": {"top": "1"}, "cells": cells}}}


def multiplier(number: int) -> tuple[str, str]:
    """Return the kind and place of a multiplier: two groups in each of two rows."""
    group, which = divmod(number, 4)
    column = (0, 1, 4, 5)[which]
    row, first = (10, 34)[group // 2], (4, 13)[group % 2]
    return "MULT18X18D", f"X{first + column}/Y{row}/MULT18_{column}"


RAMS = {"left": ("DP16KD", "X4/Y22/EBR0"), "right": ("DP16KD", "X100/Y46/EBR2")}


@pytest.mark.parametrize(
    ("logic", "places"),
    [
        (("X99/Y47/S", "X3/Y21/S"), ("X100/Y46/EBR2", "X4/Y22/EBR0")),
        (("X99/Y23/S", "X7/Y47/S"), ("X100/Y22/EBR2", "X8/Y46/EBR2")),
    ],
    ids=["exchange", "a free place"],
)
def test_blocks_come_to_the_logic_on_their_wires(
    logic: tuple[str, str], places: tuple[str, str]
) -> None:
    cells = RAMS | {name: ("TRELLIS_COMB", bel) for name, bel in zip("lr", logic, strict=True)}
    found = arrange(placement(cells, [["left", "l"], ["right", "r"]]), tries=2000)
    assert found == dict(zip(RAMS, places, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_a_group_of_multipliers_has_no_more_signals_than_it_can(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    places = {f"m{n}": multiplier(n) for n in range(12)}
    places |= {f"l{n}": ("TRELLIS_COMB", f"X{rng.randrange(30)}/Y10/S") for n in range(12)}
    placed = placement(places, [[f"m{n}", f"l{n}"] for n in range(12) for _ in range(5)])
    # Two multipliers have the same two enables, and are placed in the same group.
    cells = top_module(placed)["cells"]
    for n in range(12):
        cells[f"m{n}"]["connections"] |= {"CE0": [100 + n // 2], "CE1": [200 + n // 2]}

    def most_enables() -> int:
        groups: defaultdict[str, set[int]] = defaultdict(set)
        found = arrange(placed, tries=3000)
        assert len(set(found.values())) == 12
        for name, bel in found.items():
            column, row, place = bel.split("/")
            pins = cells[name]["connections"]
            first = int(column[1:]) - int(place.removeprefix("MULT18_"))
            groups[f"{first} {row}"] |= {*pins["CE0"], *pins["CE1"]}
        return max(map(len, groups.values()))

    assert most_enables() <= 4
    monkeypatch.setattr(blocks, "SIGNALS", 8)
    assert most_enables() > 4


def test_a_unit_that_fills_the_device_has_a_floorplan(tmp_path: Path) -> None:
    device = Device.load("ecp5")
    most = int(device.full * device.luts)
    assert PlaceAndRoute(device.for_unit(most), tmp_path, 6, seed=3).origin is None
    run = PlaceAndRoute(device.for_unit(most + 1), tmp_path, 6, seed=3)
    floorplan = run.origin
    assert floorplan is not None and floorplan.origin is None
    assert (floorplan.seed, floorplan.netlist) == (3, "registered.json")
    assert set(device.block_placer) <= set(floorplan.placer)
    assert set(device.full_placer) <= set(run.placer) and "--placer" not in run.placer
    assert replace(run, blocks=2).origin == replace(floorplan, seed=2)
    files = {each.placed for each in (run, floorplan, replace(run, blocks=2))}
    assert len(files | {run.netlist, "registered.json"}) == 5


def blocks_in(placed: Path) -> dict[str, str]:
    """Return the places of the multipliers."""
    cells = top_module(json.loads(placed.read_text()))["cells"]
    return {
        name: cell["attributes"]["NEXTPNR_BEL"]
        for name, cell in cells.items()
        if cell["type"] == "MULT18X18D"
    }


@pytest.mark.nextpnr
@pytest.mark.slow
def test_a_seed_places_its_logic_around_the_blocks_of_another(tmp_path: Path) -> None:
    figures = run_synthesis(
        "requantizer",
        PRESETS["nano"],
        config_name="nano",
        seeds=[1, 2],
        blocks=1,
        rounds=0,
        out=tmp_path,
    )
    assert figures.blocks == 1
    assert figures.mhz[1] != figures.mhz[2]
    first, second = (
        blocks_in(next(tmp_path.rglob(f"speed-6-{name}.placed.json")))
        for name in ("seed-1", "seed-2-blocks-1")
    )
    assert len(first) == figures.area.dsps
    assert second == first
    assert not list(tmp_path.rglob("speed-6-seed-1-blocks-1*")), "seed 1 is placed once"
