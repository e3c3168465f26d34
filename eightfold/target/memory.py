"""The memory outside of the accelerator: how long it takes, and when its bus has which burst.

Who simulates it and who estimates cycles mean the same memory by it.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, NamedTuple, Self, get_type_hints

from eightfold.common.errors import InputError

SIXTEENTHS = 16
"""Times of a shared data bus are counted in parts of a cycle."""


@dataclass(frozen=True, kw_only=True)
class MemoryTiming:
    """How long a memory takes, in cycles of the accelerator; sim/verilog/axi_memory.v does so.

    Requests are answered in their order. Without ``shared`` reads and writes have a data bus each,
    and the fields below it mean nothing: from ``latency`` on a beat per cycle. With it, bursts of
    both take turns on one bus, in the order in which their addresses came. A burst begins when the
    one before has ended, ``latency`` cycles after its address at the earliest, and later by:

    - ``turnaround``, if the one before went the other way;
    - ``row_miss``, if its row is not the last one that its bank had open. Row n is in bank
      ``n % banks``;
    - a refresh, if one is due: it takes ``refresh`` cycles, every ``refresh_every``, and closes all
      rows.

    Its n beats then take n * port / bytes_per_cycle cycles, and as much more as whole units of
    ``burst`` bytes, which is the least that the memory transfers, have beyond them. Raises
    InputError if a value is out of range.
    """

    latency: int = 20
    """From an address's transfer to the first beat's, 1 to 4095."""

    shared: bool = False
    """Whether reads and writes share a data bus."""

    bytes_per_cycle: float = 16.0
    """The width of the data bus, 0.25 to 256, the port's width at most."""

    burst: int = 1
    """Bytes that are transferred at least, from a multiple on; a power of two up to 256."""

    turnaround: int = 0
    """Between a read and a write, either way; to 255."""

    row: int = 1024
    """Bytes of a row; a power of two, 64 to 65536."""

    banks: int = 4
    """A power of two up to 16."""

    row_miss: int = 0
    """To close a row and open another, to 255."""

    refresh: int = 0
    """That a refresh takes, to 1023."""

    refresh_every: int = 780
    """From a refresh to the next, 2 * ``refresh`` to 65535."""

    def __post_init__(self) -> None:
        _check("latency", self.latency, 1, 4095)
        _check("bytes_per_cycle", self.bytes_per_cycle, 0.25, 256)
        _check("turnaround", self.turnaround, 0, 255)
        _check("row_miss", self.row_miss, 0, 255)
        _check("refresh", self.refresh, 0, 1023)
        _check("refresh_every", self.refresh_every, max(1, 2 * self.refresh), 65535)
        for name, low, high in (("burst", 1, 256), ("row", 64, 65536), ("banks", 1, 16)):
            value = getattr(self, name)
            _check(name, value, low, high)
            if value & (value - 1):
                raise InputError(f"memory: {name} must be a power of two, not {value}")

    @classmethod
    def load(cls, text: "str | MemoryTiming") -> Self:
        """Return a profile by its name, or of fields: ``latency=40,shared=1,bytes_per_cycle=2``.

        A profile's name may stand in front of fields that differ from it: ``ddr3-16,latency=60``.
        Raises InputError if there is no such profile or field, or a value is out of range.
        """
        if isinstance(text, MemoryTiming):
            return cls(**asdict(text))
        first, *others = str(text).split(",")
        values: Mapping[str, Any] = {}
        if "=" not in first:
            if first not in KNOWN:
                raise InputError(
                    f"memory {first!r} is not known; use {', '.join(KNOWN)}, or fields such as "
                    "latency=40,shared=1,bytes_per_cycle=2"
                )
            values = asdict(KNOWN[first])
        else:
            others = [first, *others]
        fields = [*map(_field, others)]
        if len(dict(fields)) < len(fields):
            raise InputError(f"memory {text!r} gives a field twice; leave one of them out")
        return cls(**values | dict(fields))

    def pace(self, port: int) -> int:
        """Return what a beat of ``port`` bytes takes of a shared bus, in `SIXTEENTHS`."""
        return max(SIXTEENTHS, round(SIXTEENTHS * port / self.bytes_per_cycle))

    def cycles(self, beats: int, port: int) -> int:
        """Return what so many beats take, by the bus's rate alone."""
        return beats * self.pace(port) // SIXTEENTHS if self.shared else beats

    def __str__(self) -> str:
        """Return the text that `load` takes: a profile's name, or what differs from `IDEAL`."""
        for name, profile in KNOWN.items():
            if self == profile:
                return name
        ideal = asdict(IDEAL)
        values = {name: int(v) if v == int(v) else v for name, v in asdict(self).items()}
        return ",".join(f"{name}={v}" for name, v in values.items() if v != ideal[name])


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"memory: {name} must be from {low} to {high}, not {value}")


_KINDS: dict[str, type] = get_type_hints(MemoryTiming)


