"""Benches of `eightfold.hw.memory.reader.MemoryReader`: clients on one side, AXI4 memory on the
other.

Parameters: ``port``, bytes of a beat; ``clients``; ``outstanding``, bursts at a time.
"""

from typing import Any

import cocotb
import numpy as np
from cocotbext.axi import AxiRamRead, AxiReadBus

from eightfold.hw.ports import BURST, burst_layout
from eightfold.sim.bench import support
from eightfold.sim.bench.axi import PAUSES, AxiBench
from eightfold.sim.bench.stream import StreamSource, pack


class Client:
    """Sends requests on one port, and compares every beat that it gets."""

    def __init__(self, dut: Any, number: int, idle: float) -> None:
        name = f"clients__{number}__"
        self.requests = StreamSource(dut, f"{name}request", idle=idle)
        self.number = number
        self.expected: list[int] = []
        self.beats = 0
        self.cycles: list[int] = []
        self._valid, self._data = getattr(dut, f"{name}valid"), getattr(dut, f"{name}data")

    def compare(self) -> None:
        """Compare the beat of this cycle, if there is one."""
        if self._valid.value:
            where = f"client {self.number}, beat {self.beats}"
            assert self.beats < len(self.expected), f"{where}: nobody asked for it"
            got = int(self._data.value)
            expected = self.expected[self.beats]
            assert got == expected, f"{where} differs: got {got:#x}, expected {expected:#x}"
            self.beats += 1
            self.cycles.append(support.cycle())


class ReaderBench(AxiBench):
    """A reader, its clients and its memory."""

    def __init__(self, dut: Any, stream: int, idle: float = 0.0, **memory: Any) -> None:
        self.clients = [
            Client(dut, number, idle) for number in range(support.parameters()["clients"])
        ]
        super().__init__(dut, 1024, stream, [each.requests for each in self.clients], **memory)

    async def start(self, memory: bool = True) -> None:
        """Reset, and start everything that runs by itself."""
        await super().start(memory)
        for client in self.clients:
            support.each_cycle(self.dut, client.compare)

    def ask(self, client: Client, bursts: list[tuple[int, int]]) -> None:
        """Queue requests of (first beat, beats)."""
        for first, beats in bursts:
            for at in range(first, first + beats):
                word = self.contents[at * self.port : (at + 1) * self.port]
                client.expected.append(int.from_bytes(word, "little"))
        first, beats = (np.array(column) for column in zip(*bursts, strict=True))
        client.requests.append(pack(burst_layout(), {"address": first * self.port, "beats": beats}))

    def ask_all(self, count: int) -> None:
        """Queue so many random requests of each client."""
        for client in self.clients:
            self.ask(client, self.bursts(count))

    async def finish(self) -> None:
        """Wait for all beats, and that nothing is left."""
        while any(client.beats < len(client.expected) for client in self.clients):
            await support.clock_cycles(self.dut, 1)
        await self.rest()


@cocotb.test()
@cocotb.parametrize(PAUSES)
async def every_client_gets_its_beats(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Random bursts of all clients at once, each beat to whom it belongs."""
    bench = ReaderBench(dut, 1, idle, stall=stall, latency=latency)
    await bench.start()
    bench.ask_all(40)
    await bench.finish()
    support.report({"most": bench.checker.most_reads})


@cocotb.test()
async def agrees_with_another_model_of_memory(dut: Any) -> None:
    """The same with cocotbext-axi's memory, which pauses on both channels."""
    bench = ReaderBench(dut, 2, 0.2)
    bus = AxiReadBus.from_prefix(dut, bench.PREFIX.removesuffix("_"))
    ram = AxiRamRead(bus, dut.clk, dut.rst, size=len(bench.contents))
    ram.write(0, bytes(bench.contents))
    support.pause_channels(ram, {"ar": 0.4, "r": 0.4})
    await bench.start(memory=False)
    bench.ask_all(20)
    await bench.finish()


@cocotb.test()
async def a_beat_per_cycle_behind_a_latency_of_40(dut: Any) -> None:
    """Full bursts of all clients in turn: no cycle without a beat."""
    bench = ReaderBench(dut, 0, latency=40)
    await bench.start()
    for client in bench.clients:
        bench.ask(client, [(BURST * at, BURST) for at in range(12)])
    await bench.finish()
    cycles = sorted(cycle for client in bench.clients for cycle in client.cycles)
    assert cycles[-1] - cycles[0] == len(cycles) - 1
    finished = [client.cycles[-1] for client in bench.clients]
    assert max(finished) - min(finished) == BURST * (len(bench.clients) - 1)


@cocotb.test()
async def a_request_per_cycle(dut: Any) -> None:
    """As many single beats as may be outstanding are asked for in as many cycles."""
    bench = ReaderBench(dut, 0, latency=100)
    count = support.parameters()["outstanding"]
    await bench.start()
    bench.ask(bench.clients[0], [(at, 1) for at in range(2 * count)])
    for wait in (count + 4, 20):
        await support.clock_cycles(dut, wait)
        assert bench.checker.transfers["ar"] == count
    await bench.finish()


@cocotb.test()
async def errors_are_told_with_their_beat(dut: Any) -> None:
    """Each error answer pulses `error` for its client, and all beats come nevertheless."""
    bench = ReaderBench(dut, 3, 0.1, stall=0.3)
    bad = bench.memory.errors = bench.bad_beats(8)
    await bench.start()
    expected = []
    told = []
    for client in bench.clients:
        bursts = bench.bursts(20)
        bench.ask(client, bursts)
        places = [at * bench.port for first, beats in bursts for at in range(first, first + beats)]
        expected += [(client.number, beat) for beat, at in enumerate(places) if at in bad]

    def watch() -> None:
        if dut.error.value:
            client = bench.clients[int(dut.error_client.value)]
            assert getattr(dut, f"clients__{client.number}__valid").value
            # The client may have counted this edge's beat already.
            told.append((client.number, client.beats - (client.cycles[-1:] == [support.cycle()])))

    support.each_cycle(dut, watch)
    await bench.finish()
    assert expected and sorted(told) == sorted(expected)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.8])
async def stop_ends_what_is_open_and_begins_nothing(dut: Any, stall: float) -> None:
    """With `stop` the bus comes to rest with `idle`; without it everything goes on."""
    bench = ReaderBench(dut, 5, stall=stall, latency=10)
    await bench.start()
    bench.ask_all(30)
    for _ in range(8):
        await bench.stop("ar", 60)
        dut.stop.value = 0
    await bench.finish()
