"""AXI4 in benches: the rules that a master of ours and its memory keep, checked every cycle, and a
memory behind the bus: bytes, latencies, pauses and errors. And what benches of masters share."""

from collections import deque
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from eightfold.hw.ports import BURST
from eightfold.sim.bench import support
from eightfold.sim.bench.stream import StreamSource, watchdog

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
    """Watches the channels of an AXI4 bus that the design has; call `step` in each cycle.

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
        self._channels = {}
        for channel, names in CHANNELS.items():
            if hasattr(dut, f"{prefix}{channel}valid"):
                ends = [getattr(dut, f"{prefix}{channel}{end}") for end in ("valid", "ready")]
                payload = {name: getattr(dut, f"{prefix}{channel}{name}") for name in names}
                self._channels[channel] = (*ends, payload)
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
        word = {name: int(signal.value) for name, signal in payload.items()}
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

    ``errors``: beats at these port-aligned addresses are answered with `SLAVE_ERROR`, and not
    written; none at first.
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
    ) -> None:
        self.contents, self.port, self.latency, self.stall = contents, port, latency, stall
        self.errors: frozenset[int] = frozenset()
        self._dut, self._prefix = dut, prefix
        self._rng = support.stall_rng(prefix)
        for name in ("arready", "rvalid", "awready", "wready", "bvalid", "rid", "bid"):
            if hasattr(dut, prefix + name):
                self._signal(name).value = 0

    def _signal(self, name: str) -> Any:
        return getattr(self._dut, self._prefix + name)

    def _pauses(self) -> bool:
        return bool(self.stall) and self._rng.random() < self.stall

    def start(self) -> None:
        """Answer from now on, on the channels that the design has."""
        for channel, answer in (("ar", self._read), ("aw", self._write)):
            if hasattr(self._dut, f"{self._prefix}{channel}valid"):
                cocotb.start_soon(answer())

    async def _read(self) -> None:
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

    async def _write(self) -> None:
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


PAUSES = (
    ("idle", "stall", "latency"),
    [(0.0, 0.0, 1), (0.0, 0.6, 1), (0.5, 0.3, 20), (0.0, 0.9, 3)],
)
"""Pauses of the clients and of the memory, and the memory's latency."""


class AxiBench:
    """A unit between clients and a bus, ``axi``, with memory of random bytes and a checker.

    ``beats``: of memory. ``stream``: number of the bench's random numbers. ``requests``: of the
    clients. ``memory``: options of `AxiMemory`. ``streams``: all that the bench drives.
    """

    PREFIX = "axi__"

    def __init__(
        self, dut: Any, beats: int, stream: int, requests: list[StreamSource], **memory: Any
    ) -> None:
        self.dut, self.beats, self.requests = dut, beats, requests
        self.streams = list(requests)
        self.rng = support.rng(stream)
        self.port: int = support.parameters()["port"]
        self.contents = bytearray(support.rng(0).bytes(beats * self.port))
        self.checker = AxiChecker(dut, self.PREFIX, self.port)
        self.memory = AxiMemory(dut, self.PREFIX, self.contents, self.port, **memory)
        dut.stop.value = 0

    @property
    def begun(self) -> int:
        """Requests that were taken."""
        return sum(source.transfers for source in self.requests)

    async def start(self, memory: bool = True) -> None:
        """Reset, and start everything that runs by itself; ``memory``: so does the bench's own."""
        await support.start_clock_and_reset(self.dut)
        if memory:
            self.memory.start()
        support.each_cycle(self.dut, self.checker.step)
        cocotb.start_soon(watchdog(self.streams, 4000))

    def bursts(self, count: int) -> list[tuple[int, int]]:
        """Return bursts of 1 to `BURST` beats within multiples of `BURST`: first beat, beats."""
        first = self.rng.integers(0, self.beats, count)
        beats = np.minimum(self.rng.integers(1, BURST + 1, count), BURST - first % BURST)
        return [(int(at), int(length)) for at, length in zip(first, beats, strict=True)]

    def bad_beats(self, share: int) -> frozenset[int]:
        """Return addresses of one of ``share`` beats, to be answered with errors."""
        chosen = self.rng.choice(self.beats, self.beats // share, replace=False)
        return frozenset((chosen * self.port).tolist())

    async def rest(self) -> None:
        """Wait a little longer, and check that nothing is left."""
        await support.clock_cycles(self.dut, 4)
        assert self.dut.idle.value == 1
        assert self.checker.idle

    async def stop(self, channel: str, longest: int) -> None:
        """Raise ``stop`` after a time: what is open ends, the bus rests, and nothing begins.

        ``channel``: of the addresses.
        """
        await support.clock_cycles(self.dut, int(self.rng.integers(1, longest)))
        self.dut.stop.value = 1
        await support.clock_cycles(self.dut, 1)
        begun = self.begun
        for _ in range(3000):
            await support.clock_cycles(self.dut, 1)
            if self.dut.idle.value:
                break
        assert self.dut.idle.value == 1
        assert self.checker.idle
        await support.clock_cycles(self.dut, 20)
        assert self.dut.idle.value == 1
        assert self.begun - begun <= 1
        assert self.checker.transfers[channel] == self.begun
