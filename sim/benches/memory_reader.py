"""Benches of `eightfold.hw.memory.reader.MemoryReader`: clients on one side, AXI4 memory on the
other.

Parameters: ``port``, bytes of a beat; ``clients``; ``outstanding``, bursts at a time.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiRamRead, AxiReadBus

from eightfold.hw.ports import BURST, burst_layout
from eightfold.sim.bench.axi import AxiChecker, AxiMemory, random_bursts
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

BEATS = 1024
"""The beats of memory."""

PREFIX = "axi__"


class Client:
    """Sends requests on one port, and compares every beat that it gets."""

    def __init__(self, dut: Any, number: int, idle: float) -> None:
        self.requests = StreamSource(dut, f"clients__{number}__request", idle=idle)
        self.number = number
        self.expected = []
        self.beats = 0
        self.cycles: list[int] = []
        self._dut = dut
        name = f"clients__{number}__"
        self._valid, self._data = getattr(dut, f"{name}valid"), getattr(dut, f"{name}data")

    async def run(self) -> None:
        """Compare beats; start it with ``cocotb.start_soon``."""
        edge = RisingEdge(self._dut.clk)
        while True:
            await edge
            if self._valid.value:
                where = f"client {self.number}, beat {self.beats}"
                assert self.beats < len(self.expected), f"{where}: nobody asked for it"
                got = int(self._data.value)
                expected = self.expected[self.beats]
                assert got == expected, f"{where} differs: got {got:#x}, expected {expected:#x}"
                self.beats += 1
                self.cycles.append(cycle())


class ReaderBench:
    """A reader, its clients and its memory."""

    def __init__(self, dut: Any, idle: float, **memory: Any) -> None:
        self.dut = dut
        self.port: int = parameters()["port"]
        self.contents = bytearray(rng(0).bytes(BEATS * self.port))
        self.checker = AxiChecker(dut, PREFIX, self.port)
        self.memory = AxiMemory(dut, PREFIX, self.contents, self.port, **memory)
        self.clients = [Client(dut, number, idle) for number in range(parameters()["clients"])]
        dut.stop.value = 0

    async def start(self, memory: bool = True) -> None:
        """Reset, and start everything that runs by itself."""
        await start_clock_and_reset(self.dut)
        if memory:
            cocotb.start_soon(self.memory.read())
        cocotb.start_soon(self.checker.run())
        for client in self.clients:
            cocotb.start_soon(client.run())
        cocotb.start_soon(watchdog([client.requests for client in self.clients], 4000))

    def ask(self, client: Client, bursts: list[tuple[int, int]]) -> None:
        """Queue requests of (first beat, beats)."""
        for first, beats in bursts:
            for at in range(first, first + beats):
                word = self.contents[at * self.port : (at + 1) * self.port]
                client.expected.append(int.from_bytes(word, "little"))
        first, beats = (np.array(column) for column in zip(*bursts, strict=True))
        client.requests.append(pack(burst_layout(), {"address": first * self.port, "beats": beats}))

    async def finish(self) -> None:
        """Wait for all beats, and that nothing is left."""
        while any(client.beats < len(client.expected) for client in self.clients):
            await clock_cycles(self.dut, 1)
        await clock_cycles(self.dut, 4)
        assert self.dut.idle.value == 1
        assert self.checker.idle


@cocotb.test()
@cocotb.parametrize(
    (("idle", "stall", "latency"), [(0.0, 0.0, 1), (0.0, 0.6, 1), (0.5, 0.3, 20), (0.0, 0.9, 3)])
)
async def every_client_gets_its_beats(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Random bursts of all clients at once, each beat to whom it belongs."""
    bench = ReaderBench(dut, idle, stall=stall, latency=latency)
    generator = rng(1)
    await bench.start()
    for client in bench.clients:
        bench.ask(client, random_bursts(generator, BEATS, 40))
    await bench.finish()
    report({"most": bench.checker.most_reads})


