"""Bench of the vector engine's speed. Parameters as of `sim.benches.vector_engine`."""

from typing import Any

import cocotb
import numpy as np

from eightfold.compiler.lower_rows import softmax_rows
from eightfold.isa import Combine, Reduce
from sim.benches.support import report
from sim.vector_bench import VectorBench
from sim.vector_random import Fields, row_fields

ONE = {f"{name}{i}": 1 for name, top in (("count", 3), ("window", 2)) for i in range(top)}
INSIDE = {"rows": 1, "columns": 1}

SCALING = softmax_rows(1.0, np.float32(0.1))
SOFTMAX = row_fields(SCALING)

WORKLOADS: dict[str, Fields] = {
    "add_16384": {
        **{"combine": Combine.ADD.value, "lookup_a": 1, "lookup_b": 1, "table_b": 1},
        **{"run": 16384, "source_b": 16384, "target": 32768, "requantize.right": 20},
    },
    "table_4096": {"lookup_a": 1, "run": 4096, "target": 32768},
    "max_pool_16x16x32": {
        **{"reduce": Reduce.MAXIMUM.value, "run": 32, "count0": 8, "count1": 8},
        **{"window0": 2, "window1": 2, "target": 32768},
        **{"a_step0": 64, "a_step1": 1024, "a_window0": 32, "a_window1": 512},
        **{"target_step0": 32, "target_step1": 256},
        **{"rows": 16, "row_step": 2, "row_window": 1},
        **{"columns": 16, "column_step": 2, "column_window": 1},
    },
    "softmax_12": {
        **{**SOFTMAX, "run": 12, "target": 32768},
    },
    "softmax_8x12": {
        **{**SOFTMAX, "run": 12, "target": 32768},
        **{"count0": 8, "a_step0": 12, "target_step0": 12},
    },
}


@cocotb.test()
async def cycles_of_common_operators(dut: Any) -> None:
    """Cycles from a command's transfer to its done, without stalls."""
    bench = VectorBench(dut)
    await bench.start()
    await bench.load(np.stack(SCALING.tables).astype(np.int32))
    for fields in WORKLOADS.values():
        scaling = {"requantize.multiplier": 1 << 30, "requantize.low": -128, "requantize.high": 127}
        bench.expect(ONE | INSIDE | scaling | fields)
    await bench.finish()
    report(dict(zip(WORKLOADS, bench.cycles, strict=True)))
