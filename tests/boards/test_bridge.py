"""The bridge between bytes and a bus: whatever a line does, each access once, and no wrong word."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("litex", reason="LiteX is not installed: pip install 'eightfold[board]'")

from litex.gen.sim import passive, run_simulation

from eightfold.boards import bridge, protocol

WORDS = 256
"""Of memory."""

BASE = 0x40000000
SILENT = 100
"""Cycles after which a host takes an answer for lost, and what a word adds to them."""
SLOW = 8


def slave(bus: Any, memory: list[int], writes: list[int], rng: np.random.Generator) -> Iterator:
    """Answer accesses to memory after a while, and count writes by address."""
    while True:
        if (yield bus.cyc) and (yield bus.stb):
            place = (yield bus.adr) - BASE // 4
            assert 0 <= place < WORDS  # nobody asks for others
            for _ in range(rng.integers(3)):
                yield
            if (yield bus.we):
                memory[place] = yield bus.dat_w
                writes[place] += 1
            yield bus.dat_r.eq(memory[place])
            yield bus.ack.eq(1)
            yield
            yield bus.ack.eq(0)
        yield


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Lose, double or change bytes, at least one."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(found)))
        kind = rng.integers(4)
        if kind == 0 and len(found) > 1:
            del found[at]
        elif kind == 1:
            found.insert(at, found[at])
        elif kind == 2:
            found[at] ^= 1 << rng.integers(8)
        else:
            found[at] = (protocol.END, protocol.ESCAPE)[rng.integers(2)]
    return bytes(found)


def requests(
    rng: np.random.Generator, count: int, whole: int
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield operation, address in words, and data, of which a read has so many; one is whole."""
    odd = [0xC0C0DBDB, 0xDCDDC0DB, 0, 0xFFFFFFFF]
    for number in range(count):
        size = protocol.LIMIT if number == whole else int(rng.integers(1, 5))
        data = [int(v) for v in rng.integers(1 << 32, size=size)]
        data[: 2 if size > 1 else 0] = [int(v) for v in rng.choice(odd, 2 if size > 1 else 0)]
        yield int(number and rng.integers(2)), int(rng.integers(WORDS - size)), data


class Host:
    """Asks until it is answered, over a line with faults, and keeps what the answers say."""

    def __init__(self, unit: Any, rng: np.random.Generator, faults: float) -> None:
        self._unit, self._rng, self._faults = unit, rng, faults
        self._bytes = bytearray()
        self.found: list[list[int]] = []
        self.repeats = 0

    def _line(self, data: bytes) -> bytes:
        return damaged(data, self._rng) if self._rng.random() < self._faults else data

    def listen(self) -> Iterator:
        """Take bytes, not in every cycle."""
        source = self._unit.source
        while True:
            ready = self._rng.integers(4) > 0
            yield source.ready.eq(int(ready))
            yield
            if ready and (yield source.valid):
                self._bytes.append((yield source.data))

    def talk(self, asked: list[tuple[int, int, list[int]]]) -> Iterator:
        """Make each request, and repeat it until its answer is right."""
        for sequence, (operation, address, data) in enumerate(asked):
            packed = np.array(data, "<u4").tobytes() if operation == protocol.WRITE else b""
            head = (len(data), sequence, BASE + 4 * address)
            answer = None
            while answer is None:
                yield from self._send(self._line(protocol.encode(operation, *head, packed)))
                answer = yield from self._answer(head)
                self.repeats += answer is None
            self.found.append(np.frombuffer(answer, "<u4").tolist())

    def _send(self, data: bytes) -> Iterator:
        self._bytes.clear()
        for each in data:
            yield self._unit.sink.valid.eq(1)
            yield self._unit.sink.data.eq(each)
            yield
            yield self._unit.sink.valid.eq(0)
            for _ in range(self._rng.integers(3)):
                yield

    def _answer(self, head: tuple[int, int, int]) -> Any:
        silent, seen = 0, 0
        while silent < SILENT + SLOW * head[0]:
            yield
            silent, seen = silent + 1 if seen == len(self._bytes) else 0, len(self._bytes)
            if self._bytes[-1:] == bytes([protocol.END]):
                heard = self._line(bytes(self._bytes))
                for frame in heard.split(bytes([protocol.END])):
                    if (got := protocol.decode(frame)) and got[:4] == (protocol.DONE, *head):
                        return got[4]
                self._bytes.clear()
        return None


def campaign(module: Any, seed: int, count: int, faults: float, whole: int = -1) -> Host:
    """Run requests over a bridge, and compare reads, memory and the number of writes."""
    rng = np.random.default_rng(seed)
    unit = module.Bridge()
    memory = [int(v) for v in rng.integers(1 << 32, size=WORDS)]
    model, expected = memory.copy(), []
    writes, due = [0] * WORDS, [0] * WORDS
    asked = [*requests(rng, count, whole)]
    for operation, address, data in asked:
        span = slice(address, address + len(data))
        expected.append([] if operation == protocol.WRITE else model[span])
        if operation == protocol.WRITE:
            model[span] = data
            due[span] = [each + 1 for each in due[span]]
    host = Host(unit, rng, faults)
    processes = [host.talk(asked), passive(lambda: slave(unit.bus, memory, writes, rng))()]
    run_simulation(unit, [*processes, passive(host.listen)()])
    assert host.found == expected
    assert memory == model
    assert writes == due
    return host


@pytest.mark.parametrize("seed", [1])
@pytest.mark.slow
def test_a_good_line_needs_no_repeat(seed: int) -> None:
    assert campaign(bridge, seed, 8, 0.0, whole=seed).repeats == 0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usual
@pytest.mark.slow
def test_a_bad_line_costs_repeats_alone(seed: int) -> None:
    assert campaign(bridge, seed, 24, 0.3).repeats > 5


MUTANTS = [
    ("(crc == _RESIDUE)", "(crc == crc)"),
    ("right & ~(known & (performed == head))", "right"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), MUTANTS)
def test_a_broken_bridge_is_seen(old: str, new: str) -> None:
    mutant = ModuleType("mutant")
    text = Path(str(bridge.__file__)).read_text("utf-8")
    assert text.count(old) == 1
    exec(compile(text.replace(old, new), "mutant", "exec"), mutant.__dict__)
    with pytest.raises(AssertionError):
        campaign(mutant, 0, 20, 0.5)


def test_what_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "PATIENCE", 64)
    unit = bridge.Bridge()
    heard = bytearray()

    def host() -> Iterator:
        yield unit.source.ready.eq(1)
        for each in protocol.encode(protocol.READ, 2, 7, 0):
            yield unit.sink.valid.eq(1)
            yield unit.sink.data.eq(each)
            yield
        yield unit.sink.valid.eq(0)
        while heard[-1:] != bytes([protocol.END]):
            yield
            if (yield unit.source.valid):
                heard.append((yield unit.source.data))

    run_simulation(unit, [host()])
    assert protocol.decode(bytes(heard[:-1])) == (protocol.BUS_ERROR, 2, 7, 0, b"")
