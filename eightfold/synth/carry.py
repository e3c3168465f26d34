"""Carry cells of an ECP5 netlist: LUTs in front move into them, and chains need no fabric to begin.

A half of a CCU2C adds with a LUT4 of its own. Yosys gives it the two bits to be added and leaves
what makes these bits, such as a mask or a negation, in LUTs of their own. Where the half's four
pins suffice for all, the LUT's table is merged into the half's.

A function of five wires is two LUT4s and a PFUMX that chooses between them. If it is one of four
wires, negated by the fifth, the carry cell that adds it has a pin left for the sign, and a single
LUT4 remains: so a multiple of an operand, negated or not.

Yosys gives the first CCU2C of every chain a constant CIN. nextpnr brings it in through a CCU2C of
its own, two sites for a bit that is known. Here the chain's first half makes the carry itself,
whatever CIN is: a half whose sum nobody uses (an adder with a carry operand has one), or else the
spare half of a chain with an odd number of bits, which moves from the end to the beginning.

Yosys also gives every COUT a wire. At a chain's end nextpnr brings that out through a CCU2C of its
own, two more sites, whether anything reads it or not.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Self

from eightfold.synth.netlist import Cell, Wire, loads, top_module

_PINS = "ABCD"


@dataclass(frozen=True)
class Lut:
    """A LUT4: its pins A to D, and its table."""

    pins: tuple[Wire, ...]
    table: int

    @classmethod
    def of(cls, cell: Cell, half: int | str = "") -> Self:
        """Return that of a cell, or of half 0 or 1 of a CCU2C."""
        pins = tuple(cell["connections"][f"{pin}{half}"][0] for pin in _PINS)
        return cls(pins, int(cell["parameters"][f"INIT{half}"], 2))

    def write(self, cell: Cell, half: int | str = "") -> None:
        """Make this that of a cell, or of half 0 or 1 of a CCU2C."""
        for pin, wire in zip(_PINS, self.pins, strict=True):
            cell["connections"][f"{pin}{half}"] = [wire]
        cell["parameters"][f"INIT{half}"] = format(self.table, "016b")

    @property
    def wires(self) -> tuple[int, ...]:
        """The pins that are not constant, each once."""
        return tuple(dict.fromkeys(pin for pin in self.pins if isinstance(pin, int)))

    def at(self, values: dict[int, bool]) -> bool:
        """Return the output for values of the wires."""
        return bool(self.table >> index_of(self.pins, values) & 1)


class Half(Lut):
    """The LUT4 of a half of a CCU2C.

    With ``propagate`` the table's bit at (A, B, C, D), and ``generate`` that at (A, B, 0, 0),
    ``sum = propagate ^ carry_in`` and ``carry_out = propagate ? carry_in : generate``.
    """

    def carry_at(self, values: dict[int, bool]) -> tuple[bool, bool]:
        """Return (propagate, generate) for values of the wires."""
        pair = index_of(self.pins[:2], values)
        return self.at(values), bool(self.table >> pair & 1)


def index_of(pins: tuple[Wire, ...], values: dict[int, bool]) -> int:
    """Return where the table of a LUT with these pins has the bit for values of the wires."""
    levels = [values[pin] if isinstance(pin, int) else pin == "1" for pin in pins]
    return sum(level << position for position, level in enumerate(levels))


class Carries:
    """The halves of all CCU2Cs of a netlist, by the wires that they read."""

    def __init__(self, top: dict[str, Any]) -> None:
        self.used = loads(top)
        self._halves = defaultdict[Wire, list[tuple[Cell, int]]](list)
        for cell in top["cells"].values():
            if cell["type"] != "CCU2C":
                continue
            if all(cell["parameters"][f"INJECT1_{half}"] != "YES" for half in (0, 1)):
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


def half_of(
    wires: tuple[int, ...], truth: dict[tuple[bool, ...], tuple[bool, bool]]
) -> Half | None:
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
    return half_of(wires, truth)


_XOR = 0b0110


def split_negations(netlist: dict[str, Any]) -> int:
    """Move negations from functions that feed only carry cells into these, in place.

    Return how many, each of which saves a LUT4 and a PFUMX.
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


def free_carry_chains(netlist: dict[str, Any]) -> dict[str, int]:
    """Take the constant carry input from every chain that can do without, in place.

    Return how many chains begin in their ``first`` half as it is, and how many ``shifted`` by one.
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
    """Take the carry output from every chain whose last carry nothing reads; return how many."""
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
    found = half_of(half.wires, truth)
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
