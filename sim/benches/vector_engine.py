"""Benches of the vector engine against `eightfold.sim.machine.vector`, on a scratchpad that stalls
at random.

Parameters: ``config``, fields of the configuration; ``commands``, how many per random test;
``latency``, the cycles of a read; ``rows``, the operators on rows to choose from, as
`eightfold.sim.stimuli.rows.Case` says.
"""

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
from eightfold.isa import VECTOR, Combine, Row
from eightfold.sim.bench import support
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.stream import StreamSource, pack
from eightfold.sim.machine.explain import explain_vector
from eightfold.sim.machine.vector import (
    SUM_RANGES,
    RowState,
    VectorFault,
    operand_addresses,
    run_vector,
)
from eightfold.sim.stimuli.rows import OPERATORS, random_rows, random_summands
from eightfold.sim.stimuli.vector import Fields, random_command, random_tables, row_fields

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
        self.config = support.configuration()
        self.rng = support.rng(7)
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
        self._stalls = support.stall_rng("scratchpad")
        self._answers: deque[dict[int, int] | None] = deque(
            [None] * (support.parameters()["latency"] - 1)
        )

    async def start(self) -> None:
        """Reset, and start the scratchpad."""
        for name in ("request__ready", "valid", "data"):
            getattr(self.dut, f"scratch_read__{name}").value = 0
        self.dut.scratch_write__ready.value = 0
        await support.start_clock_and_reset(self.dut)
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
        self.commands.append([VECTOR.packed(fields)])

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
        lines = explain_vector(fields, *self._before[number], address)
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
        self._answers.append(data)
        answer = self._answers.popleft()
        self.dut.scratch_read__valid.value = int(answer is not None)
        if answer is not None:
            content = np.array(list(answer.values()), np.int8).tobytes()
            self.dut.scratch_read__data.value = int.from_bytes(content, "little")


LONGEST = 128
"""Elements of a random command's run, at most."""

INSIDE = {"row0": 0, "rows": 1, "row_step": 0, "column0": 0, "columns": 1, "column_step": 0}

ONE = {f"{name}{i}": 1 for name, top in (("count", 3), ("window", 2)) for i in range(top)}

STALLS = (("stall", "idle"), [(0.0, 0.0), (0.3, 0.0), (0.7, 0.9)])


@cocotb.test()
@cocotb.parametrize(STALLS)
async def random_commands(dut: Any, stall: float, idle: float) -> None:
    """Every combination, reduction, padding and tail; the scratchpad is right at each done."""
    bench = VectorBench(dut, stall, idle)
    generator = support.rng(10 + int(10 * stall))
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for _ in range(support.parameters()["commands"]):
        bench.expect(random_command(generator, bench.config))
    await bench.finish()
    assert not bench.faults


