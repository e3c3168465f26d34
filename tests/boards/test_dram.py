"""Widths between the accelerator's port and the controller's words, against a model of memory."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from litedram.common import LiteDRAMNativePort
from litex.gen.sim import passive, run_simulation

from eightfold.boards.dram import READS, Selector, Splitter

WORDS = 16
"""Of the port, in memory."""


def transfers(rng: np.random.Generator, size: int) -> list[tuple[bool, int, int, int]]:
    """Return runs of writes and reads: whether it writes, address, data, enabled bytes."""
    found = []
    for _ in range(12):
        writes, first = bool(rng.integers(2)), int(rng.integers(WORDS))
        for address in range(first, min(WORDS, first + int(rng.integers(1, 9)))):
            data = int.from_bytes(rng.bytes(size), "little")
            found.append((writes, address, data, int(rng.integers(1 << size))))
    return found


def ask(port: LiteDRAMNativePort, items: list) -> Iterator:
    """Ask as LiteDRAM's AXI frontend does, a command per cycle at best."""
    for number, (writes, address, _, _) in enumerate(items):
        yield port.cmd.valid.eq(1)
        yield port.cmd.we.eq(writes)
        yield port.cmd.addr.eq(address)
        yield port.cmd.last.eq(number % 4 == 3)
        yield
        while not (yield port.cmd.ready):
            yield
    yield port.cmd.valid.eq(0)


def give(port: LiteDRAMNativePort, items: list) -> Iterator:
    """Offer write data, in order, before the command of each."""
    for writes, _, data, enabled in items:
        if writes:
            yield port.wdata.valid.eq(1)
            yield port.wdata.data.eq(data)
            yield port.wdata.we.eq(enabled)
            yield
            while not (yield port.wdata.ready):
                yield
    yield port.wdata.valid.eq(0)


def take(port: LiteDRAMNativePort, count: int, found: list[int]) -> Iterator:
    """Take read data; it always has room, as the frontend reserves it."""
    yield port.rdata.ready.eq(1)
    while len(found) < count:
        yield
        if (yield port.rdata.valid):
            found.append((yield port.rdata.data))
    for _ in range(20):
        yield


@passive
def controller(native: Any, memory: bytearray, rng: np.random.Generator, latency: int) -> Iterator:
    """Answer commands in order, each ``latency`` cycles after it: data is moved in that cycle."""
    size = native.data_width // 8
    waiting: deque[tuple[int, bool, int]] = deque()
    now, moved = 0, False
    while True:
        if moved:  # in the cycle that has passed the port has given its data
            _, _, address = waiting.popleft()
            assert (yield native.wdata.valid)
            data, enabled = (yield native.wdata.data), (yield native.wdata.we)
            for number, byte in enumerate(data.to_bytes(size, "little")):
                if enabled >> number & 1:
                    memory[size * address + number] = byte
        if (yield native.cmd.valid) and (yield native.cmd.ready):
            waiting.append((now + latency, (yield native.cmd.we), (yield native.cmd.addr)))
        due = bool(waiting) and waiting[0][0] <= now
        moved = due and bool(waiting[0][1])
        yield native.wdata.ready.eq(moved)
        yield native.rdata.valid.eq(due and not moved)
        if due and not moved:
            _, _, address = waiting.popleft()
            part = memory[size * address : size * (address + 1)]
            yield native.rdata.data.eq(int.from_bytes(part, "little"))
        room = len(waiting) < READS and rng.integers(4) > 0
        yield native.cmd.ready.eq(int(room))
        yield
        now += 1


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("port", "word"), [(4, 2), (16, 2), (4, 16), (8, 16), (4, 4)])
@pytest.mark.slow
def test_reads_and_writes_are_those_of_memory(port: int, word: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = transfers(rng, port)
    memory = bytearray(rng.bytes(WORDS * port))
    expected, reads = bytearray(memory), []
    for writes, address, data, enabled in items:
        at = port * address
        if not writes:
            reads.append(int.from_bytes(expected[at : at + port], "little"))
        for number, byte in enumerate(data.to_bytes(port, "little") if writes else b""):
            if enabled >> number & 1:
                expected[at + number] = byte
    outer = LiteDRAMNativePort("both", 8, 8 * port)
    native = LiteDRAMNativePort("both", 10, 8 * word)
    unit = (Splitter if port > word else Selector)(outer, native)
    found: list[int] = []
    run_simulation(
        unit,
        [
            ask(outer, items),
            give(outer, items),
            take(outer, len(reads), found),
            controller(native, memory, rng, latency=3),
        ],
    )
    assert found == reads
    assert memory == expected
