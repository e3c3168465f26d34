"""Benches of the AXI memory: against an independent master, and its own promises.

Parameters: ``port``, bytes of a beat.
"""

import itertools
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

from eightfold.sim.bench import support
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.simulator.memory_image import CHANNELS, read_hex, timing_signals, write_hex
from eightfold.target.memory import IDEAL, PROFILES, DataBus, MemoryTiming, Way

BASE = 0x7F000000
BYTES = 1 << 16
MASTER_SIGNALS = (
    *(f"{channel}{name}" for channel in ("ar", "aw") for name in ("id", "addr", "len", "valid")),
    *("wdata", "wstrb", "wlast", "wvalid", "rready", "bready"),
)


class MemoryBench:
    """The memory, its settings, and what it should hold.

    ``contents``: the bytes from ``BASE`` on.
    """

    def __init__(self, dut: Any, stall: int = 0, timing: MemoryTiming = IDEAL) -> None:
        self.dut = dut
        self.port: int = support.parameters()["port"]
        self.contents = support.rng(1).integers(0, 256, BYTES, dtype=np.uint8)
        settings = {
            **dict.fromkeys(("read_error_low", "read_error_high", "load", "dump"), 0),
            **dict.fromkeys(("write_error_low", "write_error_high"), 0),
            "base": BASE,
            **timing_signals(timing, self.port),
            "stall": int.from_bytes([stall] * 5, "little"),
            "seed": 5,
            "arena_low": BASE,
            "arena_high": BASE + BYTES,
            "dump_words": BYTES // self.port,
        }
        for name, value in settings.items():
            getattr(dut, name).value = value

    async def start(self) -> None:
        """Reset and load ``contents``."""
        await support.start_clock_and_reset(self.dut)
        write_hex(Path("load.hex"), self.port, {0: self.contents.tobytes()})
        await self.strobe("load")

    async def strobe(self, name: str) -> None:
        """Raise ``load`` or ``dump`` for a cycle."""
        signal = getattr(self.dut, name)
        signal.value = 1
        await support.clock_cycles(self.dut, 1)
        signal.value = 0
        await support.clock_cycles(self.dut, 2)

    async def start_hand_driven(self) -> None:
        """Start with legal values at the master's side, where nothing is offered."""
        size = self.port.bit_length() - 1
        constants = {"arsize": size, "awsize": size, "arburst": 1, "awburst": 1}
        for name, value in (dict.fromkeys(MASTER_SIGNALS, 0) | constants).items():
            getattr(self.dut, f"s_axi_{name}").value = value
        await self.start()

    async def offer(self, channel: str, **payload: int) -> None:
        """Offer a payload on a channel until it is taken."""
        for name, value in payload.items():
            getattr(self.dut, f"s_axi_{channel}{name}").value = value
        valid = getattr(self.dut, f"s_axi_{channel}valid")
        ready = getattr(self.dut, f"s_axi_{channel}ready")
        valid.value = 1
        await RisingEdge(self.dut.clk)
        while not int(ready.value):
            await RisingEdge(self.dut.clk)
        valid.value = 0

    async def cycles_until(self, name: str) -> int:
        """Return how many edges it takes until a signal is 1 at one."""
        for count in itertools.count(1):
            await RisingEdge(self.dut.clk)
            if int(getattr(self.dut, f"s_axi_{name}").value):
                return count
        raise AssertionError


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stall=[0, 100])
async def agrees_with_an_independent_master(dut: Any, stall: int) -> None:
    """Reads and writes of any length, stalls on every channel, then a dump."""
    bench = MemoryBench(dut, stall)
    generator = support.rng(2)
    master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    support.pause_channels(master, dict.fromkeys(CHANNELS, 0.3 if stall else 0.0))
    await bench.start()
    for _ in range(60):
        length = int(generator.integers(1, 60 * bench.port))
        address = int(generator.integers((BYTES - length) // bench.port)) * bench.port
        part = slice(address, address + length)
        if generator.integers(2):
            bench.contents[part] = generator.integers(0, 256, length, dtype=np.uint8)
            await master.write(BASE + address, bench.contents[part].tobytes())
        else:
            got: Any = await master.read(BASE + address, length)
            data = np.frombuffer(got.data, np.uint8)
            assert_equal_bytes(f"read from {address}: byte", data, bench.contents[part])
    await bench.strobe("dump")
    assert_equal_bytes("dump: byte", read_hex(Path("dump.hex"), bench.port), bench.contents)
    assert (int(dut.outside.value), int(dut.violations.value)) == (0, 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def answers_errors(dut: Any) -> None:
    """SLVERR in the ranges, DECERR outside of the memory; nothing is written there."""
    bench = MemoryBench(dut)
    master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    dut.read_error_low.value, dut.read_error_high.value = BASE + 1024, BASE + 1088
    dut.write_error_low.value, dut.write_error_high.value = BASE + 2048, BASE + 2112
    dut.arena_high.value = BASE + 4096
    await bench.start()
    for address, read, write in [
        (1024, AxiResp.SLVERR, AxiResp.OKAY),
        (2048, AxiResp.OKAY, AxiResp.SLVERR),
        (BYTES, AxiResp.DECERR, AxiResp.DECERR),
        (-bench.port, AxiResp.DECERR, AxiResp.DECERR),
        (8192, AxiResp.OKAY, AxiResp.OKAY),
    ]:
        data = bytes(range(bench.port))
        answers: list[Any] = [
            await master.read(BASE + address, bench.port),
            await master.write(BASE + address, data),
        ]
        assert [answer.resp for answer in answers] == [read, write]
        if write == AxiResp.OKAY:
            bench.contents[address : address + bench.port] = list(data)
    await bench.strobe("dump")
    assert_equal_bytes("dump: byte", read_hex(Path("dump.hex"), bench.port), bench.contents)
    assert (int(dut.outside.value), int(dut.violations.value)) == (3, 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(latency=[1, 20])
async def reads_have_the_stated_latency_and_rate(dut: Any, latency: int) -> None:
    """The first beat comes ``latency`` cycles after its address, then one every cycle."""
    bench = MemoryBench(dut, timing=MemoryTiming(latency=latency))
    await bench.start_hand_driven()
    dut.s_axi_rready.value = 1
    first = cocotb.start_soon(bench.cycles_until("rvalid"))
    bursts, beats = 16, 16

    async def ask() -> None:
        for burst in range(bursts):
            await bench.offer("ar", addr=BASE + burst * beats * bench.port, len=beats - 1)

    sent = cocotb.start_soon(ask())
    assert await first == 1 + latency
    seen = 1
    while seen < bursts * beats:
        await RisingEdge(dut.clk)
        assert int(dut.s_axi_rvalid.value)
        assert int(dut.s_axi_rlast.value) == (seen % beats == beats - 1)
        seen += 1
    await sent


TIMINGS = [
    MemoryTiming(latency=3, shared=True, bytes_per_cycle=256),
    MemoryTiming(latency=17, shared=True, bytes_per_cycle=256, turnaround=5),
    MemoryTiming(latency=1, shared=True, bytes_per_cycle=256, row=64, banks=2, row_miss=9),
    MemoryTiming(latency=9, shared=True, bytes_per_cycle=256, refresh=11, refresh_every=70),
    MemoryTiming(latency=9, shared=True, bytes_per_cycle=1.5, burst=32),
    *PROFILES.values(),
]
"""Each field alone, and all of them."""


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(number=range(len(TIMINGS)))
async def every_burst_comes_when_it_is_said_to(dut: Any, number: int) -> None:
    """Bursts of both ways, at any time: every beat and answer in the cycle of `DataBus`."""
    timing = TIMINGS[number]
    bench = MemoryBench(dut, timing=timing)
    seen = {name: [] for name in ("ar", "aw", "r", "b")}
    watched = 0

    def watch() -> None:
        """Note the cycles, counted from reset on, in which channels transfer."""
        nonlocal watched
        watched = 0 if int(dut.rst.value) else watched + 1
        for name, cycles in seen.items():
            ends = (getattr(dut, f"s_axi_{name}{end}").value for end in ("valid", "ready"))
            if watched and all(map(int, ends)):
                cycles.append(watched)

    support.each_cycle(dut, watch)
    await bench.start_hand_driven()
    dut.s_axi_rready.value = dut.s_axi_bready.value = 1
    generator = support.rng(7 + number)
    kinds = [str(kind) for kind in generator.choice(["ar", "aw"], 60)]
    sizes = generator.choice([1, 2, 3, 8], 60).tolist()
    addresses = [
        BASE + int(generator.integers(BYTES // 128)) * 128 + int(generator.integers(4)) * bench.port
        for _ in kinds
    ]
    for kind, size in zip(kinds, sizes, strict=True):
        for beat in range(size if kind == "aw" else 0):
            await bench.offer("w", data=0, strb=0, last=beat == size - 1)
    asked = [cocotb.start_soon(_ask(bench, kind, kinds, sizes, addresses)) for kind in ("ar", "aw")]
    for each in asked:
        await each
    await support.clock_cycles(dut, 60 * (8 * timing.pace(bench.port) // 16 + 20) + timing.latency)
    expected: dict[str, list[int]] = {"r": [], "b": []}
    shared = DataBus(timing, bench.port)
    buses = {"ar": shared, "aw": shared if timing.shared else DataBus(timing, bench.port)}
    left = {kind: [i for i, k in enumerate(kinds) if k == kind] for kind in ("ar", "aw")}
    # What came first, reads before writes of the same cycle.
    for cycle, kind in sorted((cycle, name) for name in left for cycle in seen[name]):
        index = left[kind].pop(0)
        way = Way.READ if kind == "ar" else Way.WRITE
        burst = buses[kind].serve(way, cycle + timing.latency, addresses[index], sizes[index])
        if kind == "ar":
            expected["r"] += [burst.beat(beat) for beat in range(sizes[index])]
        else:
            expected["b"].append(burst.beat(sizes[index] - 1) + 1)
    assert {name: seen[name] for name in expected} == expected


async def _ask(
    bench: MemoryBench, channel: str, kinds: list[str], sizes: list[int], addresses: list[int]
) -> None:
    generator = support.rng(100 + len(channel) + len(kinds))
    for kind, size, address in zip(kinds, sizes, addresses, strict=True):
        if kind == channel:
            await bench.offer(channel, addr=address, len=size - 1)
            if generator.random() < 0.5:
                await support.clock_cycles(bench.dut, int(generator.choice([1, 5, 60])))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def writes_are_there_when_they_are_answered(dut: Any) -> None:
    """Data may come before its address; until shortly before the answer the old bytes are read."""
    bench = MemoryBench(dut, timing=MemoryTiming(latency=30))
    await bench.start_hand_driven()
    dut.s_axi_rready.value = dut.s_axi_bready.value = 1
    ones = (1 << 8 * bench.port) - 1
    await bench.offer("w", data=ones, strb=(1 << bench.port) - 2, last=1)
    await support.clock_cycles(dut, 5)
    answered = cocotb.start_soon(bench.cycles_until("bvalid"))
    await bench.offer("aw", addr=BASE, len=0)
    dut.latency.value = 1
    await bench.offer("ar", addr=BASE, len=0)
    await bench.cycles_until("rvalid")
    before = int.from_bytes(bench.contents[: bench.port].tobytes(), "little")
    assert int(dut.s_axi_rdata.value) == before
    assert await answered == 1 + 30 + 1
    await bench.offer("ar", addr=BASE, len=0)
    await bench.cycles_until("rvalid")
    assert int(dut.s_axi_rdata.value) == ones - 255 + before % 256


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize((("channel", "room"), [("ar", 64), ("aw", 32), ("w", 512)]))
async def takes_no_more_than_it_has_room_for(dut: Any, channel: str, room: int) -> None:
    """A channel is not ready when its queue is full, as long as nothing leaves it."""
    bench = MemoryBench(dut, timing=MemoryTiming(latency=2000))
    await bench.start_hand_driven()
    ready = getattr(dut, f"s_axi_{channel}ready")
    taken = 0
    if channel != "w":
        getattr(dut, f"s_axi_{channel}addr").value = BASE
    getattr(dut, f"s_axi_{channel}valid").value = 1
    for _ in range(room + 100):
        await RisingEdge(dut.clk)
        taken += int(ready.value)
    assert taken == room


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_violations(dut: Any) -> None:
    """Every broken rule is counted."""
    bench = MemoryBench(dut)
    await bench.start_hand_driven()
    port = bench.port
    count = 0
    dut.s_axi_rready.value = dut.s_axi_bready.value = 1
    for channel in ("ar", "aw"):
        await bench.offer(channel, addr=BASE + 4096 - port, len=1)
        await bench.offer(channel, addr=BASE + 1, len=0)
        await bench.offer(channel, addr=BASE, len=0, burst=0)
        await bench.offer(channel, addr=BASE, len=0, burst=1, size=0)
        getattr(dut, f"s_axi_{channel}size").value = port.bit_length() - 1
        await support.clock_cycles(dut, 2)
        count += 4
        assert int(dut.violations.value) == count
    for _ in range(5):
        await bench.offer("w", data=0, strb=0, last=0)
    await support.clock_cycles(dut, 60)
    count += 4  # the second beat of the first burst has no WLAST either
    assert int(dut.violations.value) == count
    dut.stall.value = 0xFFFFFFFFFF
    await support.clock_cycles(dut, 3)
    for channel, field in (("ar", "addr"), ("aw", "len"), ("w", "data")):
        getattr(dut, f"s_axi_{channel}valid").value = 1
        await support.clock_cycles(dut, 2)
        getattr(dut, f"s_axi_{channel}{field}").value = 7 * port
        await support.clock_cycles(dut, 4)
        getattr(dut, f"s_axi_{channel}valid").value = 0
        await support.clock_cycles(dut, 4)
        count += 2  # moved, and dropped
        assert int(dut.violations.value) == count, channel
