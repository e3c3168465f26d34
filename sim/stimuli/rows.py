"""Random operators on rows, with golden's function of each, and random sums."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.normalization import l2_normalization, log_softmax
from eightfold.golden.quantization import Quantization
from eightfold.golden.softmax import softmax
from eightfold.isa import Row
from eightfold.isa.vector_fields import RowScaling
from eightfold.sim.machine.vector import SUM_RANGES, row_scaling

Function = Callable[[NDArray[np.int8]], NDArray[np.int8]]

OPERATORS = ("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")

Case = Mapping[str, Any]
"""An operator on rows as JSON: its ``name``, the ``scale`` and ``zero_point`` of its input, and the
fields of `eightfold.isa.vector_fields.RowScaling`, ``row`` by its value.

A bench is given cases: the compiler makes them, which a bench does not know.
"""


def rows_of(case: Case) -> tuple[RowScaling, Function]:
    """Return a case's scaling, and golden's function of int8 rows (..., length)."""
    one, two = (np.array(table, dtype=np.int32) for table in case["tables"])
    scaling = RowScaling(
        row=Row(case["row"]),
        relative=case["relative"],
        tables=(one, two),
        requantize=case["requantize"],
    )
    function, y = _FUNCTIONS[case["name"]]
    x = _quantization(case["scale"], case["zero_point"])
    return scaling, lambda rows: function(rows, input_quantization=x, output_quantization=y)


def random_rows(
    rng: np.random.Generator, name: str, cases: Sequence[Case]
) -> tuple[RowScaling, Function]:
    """Return `rows_of` one of the cases of an operator."""
    named = [case for case in cases if case["name"] == name]
    return rows_of(named[int(rng.integers(len(named)))])


def _quantization(scale: float | np.float32, zero_point: int) -> Quantization:
    return Quantization(np.array([np.float32(scale)]), np.array([zero_point]))


_FUNCTIONS: dict[str, tuple[Callable[..., NDArray[np.int8]], Quantization]] = {
    "SOFTMAX": (softmax, _quantization(1 / 256, -128)),
    "LOG_SOFTMAX": (log_softmax, _quantization(16 / 256, 127)),
    "L2_NORMALIZATION": (l2_normalization, _quantization(1 / 128, 0)),
}
"""Golden's function of each operator, and the quantization that the spec gives its result."""


LOWEST = {function: max(low, 0) for function, (low, _) in SUM_RANGES.items()}
"""Least sum of each function; INVERSE_ROOT takes negative ones too, as sums that wrapped."""


def random_summands(rng: np.random.Generator, row: Row, longest: int) -> NDArray[np.int32]:
    """Return 256 entries whose sum over up to ``longest`` elements is legal for ``row``."""
    low = LOWEST[row]
    most = (SUM_RANGES[row][1] - 1) // longest
    limit = min(most, low + int(2.0 ** rng.uniform(0, 31)))
    return rng.integers(low, limit + 1, 256).astype(np.int32)


def row_sums(generator: np.random.Generator, function: Row, count: int) -> Integers:
    """Return sums, uint32: corners and ``count`` random ones.

    Corners are both ends of the range, and powers of 2 and of the root of 2 with their neighbours.
    Random ones have all sizes. Of INVERSE_ROOT some are negative, as int32.
    """
    roots = [(1518500250 >> bit) + d for bit in range(31) for d in range(-2, 3)]
    powers = [(1 << bit) + d for bit in range(31) for d in (-1, 0, 1)]
    shifts = 32 - max(LOWEST[function], 1).bit_length()
    some = generator.integers(1, 1 << 31, count) >> generator.integers(0, shifts, count)
    sums = np.array([*range(40), *powers, *roots, (1 << 31) - 1, *some], dtype=np.int64)
    sums = sums[sums >= LOWEST[function]]
    if function == Row.INVERSE_ROOT:
        negative = [1 << 31, (1 << 32) - 1, *generator.integers(1 << 31, 1 << 32, 4)]
        sums = np.append(sums, negative)
    return sums


def row_fields(function: Row, x: ArrayLike) -> dict[str, Integers]:
    """Return the fields of the requantization that the function sets, of sums ``x``, uint32."""
    fields = row_scaling(function, wrap32(x))
    return {"left": np.zeros_like(x)} | fields if function == Row.RECIPROCAL else fields
