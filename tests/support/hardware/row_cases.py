"""Operators on rows as the compiler lowers them, for benches, which do not know the compiler."""

from typing import Any

import numpy as np

from eightfold.compiler.lower.reduction import l2_rows, log_softmax_rows, softmax_rows
from eightfold.sim.stimuli.rows import OPERATORS


def row_case(name: str, scale: float, zero_point: int = 0) -> dict[str, Any]:
    """Return an operator of an input's quantization as an `eightfold.sim.stimuli.rows.Case`."""
    make = {
        "SOFTMAX": lambda: softmax_rows(1.0, np.float32(scale)),
        "LOG_SOFTMAX": lambda: log_softmax_rows(np.float32(scale)),
        "L2_NORMALIZATION": lambda: l2_rows(zero_point),
    }
    scaling = make[name]()
    return {
        "name": name,
        "scale": scale,
        "zero_point": zero_point,
        "row": scaling.row.value,
        "relative": scaling.relative,
        "tables": [table.tolist() for table in scaling.tables],
        "requantize": {field: int(value) for field, value in scaling.requantize.items()},
    }


def random_row_case(rng: np.random.Generator, name: str) -> dict[str, Any]:
    """Return an operator with a scale from nearly equal exponentials to a single one."""
    scale = float(np.float32(2.0 ** rng.uniform(-9, 3)))
    return row_case(name, scale, int(rng.choice([-128, 0, 5, 127])))


def row_cases(seed: int) -> list[dict[str, Any]]:
    """Return eight random cases of each operator on rows."""
    rng = np.random.default_rng(seed)
    return [random_row_case(rng, name) for name in OPERATORS for _ in range(8)]
