"""Memory behind an `eightfold.hw.ports.memory_read` port, for benches without a bus."""

import random
from collections import deque
from typing import Any

from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time

from eightfold.hw.memory.linear_fetch import YIELDING
from eightfold.hw.ports import BURST
from eightfold.sim.bench.stream import CLOCK_NS, StreamSink
from eightfold.sim.bench.support import clock_cycles, stall_rng


class MemoryPort:
    """Answers read requests in order, after a latency, with the beats of an array of bytes.

    - ``name``: the port's name: requests are the stream ``name__request``.
    - ``contents``: bytes from address 0; reads beyond its end are an error.
    - ``port``: bytes of a beat.
    - ``latency``: cycles from a request's transfer to its first beat's ``valid``, at least 2.
    - ``idle``: probability, 0 to below 1, of pausing for a cycle before a beat.
    - ``stall``: probability of not taking a request in a cycle.

    ``requests``: (byte address, beats) of the requests so far. ``requested``, ``beats``: beats
    requested, and answered.
    """

    def __init__(
        self,
        dut: Any,
        name: str,
        contents: bytes,
        port: int,
        *,
        latency: int = 2,
        idle: float = 0.0,
        stall: float = 0.0,
        rng: random.Random | None = None,
    ) -> None:
        self.contents, self.port, self.latency, self.idle = contents, port, latency, idle
        self.requests: list[tuple[int, int]] = []
        self.requested = self.beats = 0
        self._rng = rng or stall_rng(name)
        self._waiting: deque[tuple[int, int]] = deque()  # time from which it may come, address
        self._dut = dut
        self._valid, self._data = (getattr(dut, f"{name}__{part}") for part in ("valid", "data"))
        self._valid.value = 0
        self.sink = StreamSink(dut, f"{name}__request", stall=stall)
        self.sink.add_callback(self._take)

    def _take(self, word: int) -> None:
        """Check a request and queue its beats."""
        address = word & 0xFFFFFFFF
        beats = word >> 32
        first = address // self.port
        assert address % self.port == 0, f"request at {address:#x} is not aligned to the port"
        assert 1 <= beats <= BURST, f"request of {beats} beats"
        assert first // BURST == (first + beats - 1) // BURST, f"{address:#x}+{beats} crosses"
        assert address + beats * self.port <= len(self.contents), f"{address:#x}+{beats}: outside"
        self.requests.append((address, beats))
        self.requested += beats
        due = int(get_sim_time("ns")) + (self.latency - 1) * CLOCK_NS
        for beat in range(beats):
            self._waiting.append((due, address + beat * self.port))

    async def run(self) -> None:
        """Answer requests; start it with ``cocotb.start_soon``."""
        edge = RisingEdge(self._dut.clk)
        waiting = self._waiting
        valid = False
        while True:
            await edge
            answers = bool(waiting) and waiting[0][0] <= get_sim_time("ns")
            if answers and self.idle:
                answers = self._rng.random() >= self.idle
            if answers:
                _, address = waiting.popleft()
                beat = self.contents[address : address + self.port]
                self._data.value = int.from_bytes(beat, "little")
                self.beats += 1
            if answers != valid:
                valid = answers
                self._valid.value = int(valid)


CYCLES = 500
"""Cycles in which all is requested that will be while the output waits."""


async def expect_little_ahead(dut: Any, memory: MemoryPort) -> None:
    """While the output waits less is requested with ``yields`` than without, and the rest later.

    Ends with ``yields`` set; commands for more than is fetched ahead have been sent, with it set.
    """
    await clock_cycles(dut, CYCLES)
    requested = memory.requested
    dut.yields.value = 0
    await clock_cycles(dut, CYCLES)
    assert YIELDING < requested < memory.requested
    dut.yields.value = 1
