"""The dot product of two lists of int8 with zero points, and a bias, in int32."""

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind, as_columns
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
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

KINDS = ("extreme", "near extreme", "wrap", "weight zero point", "random")


def dot_cases(profile: Profile, level: Level, rng: np.random.Generator) -> UnitCases:
    """Return cases of every kind at every length, but for those outside of a profile."""
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
    symmetric = rng.random(total) < 0.5  # int8 weights of the spec's rows are never -128
    input_zero = _zero_points(profile, rng, total)
    weight_zero = np.where(kinds == "weight zero point", rng.integers(-128, 128, total), 0)
    w = np.where((symmetric & (weight_zero == 0))[:, None], np.maximum(w, -127), w)
    beyond = np.arange(LENGTH) >= length[:, None]
    x = np.where(beyond, input_zero[:, None].astype(np.int16), x)
    w = np.where(beyond, weight_zero[:, None].astype(np.int16), w)
    bias = np.where(
        kinds == "wrap",
        np.where(
            rng.random(total) < 0.5,
            INT32_MAX - rng.integers(0, 1 << 16, total),
            INT32_MIN + rng.integers(0, 1 << 16, total),
        ),
        rng.choice([0, 1, -1], total) * (np.int64(1) << rng.integers(0, 24, total)),
    )
    inputs = {
        "length": length,
        "input_zero_point": input_zero,
        "weight_zero_point": weight_zero,
        "bias": bias,
        "inputs": x,
        "weights": w,
    }
    return _within(profile, inputs, _results(inputs), kinds)


def _zero_points(profile: Profile, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    zero_points = profile.limits.zero_points
    if zero_points != "any":
        return rng.choice(np.array(zero_points), count)
    ends = rng.choice([-128, 127, 0], count)
    return np.where(rng.random(count) < 0.5, ends, rng.integers(-128, 128, count))


def _results(inputs: dict[str, NDArray]) -> NDArray[np.int64]:
    """Return golden's accumulators, a row at a time."""
    x, w = (inputs[name].astype(np.int8) for name in ("inputs", "weights"))
    bias = inputs["bias"].astype(np.int32)
    zero_points = zip(
        inputs["input_zero_point"].tolist(), inputs["weight_zero_point"].tolist(), strict=True
    )
    results = [
        fully_connected_accumulators(
            x[row], w[row : row + 1], bias[row : row + 1], input_zero_point=zx, weight_zero_point=zw
        )[0, 0]
        for row, (zx, zw) in enumerate(zero_points)
    ]
    return np.array(results, dtype=np.int64)


def _within(
    profile: Profile, inputs: dict[str, NDArray], results: NDArray, kinds: NDArray
) -> UnitCases:
    """Leave out what a narrower accumulator could not hold: the bias, the sum or the result."""
    end = 1 << (profile.limits.accumulator_bits - 1)
    x = inputs["inputs"] - inputs["input_zero_point"][:, None]
    w = inputs["weights"] - inputs["weight_zero_point"][:, None]
    sums = np.cumsum(x * w, axis=1)
    low, high = sums.min(axis=1), sums.max(axis=1)
    bias = inputs["bias"]
    fits = np.ones(len(kinds), dtype=bool)
    if profile.limits.accumulator_bits < 32:
        least = np.minimum(np.minimum(low, bias), low + bias)
        most = np.maximum(np.maximum(high, bias), high + bias)
        fits = (least >= -end) & (most < end)
    return UnitCases(
        as_columns(INPUTS, {name: values[fits] for name, values in inputs.items()}),
        as_columns(RESULTS, {"result": results[fits]}),
        kinds[fits],
        {"outside of the limits": int(np.sum(~fits))},
    )


UNIT = UnitKind(
    "dot",
    "a dot product of int8 with zero points and a bias, in int32",
    INPUTS,
    RESULTS,
    dot_cases,
)
