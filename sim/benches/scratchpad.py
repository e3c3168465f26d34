"""Benches of the scratchpad against a byte array, cycle by cycle.

Parameters: ``vector`` and ``scratchpad``, its sizes; ``ports``, readers and as many writers;
``cycles``, the length of the random runs.
"""

from collections import deque
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.support import parameters, rng, start_clock_and_reset

Access = tuple[int, int, NDArray[np.uint8]]
"""Address, mask and bytes; of a read the address counts."""


class ScratchpadBench:
    """Plays requests on all ports, and checks grants, answers and their cycles.

    ``content``: what the scratchpad holds after the writes so far: uint8, shape (scratchpad,).
    ``reads``, ``writes``: per port, the accesses still to be made. None stands for a cycle without
    a request.
    """

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.vector: int = parameters()["vector"]
        self.size: int = parameters()["scratchpad"]
        self.ports: int = parameters()["ports"]
        self.content = np.zeros(self.size, dtype=np.uint8)
        self.reads: list[deque[Access | None]] = [deque() for _ in range(self.ports)]
        self.writes: list[deque[Access | None]] = [deque() for _ in range(self.ports)]
        self.answers: deque[tuple[int, int, NDArray[np.uint8], NDArray[np.bool_]]] = deque()
        self.cycle = 0

    def port(self, kind: str, number: int, name: str) -> Any:
        """Return the handle of a port's signal."""
        return getattr(self.dut, f"{kind}__{number}__{name}")

    def places(self, address: int) -> NDArray[np.int64]:
        """Return where the bytes of an access lie."""
        return (address + np.arange(self.vector)) % self.size

    async def start(self, generator: np.random.Generator) -> None:
        """Reset, and write every byte once, at an odd alignment."""
        for number in range(self.ports):
            self.port("readers", number, "request__valid").value = 0
            self.port("writers", number, "valid").value = 0
        await start_clock_and_reset(self.dut)
        for address in range(1, self.size, self.vector):
            word = generator.integers(0, 256, self.vector, dtype=np.uint8)
            self.writes[0].append((address, (1 << self.vector) - 1, word))
        await self.run()

    async def run(self) -> None:
        """Play everything that is queued, and wait for the answers."""
        edge = RisingEdge(self.dut.clk)
        while any(self.reads) or any(self.writes) or self.answers:
            self._drive()
            await edge
            self._check_answers()
            # A read of this cycle comes before the writes, and what it gives for them is open.
            writes = self._granted("writers", "", self.writes)
            reads = self._granted("readers", "request__", self.reads, not writes)
            open_ = np.zeros(self.size, dtype=bool)
            for _, (address, mask, _) in writes:
                open_[self.places(address)] = self._bits(mask)
            for number, (address, _, _) in reads:
                places = self.places(address)
                due = self.cycle + Scratchpad.READ_LATENCY
                self.answers.append((due, number, self.content[places], ~open_[places]))
            for _, (address, mask, word) in writes:
                kept = self._bits(mask)
                self.content[self.places(address)[kept]] = word[kept]
            self.cycle += 1

    def _bits(self, mask: int) -> NDArray[np.bool_]:
        return (mask >> np.arange(self.vector, dtype=object)) & 1 == 1

    def _drive(self) -> None:
        for number in range(self.ports):
            for kind, prefix, queues in (
                ("readers", "request__", self.reads),
                ("writers", "", self.writes),
            ):
                first = queues[number][0] if queues[number] else None
                self.port(kind, number, f"{prefix}valid").value = int(first is not None)
                if first is None:
                    continue
                address, mask, word = first
                payload = address
                if kind == "writers":
                    bits = (self.size - 1).bit_length()
                    bytes_ = int.from_bytes(word.tobytes(), "little")
                    payload |= (mask | bytes_ << self.vector) << bits
                self.port(kind, number, f"{prefix}payload").value = payload

    def _granted(
        self, kind: str, prefix: str, queues: list[deque[Access | None]], beside: bool = False
    ) -> list[tuple[int, Access]]:
        """Take what was granted off its queue: an access, and ``beside`` it the last port's."""
        granted: list[tuple[int, Access]] = []
        for number, queue in enumerate(queues):
            first = queue.popleft() if queue else None
            if first is None:
                continue
            ready = int(self.port(kind, number, f"{prefix}ready").value)
            free = not granted or (beside and number == self.ports - 1)
            assert ready == free, f"{kind} {number}: ready={ready} in {self.cycle}"
            if ready:
                granted.append((number, first))
            else:
                queue.appendleft(first)
        return granted

    def _check_answers(self) -> None:
        due = []
        while self.answers and self.answers[0][0] == self.cycle:
            due.append(self.answers.popleft())
        for number in range(self.ports):
            valid = int(self.port("readers", number, "valid").value)
            assert valid == (number in [each[1] for each in due]), f"reader {number}: {valid}"
        for _, number, expected, known in due:
            word = int(self.port("readers", number, "data").value)
            got = np.frombuffer(word.to_bytes(self.vector, "little"), dtype=np.uint8)
            where = f"reader {number} in cycle {self.cycle}: byte"
            assert_equal_bytes(where, np.where(known, got, expected), expected)


def random_access(bench: ScratchpadBench, generator: np.random.Generator, near: int) -> Access:
    """Return an access within ``near`` bytes of the end, on both sides of it."""
    address = int(generator.integers(-near, near)) % bench.size
    bits = generator.random(bench.vector) < generator.choice([0.1, 0.5, 1.0])
    mask = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
    return address, mask, generator.integers(0, 256, bench.vector, dtype=np.uint8)


@cocotb.test()
async def every_byte_at_every_address(dut: Any) -> None:
    """Vectors written at one alignment read back at every address, one per cycle."""
    bench = ScratchpadBench(dut)
    generator = rng(1)
    await bench.start(generator)
    step = max(1, bench.size // 2048 - 1) | 1
    bench.reads[0].extend((a, 0, np.zeros(0, np.uint8)) for a in range(0, bench.size, step))
    before = bench.cycle
    reads = len(bench.reads[0])
    await bench.run()
    assert bench.cycle - before == reads + Scratchpad.READ_LATENCY


@cocotb.test()
@cocotb.parametrize((("busy", "near"), [(1.0, 8), (0.3, 8), (0.7, 100), (0.2, 2000)]))
async def reads_see_exactly_the_earlier_writes(dut: Any, busy: float, near: int) -> None:
    """Random reads and writes on all ports in a small area, around the end of the scratchpad."""
    bench = ScratchpadBench(dut)
    generator = rng(2)
    await bench.start(generator)
    for queue in (*bench.reads, *bench.writes):
        for _ in range(parameters()["cycles"]):
            idle = generator.random() >= busy
            queue.append(None if idle else random_access(bench, generator, near))
    await bench.run()
