"""Cells of ECP5 as expressions of Verilog: logic, multipliers, registers."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell, Wire
from lab.gates.writer import Writer, parameter, pin, pins


def expression(table: int, pins: Sequence[str]) -> str:
    """Return Verilog of one bit that equals a table.

    ``table``: 2^n bits for n pins. ``pins``: what is at the pins, pin 0 first: names, or ``1'b0``
    and ``1'b1``.
    """
    for index in reversed(range(len(pins))):
        if pins[index] in ("1'b0", "1'b1"):
            table = _cofactor(table, len(pins), index, pins[index] == "1'b1")
            pins = [*pins[:index], *pins[index + 1 :]]
    return _shortest(table, len(pins)).format(*pins)


@cache
def _shortest(table: int, size: int) -> str:
    """Return an expression with ``{k}`` for pin k, by the pin to choose by that makes it short."""
    whole = (1 << (1 << size)) - 1
    if table in (0, whole):
        return f"1'b{int(table == whole)}"
    return min((_by(table, size, pin) for pin in range(size)), key=lambda text: (len(text), text))


def _by(table: int, size: int, pin: int) -> str:
    """Return the choice by a pin between what is left for either level of it."""
    low, high = (_cofactor(table, size, pin, level) for level in (False, True))
    if low == high:
        return _renamed(low, size, pin)
    here = f"{{{pin}}}"
    whole = (1 << (1 << size - 1)) - 1
    if low == 0:
        return here if high == whole else f"({here} & {_renamed(high, size, pin)})"
    if high == 0:
        return f"(~{here})" if low == whole else f"(~{here} & {_renamed(low, size, pin)})"
    if high == whole:
        return f"({here} | {_renamed(low, size, pin)})"
    if low == whole:
        return f"(~{here} | {_renamed(high, size, pin)})"
    if high == whole ^ low:
        return f"({here} ^ {_renamed(low, size, pin)})"
    return f"({here} ? {_renamed(high, size, pin)} : {_renamed(low, size, pin)})"


def _cofactor(table: int, size: int, pin: int, level: bool) -> int:
    """Return the table of the other pins where one has a level."""
    found = 0
    for index in range(1 << size - 1):
        low = index & ((1 << pin) - 1)
        place = (index - low) << 1 | level << pin | low
        found |= (table >> place & 1) << index
    return found


def _renamed(table: int, size: int, left_out: int) -> str:
    """Return the expression of a table without a pin, its pins numbered as with it."""
    names = [f"{{{pin}}}" for pin in range(size) if pin != left_out]
    return _shortest(table, size - 1).format(*names)


def write_luts(cells: Iterable[Cell], writer: Writer) -> None:
    """Write LUT4s: ``Z`` is the bit of INIT at the number ``DCBA``."""
    for cell in cells:
        levels = [writer.bit(pin(cell, name, "0")) for name in "ABCD"]
        writer.assign(pin(cell, "Z", "x"), expression(int(cell["parameters"]["INIT"], 2), levels))


def write_multiplexers(cells: Iterable[Cell], writer: Writer, names: tuple[str, str, str]) -> None:
    """Write multiplexers whose pins are the choice, what it is if that is 1, and what if 0."""
    for cell in cells:
        choice, high, low = (writer.bit(pin(cell, name, "x")) for name in names)
        writer.assign(pin(cell, "Z", "x"), f"{choice} ? {high} : {low}")


def write_carries(cells: Iterable[Cell], writer: Writer) -> None:
    """Write chains of CCU2Cs, each as one addition.

    Of each half, with p its table's bit at ``DCBA`` and g that at ``00BA``,
    ``S = p ^ carry_in`` and ``carry_out = p ? carry_in : g``: what the addition of the words
    ``p | g`` and ``g & ~p`` does. With INJECT1, ``S = p`` and g is 0.
    """
    carries = list(cells)
    inputs = ((pin(cell, "CIN", "x"), cell) for cell in carries)
    following: dict[Wire, Cell] = {wire: cell for wire, cell in inputs if isinstance(wire, int)}
    carried = {pin(cell, "COUT", "x") for cell in carries} - {"x"}
    for cell in carries:
        if pin(cell, "CIN", "x") in carried:
            continue
        chain = [cell]
        while (after := following.get(pin(chain[-1], "COUT", "x"))) is not None:
            chain.append(after)
        _write_chain(chain, writer)


def _write_chain(chain: list[Cell], writer: Writer) -> None:
    ones = []
    twos = []
    sums = []
    wires = list[tuple[Wire, int]]()
    for cell in chain:
        for half in (0, 1):
            injected = parameter(cell, f"INJECT1_{half}", "NO", "YES") == "YES"
            table = int(cell["parameters"][f"INIT{half}"], 2)
            levels = [writer.bit(pin(cell, f"{name}{half}", "0")) for name in "ABCD"]
            propagate = expression(table, levels)
            generate = "1'b0" if injected else expression(table & 0b1111, levels[:2])
            ones.append(f"{propagate} | {generate}")
            twos.append(f"{generate} & ~{propagate}")
            sums.append((pin(cell, f"S{half}", "x"), injected))
        wires.append((pin(cell, "COUT", "x"), len(sums)))
    size = len(sums)
    first = writer.wire(size, "carry_one", f"{{{', '.join(reversed(ones))}}}")
    second = writer.wire(size, "carry_two", f"{{{', '.join(reversed(twos))}}}")
    carry_in = writer.bit(pin(chain[0], "CIN", "x"))
    total = f"{{1'b0, {first}}} + {{1'b0, {second}}} + {{{size}'b0, {carry_in}}}"
    result = writer.wire(size + 1, "carry_sum", total)
    for place, (wire, injected) in enumerate(sums):
        writer.assign(wire, f"{first if injected else result}[{place}]")
    # A carry that leaves its chain: what the chain before has carried to that place.
    for wire, place in wires[:-1]:
        if isinstance(wire, int):
            writer.assign(wire, f"{result}[{place}] ^ {first}[{place}] ^ {second}[{place}]")
    writer.assign(wires[-1][0], f"{result}[{size}]")


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


def write_plls(cells: Iterable[Cell], writer: Writer) -> None:
    """Write EHXPLLLs: a simulation's clock is what each output is, and it is locked at once."""
    for cell in cells:
        clock = writer.bit(pin(cell, "CLKI", "x"))
        for output in ("CLKOP", "CLKOS", "CLKOS2", "CLKOS3"):
            writer.assign(pin(cell, output, "x"), clock)
        writer.assign(pin(cell, "LOCK", "x"), "1'b1")


