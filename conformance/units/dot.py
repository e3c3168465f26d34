"""The dot product of two lists of int8 with zero points, and a bias, in int32."""

from collections.abc import Mapping
from functools import partial

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
    bias = np.where(
        kinds == "end",
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
    chosen = np.ones(total, dtype=bool)
    if wraps:
        limits = profile.limits
        low, high = _sums(inputs)
        chosen = (low + bias < INT32_MIN) | (high + bias > INT32_MAX)
        chosen &= (limits.accumulator_bits == 32) & (limits.hold == 1)
        inputs = {name: values[chosen] for name, values in inputs.items()}
    else:
        inputs |= _fitting(profile, inputs, kinds == "end", rng)
    return UnitCases(
        as_columns(INPUTS, inputs),
        as_columns(RESULTS, {"result": _results(inputs)}),
        kinds[chosen],
        {"outside of the limits": int(np.sum(~chosen))},
    )


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
