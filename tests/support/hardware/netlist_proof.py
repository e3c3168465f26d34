"""Yosys proves that a step on a netlist changed no value in any cycle."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from eightfold.rtl.verilog import generate, run_yosys
from eightfold.synth.netlist import top_module

Netlist = dict[str, Any]

SCRIPT = """
read_verilog -overwrite +/lattice/cells_sim_ecp5.v
read_verilog -overwrite models.v
read_json gold.json
read_json gate.json
miter -equiv gold gate miter
hierarchy -check -top miter
proc; flatten; opt_clean
sat -verify -prove trigger 0 -tempinduct-baseonly -maxsteps 8 -set-init-zero miter
"""


def proved(
    folder: Path,
    unit: wiring.Component,
    step: Callable[[Netlist], dict[str, int]],
    models: str = "",
) -> tuple[Netlist, dict[str, int]]:
    """Synthesize a unit, change its netlist by ``step``, prove both alike; return what came out.

    ``models`` is Verilog that stands for cells of the family in the proof. A carry input that a
    cell lost may have any value in it.
    """
    (folder / "unit.v").write_text(generate(unit, "unit"))
    (folder / "models.v").write_text(models)
    run_yosys("read_verilog unit.v; synth_ecp5 -top unit -json unit.json", folder)
    netlist = json.loads((folder / "unit.json").read_text())
    write_top(folder / "gold.json", "gold", netlist)
    result = step(netlist)
    write_top(folder / "gate.json", "gate", netlist)
    run_yosys("; ".join(SCRIPT.strip().splitlines()), folder)
    return netlist, result


def write_top(path: Path, name: str, netlist: Netlist) -> None:
    """Write the top module alone, without parameters that the models do not know."""
    top = json.loads(json.dumps(top_module(netlist)))
    for cell in top["cells"].values():
        if cell["type"] == "DP16KD":
            modes = {k: v for k, v in cell["parameters"].items() if k.startswith("REGMODE")}
            cell["parameters"] = modes
        if cell["type"] == "CCU2C":
            for port in ("CIN", "COUT"):  # the solver may choose CIN; a constant x would be 0
                if cell["connections"].get(port) == ["x"]:
                    del cell["connections"][port]
    path.write_text(json.dumps({"modules": {name: top}}))
