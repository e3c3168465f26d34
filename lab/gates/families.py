"""Netlists of other families, whose cells are what Yosys' own models of them say.

They show that the RTL is what a synthesis tool takes it for, whatever the family. Noise is not in
those models: a memory starts as they say.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from eightfold.rtl.verilog import run_yosys
from eightfold.synth.device import Device

FAMILIES: Mapping[str, str] = {
    "xilinx": Device.load("xilinx").yosys,
    "ice40": "synth_ice40",  # with -dsp, Yosys 0.70 turns some products into constants
}
"""Yosys' command of each, which is also the name of the folder of its models."""


def flattened(name: str, text: str, top: str) -> str:
    """Return the Verilog of a module's netlist of a family, its cells replaced by their models."""
    steps = [
        "read_verilog unit.v",
        f"hierarchy -check -top {top}",
        FAMILIES[name],
        "write_verilog -noattr mapped.v",
        "design -reset",  # synthesis keeps its cells as black boxes, also those with parameters
        "read_verilog mapped.v",
        f"read_verilog +/{name}/cells_sim.v",
        f"hierarchy -check -top {top}",
        "proc",
        "flatten",
        "setundef -zero",
        "opt_clean -purge",
        "write_verilog -noattr netlist.v",
    ]
    with tempfile.TemporaryDirectory(prefix="eightfold-") as scratch:
        Path(scratch, "unit.v").write_text(text, encoding="utf-8")
        run_yosys("; ".join(steps), Path(scratch))
        return Path(scratch, "netlist.v").read_text(encoding="utf-8")