def _field(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if name not in _KINDS:
        raise InputError(f"memory: no field {name!r}; use {', '.join(_KINDS)}")
    kind = _KINDS[name]
    if not re.fullmatch(r"\d+(\.\d+)?" if kind is float else r"\d+", value):
        raise InputError(f"memory: {name}={value} is not a number; write for example {name}=8")
    return name, kind(value)


IDEAL = MemoryTiming()
"""A beat per cycle both ways, 20 cycles after it was asked for."""

_SDR: Mapping[str, Any] = {"shared": True, "bytes_per_cycle": 2, "row": 1024, "banks": 4}
_DDR3: Mapping[str, Any] = {"shared": True, "bytes_per_cycle": 16, "row": 2048, "banks": 8}
"""Chips with 16 data lines, at 100 MHz, and 400 MHz with two transfers in each cycle."""

PROFILES = {
    "ideal": IDEAL,
    "soc-100": MemoryTiming(latency=100),
    "ddr3-16": MemoryTiming(
        **_DDR3, latency=25, burst=16, turnaround=2, row_miss=3, refresh=16, refresh_every=780
    ),
    "sdr-sdram-16": MemoryTiming(
        **_SDR, latency=12, burst=16, turnaround=3, row_miss=6, refresh=7, refresh_every=780
    ),
}
"""At a clock of 100 MHz: the memory of simulations unless it is said; one behind the interconnect
of a system; 16 bits of DDR3 at 800 MT/s (data sheets of 1 Gbit parts: tRP + tRCD 27.5 ns, tRFC 110
to 160 ns, refresh every 7.8 us) and of SDRAM at 100 MHz (CL 3, tRP and tRCD 3, tRFC 7), with eight
to twenty cycles of a controller."""

MEASURED = {
    "litedram-sdr-16": MemoryTiming(
        **_SDR, latency=13, turnaround=4, row_miss=5, refresh=13, refresh_every=782
    ),
    "litedram-ddr3-16": MemoryTiming(
        **_DDR3, latency=17, turnaround=6, row_miss=5, refresh=40, refresh_every=782
    ),
}
"""LiteDRAM's controller at 100 MHz, by `eightfold.boards`: with MT48LC16M16 at the same clock, and
with MT41K128M16 at 800 MT/s. No plans are made for them unless they are the memory of a run."""

KNOWN = PROFILES | MEASURED
"""What `MemoryTiming.load` knows by name."""


class Way(Enum):
    """Whether a burst is read or written."""

    READ = 0
    WRITE = 1


class Transfer(NamedTuple):
    """A burst's time on the bus: in `SIXTEENTHS` of a cycle its begin, and what a beat takes."""

    begin: int
    pace: int

    def beat(self, number: int) -> int:
        """Return the cycle in which a beat transfers, counted from 0."""
        return -(-(self.begin + number * self.pace) // SIXTEENTHS)

    def beats(self, numbers: range) -> list[int]:
        """Return the same of several beats."""
        begin, pace = self.begin, self.pace
        return [-(-(begin + number * pace) // SIXTEENTHS) for number in numbers]


class DataBus:
    """The bus of reads, of writes, or of both in turn, as sim/verilog/axi_memory.v has it.

    ``port``: bytes of a beat. ``before``: cycles from where the first refresh is counted from to
    cycle 0. ``taken``: `SIXTEENTHS` of a cycle in which it had bursts, or got ready for them:
    turned, opened a row, or was refreshed in front of one.
    """

    def __init__(self, memory: MemoryTiming, port: int, before: int = 0) -> None:
        self._memory, self._port = memory, port
        self._pace = memory.pace(port) if memory.shared else SIXTEENTHS
        self.taken = 0
        self._free = 0
        self._refresh_at = SIXTEENTHS * (memory.refresh_every - before)
        self._way: Way | None = None
        self._open: dict[int, int] = {}

    def serve(self, way: Way, due: int, address: int, beats: int) -> Transfer:
        """Return the time of a burst whose first beat may come in cycle ``due``."""
        begin = asked = max(self._free, SIXTEENTHS * due)
        rounding = 0
        if self._memory.shared:
            begin = self._refreshed(begin) + SIXTEENTHS * self._gap(way, address)
            size = beats * self._port
            unit = self._memory.burst
            whole = -(-(address % unit + size) // unit) * unit
            rounding = (whole - size) * self._pace // self._port
        self._free = begin + beats * self._pace + rounding
        self.taken += self._free - asked
        return Transfer(begin, self._pace)

    def _refreshed(self, begin: int) -> int:
        """Return when a burst may begin behind a refresh that is due."""
        memory = self._memory
        every = SIXTEENTHS * memory.refresh_every
        if not memory.refresh or begin < self._refresh_at:
            return begin
        self._refresh_at += (begin - self._refresh_at) // every * every
        begin = max(begin, max(self._free, self._refresh_at) + SIXTEENTHS * memory.refresh)
        self._refresh_at += every
        self._open.clear()
        return begin

    def _gap(self, way: Way, address: int) -> int:
        """Return the cycles that a turn of the bus and another row take."""
        memory = self._memory
        row = address // memory.row
        bank = row % memory.banks
        missed = self._open.get(bank) != row
        turned = self._way not in (None, way)
        self._open[bank], self._way = row, way
        return turned * memory.turnaround + missed * memory.row_miss
