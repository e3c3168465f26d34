"""Names of netlists, what a campaign makes of them, and cells that are refused."""

from typing import Any

import pytest

from eightfold.common.errors import InputError
from eightfold.sim.simulator.sources import Unit
from eightfold.target.config import PRESETS
from lab.gates import NETLISTS, gates, levels_of, named
from lab.gates.verilog import to_verilog
from tests.support.campaign.units import units_of


@pytest.mark.parametrize(
    ("text", "netlist"), [("ecp5", ("ecp5", None)), ("ecp5-mapped:1", ("ecp5-mapped", 1))]
)
def test_names(text: str, netlist: tuple[str, int | None]) -> None:
    assert named(text) == netlist


@pytest.mark.parametrize("text", ["ecp6", "ecp5:2", "ecp5:", "xilinx:1"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=rf"netlist '{text}': use one of ecp5, ecp5-mapped, "):
        named(text)


def test_levels() -> None:
    assert levels_of("") == [""]
    assert levels_of("ecp5") == ["ecp5:0", "ecp5:1"]
    assert levels_of("ecp5:1") == ["ecp5:1"]
    assert levels_of("xilinx") == ["xilinx:0"]


def test_a_recipe_says_which_netlist_is_made_of_which_unit() -> None:
    units = [Unit("requantizer", PRESETS[name]) for name in ("nano", "base")]
    recipes = [gates(unit, netlist).recipe() for unit in units for netlist in NETLISTS]
    assert len(set(recipes)) == len(recipes)
    assert gates(units[0], "ecp5").recipe() == gates(units[0], "ecp5:1").recipe() == recipes[0]


def test_a_campaign_has_a_column_for_each_level() -> None:
    asked = {"backend": "verilator", "config": "nano", "netlist": "ecp5"}
    units = units_of("operators", **asked, operators="ADD") + units_of("requantizer", **asked)
    columns = ["verilator nano ecp5:0", "verilator nano ecp5:1"]
    assert [unit.column for unit in units] == columns * 2
    assert len({unit.name for unit in units}) == 4


def test_golden_runs_no_netlist() -> None:
    with pytest.raises(InputError, match="--netlist is simulated; use --backend verilator"):
        units_of("operators", netlist="ecp5")


def netlist(kind: str, **parameters: str) -> dict[str, Any]:
    cell = {
        "type": kind,
        "parameters": parameters,
        "port_directions": {"DI": "input", "Q": "output", "LSR": "input", "CLK": "input"},
        "connections": {"DI": [3], "Q": [4], "LSR": [5], "CLK": [2]},
    }
    names = {"clk": ("input", [2]), "d": ("input", [3, 5]), "q": ("output", [4])}
    ports = {name: {"direction": way, "bits": bits} for name, (way, bits) in names.items()}
    return {"modules": {"top": {"attributes": {"top": "1"}, "ports": ports, "cells": {"c": cell}}}}


def test_a_register_starts_with_its_reset() -> None:
    text = to_verilog(netlist("TRELLIS_FF", REGSET="SET"), "top")
    assert "reg n4 = 1'b1;" in text
    assert "if (d[1]) begin\nn4 <= 1'b1;\nend else begin\nn4 <= d[0];\nend" in text


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("ALU54B", {}, "netlist of top: cells without a model: ALU54B"),
        ("TRELLIS_FF", {"REGSET": "OTHER"}, "TRELLIS_FF: REGSET = 'OTHER' has no model"),
        ("TRELLIS_FF", {"LSRMODE": "PRLD"}, "TRELLIS_FF: LSRMODE = 'PRLD' has no model"),
    ],
)
def test_what_has_no_model_is_refused(kind: str, parameters: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        to_verilog(netlist(kind, **parameters), "top")
