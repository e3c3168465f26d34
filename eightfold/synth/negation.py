"""The sign of a function in front of an ECP5 carry cell moves into it.

A function of five wires is two LUT4s and a PFUMX that chooses between them. If it is one of four
wires, negated by the fifth, the carry cell that adds it has a pin left for the sign, and a single
LUT4 remains: so a multiple of an operand, negated or not.
"""

from itertools import product
from typing import Any

from eightfold.synth.fold import Carries
from eightfold.synth.lut import Lut, index_of
from eightfold.synth.netlist import Cell, Wire, top_module

_XOR = 0b0110


def split_negations(netlist: dict[str, Any]) -> int:
    """Move negations from functions that feed only carry cells into these, in place.

    Returns
    -------
    int
        How many, each of which saves a LUT4 and a PFUMX.
    """
    top = top_module(netlist)
    cells: dict[str, Cell] = top["cells"]
    carries = Carries(top)
    luts = {c["connections"]["Z"][0]: name for name, c in cells.items() if c["type"] == "LUT4"}
    split = 0
    for name, mux in [(name, cell) for name, cell in cells.items() if cell["type"] == "PFUMX"]:
        select, low, high, out = (mux["connections"][p][0] for p in ("C0", "BLUT", "ALUT", "Z"))
        if not all(wire in luts and carries.used[wire] == 1 for wire in (low, high)):
            continue
        found = _negated(select, Lut.of(cells[luts[low]]), Lut.of(cells[luts[high]]))
        if found is None:
            continue
        sign, size = found
        if carries.merge(out, Lut((low, sign, "0", "0"), _XOR)):
            size.write(cells[luts[low]])
            del cells[luts[high]], cells[name]
            split += 1
    return split


def _negated(select: Wire, low: Lut, high: Lut) -> tuple[int, Lut] | None:
    """Return a wire and a LUT, whose exclusive or is ``high if select else low``, or None."""
    pins = (select, *low.pins, *high.pins)
    wires = tuple(dict.fromkeys(pin for pin in pins if isinstance(pin, int)))
    if not isinstance(select, int) or "x" in pins or len(wires) > 5:
        return None
    for sign in wires:
        others = tuple(wire for wire in wires if wire != sign)
        table = 0
        for levels in product((False, True), repeat=len(others)):
            values = dict(zip(others, levels, strict=True))
            plain, other = (
                (high if at[select] else low).at(at)
                for at in ({**values, sign: False}, {**values, sign: True})
            )
            if plain == other:
                break
            table |= plain << index_of(others, values)
        else:
            return sign, Lut((*others, "0", "0", "0", "0")[:4], table)
    return None
