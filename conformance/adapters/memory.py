"""The memory that a module reads and writes by itself: its image, and its port as Verilog."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.bits import DIGITS
from eightfold.conformance.adapters.formulas import Formula

MemoryPort = Literal["axi4", "wishbone", "sram"]

LARGEST = 1 << 24
"""Bytes of a memory."""


@dataclass(frozen=True)
class Array:
    """Numbers in a row, in registers or in memory."""

    address: int
    """Of the first; in memory its byte address, as the module sees it."""
    bits: int = 32
    """Of each number: 8, 16, 32 or 64. In registers as many are in a word as it has room for, the
    first in the lowest bits."""
    stride: int | None = None
    """Bytes from a case's first number to the next case's, in memory; by default these numbers' own
    bytes."""

    def __post_init__(self) -> None:
        if self.bits not in (8, 16, 32, 64):
            raise InputError(f"Array: bits must be 8, 16, 32 or 64, not {self.bits!r}")
        if not isinstance(self.address, int) or self.address < 0:
            raise InputError(f"Array: address must be 0 or more, not {self.address!r}")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A memory that the module is the master of, and what lies in it.

    Before each run it is filled: with random bytes of the seed, and the columns of the cases. After
    it the results are read.
    """

    port: MemoryPort = "axi4"
    """``"axi4"`` (AXI4, whole aligned beats in incrementing bursts), ``"wishbone"`` (classic, names
    as in the specification, ``cyc_o``, ``dat_i`` ...), or ``"sram"``: ``address``, ``write_data``,
    ``write`` and ``read_data``, and ``enable`` and ``strobe`` if there are any."""
    prefix: str = "m_axi_"
    """Of the ports' names."""
    ports: Mapping[str, str] = field(default_factory=dict)
    """Ports with other names: by what they are called above, or in the bus's specification."""
    base: int = 0
    size: int = 1 << 16
    """The memory's first byte address, and its bytes: a power of two."""
    writes: Mapping[Array, Formula] = field(default_factory=dict)
    """Formulas by their place; numbers are little-endian."""
    results: Mapping[str, Array] = field(default_factory=dict)
    """Places by column of the results."""
    latency: int = 1
    """Cycles until data comes: of ``"sram"`` 0, at once, or 1, after a clock edge."""
    word_addresses: bool = False
    """Whether an address counts words of the data port, in ``"sram"`` and ``"wishbone"``."""

    def __post_init__(self) -> None:
        if self.port not in ("axi4", "wishbone", "sram"):
            raise InputError(f"Memory: port is axi4, wishbone or sram, not {self.port!r}")
        if not 64 <= self.size <= LARGEST or self.size & (self.size - 1):
            raise InputError(
                f"Memory: size must be a power of two in 64..{LARGEST}, not {self.size!r}"
            )
        if self.base < 0 or self.base % self.size:
            raise InputError(f"Memory: base must be a multiple of size, not {self.base:#x}")
        if self.port == "sram" and self.latency not in (0, 1):
            raise InputError(f"Memory: latency of sram is 0 or 1, not {self.latency!r}")

    def octets(self, place: Array, cases: int, length: int) -> NDArray[np.int64]:
        """Return where the bytes of numbers are, from ``base`` on: shape (cases, length, bytes).
        Raises InputError if some are outside of the memory."""
        size = place.bits // 8
        stride = size * length if place.stride is None else place.stride
        start = place.address - self.base
        case = np.arange(cases)[:, None, None]
        element = np.arange(length)[None, :, None]
        found = start + case * stride + element * size + np.arange(size)
        if found.min() < 0 or found.max() >= self.size:
            raise InputError(
                f"Memory: {place} of {cases} cases is from {found.min() + self.base:#x} to "
                f"{found.max() + self.base:#x}; the memory is from {self.base:#x} to "
                f"{self.base + self.size - 1:#x}"
            )
        return found

    def image(
        self, rng: np.random.Generator, values: Sequence[tuple[Array, NDArray[Any]]]
    ) -> NDArray[np.uint8]:
        """Return the memory's bytes, with lists of numbers, (cases, length), in their places."""
        contents = rng.integers(0, 256, self.size, dtype=np.uint8)
        for place, numbers in values:
            octets = self.octets(place, *numbers.shape)
            mask = (1 << place.bits) - 1
            words = np.array([int(number) & mask for number in numbers.ravel()], np.uint64)
            data = words.astype("<u8").view(np.uint8).reshape(*numbers.shape, 8)
            contents[octets] = data[:, :, : octets.shape[2]]
        return contents


