"""Flip-flops."""

from collections import defaultdict
from collections.abc import Iterable

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell
from lab.gates.cells.writer import Writer, parameter, pin


def write_registers(cells: Iterable[Cell], writer: Writer) -> None:
    """Write TRELLIS_FFs, those with the same enable and reset together.

    They start with the value of their reset. LSR, the reset, goes before CE, the enable.
    """
    together: defaultdict[tuple[str, str, str], list[tuple[str, int, str]]] = defaultdict(list)
    for cell in cells:
        output = pin(cell, "Q", "x")
        if not isinstance(output, int):
            continue
        if parameter(cell, "LSRMODE", "LSR", "PRLD") == "PRLD":
            raise InputError("TRELLIS_FF: LSRMODE = 'PRLD' has no model; use a netlist without")
        start = int(parameter(cell, "REGSET", "RESET", "SET") == "SET")
        name = writer.bit_register(output, start)
        parts = (edge_of(cell, writer), enable_of(cell, writer), reset_of(cell, writer))
        together[parts].append((name, start, writer.bit(pin(cell, "DI", "x"))))
    for (edge, enable, reset), bits in together.items():
        loads = [f"{name} <= {value};" for name, _, value in bits]
        if enable != "1'b1":
            loads = [f"if ({enable}) begin", *loads, "end"]
        if reset != "1'b0":
            starts = [f"{name} <= 1'b{start};" for name, start, _ in bits]
            loads = [f"if ({reset}) begin", *starts, "end else begin", *loads, "end"]
        writer.at(edge, loads)


def edge_of(cell: Cell, writer: Writer, clock: str = "CLK") -> str:
    """Return the edge of a clock pin at which a cell works."""
    inverted = parameter(cell, f"{clock}MUX", clock, "INV") == "INV"
    return f"{'negedge' if inverted else 'posedge'} {writer.bit(pin(cell, clock, '0'))}"


def enable_of(cell: Cell, writer: Writer) -> str:
    """Return what CE means to a flip-flop."""
    level = writer.bit(pin(cell, "CE", "1"))
    choices = {"1": "1'b1", "0": "1'b0", "CE": level, "INV": f"~{level}"}
    return choices[parameter(cell, "CEMUX", "1", "0", "CE", "INV")]


def reset_of(cell: Cell, writer: Writer) -> str:
    """Return what LSR means to a flip-flop: a reset at the clock's edge."""
    level = writer.bit(pin(cell, "LSR", "0"))
    inverted = parameter(cell, "LSRMUX", "LSR", "INV") == "INV"
    parameter(cell, "SRMODE", "LSR_OVER_CE")
    return f"~{level}" if inverted else level
