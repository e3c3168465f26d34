"""A netlist of ECP5 cells as one flat module of plain Verilog."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell, top_module
from lab.gates.cells import (
    write_carries,
    write_l6muxs,
    write_luts,
    write_multipliers,
    write_pfumxs,
    write_registers,
)
from lab.gates.memories import write_block_rams, write_small_memories
from lab.gates.writer import Writer

MODELS: Mapping[str, Callable[[Iterable[Cell], Writer], None]] = {
    "LUT4": write_luts,
    "PFUMX": write_pfumxs,
    "L6MUX21": write_l6muxs,
    "CCU2C": write_carries,
    "TRELLIS_FF": write_registers,
    "TRELLIS_DPR16X4": write_small_memories,
    "DP16KD": write_block_rams,
    "MULT18X18D": write_multipliers,
}
"""What writes all cells of a type."""


def to_verilog(netlist: dict[str, Any], name: str) -> str:
    """Return the top module of a netlist as Verilog that computes what its cells do.

    Plusargs of the simulation decide what the netlist leaves open: ``+unknown=1`` makes its
    constants ``x`` 1 instead of 0, and ``+seed=...`` draws the noise that a memory starts with, and
    that a read returns which meets a write.

    Parameters
    ----------
    netlist
        As Yosys writes it in JSON: flat, its top module with the attribute ``top``.
    name
        Of the module.

    Raises
    ------
    InputError
        If there is a cell, or a mode of one, that has no model.
    """
    top = top_module(netlist)
    kinds = defaultdict[str, list[Cell]](list)
    for cell in top["cells"].values():
        kinds[cell["type"]].append(cell)
    kinds.pop("$scopeinfo", None)
    if unknown := sorted(set(kinds) - set(MODELS)):
        raise InputError(f"netlist of {name}: cells without a model: {', '.join(unknown)}")
    writer = Writer(top)
    for kind, write in MODELS.items():
        write(kinds[kind], writer)
    return writer.verilog(name)
