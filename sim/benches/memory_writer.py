"""Benches of `eightfold.hw.memory.writer.MemoryWriter`: a client on one side, AXI4 memory on the
other.

Parameter: ``port``, bytes of a beat.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiRamWrite, AxiWriteBus

from eightfold.hw.ports import BURST, burst_layout
from eightfold.sim.bench.axi import AxiChecker, AxiMemory, random_bursts
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.stream import StreamSource, pack, watchdog
from eightfold.sim.bench.support import (
    clock_cycles,
    cycle,
    parameters,
    pause_channels,
    report,
    rng,
    start_clock_and_reset,
)

BEATS = 512
"""The beats of memory."""

PREFIX = "axi__"


class WriterBench:
    """A writer, its client and its memory, and what memory should hold in the end."""

    def __init__(self, dut: Any, idle: float, **memory: Any) -> None:
        self.dut = dut
        self.port: int = parameters()["port"]
        before = rng(0).bytes(BEATS * self.port)
        self.contents, self.expected = bytearray(before), bytearray(before)
        self.checker = AxiChecker(dut, PREFIX, self.port)
        self.memory = AxiMemory(dut, PREFIX, self.contents, self.port, **memory)
        self.requests = StreamSource(dut, "client__request", idle=idle)
        self.beats = StreamSource(dut, "client__beats", idle=idle)
        self.asked = self.answered = self.errors = 0
        dut.stop.value = 0

    async def start(self, memory: bool = True) -> None:
        """Reset, and start everything that runs by itself."""
        await start_clock_and_reset(self.dut)
        if memory:
            cocotb.start_soon(self.memory.write())
        cocotb.start_soon(self.checker.run())
        cocotb.start_soon(self._count())
        cocotb.start_soon(watchdog([self.requests, self.beats], 4000))

    async def _count(self) -> None:
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            self.answered += int(self.dut.client__answered.value)
            self.errors += int(self.dut.error.value)
            assert self.dut.client__answered.value or not self.dut.error.value

    def write(
        self, bursts: list[tuple[int, int]], generator: np.random.Generator, send: bool = True
    ) -> list[int]:
        """Queue writes of random bytes, some not enabled, to (first beat, beats).

        Return the beats, which are left to the caller without ``send``.
        """
        port = self.port
        beats = []
        for first, count in bursts:
            failed = False
            for place in range(first * port, (first + count) * port, port):
                word = generator.bytes(port)
                mask = generator.random(port) < generator.choice([0.0, 0.5, 1.0])
                failed |= place in self.memory.errors
                if place not in self.memory.errors:
                    for byte in np.flatnonzero(mask):
                        self.expected[place + byte] = word[byte]
                strobe = sum(1 << int(byte) for byte in np.flatnonzero(mask))
                beats.append(int.from_bytes(word, "little") | strobe << 8 * port)
            self.asked += 1
        first, count = (np.array(column) for column in zip(*bursts, strict=True))
        self.requests.append(pack(burst_layout(), {"address": first * port, "beats": count}))
        if send:
            self.beats.append(beats)
        return beats

    async def finish(self) -> None:
        """Wait for all answers, and compare memory."""
        while self.answered < self.asked:
            await clock_cycles(self.dut, 1)
        await clock_cycles(self.dut, 4)
        assert self.answered == self.asked
        assert self.dut.idle.value == 1
        assert self.checker.idle
        actual, expected = (np.frombuffer(c, np.uint8) for c in (self.contents, self.expected))
        assert_equal_bytes("memory: byte", actual, expected)


@cocotb.test()
@cocotb.parametrize(
    (("idle", "stall", "latency"), [(0.0, 0.0, 1), (0.0, 0.6, 1), (0.5, 0.3, 20), (0.0, 0.9, 3)])
)
async def memory_holds_what_was_written(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Random bursts with random strobes, in order, each answered."""
    bench = WriterBench(dut, idle, stall=stall, latency=latency)
    generator = rng(1)
    await bench.start()
    bench.write(random_bursts(generator, BEATS, 40), generator)
    await bench.finish()