@cocotb.test()
@cocotb.parametrize((("name", "stall"), [(name, s) for name in OPERATORS for s in (0.0, 0.4)]))
async def rows_of_operators(dut: Any, name: str, stall: float) -> None:
    """Rows are golden's, for scales from nearly equal exponentials to a single one."""
    bench = VectorBench(dut, stall)
    generator = support.rng(2 + len(name))
    await bench.start()
    for _ in range(max(1, support.parameters()["commands"] // 8)):
        scaling, function = random_rows(generator, name, support.parameters()["rows"])
        await bench.load(np.stack(scaling.tables).astype(np.int32))
        for _ in range(4):
            fields = random_command(generator, bench.config, [0], (scaling.row,))
            fields |= row_fields(scaling) | INSIDE
            rows = bench.expected[
                operand_addresses(fields, "source_a", "a_step") % bench.config.scratchpad
            ]
            bench.expect(fields)
            found = bench.expected[operand_addresses(fields, "target", "target_step")]
            np.testing.assert_array_equal(found, function(rows))
        await bench.finish()


@cocotb.test()
@cocotb.parametrize((("name", "stall"), [(name, 0.2) for name in OPERATORS]))
async def rows_in_parts(dut: Any, name: str, stall: float) -> None:
    """A row spread over commands is golden's, and so are its extremes so far."""
    bench = VectorBench(dut, stall)
    generator = support.rng(20 + len(name))
    unit, size = bench.config.vector, bench.config.scratchpad
    await bench.start()
    for _ in range(max(1, support.parameters()["commands"] // 8)):
        scaling, function = random_rows(generator, name, support.parameters()["rows"])
        await bench.load(np.stack(scaling.tables).astype(np.int32))
        lengths = [*(unit * generator.integers(1, 4, 2)), int(generator.integers(1, 3 * unit))]
        starts = np.cumsum([0, *lengths])
        source = int(generator.integers(size // 2))
        row = bench.expected[source : source + starts[-1]].copy()
        fields = row_fields(scaling) | INSIDE | ONE
        scaled = fields["row"]
        for kind in (Row.MAXIMUM, Row.SUM):
            for part, length in enumerate(lengths):
                bench.expect(
                    fields
                    | {"row": kind.value, "run": int(length), "resume": int(part > 0)}
                    | {"source_a": int(source + starts[part]), "target": size - 1}
                )
        for part, length in enumerate(lengths):
            places = {"source_a": int(source + starts[part]), "run": int(length)}
            places |= {"target": int(size // 2 + 8 * unit + starts[part])}
            bench.expect(fields | places | {"row": scaled, "resume": 1})
        await bench.finish()
        result = slice(size // 2 + 8 * unit, size // 2 + 8 * unit + starts[-1])
        np.testing.assert_array_equal(bench.memory[result], function(row))


@cocotb.test()
async def functions_of_any_sum(dut: Any) -> None:
    """Sums from the least to the largest, with padding and any requantization of the rest."""
    bench = VectorBench(dut, 0.2)
    generator = support.rng(3)
    await bench.start()
    for number in range(max(3, support.parameters()["commands"] // 2)):
        row = list(SUM_RANGES)[number % len(SUM_RANGES)]
        summands = random_summands(generator, row, LONGEST)
        await bench.load(np.stack([random_tables(generator, 1)[0], summands]))
        fields = random_command(generator, bench.config, [0], (row,))
        bench.expect(fields | {"lookup_b": 1, "table_b": 1})
        await bench.finish()


@cocotb.test()
async def loads_disturb_no_other_table(dut: Any) -> None:
    """While commands use one half of the tables, the other half is loaded, and then used."""
    bench = VectorBench(dut, 0.2)
    generator = support.rng(4)
    half = bench.config.tables // 2
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for turn in range(4):
        first = half * (turn % 2)
        for _ in range(max(1, support.parameters()["commands"] // 8)):
            used = list(range(first, first + half))
            fields = random_command(generator, bench.config, used)
            bench.expect(fields | {"lookup_a": 1, "lookup_b": 1})
        for _ in range(3):
            await bench.load(random_tables(generator, half), half - first)
        await bench.finish()


@cocotb.test()
async def writes_outside_are_faults(dut: Any) -> None:
    """Nothing is written there, the fault comes before the done, and the next command is right."""
    bench = VectorBench(dut, 0.3)
    generator = support.rng(5)
    size = bench.config.scratchpad
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for number, offset in enumerate((-1, 1, -(1 << 22), size, 1 << 22)):
        fields = random_command(generator, bench.config) | {"count0": 1, "count1": 1, "count2": 1}
        fields |= {"combine": Combine.A.value, "row": Row.NONE.value, "repeat_a": 0}
        fields |= {"window0": 1, "window1": 1}
        base = size - fields["run"] if 0 < offset < size else 0
        fields |= {"target": base + offset, "source_a": size // 2}
        try:
            run_vector(bench.config, fields, bench.expected.copy(), bench.tables)
        except VectorFault:
            bench.send(fields)
        else:
            raise AssertionError("the model saw no fault")
        before = bench.memory.copy()
        bench.expected = bench.memory  # what of it lies inside may be written
        await bench.finish()
        changed = np.flatnonzero(before != bench.memory)
        target = fields["target"] + np.arange(fields["run"])
        assert set(changed.tolist()) <= set(target.tolist())
        assert bench.faults and set(bench.faults) == {2 * number}
        bench.faults.clear()
        bench.expected = bench.memory.copy()
        bench.states.append(bench.expected.copy())
        bench.expect(random_command(generator, bench.config))
        await bench.finish()
        assert not bench.faults
