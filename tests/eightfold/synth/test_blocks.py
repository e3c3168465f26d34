"""RAM blocks and multipliers of one seed where another seed's placement put them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eightfold.common.errors import InputError
from eightfold.synth import run_synthesis
from eightfold.synth.device import Device
from eightfold.synth.flow import PlaceAndRoute, fix_blocks
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
