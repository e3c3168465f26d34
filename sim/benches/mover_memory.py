"""Memory on the mover's ports: random latency and stalls, and the rules of its requests."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.hw.ports import BURST
from eightfold.sim.bench.support import stall_rng


class MemoryStub:
    """Two regions behind `eightfold.hw.ports.memory_read` and `memory_write`, played once per
    cycle.

    Parameters
    ----------
    dut
        The design; its ports are ``read__*`` and ``write__*``.
    port
        Bytes of a beat.
    bases
        Address of each region.
    regions
        Content of each region, uint8; the last one may be written, when the answer is given.
    latency
        Cycles from a request, or a burst's last beat, to the first answer.
    stall
        Probability of a pause, at each place that can have one.
    """

    def __init__(
        self,
        dut: Any,
        port: int,
        bases: list[int],
        regions: list[NDArray[np.uint8]],
        latency: int,
        stall: float,
    ) -> None:
        self.dut, self.port, self.bases, self.regions = dut, port, bases, regions
        self.latency, self.stall = latency, stall
        self.cycle = 0
        self.beats_read: list[tuple[int, int]] = []
        """Cycle and address of each beat that was read."""
        self.beats_written: list[tuple[int, int]] = []
        self._rng = stall_rng("memory")
        self._reads: deque[tuple[int, int]] = deque()
        self._writes: deque[list[int]] = deque()
        self._words: deque[int] = deque()
        self._open: list[tuple[int, int, int]] = []
        self._answers: deque[tuple[int, list[tuple[int, int, int]]]] = deque()
        self._ready = {"read__request": False, "write__request": False, "write__beats": False}
        for name in self._ready:
            getattr(dut, f"{name}__ready").value = 0
        dut.read__valid.value = dut.write__answered.value = 0

    def before_edge(self) -> None:
        """Drive this cycle's inputs."""
        for name in self._ready:
            self._ready[name] = self._goes()
            getattr(self.dut, f"{name}__ready").value = int(self._ready[name])
        beat = bool(self._reads) and self._reads[0][0] <= self.cycle and self._goes()
        self.dut.read__valid.value = int(beat)
        if beat:
            address = self._reads.popleft()[1]
            self.dut.read__data.value = self._beat(address)
            self.beats_read.append((self.cycle, address))
        answer = bool(self._answers) and self._answers[0][0] <= self.cycle and self._goes()
        self.dut.write__answered.value = int(answer)
        if answer:
            for address, word, strobe in self._answers.popleft()[1]:
                self._store(address, word, strobe)

    def after_edge(self) -> None:
        """Take what was transferred in the cycle that has ended."""
        for kind in ("read", "write"):
            payload = self._transfer(f"{kind}__request")
            if payload is None:
                continue
            address = payload & 0xFFFFFFFF
            beats = payload >> 32
            number = address // self.port
            assert address % self.port == 0, f"{kind} request at {address:#x} is not aligned"
            assert 1 <= beats <= BURST, f"{kind} request of {beats} beats"
            assert number // BURST == (number + beats - 1) // BURST, f"{kind} crosses: {beats}"
            addresses = [address + self.port * i for i in range(beats)]
            if kind == "read":
                self._reads.extend((self.cycle + self.latency, one) for one in addresses)
            else:
                self._writes.append(addresses)
        payload = self._transfer("write__beats")
        if payload is not None:
            self._words.append(payload)
        while self._words and self._writes:
            self._write_beat(self._words.popleft())
        self.cycle += 1

    @property
    def idle(self) -> bool:
        """Whether nothing is asked for that has not been answered."""
        return not (self._reads or self._writes or self._words or self._answers)

    def _goes(self) -> bool:
        return not self.stall or self._rng.random() >= self.stall

    def _transfer(self, name: str) -> int | None:
        if self._ready[name] and int(getattr(self.dut, f"{name}__valid").value):
            return int(getattr(self.dut, f"{name}__payload").value)
        return None

    def _write_beat(self, payload: int) -> None:
        address = self._writes[0].pop(0)
        word = payload & ((1 << 8 * self.port) - 1)
        strobe = payload >> 8 * self.port
        assert strobe, f"nothing is written at {address:#x}"
        self.beats_written.append((self.cycle, address))
        self._open.append((address, word, strobe))
        if not self._writes[0]:
            self._writes.popleft()
            self._answers.append((self.cycle + self.latency, self._open))
            self._open = []

    def _beat(self, address: int) -> int:
        for base, region in zip(self.bases, self.regions, strict=True):
            if base <= address < base + len(region):
                part = region[address - base : address - base + self.port].tobytes()
                return int.from_bytes(part.ljust(self.port, b"\xa5"), "little")
        raise AssertionError(f"read at {address:#x}, outside the regions")

    def _store(self, address: int, word: int, strobe: int) -> None:
        offset = address - self.bases[-1]
        for lane, byte in enumerate(word.to_bytes(self.port, "little")):
            if strobe >> lane & 1:
                at = offset + lane
                assert 0 <= at < len(self.regions[-1]), f"write at {address + lane:#x}, outside"
                self.regions[-1][at] = byte
