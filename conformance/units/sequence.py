"""Steps of a processing element: tiles of a dot product, added to an accumulator in int32.

A case is a step, and its result the accumulator after it. Steps depend on those before them: they
are asked in a row, and the first of each simulation clears.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import (
    Column,
    Level,
    UnitCases,
    UnitKind,
    as_columns,
    zero_points,
)
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, wrap32

LANES = 4
"""Elements of a tile."""

TILES = 8
"""Steps of a sum, at most."""

STRETCH = 1000
"""Every so many steps, a sum begins, so that simulations can."""

WHOLE_BITS, LEAST_BITS = 22, 15
"""Bits of an accumulator for any weights, and those below which there are no cases."""

INPUTS = (
    Column("clear", 8, False, "1 in the first step of a sum, whose accumulator is the bias; or 0"),
    Column("last", 8, False, "1 in the last step of a sum, or 0"),
    Column("tiles", 8, False, f"steps of the sum, 1 to {TILES}, the same in each of them"),
    Column("input_zero_point", 8, True, "subtracted from each input, the same in each step"),
    Column("bias", 32, True, "where the sum begins, the same in each step"),
    Column("inputs", 8, True, "activations", LANES),
    Column("weights", 8, True, "weights", LANES),
)
RESULTS = (
    Column("result", 32, True, "wrap32((bias if clear, else the last result) + sum of (x - zx)w)"),
)

COUNTS: dict[Level, int] = {"smoke": 2000, "standard": 20_000, "full": 200_000}
"""Steps."""

KINDS = ("extreme", "wrap", "random")


def sequence_cases(profile: Profile, level: Level, rng: np.random.Generator) -> UnitCases:
    """Return sums of one to `TILES` steps, one after the other; wrong lengths, zero points or
    clears of one do not come to the right result of the next."""
    count = COUNTS[level] if profile.limits.accumulator_bits >= LEAST_BITS else 0
    first, tiles = _starts(rng, count)
    sum_ = np.cumsum(first) - 1
    total = int(first.sum())
    kind = rng.integers(0, len(KINDS), total)
    # In fewer bits than 32 nothing wraps: neither the bias nor the products take more than half.
    bits = profile.limits.accumulator_bits
    least, most = (INT32_MIN, INT32_MAX) if bits == 32 else (-(1 << bits - 2), (1 << bits - 2) - 1)
    ends = rng.choice([least, most], total) + rng.integers(-(1 << 16), 1 << 16, total)
    small = rng.choice([1, -1], total) * rng.integers(1, 1 << rng.integers(1, bits - 7, total))
    bias = np.clip(np.where(KINDS.index("wrap") == kind, ends, small), least, most)
    zero = zero_points(profile, rng, total)
    shape = (count, LANES)
    extreme = (kind[sum_] == KINDS.index("extreme"))[:, None]
    x = np.where(extreme, rng.choice([-128, 127], shape), rng.integers(-128, 128, shape))
    w = np.where(extreme, rng.choice([-127, 127], shape), rng.integers(-127, 128, shape))
    w = w >> max(0, WHOLE_BITS - bits)
    inputs = {
        "clear": first.astype(np.int64),
        "last": np.append(first[1:], True).astype(np.int64),
        "tiles": tiles[sum_],
        "input_zero_point": zero[sum_],
        "bias": bias[sum_],
        "inputs": x,
        "weights": w,
    }
    before, own = sums(inputs)
    return UnitCases(
        as_columns(INPUTS, inputs),
        as_columns(RESULTS, {"result": wrap32(inputs["bias"] + before + own)}),
        np.array(KINDS)[kind[sum_]],
        {"outside of the limits": 0},
    )


def _starts(rng: np.random.Generator, count: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return where sums begin, and how many steps each has; one begins every `STRETCH` steps."""
    lengths = list[int]()
    for _ in range(count // STRETCH):
        left = STRETCH
        while left:
            lengths.append(min(int(rng.integers(1, TILES + 1)), left))
            left -= lengths[-1]
    tiles = np.array(lengths, np.int64)
    first = np.zeros(count, bool)
    first[np.cumsum(tiles) - tiles] = True
    return first, tiles


def sums(steps: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the products of each sum's earlier steps, and those of each step, without the bias."""
    differences = steps["inputs"].astype(np.int64) - np.asarray(
        steps["input_zero_point"], np.int64
    ).reshape(-1, 1)
    own = (differences * steps["weights"]).sum(axis=1)
    running = np.cumsum(own) - own
    start = np.maximum.accumulate(np.where(steps["clear"] != 0, np.arange(len(own)), 0))
    return running - running[start], own


UNIT = UnitKind("sequence", INPUTS, RESULTS, sequence_cases)
