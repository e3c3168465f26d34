"""The area of a unit in a library of standard cells: Yosys and ABC with the user's liberty file.

A gate equivalent is the area of the smallest NAND of two inputs. Memories of `LEAST` words and more
are counted apart, as bits: they become RAM macros, whose area no liberty file of cells has.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.common.files import write_file
from eightfold.common.markers import markdown
from eightfold.rtl.header import without_header
from eightfold.rtl.verilog import unit_verilog
from eightfold.synth.area import cells_by_component, indented, largest_first
from eightfold.synth.netlist import top_module
from eightfold.synth.tools import Stage, digest_of, find_tool, kept, own_steps, synthesize
from eightfold.target.config import AcceleratorConfig

LEAST = 256
"""Words from which on a memory is counted apart."""

_SCRIPT = (
    "read_verilog unit.v; hierarchy -check -auto-top; synth -flatten -run :fine; "
    f"memory_map t:$mem_v2 r:SIZE<{LEAST} %i; opt -full; techmap; opt -fast; "
    "dfflibmap -liberty cells.lib; abc -liberty cells.lib; opt_clean; autoname; "
    "write_json synthesized.json"
)

_CELL = re.compile(r'^\s*cell\s*\(\s*"?([^")\s]+)"?\s*\)', re.M)
_AREA = re.compile(r'^\s*area\s*:\s*"?([\d.eE+-]+)', re.M)
_FUNCTION = re.compile(r'^\s*function\s*:\s*"([^"]*)"', re.M)
_NAND = re.compile(r"[!~]?\(*\w+[*&]\w+\)*'?")
_SEQUENTIAL = re.compile(r"^\s*(?:ff|latch)(?:_bank)?\s*\(", re.M)


@dataclass(frozen=True)
class Library:
    """What counts of a liberty file.

    ``areas``: of each cell, in the file's unit; ``sequential``: cells that are flip-flops or
    latches; ``nand2``: area of the smallest NAND of two inputs, one gate equivalent.
    """

    areas: Mapping[str, float]
    sequential: frozenset[str]
    nand2: float


def read_liberty(text: str, where: str) -> Library:
    """Return what counts of a liberty file's text.

    Raises InputError if it has no cells with an area, no flip-flop, or no NAND of two inputs.
    """
    _, *split = _CELL.split(text)
    bodies = dict(zip(split[::2], split[1::2], strict=True))
    areas = {name: float(found[1]) for name, b in bodies.items() if (found := _AREA.search(b))}
    sequential = frozenset(name for name in areas if _SEQUENTIAL.search(bodies[name]))
    nands = [area for name, area in areas.items() if area and _is_nand2(bodies[name])]
    lacks = {"cell with an area": areas, "flip-flop": sequential, "NAND of two inputs": nands}
    if missing := [words for words, found in lacks.items() if not found]:
        raise InputError(f"{where}: no {' and no '.join(missing)}; give a liberty file of cells")
    return Library(areas, sequential, min(nands))


def _is_nand2(body: str) -> bool:
    functions = ["".join(function.split()) for function in _FUNCTION.findall(body)]
    if len(functions) != 1 or not _NAND.fullmatch(functions[0]):
        return False
    return (functions[0][0] in "!~") != functions[0].endswith("'")


@dataclass(frozen=True, kw_only=True)
class GateCount:
    """The area of one unit in one library.

    ``gates``: gate equivalents without ``memories``, of them ``sequential`` those of the ``ffs``
    flip-flops and latches. ``memories``: words x bits of those that are counted apart, and how many
    there are; ``parts``: gate equivalents of components, largest first, those within others
    included.
    """

    unit: str
    config_name: str
    library: str
    gates: float
    sequential: float
    ffs: int
    memories: dict[str, int]
    parts: dict[str, float] = field(default_factory=dict)
    seconds: float
    warnings: list[str]
    tool: str


def count_gates(
    unit: str,
    config: AcceleratorConfig,
    liberty: Path,
    *,
    config_name: str,
    out: Path = Path("build/synth"),
    verilog: str | None = None,
    stage: Stage = lambda words: None,
) -> GateCount:
    """Map one unit to the cells of a liberty file, and return its area.

    ``area = sum of the cells' areas / area of the smallest NAND of two inputs``: without pads,
    clock tree, scan chains, or the space between cells that placement needs. Figures and netlist
    are kept in ``out/<file's stem>/<config_name>/<unit>``; the other arguments are those of
    `eightfold.synth.run_synthesis`. Raises InputError if the file cannot be read or lacks what
    `read_liberty` needs, the unit is unknown, or Yosys fails.
    """
    try:
        cells = liberty.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"--liberty {liberty}: {error.strerror}") from None
    library = read_liberty(cells, f"--liberty {liberty}")
    tool = find_tool("yosys")
    if verilog is None:
        stage("Verilog")
        verilog = unit_verilog(unit, config)
    folder = out / liberty.stem / config_name / unit
    folder.mkdir(parents=True, exist_ok=True)

    def map_to_cells() -> dict[str, Any]:
        write_file(folder / "cells.lib", cells)
        netlist, warnings, seconds = synthesize(verilog, _SCRIPT, folder, stage)
        # Of ABC's reading of the library, not of the unit.
        told = [words for words in warnings if "liberty" not in words.lower()]
        return {**_counts(top_module(netlist), library), "seconds": seconds, "warnings": told}

    key = digest_of(without_header(verilog), cells, _SCRIPT, tool.version, *own_steps())
    try:
        figures = kept(folder / "gates.json", key, map_to_cells)
    except InputError as error:
        raise InputError(f"{unit} ({config_name}): {error}") from None
    result = GateCount(
        unit=unit, config_name=config_name, library=liberty.stem, tool=tool.version, **figures
    )
    write_file(folder / "gates.md", gate_table([result]) + "\n" + gate_parts([result]))
    return result


def _counts(top: dict[str, Any], library: Library) -> dict[str, Any]:
    """Return the figures of `GateCount` that a netlist of the library's cells has."""
    memories: Counter[str] = Counter()
    types: Counter[str] = Counter()
    unmapped: set[str] = set()
    for cell in top["cells"].values():
        kind = cell["type"]
        if kind == "$mem_v2":
            words, bits = (int(cell["parameters"][p], 2) for p in ("SIZE", "WIDTH"))
            memories[f"{words} x {bits}"] += 1
        elif kind in library.areas:
            types[kind] += 1
        elif kind != "$scopeinfo":
            unmapped.add(kind)
    if unmapped:
        raise InputError(f"no cell of the library for {', '.join(sorted(unmapped))}")
    gates = {kind: area / library.nand2 for kind, area in library.areas.items()}
    area = {kind: count * gates[kind] for kind, count in types.items()}
    parts = {
        path: sum(count * gates.get(kind, 0.0) for kind, count in counts.items())
        for path, counts in cells_by_component(top).items()
    }
    return {
        "gates": round(sum(area.values()), 1),
        "sequential": round(sum(area[kind] for kind in types if kind in library.sequential), 1),
        "ffs": sum(count for kind, count in types.items() if kind in library.sequential),
        "memories": dict(sorted(memories.items())),
        "parts": {".".join(path): round(parts[path], 1) for path in largest_first(parts) if path},
    }


