"""Dot products of int8 with zero points, and a bias, in int32: of two lists, and of tiles in steps.

A case of ``sequence`` is a step of a processing element, a tile that is added to an accumulator,
and its result the accumulator after it. Steps depend on those before them: they are asked in a row,
and the first of each simulation clears.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind, zero_points
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, wrap32
from eightfold.golden.fully_connected import fully_connected_accumulators

LENGTH = 64
"""Elements that a case has room for."""

INPUTS = (
    Column("length", 8, False, f"of the lists, 1 to {LENGTH}; what is beyond it adds nothing"),
    Column("input_zero_point", 8, True, "subtracted from each input"),
    Column("weight_zero_point", 8, True, "subtracted from each weight"),
    Column("bias", 32, True, "added to the sum, which wraps"),
    Column("inputs", 8, True, "activations, then input_zero_point", LENGTH),
    Column("weights", 8, True, "weights, then weight_zero_point", LENGTH),
)
RESULTS = (Column("result", 32, True, "wrap32(bias + sum of (x - zx)(w - zw))"),)

COUNTS: dict[Level, int] = {"smoke": 5, "standard": 200, "full": 1000}
"""Cases of each kind and length."""

KINDS = ("extreme", "near extreme", "end", "weight zero point", "random")
"""``end``: the sum is near an end of int32, and beyond the spec wraps."""


def dot_cases(
    profile: Profile, level: Level, rng: np.random.Generator, wraps: bool = False
) -> UnitCases:
    """Return cases of every kind at every length, within a profile.

    Where an accumulator cannot hold a sum, the weights come nearer to their zero point.

    ``wraps``: those whose sum leaves int32 on its way, which C++ leaves undefined; none of a
    narrower accumulator, or where parameters hold over a run.
    """
    lengths = np.arange(1, LENGTH + 1)
    grid = np.meshgrid(np.arange(len(KINDS)), lengths, np.arange(COUNTS[level]), indexing="ij")
    kind, length, _ = (axis.ravel() for axis in grid)
    kinds = np.array(KINDS)[kind]
    is_extreme = (kind == 0)[:, None]
    is_near = (kind == 1)[:, None]
    total = len(kind)
    shape = (total, LENGTH)
    x = rng.integers(-128, 128, shape, dtype=np.int16)
    w = rng.integers(-128, 128, shape, dtype=np.int16)
    # In most extreme cases all signs agree; in the others they differ from element to element.
    agree = rng.random((total, 1)) < 0.7
    ends = np.array([-128, 127], dtype=np.int16)
    x_ends = np.where(agree, rng.choice(ends, (total, 1)), rng.choice(ends, shape))
    w_ends = np.where(agree, rng.choice(ends, (total, 1)), rng.choice(ends, shape))
    one = rng.integers(0, LENGTH, (total, 1)) % length[:, None] == np.arange(LENGTH)
    x = np.where(is_extreme | (is_near & ~one), x_ends, x)
    w = np.where(is_extreme | (is_near & ~one), w_ends, w)
    first = np.arange(total) // profile.limits.hold * profile.limits.hold
    symmetric = rng.random(total) < 0.5  # int8 weights of the spec's rows are never -128
    input_zero = zero_points(profile, rng, total)[first]
    weight_zero = np.where(kinds == "weight zero point", rng.integers(-128, 128, total), 0)[first]
    w = np.where((symmetric & (weight_zero == 0))[:, None], np.maximum(w, -127), w)
    beyond = np.arange(LENGTH) >= length[:, None]
    x = np.where(beyond, input_zero[:, None].astype(np.int16), x)
    w = np.where(beyond, weight_zero[:, None].astype(np.int16), w)
    is_high = rng.random(total) < 0.5
    from_high, from_low = rng.integers(0, 1 << 16, total), rng.integers(0, 1 << 16, total)
    near_end = np.where(is_high, INT32_MAX - from_high, INT32_MIN + from_low)
    small = rng.choice([0, 1, -1], total) * (np.int64(1) << rng.integers(0, 24, total))
    bias = np.where(kinds == "end", near_end, small)
    inputs = {
        "length": length,
        "input_zero_point": input_zero,
        "weight_zero_point": weight_zero,
        "bias": bias,
        "inputs": x,
        "weights": w,
    }
    chosen = np.ones(total, dtype=bool)
    if wraps:
        limits = profile.limits
        low, high = _sums(inputs)
        chosen = (low + bias < INT32_MIN) | (high + bias > INT32_MAX)
        chosen &= (limits.accumulator_bits == 32) & (limits.hold == 1)
        inputs = {name: values[chosen] for name, values in inputs.items()}
    else:
        inputs |= _fitting(profile, inputs, kinds == "end", rng)
    left_out = {"outside of the limits": int(np.sum(~chosen))}
    return UnitCases(inputs, {"result": _results(inputs)}, kinds[chosen], left_out)


def _results(inputs: dict[str, NDArray]) -> NDArray[np.int64]:
    """Return golden's accumulators, a row at a time."""
    x, w = (inputs[name].astype(np.int8) for name in ("inputs", "weights"))
    bias = inputs["bias"].astype(np.int32)
    zeros = (inputs[name].tolist() for name in ("input_zero_point", "weight_zero_point"))
    results = [
        fully_connected_accumulators(
            x[row], w[row : row + 1], bias[row : row + 1], input_zero_point=zx, weight_zero_point=zw
        )[0, 0]
        for row, (zx, zw) in enumerate(zip(*zeros, strict=True))
    ]
    return np.array(results, dtype=np.int64)


