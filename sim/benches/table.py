"""Benches of the table against plain indexing.

Parameters: ``ports``, bytes per vector; ``bits``, width of an entry, 32 or 8; ``vectors``, the
length of the random runs.
"""

from typing import Any

import cocotb
import numpy as np
from cocotb.utils import get_sim_time
from numpy.typing import NDArray

from eightfold.hw.table import ENTRIES, Table
from eightfold.isa.packing import pack
from eightfold.isa.streams import TABLE_LOAD_LAYOUT
from eightfold.sim.bench.scoreboard import StreamScoreboard
from eightfold.sim.bench.stream import CLOCK_NS, StreamSink, StreamSource, watchdog
from eightfold.sim.bench.support import parameters, report, rng, start_clock_and_reset


class TableBench:
    """A table with drivers on its three streams, and the entries that have been loaded.

    Attributes
    ----------
    entries
        What the table should hold: int32, shape (256,), in order of the unsigned byte.
    """

    def __init__(self, dut: Any, idle: float = 0.0, stall: float = 0.0) -> None:
        self.dut = dut
        self.ports: int = parameters()["ports"]
        self.bits: int = parameters()["bits"]
        self.loads = StreamSource(dut, "load", idle=idle)
        self.lookups = StreamSource(dut, "i", idle=idle)
        self.sink = StreamSink(dut, "o", stall=stall)
        self.scoreboard = StreamScoreboard(dut)
        self.entries = np.zeros(ENTRIES, dtype=np.int32)
        self.cycles: list[int] = []
        self.sink.add_callback(lambda _: self.cycles.append(cycle()))

    async def start(self, expected: list[int]) -> None:
        """Reset, and expect these words."""
        self.scoreboard.expect(self.sink, expected)
        await start_clock_and_reset(self.dut)
        cocotb.start_soon(watchdog([self.loads, self.lookups, self.sink]))

    def load_words(self, index: NDArray, value: NDArray) -> list[int]:
        """Return the words of some loads, and note what they leave in the table."""
        for one, entry in zip(index, value, strict=True):
            self.entries[one] = entry
        return pack(TABLE_LOAD_LAYOUT, {"index": index, "value": value})

    def lookup_words(self, vectors: NDArray[np.int8]) -> list[int]:
        """Return vectors, shape (n, ports), as words."""
        return [int.from_bytes(vector.tobytes(), "little") for vector in vectors]

    def result_words(self, vectors: NDArray[np.int8]) -> list[int]:
        """Return the words that vectors should give now."""
        found = self.entries[vectors.view(np.uint8)]
        if self.bits == 8:
            found = found.astype(np.int8)
        return [int.from_bytes(row.tobytes(), "little") for row in found]


def cycle() -> int:
    """Return the number of the clock cycle."""
    return int(get_sim_time("ns")) // CLOCK_NS


def random_entries(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return int32 values of all magnitudes, both limits among them."""
    values = generator.integers(-(1 << 31), 1 << 31, count) >> generator.integers(0, 32, count)
    ends = generator.choice([-(1 << 31), (1 << 31) - 1], count)
    return np.where(generator.random(count) < 0.05, ends, values)


def random_vectors(generator: np.random.Generator, count: int, ports: int) -> NDArray[np.int8]:
    """Return vectors of bytes."""
    return generator.integers(-128, 128, (count, ports), dtype=np.int8)


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.3, 0.3), (0.0, 0.7), (0.7, 0.0)]))
async def every_index_on_every_port(dut: Any, idle: float, stall: float) -> None:
    """A full table gives its entries for all 256 bytes on each port, one vector per cycle."""
    bench, generator = TableBench(dut, idle, stall), rng(1)
    loads = bench.load_words(np.arange(ENTRIES), random_entries(generator, ENTRIES))
    vectors = generator.permuted(
        np.tile(np.arange(-128, 128, dtype=np.int8)[:, None], bench.ports), axis=0
    )
    await bench.start(bench.result_words(vectors))
    await bench.loads.send(loads)
    bench.lookups.append(bench.lookup_words(vectors))
    await bench.scoreboard.finish()
    if not idle and not stall:
        assert bench.cycles[-1] - bench.cycles[0] == len(vectors) - 1


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.4, 0.0), (0.2, 0.6)]))
async def lookups_see_the_loads_before_them(dut: Any, idle: float, stall: float) -> None:
    """Bursts of loads and lookups in turn: each lookup sees exactly the loads before it."""
    bench, generator = TableBench(dut, idle, stall), rng(2)
    bursts = [(bench.load_words(np.arange(ENTRIES), random_entries(generator, ENTRIES)), [])]
    expected, sent = [], 0
    while sent < parameters()["vectors"]:
        # Few indices, so that a load is looked up at once, and often by several ports.
        index = generator.integers(0, 4, generator.integers(1, 4))
        loads = bench.load_words(index, random_entries(generator, len(index)))
        vectors = random_vectors(generator, int(generator.integers(1, 6)), bench.ports) & 3
        bursts.append((loads, bench.lookup_words(vectors)))
        expected += bench.result_words(vectors)
        sent += len(vectors)
    await bench.start(expected)
    for loads, lookups in bursts:
        await bench.loads.send(loads)
        await bench.lookups.send(lookups)
    await bench.scoreboard.finish()


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), [(0.0, 0.0), (0.5, 0.5), (0.1, 0.9)]))
async def loads_of_other_entries_disturb_nothing(dut: Any, idle: float, stall: float) -> None:
    """Loads at any time, into one half of the table, while the other half is looked up."""
    bench, generator = TableBench(dut, idle, stall), rng(3)
    count = parameters()["vectors"]
    loads = bench.load_words(np.arange(ENTRIES), random_entries(generator, ENTRIES))
    vectors = random_vectors(generator, count, bench.ports) & 127
    await bench.start(bench.result_words(vectors))
    await bench.loads.send(loads)
    bench.loads.idle = 0.6
    index = generator.integers(128, ENTRIES, count)
    bench.loads.append(bench.load_words(index, random_entries(generator, count)))
    bench.lookups.append(bench.lookup_words(vectors))
    await bench.scoreboard.finish()


@cocotb.test()
async def a_vector_comes_after_the_stated_latency(dut: Any) -> None:
    """A lone vector's entries transfer `Table.LATENCY` cycles after it."""
    bench, generator = TableBench(dut), rng(4)
    loads = bench.load_words(np.arange(ENTRIES), random_entries(generator, ENTRIES))
    vectors = random_vectors(generator, 1, bench.ports)
    await bench.start(bench.result_words(vectors))
    await bench.loads.send(loads)
    await bench.lookups.send(bench.lookup_words(vectors))
    accepted = cycle()
    await bench.scoreboard.finish()
    report({"latency": bench.cycles[0] - accepted})
    assert bench.cycles[0] - accepted == Table.LATENCY
