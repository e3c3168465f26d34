"""The rules of AXI4 that a master of ours and its memory have to keep, checked every cycle."""

from collections import deque
from typing import Any

from cocotb.triggers import RisingEdge

from eightfold.hw.ports import BURST

BOUNDARY = 4096
"""Bytes that no burst crosses a multiple of."""

CHANNELS: dict[str, tuple[str, ...]] = {
    "ar": ("addr", "id", "len", "size", "burst", "lock", "cache", "prot", "qos"),
    "r": ("data", "id", "resp", "last"),
    "aw": ("addr", "id", "len", "size", "burst", "lock", "cache", "prot", "qos"),
    "w": ("data", "strb", "last"),
    "b": ("id", "resp"),
}
"""The channels and their payloads."""

ATTRIBUTES = {"id": 0, "burst": 1, "lock": 0, "cache": 0b0011, "prot": 0, "qos": 0}
"""What every address says, beside its ``size``: in order, counting up, not exclusive, normal memory
that is bufferable and may be merged, unprivileged secure data, no quality of service.

Typed here a second time, on purpose: docs/architecture.md promises them.
"""


class AxiRuleViolation(AssertionError):  # noqa: N818 - reads as what happened
    """One of the rules of AXI4 was broken, by the master or by the memory."""


class AxiChecker:
    """Watches the channels of an AXI4 bus that the design has; start ``run`` after the reset.

    On every channel a word that is offered stays, unchanged, until it is taken. Bursts count up
    from an aligned address in whole beats, at most `eightfold.hw.ports.BURST`, with `ATTRIBUTES`,
    and cross neither a multiple of `BURST` beats nor of `BOUNDARY`. ``last`` is where the burst
    ends; nothing is answered that was not asked for; a write is answered after its last beat.

    ``prefix``: of the signals' names, such as ``m_axi_``. ``port``: bytes of a beat.

    ``transfers``: words so far, by channel. ``most_reads``, ``most_writes``: most bursts that were
    unanswered at a time.
    """

    def __init__(self, dut: Any, prefix: str, port: int) -> None:
        self.port = port
        self.transfers: dict[str, int] = {}
        self.most_reads = self.most_writes = 0
        self._dut = dut
        self._channels = {}
        for channel, names in CHANNELS.items():
            if not hasattr(dut, f"{prefix}{channel}valid"):
                continue
            signals = [getattr(dut, f"{prefix}{channel}{n}") for n in ("valid", "ready", *names)]
            self._channels[channel] = (
                signals[0],
                signals[1],
                list(zip(names, signals[2:], strict=True)),
            )
            self.transfers[channel] = 0
        self._held: dict[str, dict[str, int]] = {}
        self._reads: deque[int] = deque()  # beats left of each burst
        self._lengths: deque[int] = deque()  # of the bursts whose last beat has not been written
        self._written: list[int] = []  # beats of the burst being written, that have no length yet
        self._beats = 0  # written of the burst of `_lengths[0]`, or of the one to come
        self._complete = 0  # bursts that are written, and not answered
        self._unfinished = 0  # bursts with an address, not answered

    @property
    def idle(self) -> bool:
        """Whether everything that was asked for has been answered, and nothing is offered."""
        return not (self._reads or self._unfinished or self._written or self._beats or self._held)

    async def run(self) -> None:
        """Check every cycle; start it with ``cocotb.start_soon``."""
        edge = RisingEdge(self._dut.clk)
        while True:
            await edge
            self.step()

    def step(self) -> None:
        """Check the cycle that ends now. Raises AxiRuleViolation if a rule was broken."""
        # Answers first: what is asked for in this cycle cannot be answered in it.
        for channel in ("r", "b", "ar", "aw", "w"):
            if channel in self._channels:
                self._check(channel)

    def _check(self, channel: str) -> None:
        valid, ready, payload = self._channels[channel]
        held = self._held.pop(channel, None)
        if not valid.value:
            self._require(held is None, channel, "valid dropped before ready")
            return
        word = {name: int(signal.value) for name, signal in payload}
        self._require(held in (None, word), channel, f"moved while stalled: {held}, {word}")
        if not ready.value:
            self._held[channel] = word
            return
        self.transfers[channel] += 1
        getattr(self, f"_take_{channel}")(word)

    def _require(self, holds: bool, channel: str, text: str) -> None:
        if not holds:
            raise AxiRuleViolation(f"{channel} after {self.transfers[channel]} words: {text}")

    def _burst(self, channel: str, word: dict[str, int]) -> int:
        """Check an address, and return its number of beats."""
        beats = word["len"] + 1
        address = word["addr"]
        port = self.port
        end = address + beats * port - 1
        for holds, text in (
            *(
                (word[name] == value, f"{name} is not {value}")
                for name, value in ATTRIBUTES.items()
            ),
            (1 << word["size"] == port, "size"),
            (address % port == 0, "not aligned"),
            (beats <= BURST, "too long"),
            (address // BOUNDARY == end // BOUNDARY, "crosses 4 KiB"),
            (address // (port * BURST) == end // (port * BURST), "crosses a multiple of BURST"),
        ):
            self._require(holds, channel, f"{text}: {beats} beats at {address:#x}, {word}")
        return beats

    def _take_ar(self, word: dict[str, int]) -> None:
        self._reads.append(self._burst("ar", word))
        self.most_reads = max(self.most_reads, len(self._reads))

    def _take_r(self, word: dict[str, int]) -> None:
        self._require(bool(self._reads) and word["id"] == 0, "r", "nobody asked for it")
        self._reads[0] -= 1
        self._require(word["last"] == (self._reads[0] == 0), "r", "last is in the wrong place")
        if not self._reads[0]:
            self._reads.popleft()

    def _take_aw(self, word: dict[str, int]) -> None:
        beats = self._burst("aw", word)
        self._unfinished += 1
        self.most_writes = max(self.most_writes, self._unfinished)
        if self._written:
            self._require(self._written.pop(0) == beats, "aw", "its beats were of another number")
            self._complete += 1
        else:
            ahead = 0 if self._lengths else self._beats
            self._require(ahead < beats, "aw", "has less beats than were written")
            self._lengths.append(beats)

    def _take_w(self, word: dict[str, int]) -> None:
        self._beats += 1
        if self._lengths:
            ends = self._beats == self._lengths[0]
            self._require(word["last"] == ends, "w", "last is in the wrong place")
        if word["last"]:
            if self._lengths:
                self._lengths.popleft()
                self._complete += 1
            else:
                self._written.append(self._beats)
            self._beats = 0

    def _take_b(self, word: dict[str, int]) -> None:
        self._require(self._complete > 0 and word["id"] == 0, "b", "nothing was written")
        self._complete -= 1
        self._unfinished -= 1
