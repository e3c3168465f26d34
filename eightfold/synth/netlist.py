"""A flat netlist as Yosys writes it in JSON: its top module, its cells, what reads a wire."""

import re
from collections import Counter, defaultdict
from typing import Any

Cell = dict[str, Any]
Wire = int | str
"""A net's number, or the constant ``0``, ``1`` or ``x``."""


def top_module(netlist: dict[str, Any]) -> dict[str, Any]:
    """Return the module with the attribute ``top`` of a Yosys JSON netlist."""
    [top] = [m for m in netlist["modules"].values() if int(m["attributes"].get("top", "0"), 2)]
    return top


def place_of(cell: Cell) -> tuple[int, int, str]:
    """Return the column and row of tiles where nextpnr has placed a cell, and what of the tile."""
    bel = re.fullmatch(r"X(\d+)/Y(\d+)/(.+)", cell["attributes"]["NEXTPNR_BEL"])
    assert bel is not None
    return int(bel[1]), int(bel[2]), bel[3]


def clock_of(top: dict[str, Any], clock: str) -> int:
    """Return the net of a clock: of a port, or of what makes it within."""
    [net] = (top["ports"].get(clock) or top["netnames"][clock])["bits"]
    return net


def free_net(top: dict[str, Any]) -> int:
    """Return a number from which on no net is used yet."""
    nets = [bit for port in top["ports"].values() for bit in port["bits"]]
    nets += [bit for name in top["netnames"].values() for bit in name["bits"]]
    nets += [b for cell in top["cells"].values() for c in cell["connections"].values() for b in c]
    return max(net for net in nets if isinstance(net, int)) + 1


def readers(top: dict[str, Any]) -> defaultdict[Wire, list[tuple[str, str]]]:
    """Return the pins that read each wire, by cell and port; the unit's own ports have no cell."""
    pins: defaultdict[Wire, list[tuple[str, str]]] = defaultdict(list)
    for name, cell in top["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                for bit in bits:
                    pins[bit].append((name, port))
    for name, port in top["ports"].items():
        for bit in port["bits"]:
            pins[bit].append(("", name))
    return pins


def loads(top: dict[str, Any]) -> Counter[Wire | None]:
    """Return how many pins read each wire; None, one that is not there, has none."""
    return Counter({wire: len(pins) for wire, pins in readers(top).items()})
