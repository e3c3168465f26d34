"""Bench of the vector engine's speed.

Parameters as of `eightfold.sim.benches.vector_engine`; the only one of ``rows`` is SOFTMAX.
"""

from typing import Any

import cocotb
import numpy as np

from eightfold.isa import Combine, Reduce, Row
from eightfold.sim.bench.support import parameters, report
from eightfold.sim.benches.vector_engine import INSIDE, ONE, VectorBench
from eightfold.sim.stimuli.rows import rows_of
from eightfold.sim.stimuli.vector import Fields, row_fields

ROWS = {"run": 512, "target": 32768, "count0": 8, "a_step0": 512, "target_step0": 1}

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
    "sum_8x512": {"row": Row.SUM.value, **ROWS},
    "largest_8x512": {"row": Row.MAXIMUM.value, **ROWS},
    "softmax_12": {**{"run": 12, "target": 32768}},
    "softmax_8x12": {
        **{"run": 12, "target": 32768},
        **{"count0": 8, "a_step0": 12, "target_step0": 12},
    },
}


@cocotb.test()
async def cycles_of_common_operators(dut: Any) -> None:
    """Cycles from a command's transfer to its done, without stalls."""
    bench = VectorBench(dut)
    await bench.start()
    (case,) = parameters()["rows"]
    scaling, _ = rows_of(case)
    await bench.load(np.stack(scaling.tables))
    for name, fields in WORKLOADS.items():
        usual = {"requantize.multiplier": 1 << 30, "requantize.low": -128, "requantize.high": 127}
        scaled = row_fields(scaling) if name.startswith("softmax") else {}
        bench.expect(ONE | INSIDE | usual | scaled | fields)
    await bench.finish()
    report(dict(zip(WORKLOADS, bench.cycles, strict=True)))
