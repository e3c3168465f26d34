"""Carry chains of an ECP5 netlist begin without an input from the fabric.

Yosys gives the first CCU2C of every chain a constant CIN. nextpnr brings it in through a CCU2C of
its own, two sites for a bit that is known. Here the chain's first half makes the carry itself,
whatever CIN is: a half whose sum nobody uses (an adder with a carry operand has one), or else the
spare half of a chain with an odd number of bits, which moves from the end to the beginning.
"""

from collections import Counter
from typing import Any

from eightfold.synth.ports import top_module

Cell = dict[str, Any]

_PINS = "ABCD"


def free_carry_chains(netlist: dict[str, Any]) -> dict[str, int]:
    """Take the constant carry input from every chain that can do without, in place.

    Returns
    -------
    dict
        How many chains begin in their ``first`` half as it is, and how many ``shifted`` by one.
    """
    top = top_module(netlist)
    carries = {name: cell for name, cell in top["cells"].items() if cell["type"] == "CCU2C"}
    used = _loads(top)
    following = {cell["connections"]["CIN"][0]: cell for cell in carries.values()}
    freed = {"first": 0, "shifted": 0}
    for cell in carries.values():
        wires = cell["connections"]
        if wires["CIN"][0] not in ("0", "1"):
            continue
        chain = [cell]
        while (after := following.get(_wire(chain[-1], "COUT"))) is not None:
            chain.append(after)
        if any(c["parameters"][f"INJECT1_{half}"] != "NO" for c in chain for half in (0, 1)):
            continue
        if not used[_wire(cell, "S0")] and _generate(cell):
            freed["first"] += 1
        elif not used[_wire(chain[-1], "S1")] and not used[_wire(chain[-1], "COUT")]:
            _shift(chain)
            freed["shifted"] += 1
        else:
            continue
        wires["CIN"] = ["x"]  # nextpnr wants to see the pin, but leaves it open
    return freed


def _loads(top: dict[str, Any]) -> Counter[int | str | None]:
    """Return how many pins read each net; None, a wire that is not there, has none."""
    loads: Counter[int | str | None] = Counter()
    for cell in top["cells"].values():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                loads.update(bits)
    for port in top["ports"].values():
        loads.update(port["bits"])
    return loads


def _wire(cell: Cell, port: str) -> int | str | None:
    bits = cell["connections"].get(port)
    return bits[0] if bits else None


def _generate(cell: Cell) -> bool:
    """Let the first half make its carry of at most two wires, without CIN; or return False.

    ``carry = (LUT4 and CIN) or (not LUT4 and LUT2)``, in which LUT2 sees A and B, and is the part
    of the table where C and D are 0: with both at 1 and zeros there, it alone remains.
    """
    pins = [_wire(cell, f"{pin}0") for pin in _PINS]
    wires = list(dict.fromkeys(wire for wire in pins if isinstance(wire, int)))
    if len(wires) > 2 or "x" in pins:
        return False
    table = int(cell["parameters"]["INIT0"], 2)
    carry_in = _wire(cell, "CIN") == "1"
    carry_table = 0
    for point in range(4):
        values = {wire: bool(point >> i & 1) for i, wire in enumerate(wires)}
        levels = [values[pin] if isinstance(pin, int) else pin == "1" for pin in pins]
        index = sum(level << i for i, level in enumerate(levels))
        carry = carry_in if table >> index & 1 else bool(table >> (index & 3) & 1)
        carry_table |= carry << point
    ends = [*wires, "0", "0"][:2]
    _set_half(cell, 0, [[end] for end in [*ends, "1", "1"]], carry_table)
    return True


def _shift(chain: list[Cell]) -> None:
    """Move every half by one place, the spare last one to the front: it makes the carry."""
    halves = [
        (
            [cell["connections"][f"{pin}{half}"] for pin in _PINS],
            int(cell["parameters"][f"INIT{half}"], 2),
            cell["connections"].get(f"S{half}"),
        )
        for cell in chain
        for half in (0, 1)
    ]
    constant = 0b1111 if chain[0]["connections"]["CIN"] == ["1"] else 0
    halves = [([["1"]] * 4, constant, halves[-1][2]), *halves[:-1]]
    for place, (pins, table, total) in enumerate(halves):
        cell, half = chain[place // 2], place % 2
        _set_half(cell, half, pins, table)
        if total is not None:
            cell["connections"][f"S{half}"] = total


def _set_half(cell: Cell, half: int, pins: list[list[int | str]], table: int) -> None:
    """Give a half of a CCU2C its inputs A to D and its table."""
    for pin, wire in zip(_PINS, pins, strict=True):
        cell["connections"][f"{pin}{half}"] = wire
    cell["parameters"][f"INIT{half}"] = format(table, "016b")
