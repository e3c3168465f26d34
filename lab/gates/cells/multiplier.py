"""Multiplier blocks."""

from collections.abc import Iterable

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell
from lab.gates.cells.writer import Writer, parameter, pin, pins

_CLOCKS = ("CLK0", "CLK1", "CLK2", "CLK3")
_ENABLES = ("CE0", "CE1", "CE2", "CE3")
_RESETS = ("RST0", "RST1", "RST2", "RST3")


def write_multipliers(cells: Iterable[Cell], writer: Writer) -> None:
    """Write MULT18X18Ds: ``P = A * B``, each operand signed where SIGNEDA or SIGNEDB is 1.

    Operands, product and what is between have a register each where ``REG_..._CLK`` is a clock.
    """
    for cell in cells:
        for side in "AB":
            if writer.bit(pin(cell, f"SOURCE{side}", "0")) != "1'b0":
                raise InputError("MULT18X18D: operands of another block have no model")
        operands = [_operand(cell, writer, side) for side in "AB"]
        product = writer.wire(36, "product", " * ".join(operands))
        for which in ("PIPELINE", "OUTPUT"):
            product = _registered(cell, writer, which, 36, product)
        writer.assign_word(pins(cell, "P", 36), product)


def _operand(cell: Cell, writer: Writer, side: str) -> str:
    """Return an operand of 36 bits, behind its register."""
    name = writer.wire(18, "operand", writer.word(pins(cell, side, 18)))
    name = _registered(cell, writer, f"INPUT{side}", 18, name)
    sign = f"{{18{{{writer.bit(pin(cell, f'SIGNED{side}', '0'))} & {name}[17]}}}}"
    return writer.wire(36, "extended", f"{{{sign}, {name}}}")


def _registered(cell: Cell, writer: Writer, which: str, bits: int, value: str) -> str:
    clock = parameter(cell, f"REG_{which}_CLK", "NONE", *_CLOCKS)
    if clock == "NONE":
        return value
    parameter(cell, f"{clock}_DIV", "ENABLED")
    enable = parameter(cell, f"REG_{which}_CE", "CE0", *_ENABLES)
    reset = parameter(cell, f"REG_{which}_RST", "RST0", *_RESETS)
    edge, enabled, cleared = (
        writer.bit(pin(cell, name, level))
        for name, level in ((clock, "0"), (enable, "1"), (reset, "0"))
    )
    name = writer.register(bits, "multiplier")
    load = f"if ({enabled}) {name} <= {value};"
    if cleared != "1'b0":
        parameter(cell, "RESETMODE", "SYNC")
        load = f"if ({cleared}) {name} <= 0; else {load}"
    writer.at(f"posedge {edge}", [load])
    return name
