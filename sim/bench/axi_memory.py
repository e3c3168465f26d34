"""Memory behind an AXI4 bus: bytes, latencies, pauses and errors."""

from collections import deque
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge

from eightfold.hw.ports import BURST
from eightfold.sim.bench.support import stall_rng


def random_bursts(
    generator: np.random.Generator, beats_of_memory: int, count: int
) -> list[tuple[int, int]]:
    """Return bursts of 1 to `BURST` beats within multiples of `BURST` beats: first beat, beats."""
    first = generator.integers(0, beats_of_memory, count)
    beats = np.minimum(generator.integers(1, BURST + 1, count), BURST - first % BURST)
    return [(int(at), int(length)) for at, length in zip(first, beats, strict=True)]


SLAVE_ERROR = 2
"""The answer that an access failed."""


class AxiMemory:
    """A slave that answers in order, many bursts at a time, after a latency.

    Unlike cocotbext-axi's ``AxiRam`` its latency does not limit the rate: a beat per cycle however
    long the way. Reads and writes are of whole beats at addresses from 0.

    - ``dut``: the top module; its clock is ``clk``. Channels it does not have are left out.
    - ``prefix``: of the signals' names, such as ``m_axi_``.
    - ``contents``: the bytes; writes change them.
    - ``port``: bytes of a beat.
    - ``latency``: cycles from the transfer of an address, or of a burst's last beat, to the
      earliest answer.
    - ``stall``: probability, 0 to below 1, of pausing on each channel in a cycle.
    - ``errors``: beats at these port-aligned addresses are answered with `SLAVE_ERROR`, and not
      written.
    """

    def __init__(
        self,
        dut: Any,
        prefix: str,
        contents: bytearray,
        port: int,
        *,
        latency: int = 1,
        stall: float = 0.0,
        errors: frozenset[int] = frozenset(),
    ) -> None:
        self.contents, self.port, self.latency = contents, port, latency
        self.stall, self.errors = stall, errors
        self._dut, self._prefix = dut, prefix
        self._rng = stall_rng(prefix)
        for name in ("arready", "rvalid", "awready", "wready", "bvalid", "rid", "bid"):
            if hasattr(dut, prefix + name):
                self._signal(name).value = 0

    def _signal(self, name: str) -> Any:
        return getattr(self._dut, self._prefix + name)

    def _pauses(self) -> bool:
        return bool(self.stall) and self._rng.random() < self.stall

    async def read(self) -> None:
        """Answer reads; start it with ``cocotb.start_soon``."""
        names = ("arvalid", "araddr", "arlen", "arready", "rvalid", "rready")
        asks, address, length, ready, valid, takes = map(self._signal, names)
        data, answer, last = map(self._signal, ("rdata", "rresp", "rlast"))
        beats: deque[tuple[int, int, bool]] = deque()  # earliest cycle, address, last
        edge = RisingEdge(self._dut.clk)
        cycle = 0
        is_ready = False
        is_valid = False
        while True:
            await edge
            cycle += 1
            if is_ready and asks.value:
                first = int(address.value)
                count = int(length.value) + 1
                for beat in range(count):
                    place = first + beat * self.port
                    beats.append((cycle + self.latency - 1, place, beat == count - 1))
            if is_valid and takes.value:
                is_valid = False
            if not is_valid and beats and beats[0][0] <= cycle and not self._pauses():
                _, place, ends = beats.popleft()
                word = bytes(self.contents[place : place + self.port])
                data.value = int.from_bytes(word, "little")
                answer.value = SLAVE_ERROR if place in self.errors else 0
                last.value = int(ends)
                is_valid = True
            is_ready = not self._pauses()
            ready.value, valid.value = int(is_ready), int(is_valid)

    async def write(self) -> None:
        """Take writes; start it with ``cocotb.start_soon``."""
        names = ("awvalid", "awaddr", "awready", "wvalid", "wready", "bvalid", "bready")
        asks, address, ready, writes, accepts, valid, takes = map(self._signal, names)
        data, strobe, last, answer = map(self._signal, ("wdata", "wstrb", "wlast", "bresp"))
        places: deque[int] = deque()  # of the bursts whose beats are not stored
        beats: deque[tuple[int, int, bool]] = deque()  # data, strobe, last
        answers: deque[tuple[int, int]] = deque()  # earliest cycle, answer
        edge = RisingEdge(self._dut.clk)
        cycle = 0
        failed = False
        is_ready = accepting = is_valid = False
        while True:
            await edge
            cycle += 1
            if is_ready and asks.value:
                places.append(int(address.value))
            if accepting and writes.value:
                beats.append((int(data.value), int(strobe.value), bool(last.value)))
            if is_valid and takes.value:
                is_valid = False
            while places and beats:
                word, mask, ends = beats.popleft()
                failed |= places[0] in self.errors
                self._store(places[0], word, mask)
                places[0] += self.port
                if ends:
                    places.popleft()
                    answers.append((cycle + self.latency - 1, SLAVE_ERROR if failed else 0))
                    failed = False
            if not is_valid and answers and answers[0][0] <= cycle and not self._pauses():
                answer.value = answers.popleft()[1]
                is_valid = True
            is_ready, accepting = not self._pauses(), not self._pauses()
            ready.value, accepts.value, valid.value = is_ready, accepting, is_valid

    def _store(self, place: int, word: int, mask: int) -> None:
        if place in self.errors:
            return
        for byte, value in enumerate(word.to_bytes(self.port, "little")):
            if mask >> byte & 1:
                self.contents[place + byte] = value