@cocotb.test()
async def agrees_with_another_model_of_memory(dut: Any) -> None:
    """The same with cocotbext-axi's memory, which pauses on all channels."""
    bench = WriterBench(dut, 0.1)
    generator = rng(2)
    bus = AxiWriteBus.from_prefix(dut, PREFIX.removesuffix("_"))
    ram: Any = AxiRamWrite(bus, dut.clk, dut.rst, size=len(bench.contents))
    ram.write(0, bytes(bench.contents))
    pause_channels(ram, {"aw": 0.4, "w": 0.4, "b": 0.4})
    await bench.start(memory=False)
    bench.write(random_bursts(generator, BEATS, 40), generator)
    while bench.answered < bench.asked:
        await clock_cycles(dut, 1)
    bench.contents[:] = ram.read(0, len(bench.contents))
    await bench.finish()


@cocotb.test()
async def a_beat_per_cycle_with_several_bursts_open(dut: Any) -> None:
    """Full bursts leave without a pause though each answer takes 40 cycles."""
    bench = WriterBench(dut, 0.0, latency=40)
    generator = rng(3)
    edge = RisingEdge(dut.clk)
    await bench.start()
    bench.write([(BURST * at, BURST) for at in range(12)], generator)
    cycles = []

    async def watch() -> None:
        while True:
            await edge
            if dut.axi__wvalid.value and dut.axi__wready.value:
                cycles.append(cycle())

    cocotb.start_soon(watch())
    await bench.finish()
    report({"most": bench.checker.most_writes})
    assert bench.checker.most_writes >= 4
    assert cycles[-1] - cycles[0] == 12 * BURST - 1


@cocotb.test()
async def a_burst_begins_when_its_beats_are_there(dut: Any) -> None:
    """Without its last beat a burst is not offered; with `stop` nor with it."""
    bench = WriterBench(dut, 0.0)
    generator = rng(4)
    await bench.start()
    beats = bench.write([(0, BURST)], generator, send=False)
    bench.beats.append(beats[:-1])
    await clock_cycles(dut, 60)
    assert bench.checker.transfers == {"aw": 0, "w": 0, "b": 0}
    dut.stop.value = 1
    bench.beats.append(beats[-1:])
    await clock_cycles(dut, 30)
    assert bench.checker.transfers == {"aw": 0, "w": 0, "b": 0}
    assert dut.idle.value == 1
    dut.stop.value = 0
    await bench.finish()


@cocotb.test()
async def errors_are_told_with_their_answer(dut: Any) -> None:
    """A burst with a failed beat pulses `error` once, and later ones are written."""
    port = parameters()["port"]
    bad = frozenset(int(at) * port for at in rng(5).choice(BEATS, BEATS // 32, replace=False))
    bench = WriterBench(dut, 0.1, stall=0.3, errors=bad)
    generator = rng(6)
    await bench.start()
    bursts = random_bursts(generator, BEATS, 60)
    bench.write(bursts, generator)
    await bench.finish()
    failed = [
        any(at * port in bad for at in range(first, first + beats)) for first, beats in bursts
    ]
    assert 0 < sum(failed) < len(failed)
    assert bench.errors == sum(failed)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.8])
async def stop_ends_what_is_open_and_begins_nothing(dut: Any, stall: float) -> None:
    """With `stop` the bus comes to rest with `idle`; without it everything goes on."""
    bench = WriterBench(dut, 0.0, stall=stall, latency=10)
    generator = rng(7)
    await bench.start()
    bench.write(random_bursts(generator, BEATS, 60), generator)
    for _ in range(8):
        await clock_cycles(dut, int(generator.integers(1, 80)))
        dut.stop.value = 1
        await clock_cycles(dut, 1)
        begun = bench.requests.transfers
        for _ in range(3000):
            await clock_cycles(dut, 1)
            if dut.idle.value:
                break
        assert dut.idle.value == 1
        assert bench.checker.idle
        await clock_cycles(dut, 20)
        assert bench.requests.transfers - begun <= 1
        assert bench.checker.transfers["aw"] == bench.requests.transfers == bench.answered
        dut.stop.value = 0
    await bench.finish()
