"""Benches of the vector engine against `sim.vector_model`, on a scratchpad that stalls at random.

Parameters: ``config``, fields of the configuration; ``commands``, how many per random test;
``latency``, the cycles of a read.
"""

from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold.isa import Combine, Reduce
from golden.quantization import Quantization
from golden.softmax import softmax
from sim.benches.support import parameters, rng
from sim.vector_bench import ENTRIES, VectorBench
from sim.vector_model import SUM_LIMIT, VectorFault, operand_addresses, run_vector
from sim.vector_random import (
    Fields,
    random_command,
    random_tables,
    softmax_requantize,
    softmax_tables,
)

STALLS = (("stall", "idle"), [(0.0, 0.0), (0.3, 0.0), (0.7, 0.9)])


@cocotb.test()
@cocotb.parametrize(STALLS)
async def random_commands(dut: Any, stall: float, idle: float) -> None:
    """Every combination, reduction, padding and tail; the scratchpad is right at each done."""
    bench, generator = VectorBench(dut, stall, idle), rng(10 + int(10 * stall))
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for _ in range(parameters()["commands"]):
        bench.expect(random_command(generator, bench.config))
    await bench.finish()
    assert not bench.faults


@cocotb.test()
@cocotb.parametrize((("stall",), [(0.0,), (0.4,)]))
async def softmax_rows(dut: Any, stall: float) -> None:
    """Rows of SOFTMAX are golden's, for scales from nearly equal exponentials to a single one."""
    bench, generator = VectorBench(dut, stall), rng(2)
    await bench.start()
    for _ in range(max(1, parameters()["commands"] // 8)):
        scale = np.float32(2.0 ** generator.uniform(-9, 2))
        await bench.load(np.stack(softmax_tables(1.0, scale)))
        for _ in range(4):
            fields = random_command(generator, bench.config, [0], (Reduce.SOFTMAX,))
            fields |= softmax_requantize() | {"table_b": 1, "fill": -128}
            fields |= {"row0": 0, "rows": 1, "row_step": 0}
            fields |= {"column0": 0, "columns": 1, "column_step": 0}
            before = bench.expected.copy()
            bench.expect(fields)
            _check_softmax(fields, before, bench.expected, scale)
        await bench.finish()


def _check_softmax(
    fields: Fields, before: NDArray[np.int8], after: NDArray[np.int8], scale: np.float32
) -> None:
    """Hold what the model made of a command against `golden.softmax.softmax`."""
    rows = before[operand_addresses(fields, "source_a", "a_step") % len(before)]
    expected = softmax(
        rows,
        input_quantization=Quantization(np.array([scale]), np.array([0])),
        output_quantization=Quantization(np.array([np.float32(1 / 256)]), np.array([-128])),
    )
    found = after[operand_addresses(fields, "target", "target_step")]
    np.testing.assert_array_equal(found, expected)


@cocotb.test()
async def softmax_of_any_table(dut: Any) -> None:
    """Sums of table_b's entries from 1 to 2^28 - 1, with padding and any other requantization."""
    bench, generator = VectorBench(dut, 0.2), rng(3)
    await bench.start()
    for _ in range(max(1, parameters()["commands"] // 4)):
        bits = int(generator.integers(2, 29))
        table_b = generator.integers(1, max(2, (1 << bits) // 512), ENTRIES)
        table_b[0] += int(generator.integers(1 << bits)) * 3 // 4
        table_b[0] = min(table_b[0], SUM_LIMIT // 128)
        table_a = random_tables(generator, 1)[0]
        await bench.load(np.stack([table_b.astype(np.int32), table_a]))
        fields = random_command(generator, bench.config, [1], (Reduce.SOFTMAX,))
        bench.expect(fields | {"table_b": 0})
        await bench.finish()


@cocotb.test()
async def loads_disturb_no_other_table(dut: Any) -> None:
    """While commands use one half of the tables, the other half is loaded, and then used."""
    bench, generator = VectorBench(dut, 0.2), rng(4)
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
    bench, generator = VectorBench(dut, 0.3), rng(5)
    size = bench.config.scratchpad
    await bench.start()
    await bench.load(random_tables(generator, bench.config.tables))
    for number, offset in enumerate((-1, 1, -(1 << 22), size, 1 << 22)):
        fields = random_command(generator, bench.config) | {"count0": 1, "count1": 1, "count2": 1}
        fields |= {"combine": Combine.A.value, "window0": 1, "window1": 1}
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
