"""What each component of a netlist takes, told by the names that its cells keep when flattened."""

import re
from collections import Counter, defaultdict
from typing import Any

from eightfold.synth.area import Area, area_of
from eightfold.synth.netlist import top_module

DEPTH = 2
"""Levels of the hierarchy that are told apart."""

LEAST = 0.005
"""Share of the LUTs below which a component is counted with the one around it."""


def parts_of(netlist: dict[str, Any], family: str) -> dict[str, Area]:
    """Return the area of components, largest first, those within others included.

    A cell belongs to the component whose signal it drives. Numbered copies, such as lanes, are one
    entry, ``lane*``. The unit itself is the entry ``""``.
    """
    cells: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for name, cell in top_module(netlist)["cells"].items():
        if cell["type"] == "$scopeinfo":
            continue
        path = [] if name.startswith("$") else name.split(".")[:-1]
        known = [re.sub(r"\d+$", "*", part) for part in path[:DEPTH]]
        for level in range(len(known) + 1):
            cells[tuple(known[:level])][cell["type"]] += 1
    areas = {path: area_of(counts, family) for path, counts in cells.items()}
    least = LEAST * areas[()].lut4_equivalents
    shown = [path for path, area in areas.items() if area.lut4_equivalents >= least or not path]
    shown.sort(key=lambda path: [(-areas[path[: i + 1]].lut4_equivalents, path[i])
                                 for i in range(len(path))])  # fmt: skip
    return {".".join(path): areas[path] for path in shown}


def parts_table(parts: dict[str, Area]) -> str:
    """Return the areas as a Markdown table; what lies within another component is indented."""
    lines = ["| Component | LUTs | FFs | DSPs | RAMs |", "|---|--:|--:|--:|--:|"]
    for name, area in parts.items():
        label = "&emsp;" * name.count(".") + name.rpartition(".")[2] if name else "whole"
        figures = (area.lut4_equivalents, area.ffs, area.dsps, area.rams)
        lines.append(f"| {label} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines) + "\n"