def write_image(path: Path, contents: NDArray[np.uint8], width: int) -> None:
    """Write bytes as words of ``width`` bytes for ``$readmemh``."""
    text = np.asarray(contents.reshape(-1, width)[:, ::-1], order="C").tobytes().hex()
    digits = 2 * width
    lines = (text[start : start + digits] for start in range(0, len(text), digits))
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def read_image(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the bytes that ``$writememh`` has written, and which have unknown bits."""
    words = (line.partition("//")[0].strip() for line in path.read_text("ascii").splitlines())
    lines = [word for word in words if word and not word.startswith("@")]
    text = np.frombuffer("".join(lines).encode(), np.uint8)
    digits = DIGITS[text].reshape(len(lines), -1)[:, ::-1].reshape(len(lines), -1, 2)
    octets = ((digits[:, :, 1] & 15) << 4 | (digits[:, :, 0] & 15)).ravel().astype(np.uint8)
    return octets, (digits == 16).any(axis=2).ravel()


@dataclass(frozen=True)
class MemoryPorts:
    """The ports of a memory's master, by the names of its specification."""

    drives: Mapping[str, bool]
    """Whether the module drives them; others that it drives, as ``arcache``, are left open."""
    needed: tuple[str, ...]
    """Those without which there is no such memory."""
    data: str
    """The one whose width is the memory's."""


def _drives(*directions: tuple[bool, str]) -> dict[str, bool]:
    return {name: drives for drives, names in directions for name in names.split()}


PORTS: Mapping[str, MemoryPorts] = {
    "sram": MemoryPorts(
        _drives((True, "address write_data write"), (False, "read_data"), (True, "enable strobe")),
        needed=("address", "read_data"),
        data="read_data",
    ),
    "wishbone": MemoryPorts(
        _drives(
            (True, "adr_o dat_o we_o"),
            (False, "dat_i"),
            (True, "cyc_o stb_o sel_o"),
            (False, "ack_i err_i rty_i"),
        ),
        needed=("adr_o", "cyc_o", "stb_o", "dat_i", "ack_i"),
        data="dat_i",
    ),
    "axi4": MemoryPorts(
        _drives(
            (True, "arid araddr arlen arsize arburst arvalid"),
            (False, "arready rid rdata rresp rlast rvalid"),
            (True, "rready awid awaddr awlen awsize awburst awvalid"),
            (False, "awready"),
            (True, "wdata wstrb wlast wvalid"),
            (False, "wready bid bresp bvalid"),
            (True, "bready"),
        ),
        needed=("araddr", "arvalid", "arready", "rdata", "rvalid", "rready"),
        data="rdata",
    ),
}
"""By the port's kind."""


def memory_logic(memory: Memory, has: Mapping[str, str], data: int) -> Iterator[str]:
    """Return the Verilog of a memory. ``has`` are the wires by the names of `PORTS`, of the ports
    that the module has; ``data`` is the width of its data port."""
    if memory.port == "axi4":
        yield from _axi4(memory, has, data)
        return
    octets = data // 8
    sram = memory.port == "sram"
    address = has["address" if sram else "adr_o"]
    asked = has.get("enable", "1'b1") if sram else f"({has['cyc_o']} && {has['stb_o']})"
    writes = has.get("write" if sram else "we_o", "1'b0")
    strobe = has.get("strobe" if sram else "sel_o", f"{{{octets}{{1'b1}}}}")
    written = has.get("write_data" if sram else "dat_o", f"{data}'d0")
    unit = 1 if memory.word_addresses else octets
    yield f"  wire [63:0] memory_at = ({address} - 64'd{memory.base // (octets // unit)}) / {unit};"
    yield f"  wire [31:0] memory_word = memory_at % {memory.size // octets};"
    yield f"  wire memory_outside = memory_at >= {memory.size // octets};"
    read = f"memory_outside ? {{{data}{{1'b1}}}} : memory[memory_word]"
    if sram and memory.latency == 0:
        yield f"  assign {has['read_data']} = {read};"
    elif sram:
        yield f"  reg [{data - 1}:0] memory_read;"
        yield f"  assign {has['read_data']} = memory_read;"
    else:
        yield f"  reg [{data - 1}:0] memory_read;"
        yield "  reg memory_ack;"
        yield "  reg [15:0] memory_delay;"
        yield "  initial begin memory_ack = 0; memory_delay = 0; end"
        yield f"  assign {has['dat_i']} = memory_read;"
        yield f"  assign {has['ack_i']} = memory_ack;"
        yield from (f"  assign {has[name]} = 1'b0;" for name in ("err_i", "rty_i") if name in has)
    yield "  integer octet;"
    yield "  task memory_access; begin"
    yield "    if (memory_outside) memory_violations <= memory_violations + 1;"
    yield f"    else if ({writes} === 1'b1) for (octet = 0; octet < {octets}; octet = octet + 1)"
    yield f"      if ({strobe} >> octet & 1) memory[memory_word][8*octet +: 8]"
    yield f"        <= {written} >> (8 * octet);"
    yield "  end endtask"
    yield "  always @(posedge memory_clk) begin"
    if sram:
        yield f"    if ({asked} === 1'b1) begin"
        if memory.latency:
            yield f"      memory_read <= {read};"
        yield f"      if ({writes} === 1'b1) memory_access;"
        yield "    end"
    else:
        yield "    memory_ack <= 0;"
        yield f"    if ({asked} === 1'b1 && !memory_ack) begin"
        yield "      memory_delay <= memory_delay + 1;"
        yield f"      if (memory_delay + 1 >= {max(memory.latency, 1)}) begin"
        yield "        memory_delay <= 0;"
        yield "        memory_ack <= 1;"
        yield f"        memory_read <= {read};"
        yield "        memory_access;"
        yield "      end"
        yield "    end"
    yield '    if (memory_load && !loaded) $readmemh("load.hex", memory);'
    yield '    if (memory_dump && !dumped) $writememh("dump.hex", memory);'
    yield "    loaded <= memory_load;"
    yield "    dumped <= memory_dump;"
    yield "  end"


def _axi4(memory: Memory, has: Mapping[str, str], data: int) -> Iterator[str]:
    octets = data // 8
    size = f"3'd{octets.bit_length() - 1}"
    absent = {"arsize": size, "awsize": size, "arburst": "2'd1", "awburst": "2'd1"}
    absent |= {"wstrb": f"{{{octets}{{1'b1}}}}", "wlast": "1'b1", "bready": "1'b1"}
    ends = [
        f".s_axi_{name}({has.get(name, absent.get(name, '1' + chr(39) + 'b0') if drives else '')})"
        for name, drives in PORTS["axi4"].drives.items()
    ]
    yield f"  axi_memory #(.PORT({octets}), .BYTES({memory.size}), .ID_BITS(32)) memory ("
    yield f"    .clk(memory_clk), .rst(reset), .latency(16'd{max(memory.latency, 1)}),"
    yield "    .shared(1'b0), .pace(16'd16), .turnaround(8'd0), .row_miss(8'd0), .row_bits(5'd0),"
    yield "    .bank_bits(5'd0), .unit_bits(5'd0), .refresh(16'd0), .refresh_every(16'd1),"
    yield f"    .base(32'd{memory.base}), .stall({{5{{pauses[7:0]}}}}), .seed(seed),"
    yield "    .read_error_low(32'd0), .read_error_high(32'd0),"
    yield "    .write_error_low(32'd0), .write_error_high(32'd0),"
    yield "    .arena_low(32'd0), .arena_high(32'hffffffff), .outside(),"
    yield "    .load(memory_load), .dump(memory_dump),"
    yield "    .dump_words(memory_words), .violations(violations),"
    yield "    " + ",\n    ".join(ends)
    yield "  );"
