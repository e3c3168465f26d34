"""Registers at every port of an ECP5 netlist, so that paths through ports are timed.

Out of context a path from or to a port has no other end, and nextpnr leaves it out of its
report: a ready signal that crosses a unit in logic would cost nothing. With a register at each
port, every path of the unit runs from register to register.
"""

from typing import Any

from eightfold.synth.netlist import clock_of, free_net, top_module

_PARAMETERS = {
    "CEMUX": "1 ",  # a string that looks like a number ends in a space in Yosys's JSON
    "CLKMUX": "CLK",
    "GSR": "DISABLED",
    "LSRMUX": "LSR",
    "REGSET": "RESET",
    "SRMODE": "LSR_OVER_CE",
}


def register_ports(netlist: dict[str, Any], clock: str) -> int:
    """Put a flip-flop between each port bit and the unit, in place, and return how many.

    Parameters
    ----------
    netlist
        Yosys's JSON with one flat module that has the attribute ``top``.
    clock
        The clock port, left as it is.
    """
    top = top_module(netlist)
    clock_net = clock_of(top, clock)
    free = free_net(top)
    added = 0
    for name, port in top["ports"].items():
        if name == clock:
            continue
        for index, inner in enumerate(port["bits"]):
            outer = free + added
            is_input = port["direction"] == "input"
            data, output = (outer, inner) if is_input else (inner, outer)
            port["bits"][index] = outer
            top["cells"][f"{name}_port_register_{index}"] = {
                "hide_name": 0,
                "type": "TRELLIS_FF",
                "parameters": dict(_PARAMETERS),
                "attributes": {},
                "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
                "connections": {
                    "CLK": [clock_net],
                    "DI": ["0" if data == "x" else data],
                    "LSR": ["0"],
                    "Q": [output],
                },
            }
            added += 1
    return added
