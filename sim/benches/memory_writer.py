"""Benches of `eightfold.hw.memory.writer.MemoryWriter`: a client on one side, AXI4 memory on the
other.

Parameter: ``port``, bytes of a beat.
"""

from typing import Any

import cocotb
import numpy as np
from cocotbext.axi import AxiRamWrite, AxiWriteBus

from eightfold.hw.ports import BURST, burst_layout
from eightfold.sim.bench.axi import PAUSES, AxiBench
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.stream import StreamSource, pack
from eightfold.sim.bench.support import clock_cycles, cycle, each_cycle, pause_channels


class WriterBench(AxiBench):
    """A writer, its client and its memory, and what memory should hold in the end."""

    def __init__(self, dut: Any, stream: int, idle: float = 0.0, **memory: Any) -> None:
        requests = StreamSource(dut, "client__request", idle=idle)
        super().__init__(dut, 512, stream, [requests], **memory)
        self.expected = bytearray(self.contents)
        self.words = StreamSource(dut, "client__beats", idle=idle)
        self.streams.append(self.words)
        self.asked = self.answered = self.errors = 0

    async def start(self, memory: bool = True) -> None:
        """Reset, and start everything that runs by itself."""
        await super().start(memory)
        each_cycle(self.dut, self._count)

    def _count(self) -> None:
        self.answered += int(self.dut.client__answered.value)
        self.errors += int(self.dut.error.value)
        assert self.dut.client__answered.value or not self.dut.error.value

    def write(self, bursts: list[tuple[int, int]], send: bool = True) -> list[int]:
        """Queue writes of random bytes, some not enabled, to (first beat, beats).

        Return the words of the beats, which are left to the caller without ``send``.
        """
        port = self.port
        words = []
        for first, count in bursts:
            for place in range(first * port, (first + count) * port, port):
                word = self.rng.bytes(port)
                mask = self.rng.random(port) < self.rng.choice([0.0, 0.5, 1.0])
                if place not in self.memory.errors:
                    for byte in np.flatnonzero(mask):
                        self.expected[place + byte] = word[byte]
                strobe = sum(1 << int(byte) for byte in np.flatnonzero(mask))
                words.append(int.from_bytes(word, "little") | strobe << 8 * port)
            self.asked += 1
        first, count = (np.array(column) for column in zip(*bursts, strict=True))
        self.requests[0].append(pack(burst_layout(), {"address": first * port, "beats": count}))
        if send:
            self.words.append(words)
        return words

    async def finish(self) -> None:
        """Wait for all answers, and compare memory."""
        while self.answered < self.asked:
            await clock_cycles(self.dut, 1)
        await self.rest()
        assert self.answered == self.asked
        actual, expected = (np.frombuffer(c, np.uint8) for c in (self.contents, self.expected))
        assert_equal_bytes("memory: byte", actual, expected)


@cocotb.test()
@cocotb.parametrize(PAUSES)
async def memory_holds_what_was_written(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Random bursts with random strobes, in order, each answered."""
    bench = WriterBench(dut, 1, idle, stall=stall, latency=latency)
    await bench.start()
    bench.write(bench.bursts(40))
    await bench.finish()


@cocotb.test()
async def agrees_with_another_model_of_memory(dut: Any) -> None:
    """The same with cocotbext-axi's memory, which pauses on all channels."""
    bench = WriterBench(dut, 2, 0.1)
    bus = AxiWriteBus.from_prefix(dut, bench.PREFIX.removesuffix("_"))
    ram: Any = AxiRamWrite(bus, dut.clk, dut.rst, size=len(bench.contents))
    ram.write(0, bytes(bench.contents))
    pause_channels(ram, {"aw": 0.4, "w": 0.4, "b": 0.4})
    await bench.start(memory=False)
    bench.write(bench.bursts(40))
    while bench.answered < bench.asked:
        await clock_cycles(dut, 1)
    bench.contents[:] = ram.read(0, len(bench.contents))
    await bench.finish()


@cocotb.test()
async def a_beat_per_cycle_with_several_bursts_open(dut: Any) -> None:
    """Full bursts leave without a pause though each answer takes 40 cycles."""
    bench = WriterBench(dut, 3, latency=40)
    await bench.start()
    bench.write([(BURST * at, BURST) for at in range(12)])
    cycles = []

    def watch() -> None:
        if dut.axi__wvalid.value and dut.axi__wready.value:
            cycles.append(cycle())

    each_cycle(dut, watch)
    await bench.finish()
    assert bench.checker.most_writes >= 4
    assert cycles[-1] - cycles[0] == 12 * BURST - 1


@cocotb.test()
async def a_burst_begins_when_its_beats_are_there(dut: Any) -> None:
    """Without its last beat a burst is not offered; with `stop` nor with it."""
    bench = WriterBench(dut, 4)
    await bench.start()
    words = bench.write([(0, BURST)], send=False)
    bench.words.append(words[:-1])
    await clock_cycles(dut, 60)
    assert bench.checker.transfers == {"aw": 0, "w": 0, "b": 0}
    dut.stop.value = 1
    bench.words.append(words[-1:])
    await clock_cycles(dut, 30)
    assert bench.checker.transfers == {"aw": 0, "w": 0, "b": 0}
    assert dut.idle.value == 1
    dut.stop.value = 0
    await bench.finish()


@cocotb.test()
async def errors_are_told_with_their_answer(dut: Any) -> None:
    """A burst with a failed beat pulses `error` once, and later ones are written."""
    bench = WriterBench(dut, 5, 0.1, stall=0.3)
    bad = bench.memory.errors = bench.bad_beats(32)
    await bench.start()
    bursts = bench.bursts(60)
    bench.write(bursts)
    await bench.finish()
    failed = [
        any(at * bench.port in bad for at in range(first, first + beats)) for first, beats in bursts
    ]
    assert 0 < sum(failed) < len(failed)
    assert bench.errors == sum(failed)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.8])
async def stop_ends_what_is_open_and_begins_nothing(dut: Any, stall: float) -> None:
    """With `stop` the bus comes to rest with `idle`; without it everything goes on."""
    bench = WriterBench(dut, 7, stall=stall, latency=10)
    await bench.start()
    bench.write(bench.bursts(60))
    for _ in range(8):
        await bench.stop("aw", 80)
        assert bench.answered == bench.begun
        dut.stop.value = 0
    await bench.finish()
