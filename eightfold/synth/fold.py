"""LUTs in front of an ECP5 carry cell move into it.

A half of a CCU2C adds with a LUT4 of its own. Yosys gives it the two bits to be added and leaves
what makes these bits, such as a mask or a negation, in LUTs of their own. Where the half's four
pins suffice for all, the LUT's table is merged into the half's.
"""

from collections import defaultdict
from itertools import permutations, product
from typing import Any

from eightfold.synth.lut import Half, Lut, index_of
from eightfold.synth.netlist import Cell, Wire, loads, top_module


class Carries:
    """The halves of all CCU2Cs of a netlist, by the wires that they read."""

    def __init__(self, top: dict[str, Any]) -> None:
        self.used = loads(top)
        self._halves = defaultdict[Wire, list[tuple[Cell, int]]](list)
        for cell in top["cells"].values():
            if cell["type"] == "CCU2C" and "YES" not in _injected(cell):
                for number in (0, 1):
                    for wire in Half.of(cell, number).wires:
                        self._halves[wire].append((cell, number))

    def merge(self, wire: int, lut: Lut) -> bool:
        """Let all that reads a wire make it with a LUT; return False if that cannot be.

        A LUT may feed several halves, as that of a sign bit, which a sum takes twice.
        """
        fed = self._halves[wire]
        if not fed or self.used[wire] != len(fed):
            return False
        merged = [_merged(Half.of(*half), wire, lut) for half in fed]
        if None in merged:
            return False
        for half, (cell, number) in zip(merged, fed, strict=True):
            assert half is not None
            half.write(cell, number)
        return True


def fold_luts(netlist: dict[str, Any]) -> int:
    """Merge LUT4s that feed only carry cells into them, in place; return how many."""
    cells: dict[str, Cell] = top_module(netlist)["cells"]
    carries = Carries(top_module(netlist))
    folded = 0
    for name, lut in [(name, cell) for name, cell in cells.items() if cell["type"] == "LUT4"]:
        if carries.merge(lut["connections"]["Z"][0], Lut.of(lut)):
            del cells[name]
            folded += 1
    return folded


def _injected(cell: Cell) -> tuple[str, str]:
    return cell["parameters"]["INJECT1_0"], cell["parameters"]["INJECT1_1"]


def placed(wires: tuple[int, ...], truth: dict[tuple[bool, ...], tuple[bool, bool]]) -> Half | None:
    """Return a half with (propagate, generate) given for all values of at most four wires.

    None if there is none: what is generated may depend on two of the wires only, and not where
    the carry is propagated.
    """
    for order in permutations(wires):
        # Pins C and D at 1 keep the part of the table that says what is generated for that alone.
        pins = (*order, "0", "0")[: max(2, len(order))]
        pins = (*pins, "1", "1")[:4]
        table = 0
        asked = dict[int, bool]()
        for levels, (propagate, generate) in truth.items():
            index = index_of(pins, dict(zip(wires, levels, strict=True)))
            table |= propagate << index
            if not propagate and asked.setdefault(index & 3, generate) != generate:
                break
        else:
            if len(wires) < 4:
                table |= sum(generate << pair for pair, generate in asked.items())
            if all(table >> pair & 1 == generate for pair, generate in asked.items()):
                return Half(pins, table)
    return None


def _merged(half: Half, wire: int, lut: Lut) -> Half | None:
    """Return the half that computes what LUT and half did, or None."""
    wires = tuple(dict.fromkeys([*(w for w in half.wires if w != wire), *lut.wires]))
    if len(wires) > 4 or "x" in (*lut.pins, *half.pins):
        return None
    truth = {}
    for levels in product((False, True), repeat=len(wires)):
        values = dict(zip(wires, levels, strict=True))
        truth[levels] = half.carry_at({**values, wire: lut.at(values)})
    return placed(wires, truth)
