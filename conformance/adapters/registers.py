"""Registers and memory by address: buses, programs of accesses, and what lies in a memory.

A bus is a part of a harness: its signals, and a template of its name, which says what is done with
them in a cycle. Everything happens a moment after the clock's edge: ``s_NAME`` is what an output of
the module was a moment before that edge, ``m_NAME`` what an input is until the next one.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.bits import check_range
from eightfold.conformance.adapters.dialects import VERILOG
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.conformance.tensors import DIGITS, hex_rows, with_sign


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A bus for registers."""

    driven: Mapping[str, str]
    answered: Mapping[str, str]
    """Ports that the master drives, and that the module does: a port's width is ``ADDRESS``,
    ``DATA``, ``BYTES`` of data, or a number. Names are those of the bus's specification, in lower
    case, without the prefix. Nothing to do is 0 on all that is driven."""
    optional: Mapping[str, str]
    """Ports that a module may lack, and what stands in the place of those that it would drive."""
    address: str
    data: str
    """Names of the ports whose widths count."""
    prefix: str = ""
    """Of its ports, unless the adapter has another one."""

    @property
    def ports(self) -> Mapping[str, str]:
        return {**self.driven, **self.answered}

    @property
    def drives(self) -> Mapping[str, bool]:
        return {name: name in self.answered for name in self.ports}

    @property
    def needed(self) -> Container[str]:
        return self.ports.keys() - self.optional.keys()


