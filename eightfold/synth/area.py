"""The area of a netlist from the number of its cells by type, and that of each component.

Components are told by the names that their cells keep when flattened.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from eightfold.common.markers import markdown
from eightfold.synth.netlist import top_module

# Cells by name pattern: (LUT, LUT equivalents, flip-flops, DSP, block RAM of 16 or 18 Kbit).
_CELLS: dict[str, dict[str, tuple[int, int, int, int, int]]] = {
    "ecp5": {
        "LUT4": (1, 1, 0, 0, 0),
        "CCU2C": (0, 2, 0, 0, 0),
        "TRELLIS_DPR16X4": (0, 4, 0, 0, 0),
        "TRELLIS_FF": (0, 0, 1, 0, 0),
        "MULT18X18D": (0, 0, 0, 1, 0),
        "DP16KD": (0, 0, 0, 0, 1),
        "PDPW16KD": (0, 0, 0, 0, 1),
    },
    "xilinx": {
        "LUT[1-6]": (1, 1, 0, 0, 0),
        "INV": (1, 1, 0, 0, 0),
        "SRL*": (0, 1, 0, 0, 0),
        "RAM32M": (0, 4, 0, 0, 0),
        "RAM64M": (0, 4, 0, 0, 0),
        "RAM32X1D": (0, 2, 0, 0, 0),
        "RAM64X1D": (0, 2, 0, 0, 0),
        "FD[RSCP]E*": (0, 0, 1, 0, 0),
        "DSP48E1": (0, 0, 0, 1, 0),
        "RAMB18E1": (0, 0, 0, 0, 1),
        "RAMB36E1": (0, 0, 0, 0, 2),
    },
    "gowin": {
        "LUT[1-4]": (1, 1, 0, 0, 0),
        "ALU": (0, 1, 0, 0, 0),
        "RAM16SDP4": (0, 4, 0, 0, 0),
        "RAM16SDP2": (0, 2, 0, 0, 0),
        "RAM16SDP1": (0, 1, 0, 0, 0),
        "DFF*": (0, 0, 1, 0, 0),
        "MULT9X9": (0, 0, 0, 1, 0),
        "MULT18X18": (0, 0, 0, 1, 0),
        "MULT36X36": (0, 0, 0, 1, 0),
        "SDP*": (0, 0, 0, 0, 1),
        "DP[BX]*": (0, 0, 0, 0, 1),
        "SP[X9]*": (0, 0, 0, 0, 1),
    },
}
_CELLS["zynq"] = _CELLS["xilinx"]


@dataclass(frozen=True)
class Area:
    """Cells of one netlist: ``luts``, flip-flops, multipliers, block RAMs.

    ``lut4_equivalents``: LUT sites, on ECP5 LUT4 + 2 CCU2C + 4 DPR16X4; ``rams``: in units of 16
    Kbit (ECP5, Gowin) or 18 Kbit (Xilinx).
    """

    luts: int
    lut4_equivalents: int
    ffs: int
    dsps: int
    rams: int

    @property
    def figures(self) -> tuple[str, ...]:
        """What tables show of it."""
        return tuple(map(str, (self.lut4_equivalents, self.ffs, self.dsps, self.rams)))


def area_of(cells: Mapping[str, int], family: str) -> Area:
    """Return the area of a netlist from its number of cells by type."""
    totals = [0, 0, 0, 0, 0]
    for cell, count in cells.items():
        for pattern, weights in _CELLS[family].items():
            if fnmatchcase(cell, pattern):
                totals = [t + count * w for t, w in zip(totals, weights, strict=True)]
                break
    return Area(*totals)


def cells_of(netlist: dict[str, Any]) -> dict[str, int]:
    """Return the number of cells by type of a flat Yosys JSON netlist."""
    types = Counter(cell["type"] for cell in top_module(netlist)["cells"].values())
    return {cell: count for cell, count in sorted(types.items()) if cell != "$scopeinfo"}


DEPTH = 2
"""Levels of the hierarchy that are told apart."""

LEAST = 0.005
"""Share of the whole below which a component is counted with the one around it."""

Component = tuple[str, ...]
"""The names of its levels; none is the whole."""


def component_of(name: str) -> Component:
    """Return the component that a cell belongs to; numbered ones are ``lane*``."""
    path = [] if name.startswith("$") else name.split(".")[:-1]
    return tuple(re.sub(r"\d+$", "*", part) for part in path[:DEPTH])


def cells_by_component(top: dict[str, Any]) -> dict[Component, Counter[str]]:
    """Return numbers of cells by type of each component, those within others included."""
    cells: defaultdict[Component, Counter[str]] = defaultdict(Counter)
    for name, cell in top["cells"].items():
        if cell["type"] == "$scopeinfo":
            continue
        known = component_of(name)
        for level in range(len(known) + 1):
            cells[known[:level]][cell["type"]] += 1
    return cells


def largest_first(areas: Mapping[Component, float]) -> list[Component]:
    """Return the components that are not too small, each behind the one around it."""
    least = LEAST * areas[()]
    shown = [path for path, area in areas.items() if area >= least or not path]
    shown.sort(key=lambda path: [(-areas[path[: i + 1]], part) for i, part in enumerate(path)])
    return shown


def indented(name: str) -> str:
    """Return a component for a table in Markdown, behind the one around it."""
    return "&emsp;" * name.count(".") + name.rpartition(".")[2]


def parts_of(netlist: dict[str, Any], family: str) -> dict[str, Area]:
    """Return the area of components, largest first, those within others included.

    A cell belongs to the component whose signal it drives. Numbered copies, such as lanes, are one
    entry, ``lane*``. The unit itself is the entry ``""``.
    """
    cells = cells_by_component(top_module(netlist))
    areas = {path: area_of(counts, family) for path, counts in cells.items()}
    shown = largest_first({path: area.lut4_equivalents for path, area in areas.items()})
    return {".".join(path): areas[path] for path in shown}


def parts_table(parts: dict[str, Area]) -> str:
    """Return the areas as a Markdown table; what lies within another component is indented."""
    rows = [(indented(name) or "whole", *area.figures) for name, area in parts.items()]
    return markdown(("Component", "LUTs", "FFs", "DSPs", "RAMs"), rows, text=1)
