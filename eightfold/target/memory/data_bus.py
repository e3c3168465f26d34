"""When a memory's bursts have its data bus: `timing.MemoryTiming`, in numbers."""

from enum import Enum
from typing import NamedTuple

from eightfold.target.memory.timing import SIXTEENTHS, MemoryTiming


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

    Parameters
    ----------
    memory
        What it belongs to.
    port
        Bytes of a beat.

    Attributes
    ----------
    taken
        `SIXTEENTHS` of a cycle in which it had bursts, or got ready for them: turned, opened a row,
        or was refreshed in front of one.
    """

    def __init__(self, memory: MemoryTiming, port: int) -> None:
        self._memory, self._port = memory, port
        self._pace = memory.pace(port) if memory.shared else SIXTEENTHS
        self.taken = 0
        self._free = 0
        self._refresh_at = SIXTEENTHS * memory.refresh_every
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
