"""Random operators on rows, with golden's function of each, and random sums."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.lower_rows import l2_rows, log_softmax_rows, softmax_rows
from eightfold.compiler.rows import RowScaling
from eightfold.isa import Row
from golden.normalization import l2_normalization, log_softmax
from golden.quantization import Quantization
from golden.softmax import softmax
from sim.vector_rows import ONE, RECIPROCAL_LIMIT, SUM_LIMIT

Function = Callable[[NDArray[np.int8]], NDArray[np.int8]]

OPERATORS = ("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")


def random_rows(rng: np.random.Generator, name: str) -> tuple[RowScaling, Function]:
    """Return an operator's scaling, and golden's function of int8 rows (..., length)."""
    scale, zero_point = np.float32(2.0 ** rng.uniform(-9, 3)), int(rng.choice([-128, 0, 5, 127]))
    x = _quantization(scale, zero_point)
    if name == "SOFTMAX":
        y = _quantization(1 / 256, -128)
        return softmax_rows(1.0, scale), lambda rows: softmax(
            rows, input_quantization=x, output_quantization=y
        )
    if name == "LOG_SOFTMAX":
        y = _quantization(16 / 256, 127)
        return log_softmax_rows(scale), lambda rows: log_softmax(
            rows, input_quantization=x, output_quantization=y
        )
    y = _quantization(1 / 128, 0)
    return l2_rows(zero_point), lambda rows: l2_normalization(
        rows, input_quantization=x, output_quantization=y
    )


def _quantization(scale: float | np.float32, zero_point: int) -> Quantization:
    return Quantization(np.array([np.float32(scale)]), np.array([zero_point]))


def random_summands(rng: np.random.Generator, row: Row, longest: int) -> NDArray[np.int32]:
    """Return 256 entries whose sum over up to ``longest`` elements is legal for ``row``."""
    low, high = {
        Row.RECIPROCAL: (1, RECIPROCAL_LIMIT),
        Row.LOGARITHM: (ONE, SUM_LIMIT),
        Row.INVERSE_ROOT: (0, SUM_LIMIT),
    }[row]
    most = (high - 1) // longest
    limit = min(most, low + int(2.0 ** rng.uniform(0, 31)))
    return rng.integers(low, limit + 1, 256).astype(np.int32)