def _sums(inputs: dict[str, NDArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the largest of a sum on its way, without the bias; 0 is on it."""
    x, w = differences(inputs)
    sums = np.cumsum(x * w, axis=1)
    return np.minimum(sums.min(axis=1), 0), np.maximum(sums.max(axis=1), 0)


def differences(inputs: Mapping[str, NDArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return inputs and weights of each case without their zero points."""
    return (
        inputs["inputs"] - inputs["input_zero_point"][:, None],
        inputs["weights"] - inputs["weight_zero_point"][:, None],
    )


def _fitting(
    profile: Profile, inputs: dict[str, NDArray], at_end: NDArray, rng: np.random.Generator
) -> dict[str, NDArray]:
    """Return weights and biases for which a profile's accumulator holds each sum on its way."""
    end = 1 << (profile.limits.accumulator_bits - 1)
    x, w = differences(inputs)
    low, high = _sums(inputs)
    # Weights towards zero by as many bits as the sum of all absolute products is too large.
    bits = np.frexp(np.abs(x * w).sum(axis=1) // end)[1]
    bits = np.where((low < -end) | (high >= end), bits, 0)
    w = np.sign(w) * (np.abs(w) >> bits[:, None])
    weights = {"weights": w + inputs["weight_zero_point"][:, None]}
    low, high = _sums(inputs | weights)
    least, most = -end - low, end - 1 - high
    inside = np.minimum(rng.integers(0, 1 << 16, len(low)), most - least)
    ends = np.where(rng.random(len(low)) < 0.5, most - inside, least + inside)
    return weights | {"bias": np.where(at_end, ends, np.clip(inputs["bias"], least, most))}


UNIT = UnitKind("dot", INPUTS, RESULTS, dot_cases, partial(dot_cases, wraps=True))


LANES = 4
"""Elements of a tile."""

TILES = 8
"""Steps of a sum, at most."""

STRETCH = 1000
"""Every so many steps, a sum begins, so that simulations can."""

WHOLE_BITS, LEAST_BITS = 22, 15
"""Bits of an accumulator for any weights, and those below which there are no cases."""

STEP_INPUTS = (
    Column("clear", 8, False, "1 in the first step of a sum, whose accumulator is the bias; or 0"),
    Column("last", 8, False, "1 in the last step of a sum, or 0"),
    Column("tiles", 8, False, f"steps of the sum, 1 to {TILES}, the same in each of them"),
    Column("input_zero_point", 8, True, "subtracted from each input, the same in each step"),
    Column("bias", 32, True, "where the sum begins, the same in each step"),
    Column("inputs", 8, True, "activations", LANES),
    Column("weights", 8, True, "weights", LANES),
)
STEP_RESULTS = (
    Column("result", 32, True, "wrap32((bias if clear, else the last result) + sum of (x - zx)w)"),
)

STEPS: dict[Level, int] = {"smoke": 2000, "standard": 20_000, "full": 200_000}

STEP_KINDS = ("extreme", "wrap", "random")


def sequence_cases(profile: Profile, level: Level, rng: np.random.Generator) -> UnitCases:
    """Return sums of one to `TILES` steps, one after the other; wrong lengths, zero points or
    clears of one do not come to the right result of the next."""
    count = STEPS[level] if profile.limits.accumulator_bits >= LEAST_BITS else 0
    first, tiles = _starts(rng, count)
    sum_ = np.cumsum(first) - 1
    total = int(first.sum())
    kind = rng.integers(0, len(STEP_KINDS), total)
    # In fewer bits than 32 nothing wraps: neither the bias nor the products take more than half.
    bits = profile.limits.accumulator_bits
    least, most = (INT32_MIN, INT32_MAX) if bits == 32 else (-(1 << bits - 2), (1 << bits - 2) - 1)
    ends = rng.choice([least, most], total) + rng.integers(-(1 << 16), 1 << 16, total)
    small = rng.choice([1, -1], total) * rng.integers(1, 1 << rng.integers(1, bits - 7, total))
    bias = np.clip(np.where(STEP_KINDS.index("wrap") == kind, ends, small), least, most)
    zero = zero_points(profile, rng, total)
    shape = (count, LANES)
    extreme = (kind[sum_] == STEP_KINDS.index("extreme"))[:, None]
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
    before, own = tile_sums(inputs)
    results = {"result": wrap32(inputs["bias"] + before + own)}
    kinds = np.array(STEP_KINDS)[kind[sum_]]
    return UnitCases(inputs, results, kinds, {"outside of the limits": 0})


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


def tile_sums(steps: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the products of each sum's earlier steps, and those of each step, without the bias."""
    zero_points = np.asarray(steps["input_zero_point"], np.int64)[:, None]
    own = ((steps["inputs"].astype(np.int64) - zero_points) * steps["weights"]).sum(axis=1)
    running = np.cumsum(own) - own
    start = np.maximum.accumulate(np.where(steps["clear"] != 0, np.arange(len(own)), 0))
    return running - running[start], own


SEQUENCE = UnitKind("sequence", STEP_INPUTS, STEP_RESULTS, sequence_cases)
