"""What benches of the vector engine need: a scratchpad that stalls at random, and the model."""

from collections import deque
from copy import copy
from functools import partial
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from eightfold.hw.vector.engine import STATUS_LAYOUT
from eightfold.hw.vector.words import table_load_layout
from eightfold.isa import VECTOR
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.stream import StreamSource
from eightfold.sim.bench.support import (
    configuration,
    parameters,
    rng,
    stall_rng,
    start_clock_and_reset,
)
from eightfold.sim.bench.words import pack
from eightfold.sim.machine.explain import explain_vector
from eightfold.sim.machine.vector import RowState, run_vector
from eightfold.sim.stimuli.vector import Fields

ENTRIES = 256


class VectorBench:
    """The engine, a stub of the scratchpad, and what the scratchpad should hold.

    The stub answers a read with what was there in the cycle of its request. Bytes that are written
    in that same cycle are random: nobody may use them.

    - ``memory``, ``expected``: the scratchpad as it is, and as it should be after the commands
      expected so far.
    - ``tables``: what the engine's tables hold.
    - ``done``: cycle of each command's ``done``.
    - ``taken``: cycle of each command's transfer.
    - ``faults``: number of commands complete at each ``fault``.
    """

    def __init__(self, dut: Any, stall: float = 0.0, idle: float = 0.0) -> None:
        self.dut, self.stall = dut, stall
        self.config = configuration()
        self.rng = rng(7)
        size = self.config.scratchpad
        self.memory = self.rng.integers(-128, 128, size, dtype=np.int8)
        # Where values are few, operands are equal, and extremes occur more than once.
        self.memory[size // 4 : size // 2] = self.rng.integers(-2, 2, size // 4)
        self.expected = self.memory.copy()
        self.row = RowState()
        self.states: list[NDArray[np.int8]] = []
        self._before: dict[int, tuple[NDArray[np.int8], NDArray[np.int32], RowState]] = {}
        self.tables = np.zeros((self.config.tables, ENTRIES), dtype=np.int32)
        self.commands = StreamSource(dut, "engine__command", idle=idle)
        self.loads = StreamSource(dut, "tables")
        self.done: list[int] = []
        self.taken: list[int] = []
        self.faults: list[int] = []
        self._sent: list[Fields] = []
        self._moves = 0
        self._stalls = stall_rng("scratchpad")
        self._answers: deque[int | None] = deque([None] * (parameters()["latency"] - 1))

    async def start(self) -> None:
        """Reset, and start the scratchpad."""
        for name in ("request__ready", "valid", "data"):
            getattr(self.dut, f"scratch_read__{name}").value = 0
        self.dut.scratch_write__ready.value = 0
        await start_clock_and_reset(self.dut)
        cocotb.start_soon(self._run())

    async def load(self, tables: NDArray[np.int32], first: int = 0) -> None:
        """Load whole tables, from number ``first`` on."""
        self.tables[first : first + len(tables)] = tables
        index = ENTRIES * first + np.arange(tables.size)
        words = pack(table_load_layout(self.config), {"index": index, "value": tables.reshape(-1)})
        await self.loads.send(words)

    def expect(self, fields: Fields) -> None:
        """Run a command through the model, and queue it."""
        before = (self.expected.copy(), self.tables.copy(), copy(self.row))
        self._before[len(self._sent)] = before
        run_vector(self.config, fields, self.expected, self.tables, self.row)
        self.states.append(self.expected.copy())
        self.send(fields)

    def send(self, fields: Fields) -> None:
        """Queue a command."""
        self._sent.append(fields)
        self.commands.append([int.from_bytes(VECTOR.encode(**fields).tobytes(), "little")])

    async def finish(self, timeout: int = 1000) -> None:
        """Wait until all commands are done, and a little longer; ``timeout`` without a transfer."""
        edge = RisingEdge(self.dut.clk)
        waited = 0
        before = 0
        while len(self.done) < len(self._sent):
            await edge
            waited = waited + 1 if self._moves == before else 0
            before = self._moves
            number = len(self.done)
            assert waited < timeout, f"command {number} is not done: {self._sent[number]}"
        for _ in range(60):
            await edge
        assert len(self.done) == len(self._sent), "done without a command"
        assert len(self.taken) == len(self._sent)
        assert_equal_bytes("scratchpad: byte", self.memory, self.expected)

    @property
    def cycles(self) -> list[int]:
        """From each command's transfer to its ``done``."""
        return [done - taken for taken, done in zip(self.taken, self.done, strict=True)]

    async def _run(self) -> None:
        dut = self.dut
        edge = RisingEdge(self.dut.clk)
        cycle = 0
        transfers = 0
        held = None
        grants = [0, 0]
        moved = False
        while True:
            for i, ready in enumerate((dut.scratch_read__request__ready, dut.scratch_write__ready)):
                grant = int(not self.stall or self._stalls.random() >= self.stall)
                if grant != grants[i]:
                    grants[i] = ready.value = grant
            await edge
            cycle += 1
            moving = bool(int(dut.status.value) >> STATUS_LAYOUT["moving"].offset & 1)
            assert moving == moved, f"moving is {moving}, a transfer in the cycle before {moved}"
            before = self._moves
            if self.commands.transfers > transfers:
                transfers = self.commands.transfers
                self.taken.append(cycle - 1)  # this loop may see it only after the next edge
            data = None
            if grants[0] and int(dut.scratch_read__request__valid.value):
                data = self._read(int(dut.scratch_read__request__payload.value))
            if int(dut.scratch_write__valid.value):
                word = int(dut.scratch_write__payload.value)
                assert held is None or word == held, "payload moved while stalled"
                held = None if grants[1] else word
                self._moves += grants[1]
                if grants[1]:
                    data = self._write(word, data)
            else:
                assert held is None, "valid dropped before ready"
            self._answer(data)
            self._moves += data is not None
            moved = self._moves > before
            self._events(cycle)

    def _events(self, cycle: int) -> None:
        if int(self.dut.engine__fault.value):
            self.faults.append(len(self.done))
        if int(self.dut.engine__done.value):
            number = len(self.done)
            self.done.append(cycle)
            assert number < len(self._sent), "done without a command"
            if number < len(self.states):
                where = f"scratchpad after command {number}: byte"
                explain = partial(self._explain, number)
                assert_equal_bytes(where, self.memory, self.states[number], explain)

    def _explain(self, number: int, address: int) -> list[str]:
        """Return the arithmetic of a byte that a command writes, or the command alone."""
        fields = self._sent[number]
        if number not in self._before:  # sent without the model
            return [f"command {fields}"]
        lines = explain_vector(self.config, fields, *self._before[number], address)
        return [f"command {fields}", *(lines or ["it does not write this byte"])]

    def _read(self, address: int) -> dict[int, int]:
        places = (address + np.arange(self.config.vector)) % self.config.scratchpad
        return dict(zip(places.tolist(), self.memory[places].tolist(), strict=True))

    def _write(self, word: int, data: dict[int, int] | None) -> dict[int, int] | None:
        """Write; return what a read of the same cycle gives."""
        bits = self.config.scratchpad.bit_length() - 1
        vector = self.config.vector
        address = word & (self.config.scratchpad - 1)
        mask = word >> bits & ((1 << vector) - 1)
        values = (word >> (bits + vector)).to_bytes(vector, "little")
        assert mask, "a write of nothing"
        for i in range(vector):
            if mask >> i & 1:
                assert address + i < self.config.scratchpad, "a write around the end"
                self.memory[address + i] = np.uint8(values[i]).astype(np.int8)
                if data and address + i in data:
                    data[address + i] = int(self.rng.integers(-128, 128))
        return data

    def _answer(self, data: dict[int, int] | None) -> None:
        self._answers.append(
            None
            if data is None
            else int.from_bytes(np.array(list(data.values()), dtype=np.int8).tobytes(), "little")
        )
        answer = self._answers.popleft()
        self.dut.scratch_read__valid.value = int(answer is not None)
        if answer is not None:
            self.dut.scratch_read__data.value = answer