def write_ddr_outputs(cells: Iterable[Cell], writer: Writer) -> None:
    """Write ODDRX1Fs at pads, for clocks that go out: ``Q = SCLK ? D0 : D1``, not a cycle later."""
    for cell in cells:
        clock, high, low = (writer.bit(pin(cell, name, "x")) for name in ("SCLK", "D0", "D1"))
        writer.assign(pin(cell, "Q", "x"), f"{clock} ? {high} : {low}")


def write_registers(cells: Iterable[Cell], writer: Writer) -> None:
    """Write TRELLIS_FFs, those with the same enable and reset together.

    They start with the value of their reset. LSR, the reset, goes before CE, the enable; if it is
    asynchronous, it acts at once.
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
        edge, reset = edge_of(cell, writer), reset_of(cell, writer)
        if reset != "1'b0" and parameter(cell, "SRMODE", "LSR_OVER_CE", "ASYNC") == "ASYNC":
            edge = f"{edge} or {_ASYNC_EDGES[reset[0] == '~']} {reset.removeprefix('~')}"
        parts = (edge, enable_of(cell, writer), reset)
        together[parts].append((name, start, writer.bit(pin(cell, "DI", "x"))))
    for (edge, enable, reset), bits in together.items():
        loads = [f"{name} <= {value};" for name, _, value in bits]
        if enable != "1'b1":
            loads = [f"if ({enable}) begin", *loads, "end"]
        if reset != "1'b0":
            starts = [f"{name} <= 1'b{start};" for name, start, _ in bits]
            loads = [f"if ({reset}) begin", *starts, "end else begin", *loads, "end"]
        writer.at(edge, loads)


_ASYNC_EDGES = ("posedge", "negedge")


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
    """Return what LSR means to a flip-flop: a reset, which it takes for 1."""
    level = writer.bit(pin(cell, "LSR", "0"))
    inverted = parameter(cell, "LSRMUX", "LSR", "INV") == "INV"
    return f"~{level}" if inverted else level
