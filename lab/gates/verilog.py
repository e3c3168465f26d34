"""A netlist of ECP5 cells as one flat module of plain Verilog.

Distributed memories and block RAMs tell nothing of what they need not tell: a block RAM's read that
meets a write of the same words through the other port returns noise; so does a memory that nobody
has filled.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell, Wire, top_module
from lab.gates.cells import (
    edge_of,
    write_carries,
    write_ddr_outputs,
    write_luts,
    write_multiplexers,
    write_multipliers,
    write_plls,
    write_registers,
)
from lab.gates.writer import Writer, number, parameter, pin, pins

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
                meets = f"{self._writes()} & ({places[side]} == {places[self.writing]})"
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
        parts = " | ".join(self._parts())
        return f"{self._enable(self.writing)} & {self._at(f'WE{self.writing}')} & ({parts})"

    def _stores(self, memory: str, place: str) -> list[str]:
        assert self.writing is not None
        sides = "AB" if self.wide else self.writing
        data = [bit for side in sides for bit in pins(self.cell, f"DI{side}", 18)][: self.width]
        parts = self._parts()
        size = self.width // len(parts)
        enable = f"{self._enable(self.writing)} & {self._at(f'WE{self.writing}')}"
        return [
            f"if ({enable} & {part}) {memory}[{place}][{low + size - 1}:{low}] <= "
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
    "ODDRX1F": write_ddr_outputs,
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