@cocotb.test()
async def agrees_with_another_model_of_memory(dut: Any) -> None:
    """The same with cocotbext-axi's memory, which pauses on both channels."""
    bench = ReaderBench(dut, 0.2)
    generator = rng(2)
    bus = AxiReadBus.from_prefix(dut, PREFIX.removesuffix("_"))
    ram = AxiRamRead(bus, dut.clk, dut.rst, size=len(bench.contents))
    ram.write(0, bytes(bench.contents))
    pause_channels(ram, {"ar": 0.4, "r": 0.4})
    await bench.start(memory=False)
    for client in bench.clients:
        bench.ask(client, random_bursts(generator, BEATS, 20))
    await bench.finish()


@cocotb.test()
async def a_beat_per_cycle_behind_a_latency_of_40(dut: Any) -> None:
    """Full bursts of all clients in turn: no cycle without a beat."""
    bench = ReaderBench(dut, 0.0, latency=40)
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
    bench = ReaderBench(dut, 0.0, latency=100)
    count = parameters()["outstanding"]
    await bench.start()
    bench.ask(bench.clients[0], [(at, 1) for at in range(2 * count)])
    await clock_cycles(dut, count + 4)
    assert bench.checker.transfers["ar"] == count
    await clock_cycles(dut, 20)
    assert bench.checker.transfers["ar"] == count
    await bench.finish()


@cocotb.test()
async def errors_are_told_with_their_beat(dut: Any) -> None:
    """Each error answer pulses `error` for its client, and all beats come nevertheless."""
    port = parameters()["port"]
    bad = frozenset(int(at) * port for at in rng(3).choice(BEATS, BEATS // 8, replace=False))
    bench = ReaderBench(dut, 0.1, stall=0.3, errors=bad)
    generator = rng(4)
    edge = RisingEdge(dut.clk)
    await bench.start()
    expected = []
    told = []
    for client in bench.clients:
        bursts = random_bursts(generator, BEATS, 20)
        bench.ask(client, bursts)
        places = [at * port in bad for first, beats in bursts for at in range(first, first + beats)]
        expected += [(client.number, beat) for beat, wrong in enumerate(places) if wrong]

    async def watch() -> None:
        while True:
            await edge
            if dut.error.value:
                number = int(dut.error_client.value)
                assert getattr(dut, f"clients__{number}__valid").value
                told.append((number, bench.clients[number].beats - counted(number)))

    def counted(number: int) -> int:
        # The client's own task may have counted this edge's beat already.
        now = cycle()
        cycles = bench.clients[number].cycles
        return int(bool(cycles) and cycles[-1] == now)

    cocotb.start_soon(watch())
    await bench.finish()
    assert expected and sorted(told) == sorted(expected)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.8])
async def stop_ends_what_is_open_and_begins_nothing(dut: Any, stall: float) -> None:
    """With `stop` the bus comes to rest with `idle`; without it everything goes on."""
    bench = ReaderBench(dut, 0.0, stall=stall, latency=10)
    generator = rng(5)
    await bench.start()
    for client in bench.clients:
        bench.ask(client, random_bursts(generator, BEATS, 30))
    for _ in range(8):
        await clock_cycles(dut, int(generator.integers(1, 60)))
        dut.stop.value = 1
        await clock_cycles(dut, 1)
        taken = sum(client.requests.transfers for client in bench.clients)
        for _ in range(3000):
            await clock_cycles(dut, 1)
            if dut.idle.value:
                break
        assert dut.idle.value == 1
        assert bench.checker.idle
        await clock_cycles(dut, 20)
        assert dut.idle.value == 1
        assert sum(client.requests.transfers for client in bench.clients) - taken <= 1
        assert bench.checker.transfers["ar"] == sum(c.requests.transfers for c in bench.clients)
        dut.stop.value = 0
    await bench.finish()
