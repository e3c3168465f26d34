"""A netlist of ECP5 cells as one flat module of plain Verilog.

Distributed memories and block RAMs tell nothing of what they need not tell: a block RAM's read that
meets a write of the same words through the other port returns noise; so does a memory that nobody
has filled.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell, Wire, top_module
from lab.gates.writer import Writer, number, parameter, pin, pins


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


def write_multiplexers(
    cells: Iterable[Cell], writer: Writer, names: tuple[str, str, str], output: str = "Z"
) -> None:
    """Write multiplexers whose pins are the choice, what it is if that is 1, and what if 0.

    ODDRX1Fs at pads are such, for clocks that go out: not a cycle later.
    """
    for cell in cells:
        choice, high, low = (writer.bit(pin(cell, name, "x")) for name in names)
        writer.assign(pin(cell, output, "x"), f"{choice} ? {high} : {low}")


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


_LOW_BITS = {36: 5, 18: 4, 9: 3, 4: 2, 2: 1, 1: 0}
"""Bits of a block RAM's address below that of a word, by the word's width."""

_BYTES = {36: 4, 18: 2}
"""Parts of 9 bits that are written or not, by bits of the address below."""


def write_small_memories(cells: Iterable[Cell], writer: Writer) -> None:
    """Write TRELLIS_DPR16X4s: 16 words, written at an edge of WCK, read at once.

    Those that have all addresses in common are one memory.
    """
    together: defaultdict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        addresses = (writer.word(cell["connections"][port]) for port in ("WAD", "RAD"))
        enable = writer.bit(pin(cell, "WRE", "0"))
        inverted = parameter(cell, "WREMUX", "WRE", "INV") == "INV"
        edge = edge_of(cell, writer, "WCK")
        together[(*addresses, f"~{enable}" if inverted else enable, edge)].append(cell)
    for (write, read, enable, edge), parts in together.items():
        data = [bit for cell in parts for bit in cell["connections"]["DI"]]
        memory = writer.memory(len(data), 16, _contents(parts))
        writer.at(edge, [f"if ({enable}) {memory}[{write}] <= {writer.word(data)};"])
        found = writer.wire(len(data), "read", f"{memory}[{read}]")
        writer.assign_word([bit for cell in parts for bit in cell["connections"]["DO"]], found)


def _contents(parts: list[Cell]) -> list[int] | None:
    tables = [cell["parameters"].get("INITVAL", "x") for cell in parts]
    if not any("1" in table for table in tables):
        return None
    numbers = [int(table.replace("x", "0"), 2) for table in tables]
    return [
        sum((table >> 4 * word & 15) << 4 * place for place, table in enumerate(numbers))
        for word in range(16)
    ]


def write_block_rams(cells: Iterable[Cell], writer: Writer) -> None:
    """Write DP16KDs, 16 or 18 Kbit: port A or B writes, both read, at an edge of one clock."""
    for cell in cells:
        _BlockRam(cell, writer).write()


class _BlockRam:
    def __init__(self, cell: Cell, writer: Writer) -> None:
        self.cell, self.writer = cell, writer
        # A side without a clock is off.
        self.sides = [side for side in "AB" if pin(cell, f"CLK{side}", "0") != "0"]
        widths = {number(cell, f"DATA_WIDTH_{side}", 18) for side in self.sides}
        if len(widths) != 1:
            found = " and ".join(map(str, sorted(widths)))
            raise InputError(f"DP16KD: ports of {found} bits have no model; use equal ones")
        (self.width,) = widths
        self.wide = self.width == 36
        edges = {edge_of(cell, writer, f"CLK{side}") for side in self.sides}
        if len(edges) > 1:
            raise InputError("DP16KD: ports of two clocks have no model; use one clock")
        (self.edge,) = edges
        writing = [side for side in self.sides if self._at(f"WE{side}") != "1'b0"]
        if len(writing) > 1:
            raise InputError("DP16KD: two ports that write have no model; use one")
        self.writing = writing[0] if writing else None

    def write(self) -> None:
        writer, width = self.writer, self.width
        depth = 1 << 14 - _LOW_BITS[width]
        memory = writer.memory(width, depth, self._contents(depth))
        places = {side: self._place(side) for side in "AB"}
        enables = {side: self._enable(side) for side in "AB"}
        for side in "B" if self.wide else self.sides:
            meets = "1'b0"
            if self.writing is not None and self.writing != side:
                written = f"{self._writes()} & ({' | '.join(self._parts())})"
                meets = f"{written} & ({places[side]} == {places[self.writing]})"
            self._read(side, f"{memory}[{places[side]}]", enables[side], meets)
        if self.writing is not None:
            writer.at(self.edge, self._stores(memory, places[self.writing]))

    def _contents(self, depth: int) -> list[int] | None:
        """Return the words at the start, None if they are all 0 or not said.

        INITVAL_00 to _3F have 16 units of 20 bits each, of which 18 are used.
        """
        texts = [self.cell["parameters"].get(f"INITVAL_{n:02X}", "x") for n in range(64)]
        if not any("1" in text for text in texts):
            return None
        if self.width < 9:
            raise InputError(f"DP16KD: contents of {self.width} bits have no model; use 9 or more")
        tables = [int(text.replace("x", "0"), 2) for text in texts]
        units = [table >> 20 * unit & 0x3FFFF for table in tables for unit in range(16)]
        whole = sum(unit << 18 * place for place, unit in enumerate(units))
        return [whole >> self.width * place & (1 << self.width) - 1 for place in range(depth)]

    def _at(self, port: str) -> str:
        return self.writer.bit(pin(self.cell, port, "0"))

    def _place(self, side: str) -> str:
        bits = pins(self.cell, f"AD{side}", 14)[_LOW_BITS[self.width] :]
        return self.writer.wire(len(bits), "address", self.writer.word(bits))

    def _enable(self, side: str) -> str:
        """Return whether a port works: its clock enable, and its number at the chip selects."""
        chosen = parameter(self.cell, f"CSDECODE_{side}", "0b000")[2:]
        selects = self.writer.word(pins(self.cell, f"CS{side}", 3))
        return f"({self._at(f'CE{side}')} & ({selects} == 3'b{chosen}))"

    def _parts(self) -> list[str]:
        """Return the enable of each part of a word that is written."""
        assert self.writing is not None
        count = _BYTES.get(self.width, 0)
        return [self._at(f"AD{self.writing}{index}") for index in range(count)] or ["1'b1"]

    def _writes(self) -> str:
        assert self.writing is not None
        return f"{self._enable(self.writing)} & {self._at(f'WE{self.writing}')}"

    def _stores(self, memory: str, place: str) -> list[str]:
        assert self.writing is not None
        sides = "AB" if self.wide else self.writing
        data = [bit for side in sides for bit in pins(self.cell, f"DI{side}", 18)][: self.width]
        parts = self._parts()
        size = self.width // len(parts)
        return [
            f"if ({self._writes()} & {part}) {memory}[{place}][{low + size - 1}:{low}] <= "
            f"{self.writer.word(data[low : low + size])};"
            for part, low in zip(parts, range(0, self.width, size), strict=True)
        ]

    def _read(self, side: str, value: str, enable: str, meets: str) -> None:
        """Write a port's latch, and the register behind it where it is switched on."""
        writer, width = self.writer, self.width
        outputs = self._outputs(side)
        if not any(isinstance(bit, int) for bit in outputs):
            return
        reset = self._at(f"RST{side}")
        latch = writer.register(width, "latch")
        found = value if meets == "1'b0" else f"({meets}) ? {writer.noise(width)} : {value}"
        modes = ("NORMAL", "READBEFOREWRITE", "WRITETHROUGH")
        mode = parameter(self.cell, f"WRITEMODE_{side}", *modes)
        if side == self.writing and mode == "NORMAL":  # a write leaves the latch as it is
            enable = f"{enable} & ~{self._at(f'WE{side}')}"
        elif side == self.writing and mode == "WRITETHROUGH":
            if self._parts() != ["1'b1"]:
                raise InputError("DP16KD: parts of a word written through have no model")
            data = writer.word(pins(self.cell, f"DI{side}", 18)[:width])
            found = f"{self._at(f'WE{side}')} ? {data} : {found}"
        statements = [f"if ({enable}) {latch} <= {found};"]
        modes = {
            parameter(self.cell, f"REGMODE_{s}", "NOREG", "OUTREG")
            for s in ("AB" if self.wide else side)
        }
        if len(modes) > 1:
            raise InputError("DP16KD: a register behind half of a word has no model")
        last = latch
        if modes == {"OUTREG"}:
            last = writer.register(width, "output")
            statements.append(f"if ({self._at(f'OCE{side}')}) {last} <= {latch};")
        if reset != "1'b0":
            parameter(self.cell, "RESETMODE", "SYNC")
            clears = [f"{name} <= 0;" for name in dict.fromkeys((latch, last))]
            statements = [f"if ({reset}) begin", *clears, "end else begin", *statements, "end"]
        writer.at(self.edge, statements)
        writer.assign_word(outputs, last)

    def _outputs(self, side: str) -> list[Wire]:
        sides = "AB" if self.wide else side
        return [bit for each in sides for bit in pins(self.cell, f"DO{each}", 18)][: self.width]


MODELS: Mapping[str, Callable[[Iterable[Cell], Writer], None]] = {
    "LUT4": write_luts,
    "PFUMX": partial(write_multiplexers, names=("C0", "ALUT", "BLUT")),
    "L6MUX21": partial(write_multiplexers, names=("SD", "D1", "D0")),
    "CCU2C": write_carries,
    "TRELLIS_FF": write_registers,
    "TRELLIS_DPR16X4": write_small_memories,
    "DP16KD": write_block_rams,
    "MULT18X18D": write_multipliers,
    "EHXPLLL": write_plls,
    "ODDRX1F": partial(write_multiplexers, names=("SCLK", "D0", "D1"), output="Q"),
}
"""What writes all cells of a type."""


def to_verilog(netlist: dict[str, Any], name: str) -> str:
    """Return the top module of a netlist as Verilog that computes what its cells do.

    Plusargs of the simulation decide what the netlist leaves open: ``+unknown=1`` makes its
    constants ``x`` 1 instead of 0, and ``+seed=...`` draws the noise that a memory starts with, and
    that a read returns which meets a write. ``netlist``: as Yosys writes it in JSON: flat, its top
    module with the attribute ``top``. Raises InputError if there is a cell, or a mode of one, that
    has no model.
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