def gate_table(results: list[GateCount]) -> str:
    """Return the figures as a Markdown table, one row per unit."""
    lines = [
        "| Unit | Configuration | Library | kGE | sequential | FFs | Memories apart | Seconds |",
        "|---|---|---|--:|--:|--:|---|--:|",
    ]
    for row in results:
        share = f"{row.sequential / row.gates:.0%}" if row.gates else ""
        memories = ", ".join(f"{count} of {size}" for size, count in row.memories.items())
        columns = [row.unit, row.config_name, row.library, f"{row.gates / 1000:.1f}", share]
        columns += [f"{row.ffs}", memories or "none", f"{row.seconds:.0f}"]
        lines.append(f"| {' | '.join(columns)} |")
    tools = ", ".join(sorted({row.tool for row in results}))
    return "\n".join([*lines, "", f"Measured with {tools}."]) + "\n"


def gate_parts(results: list[GateCount]) -> str:
    """Return the components of units that have several, as Markdown tables."""
    tables = []
    for row in results:
        if len(row.parts) > 1:
            rows = [(indented(name), f"{gates / 1000:.1f}") for name, gates in row.parts.items()]
            table = markdown(("Component", "kGE"), rows, text=1)
            tables.append(f"Components of {row.unit} ({row.config_name}):\n\n{table}")
    return "\n".join(tables)
