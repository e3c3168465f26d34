"""What is done to a netlist between Yosys and nextpnr: the rules, in their order.

Out of context a path from or to a port has no other end, and nextpnr leaves it out of its report: a
ready signal that crosses a unit in logic would cost nothing. With a register at each port, every
path of the unit runs from register to register.
"""

from collections.abc import Callable, Mapping
from typing import Any

from eightfold.synth.absorb import absorb_registers
from eightfold.synth.carry import drop_unread_carries, fold_luts, free_carry_chains, split_negations
from eightfold.synth.netlist import clock_of, free_net, top_module

RULES: Mapping[str, Callable[[dict[str, Any], str], object]] = {
    "absorb": absorb_registers,
    "negation": lambda netlist, clock: split_negations(netlist),
    "fold": lambda netlist, clock: fold_luts(netlist),
    "carry": lambda netlist, clock: free_carry_chains(netlist),
    "unread": lambda netlist, clock: drop_unread_carries(netlist),
}
"""Each rewrites a netlist of ECP5 cells in place; the text is the name of its clock's net."""


def rewrite(netlist: dict[str, Any], clock: str) -> None:
    """Apply all rules to an ECP5 netlist, in place: no value changes in any cycle."""
    for rule in RULES.values():
        rule(netlist, clock)


_ECP5 = {
    "CEMUX": "1 ",  # a string that looks like a number ends in a space in Yosys's JSON
    "CLKMUX": "CLK",
    "GSR": "DISABLED",
    "LSRMUX": "LSR",
    "REGSET": "RESET",
    "SRMODE": "LSR_OVER_CE",
}


def register_ports(netlist: dict[str, Any], clock: str, family: str = "ecp5") -> int:
    """Put a flip-flop between each port bit and the unit, in place, and return how many.

    Parameters
    ----------
    netlist
        Yosys's JSON with one flat module that has the attribute ``top``.
    clock
        The clock port, left as it is on ECP5.
    family
        What the cells are of. nextpnr-himbaechel has no placement out of context, it wants a pad
        for each port: except on ECP5 all ports go, and a buffer within makes the clock.
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
            data = "0" if data == "x" or (is_input and family != "ecp5") else data
            register = _register(family, clock_net, data, output)
            top["cells"][f"{name}_port_register_{index}"] = register
            added += 1
    if family != "ecp5":
        top["ports"].clear()
        top["cells"][f"{clock}_buffer"] = _cell("BUFG", {"I": "0"}, {"O": clock_net}, {})
    return added


def _register(family: str, clock: int, data: int | str, output: int) -> dict[str, Any]:
    """Return a flip-flop without a reset."""
    if family == "ecp5":
        inputs = {"CLK": clock, "DI": data, "LSR": "0"}
        return _cell("TRELLIS_FF", inputs, {"Q": output}, _ECP5)
    inputs = {"C": clock, "CE": "1", "D": data, "R": "0"}
    return _cell("FDRE", inputs, {"Q": output}, {"INIT": "0"})


def _cell(
    kind: str,
    inputs: Mapping[str, int | str],
    outputs: Mapping[str, int | str],
    parameters: Mapping[str, str],
) -> dict[str, Any]:
    """Return a cell as Yosys's JSON has it."""
    return {
        "hide_name": 0,
        "type": kind,
        "parameters": dict(parameters),
        "attributes": {},
        "port_directions": {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")},
        "connections": {port: [net] for port, net in {**inputs, **outputs}.items()},
    }
