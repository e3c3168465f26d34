"""Registers by address: the buses that they are behind, and programs of accesses to them.

A bus is a part of a harness: signals, and what is done with them in a cycle. Everything happens a
moment after the clock's edge: ``s_NAME`` is what an output of the module was a moment before that
edge, ``m_NAME`` what an input is until the next one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.bits import check_range, with_sign
from eightfold.conformance.adapters.memory import Array
from eightfold.conformance.answers import MISSING, UNKNOWN


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
    registers: str = ""
    """State of an access."""
    start: str
    """Statements that begin an access: ``op``, ``op_address``, ``op_data`` are what it is."""
    step: str
    """Statements of each cycle of an access: ``ended``, ``failed`` and ``value`` are what comes of
    them. ``pause`` says that the master hesitates."""
    prefix: str = ""
    """Of its ports, unless the adapter has another one."""

    @property
    def ports(self) -> Mapping[str, str]:
        """The width of each port."""
        return {**self.driven, **self.answered}


_AXI4_LITE = Bus(
    driven={
        "awaddr": "ADDRESS",
        "awprot": "3",
        "awvalid": "1",
        "wdata": "DATA",
        "wstrb": "BYTES",
        "wvalid": "1",
        "bready": "1",
        "araddr": "ADDRESS",
        "arprot": "3",
        "arvalid": "1",
        "rready": "1",
    },
    answered={
        "awready": "1",
        "wready": "1",
        "bresp": "2",
        "bvalid": "1",
        "arready": "1",
        "rdata": "DATA",
        "rresp": "2",
        "rvalid": "1",
    },
    optional={"awprot": "", "wstrb": "", "bresp": "2'd0", "arprot": "", "rresp": "2'd0"},
    address="awaddr",
    data="wdata",
    registers="reg aw_todo, w_todo, b_todo, ar_todo, r_todo, bus_failed;",
    start="""
          aw_todo = op == WRITE;
          w_todo = op == WRITE;
          b_todo = op == WRITE;
          ar_todo = op != WRITE;
          r_todo = op != WRITE;
          bus_failed = 0;
          m_awaddr = op_address;
          m_araddr = op_address;
          m_wdata = op_data;
          m_wstrb = ~0;
          m_awvalid = aw_todo && !random[8];
          m_wvalid = w_todo && !random[9];
          m_arvalid = ar_todo;
          m_bready = b_todo && !pause;
          m_rready = r_todo && !pause;""",
    step="""
      if (m_awvalid && s_awready === 1'b1) aw_todo = 0;
      if (m_wvalid && s_wready === 1'b1) w_todo = 0;
      if (m_arvalid && s_arready === 1'b1) ar_todo = 0;
      if (m_bready && s_bvalid === 1'b1) begin
        b_todo = 0;
        bus_failed = s_bresp !== 2'd0;
      end
      if (m_rready && s_rvalid === 1'b1) begin
        r_todo = 0;
        value = s_rdata;
        bus_failed = s_rresp !== 2'd0;
      end
      m_awvalid = aw_todo && (m_awvalid || !pause);
      m_wvalid = w_todo && (m_wvalid || !pause);
      m_arvalid = ar_todo;
      m_bready = b_todo && !pause;
      m_rready = r_todo && !pause;
      ended = !aw_todo && !w_todo && !b_todo && !ar_todo && !r_todo;
      failed = bus_failed;""",
    prefix="s_axi_",
)

_APB = Bus(
    driven={
        "paddr": "ADDRESS",
        "pprot": "3",
        "psel": "1",
        "penable": "1",
        "pwrite": "1",
        "pwdata": "DATA",
        "pstrb": "BYTES",
    },
    answered={"prdata": "DATA", "pready": "1", "pslverr": "1"},
    optional={"pprot": "", "pstrb": "", "pready": "1'b1", "pslverr": "1'b0"},
    address="paddr",
    data="pwdata",
    start="""
          m_paddr = op_address;
          m_pwdata = op_data;
          m_pwrite = op == WRITE;
          m_pstrb = op == WRITE ? ~0 : 0;
          m_psel = 1;
          m_penable = 0;""",
    step="""
      if (!m_penable) m_penable = 1;
      else if (s_pready === 1'b1) begin
        ended = 1;
        failed = s_pslverr !== 1'b0;
        value = s_prdata;
        m_psel = 0;
        m_penable = 0;
      end""",
)

_WISHBONE = Bus(
    driven={
        "adr_i": "ADDRESS",
        "cyc_i": "1",
        "stb_i": "1",
        "we_i": "1",
        "dat_i": "DATA",
        "sel_i": "BYTES",
    },
    answered={"dat_o": "DATA", "ack_o": "1", "err_o": "1", "rty_o": "1"},
    optional={"sel_i": "", "err_o": "1'b0", "rty_o": "1'b0"},
    address="adr_i",
    data="dat_i",
    registers="reg resting, bus_failed;",
    start="""
          m_adr_i = op_address;
          m_dat_i = op_data;
          m_we_i = op == WRITE;
          m_sel_i = ~0;
          m_cyc_i = 1;
          m_stb_i = 1;
          resting = 0;""",
    step="""
      if (resting) ended = 1;
      else if (s_ack_o === 1'b1 || s_err_o === 1'b1 || s_rty_o === 1'b1) begin
        // A cycle of rest: a registered answer may stay for one more.
        failed = s_ack_o !== 1'b1;
        bus_failed = failed;
        value = s_dat_o;
        resting = 1;
        m_cyc_i = 0;
        m_stb_i = 0;
      end
      failed = ended && bus_failed;""",
    prefix="wb_",
)

BUSES: Mapping[str, Bus] = {"axi4-lite": _AXI4_LITE, "apb": _APB, "wishbone": _WISHBONE}
"""By name."""


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
    per_word = data // place.bits
    return [
        RegisterField(
            place.address + index // per_word * step, index % per_word * place.bits, place.bits
        )
        for index in range(length)
    ]


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
        """Return what it does."""
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
        """How many there are in all."""
        return len(self.setup) + self.runs * len(self.each) + len(self.after)

    def at(self, line: int) -> tuple[int | None, BusAccess | None]:
        """Return the run that a line is of, and its access; None for what is in no run."""
        if line < len(self.setup):
            return None, self.setup[line]
        run, index = divmod(line - len(self.setup), max(len(self.each), 1))
        return (run, self.each[index]) if run < self.runs else (None, None)

    def write(self, path: Path) -> None:
        """Write it as the harness reads it."""
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
