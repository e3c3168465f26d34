"""Benches of the vector engine against `eightfold.sim.machine.vector`, on a scratchpad that stalls
at random.

Parameters: ``config``, fields of the configuration; ``commands``, how many per random test;
``latency``, the cycles of a read; ``rows``, the operators on rows to choose from, as
`eightfold.sim.stimuli.rows.Case` says.
"""

from typing import Any

import cocotb
import numpy as np

from eightfold.isa import Combine, Row
from eightfold.sim.bench.support import parameters, rng
from eightfold.sim.bench.vector_bench import VectorBench
from eightfold.sim.machine.vector import VectorFault, operand_addresses, run_vector
from eightfold.sim.stimuli.rows import OPERATORS, random_rows, random_summands
from eightfold.sim.stimuli.vector import random_command, random_tables, row_fields

FUNCTIONS = (Row.RECIPROCAL, Row.LOGARITHM, Row.INVERSE_ROOT)
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
    generator = rng(10 + int(10 * stall))
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for _ in range(parameters()["commands"]):
        bench.expect(random_command(generator, bench.config))
    await bench.finish()
    assert not bench.faults


@cocotb.test()
@cocotb.parametrize((("name", "stall"), [(name, s) for name in OPERATORS for s in (0.0, 0.4)]))
async def rows_of_operators(dut: Any, name: str, stall: float) -> None:
    """Rows are golden's, for scales from nearly equal exponentials to a single one."""
    bench = VectorBench(dut, stall)
    generator = rng(2 + len(name))
    await bench.start()
    for _ in range(max(1, parameters()["commands"] // 8)):
        scaling, function = random_rows(generator, name, parameters()["rows"])
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
    generator = rng(20 + len(name))
    unit, size = bench.config.vector, bench.config.scratchpad
    await bench.start()
    for _ in range(max(1, parameters()["commands"] // 8)):
        scaling, function = random_rows(generator, name, parameters()["rows"])
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
    generator = rng(3)
    await bench.start()
    for number in range(max(3, parameters()["commands"] // 2)):
        row = FUNCTIONS[number % len(FUNCTIONS)]
        summands = random_summands(generator, row, LONGEST)
        await bench.load(np.stack([random_tables(generator, 1)[0], summands]))
        fields = random_command(generator, bench.config, [0], (row,))
        bench.expect(fields | {"lookup_b": 1, "table_b": 1})
        await bench.finish()


@cocotb.test()
async def loads_disturb_no_other_table(dut: Any) -> None:
    """While commands use one half of the tables, the other half is loaded, and then used."""
    bench = VectorBench(dut, 0.2)
    generator = rng(4)
    half = bench.config.tables // 2
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for turn in range(4):
        first = half * (turn % 2)
        for _ in range(max(1, parameters()["commands"] // 8)):
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
    generator = rng(5)
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
