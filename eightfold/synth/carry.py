"""Carry chains of an ECP5 netlist begin and end without a way to the fabric.

Yosys gives the first CCU2C of every chain a constant CIN. nextpnr brings it in through a CCU2C of
its own, two sites for a bit that is known. Here the chain's first half makes the carry itself,
whatever CIN is: a half whose sum nobody uses (an adder with a carry operand has one), or else the
spare half of a chain with an odd number of bits, which moves from the end to the beginning.

Yosys also gives every COUT a wire. At a chain's end nextpnr brings that out through a CCU2C of its
own, two more sites, whether anything reads it or not.
"""

from itertools import product
from typing import Any

from eightfold.synth.fold import placed
from eightfold.synth.lut import Half
from eightfold.synth.netlist import Cell, Wire, loads, top_module


def free_carry_chains(netlist: dict[str, Any]) -> dict[str, int]:
    """Take the constant carry input from every chain that can do without, in place.

    Returns
    -------
    dict
        How many chains begin in their ``first`` half as it is, and how many ``shifted`` by one.
    """
    top = top_module(netlist)
    carries = [cell for cell in top["cells"].values() if cell["type"] == "CCU2C"]
    used = loads(top)
    following = {cell["connections"]["CIN"][0]: cell for cell in carries}
    freed = {"first": 0, "shifted": 0}
    for cell in carries:
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


def drop_unread_carries(netlist: dict[str, Any]) -> int:
    """Take the carry output from every chain whose last carry nothing reads, in place.

    Returns
    -------
    int
        How many.
    """
    top = top_module(netlist)
    used = loads(top)
    dropped = 0
    for cell in top["cells"].values():
        if cell["type"] == "CCU2C" and not used[_wire(cell, "COUT")]:
            cell["connections"]["COUT"] = ["x"]  # as above
            dropped += 1
    return dropped


def _wire(cell: Cell, port: str) -> Wire | None:
    """Return the wire at a port, None if there is none."""
    bits = cell["connections"].get(port)
    return bits[0] if bits else None


def _generate(cell: Cell) -> bool:
    """Let the first half make its carry of at most two wires, without CIN; or return False."""
    half = Half.of(cell, 0)
    carry_in = _wire(cell, "CIN") == "1"
    if "x" in half.pins:
        return False
    truth = {}
    for levels in product((False, True), repeat=len(half.wires)):
        propagate, generate = half.carry_at(dict(zip(half.wires, levels, strict=True)))
        truth[levels] = (False, carry_in if propagate else generate)
    found = placed(half.wires, truth)
    if found is not None:
        found.write(cell, 0)
    return found is not None


def _shift(chain: list[Cell]) -> None:
    """Move every half by one place, the spare last one to the front: it makes the carry."""
    places = [(cell, number) for cell in chain for number in (0, 1)]
    halves = [(Half.of(*place), place[0]["connections"].get(f"S{place[1]}")) for place in places]
    constant = Half(("1",) * 4, 0b1111 if chain[0]["connections"]["CIN"] == ["1"] else 0)
    halves = [(constant, halves[-1][1]), *halves[:-1]]
    for (cell, number), (half, total) in zip(places, halves, strict=True):
        half.write(cell, number)
        if total is not None:
            cell["connections"][f"S{number}"] = total