def _widths(text: str) -> dict[str, str]:
    """Return widths by port, of a text that has each port before its width."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


BUSES: Mapping[str, Bus] = {
    "axi4-lite": Bus(
        driven=_widths(
            "awaddr ADDRESS awprot 3 awvalid 1 wdata DATA wstrb BYTES wvalid 1 bready 1 "
            "araddr ADDRESS arprot 3 arvalid 1 rready 1"
        ),
        answered=_widths(
            "awready 1 wready 1 bresp 2 bvalid 1 arready 1 rdata DATA rresp 2 rvalid 1"
        ),
        optional={"awprot": "", "wstrb": "", "bresp": "2'd0", "arprot": "", "rresp": "2'd0"},
        address="awaddr",
        data="wdata",
        prefix="s_axi_",
    ),
    "apb": Bus(
        driven=_widths("paddr ADDRESS pprot 3 psel 1 penable 1 pwrite 1 pwdata DATA pstrb BYTES"),
        answered=_widths("prdata DATA pready 1 pslverr 1"),
        optional={"pprot": "", "pstrb": "", "pready": "1'b1", "pslverr": "1'b0"},
        address="paddr",
        data="pwdata",
    ),
    "wishbone": Bus(
        driven=_widths("adr_i ADDRESS cyc_i 1 stb_i 1 we_i 1 dat_i DATA sel_i BYTES"),
        answered=_widths("dat_o DATA ack_o 1 err_o 1 rty_o 1"),
        optional={"sel_i": "", "err_o": "1'b0", "rty_o": "1'b0"},
        address="adr_i",
        data="dat_i",
        prefix="wb_",
    ),
}


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
    path.write_bytes(hex_rows(contents.reshape(-1, width)))


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


def memory_text(memory: Memory, has: Mapping[str, str], data: int) -> str:
    """Return the Verilog of a memory. ``has`` are the wires by the names of `PORTS`, of the ports
    that the module has; ``data`` is the width of its data port."""
    octets = data // 8
    ones, latency = f"{{{octets}{{1'b1}}}}", max(memory.latency, 1)
    if memory.port == "axi4":
        size = f"3'd{octets.bit_length() - 1}"
        ends = {name: "1'b0" if drives else "" for name, drives in PORTS["axi4"].drives.items()}
        ends |= {"arsize": size, "awsize": size, "arburst": "2'd1", "awburst": "2'd1"}
        ends |= {"wstrb": ones, "wlast": "1'b1", "bready": "1'b1", **has}
        return VERILOG.template(
            "axi4_memory",
            octets=octets,
            size=memory.size,
            latency=latency,
            base=memory.base,
            ends=",\n    ".join(f".s_axi_{name}({wire})" for name, wire in ends.items()),
        )
    sram = memory.port == "sram"
    read = f"memory_outside ? {{{data}{{1'b1}}}} : memory[memory_word]"
    answers = (
        {"read_data": "memory_read" if memory.latency else read}
        if sram
        else {"dat_i": "memory_read", "ack_i": "memory_ack", "err_i": "1'b0", "rty_i": "1'b0"}
    )
    unit = 1 if memory.word_addresses else octets
    return VERILOG.template(
        "simple_memory",
        bits=data,
        octets=octets,
        words=memory.size // octets,
        address=has["address" if sram else "adr_o"],
        base=memory.base // (octets // unit),
        unit=unit,
        asked=has.get("enable", "1'b1") if sram else f"({has['cyc_o']} && {has['stb_o']})",
        writes=has.get("write" if sram else "we_o", "1'b0"),
        strobe=has.get("strobe" if sram else "sel_o", ones),
        written=has.get("write_data" if sram else "dat_o", f"{data}'d0"),
        read=read,
        latency=1 if sram else latency,
        acknowledges="1'b0" if sram else "1'b1",
        answers="\n".join(
            VERILOG.assign(has[name], value) for name, value in answers.items() if name in has
        ),
    )


WORD = (1 << 64) - 1

WRITE, POLL, READ, BARRIER, WAIT = range(5)
"""Operations of a program, as the harness numbers them."""

_REGISTER = re.compile(r"\s*(0x[0-9a-fA-F_]+|\d+)\s*(?:\[\s*(\d+)\s*(?::\s*(\d+)\s*)?\])?\s*")


@dataclass(frozen=True)
class RegisterField:
    """Bits of a register: those of a number, from ``low`` on."""

    address: int
    low: int
    width: int


def parse_register(what: str, text: str | int, data: int) -> RegisterField:
    """Return the field of an address, ``0x20`` or ``"0x20[7:0]"``, on a bus of ``data`` bits.
    Raises InputError if it is none."""
    if isinstance(text, int):
        return RegisterField(text, 0, data)
    found = _REGISTER.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise InputError(f'{what}: {text!r} is no register; use 0x20 or "0x20[7:0]"')
    high = data - 1 if found[2] is None else int(found[2])
    low = 0 if found[2] is None else high if found[3] is None else int(found[3])
    if not low <= high < data:
        raise InputError(f"{what}: {text!r}: a word has the bits {data - 1}:0")
    return RegisterField(int(found[1], 0), low, high - low + 1)


def array_fields(what: str, place: Array, length: int, data: int, step: int) -> list[RegisterField]:
    """Return the fields of a list of numbers in registers that are ``step`` apart. Raises
    InputError if a number does not fit a register."""
    if place.bits > data or place.stride is not None:
        raise InputError(f"{what}: {place}: registers have {data} bits, and no stride")
    bits = place.bits
    places = (divmod(index, data // bits) for index in range(length))
    return [RegisterField(place.address + word * step, part * bits, bits) for word, part in places]


def packed(what: str, values: NDArray[Any], bits: int, data: int) -> NDArray[Any]:
    """Return words of registers from numbers of ``bits`` each: (runs, length) to (runs, words)."""
    check_range(what, values, bits)
    per_word = data // bits
    words = -(-values.shape[1] // per_word)
    filled = np.zeros((len(values), words * per_word), object)
    filled[:, : values.shape[1]] = values.astype(object) & ((1 << bits) - 1)
    shifts = np.array([1 << (bits * index) for index in range(per_word)], object)
    return (filled.reshape(len(values), words, per_word) * shifts).sum(axis=2)


@dataclass(frozen=True)
class BusAccess:
    """A line of a program, for all runs: ``data`` is a number, or one of each run."""

    operation: int
    address: int = 0
    data: NDArray[Any] | int = 0
    mask: int = 0

    def line(self, run: int) -> str:
        """Return its line in a run, as the harness reads it."""
        data = int(self.data[run] if isinstance(self.data, np.ndarray) else self.data)
        numbers = (self.address, data & WORD, self.mask & WORD)
        return " ".join([f"{self.operation:02x}", *(f"{each:016x}" for each in numbers)]) + "\n"

    def text(self) -> str:
        if self.operation not in (WRITE, POLL, READ):
            return "a barrier"
        return f"the {'write' if self.operation == WRITE else 'read'} of {self.address:#x}"


@dataclass(frozen=True)
class BusProgram:
    """Accesses in front of all runs, of each run, and after them all."""

    setup: Sequence[BusAccess]
    each: Sequence[BusAccess]
    after: Sequence[BusAccess]
    runs: int

    @property
    def lines(self) -> int:
        return len(self.setup) + self.runs * len(self.each) + len(self.after)

    def at(self, line: int) -> tuple[int | None, BusAccess | None]:
        """Return the run that a line is of, and its access; None for what is in no run."""
        if line < len(self.setup):
            return None, self.setup[line]
        run, index = divmod(line - len(self.setup), max(len(self.each), 1))
        return (run, self.each[index]) if run < self.runs else (None, None)

    def write(self, path: Path) -> None:
        each = ((access, run) for run in range(self.runs) for access in self.each)
        once = [[(access, 0) for access in accesses] for accesses in (self.setup, self.after)]
        lines = (access.line(run) for access, run in (*once[0], *each, *once[1]))
        path.write_text("".join(lines), encoding="ascii")


def read_values(path: Path, reads: int, data: int) -> NDArray[np.uint8]:
    """Return the characters of what was read: (runs, reads, 1 + data), the failure first."""
    text = np.frombuffer(path.read_bytes() if path.exists() else b"", np.uint8)
    lines = text[: len(text) // (data + 2) * (data + 2)].reshape(-1, data + 2)[:, :-1]
    runs = len(lines) // reads
    return lines[: runs * reads].reshape(runs, reads, data + 1)


def field_value(
    word: NDArray[np.uint8], field: RegisterField, *, signed: bool
) -> NDArray[np.int64]:
    """Return a field of words that were read: `UNKNOWN` with X or Z, `MISSING` after an error."""
    end = word.shape[1] - field.low
    bits = word[:, end - field.width : end]
    value = np.zeros(len(word), np.int64)
    for column in range(field.width):
        value = value << 1 | (bits[:, column] == ord("1"))
    value = with_sign(value, field.width) if signed else value
    known = ((bits == ord("0")) | (bits == ord("1"))).all(axis=1)
    return np.where(word[:, 0] == ord("1"), MISSING, np.where(known, value, UNKNOWN))


def each_write(
    what: str, values: Mapping[Any, NDArray[Any]], data: int, step: int
) -> Iterator[BusAccess]:
    """Return the writes of values, by their places: registers, or an `Array` of them."""
    for place, numbers in values.items():
        if isinstance(place, Array):
            rows = numbers if numbers.ndim == 2 else numbers[:, None]
            fields = array_fields(f"{what}[{place}]", place, rows.shape[1], data, step)
            words = packed(f"{what}[{place}]", rows, place.bits, data)
            addresses = list(dict.fromkeys(field.address for field in fields))
            for index, address in enumerate(addresses):
                yield BusAccess(WRITE, address, words[:, index])
        else:
            check_range(f"{what}[{place:#x}]", numbers, data)
            yield BusAccess(WRITE, place, numbers)
