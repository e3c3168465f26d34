"""Double-precision requantization becomes integer parameters only where that is proved."""

from dataclasses import replace

import numpy as np
import pytest

from eightfold.compiler import exact
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import round_half_away

EVERY_SUM = np.array([[INT32_MIN, INT32_MAX]])
"""The reach of a channel of which nothing is known."""


def reference(factor: float, zero_point: int, acc: np.ndarray) -> np.ndarray:
    """LiteRT's FULLY_CONNECTED, before the clamp."""
    return round_half_away(acc.astype(np.float64) * factor).astype(np.int64) + zero_point


def step_function(factor: float, zero_point: int):
    return exact.StepFunction.of(lambda acc: reference(factor, zero_point, acc), -128, 127)


def factor_of(rng: np.random.Generator, seed: int) -> float:
    """A real multiplier as models have it: a power of two, or a quotient of float32 scales."""
    if seed % 4 == 0:
        return 2.0 ** int(rng.integers(-24, 0))
    scales = np.exp(rng.uniform(-9, 0, 3)).astype(np.float32)
    return min(float(scales[0]) * float(scales[1]) / float(scales[2]), 0.9)


@pytest.mark.parametrize("seed", range(40))
def test_proved_parameters_equal_the_reference_around_every_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = factor_of(rng, seed)
    zero_point = int(rng.choice([-128, 127, 0, 5]))
    low, high = (-128, 127) if seed % 3 else (max(-128, zero_point), 127)
    weights = rng.integers(-127, 128, (1, 300))
    fields, _ = exact.double_precision(
        np.array([factor]), zero_point, (low, high), exact.reachable(weights, np.array([1000]))
    )
    first, last = exact.reachable(weights, np.array([1000]))[0]
    acc = np.concatenate(
        [
            rng.integers(first, last + 1, 20_000),
            np.round((np.arange(-256, 256) + 0.5) / factor).astype(np.int64),
            [first, last, -1, 0, 1],
        ]
    )
    acc = np.clip((acc[:, None] + np.arange(-2, 3)).reshape(-1), first, last)
    parameters = {name: int(values[0]) for name, values in fields.items()}
    got = requantize(acc, zero_point=zero_point, low=low, high=high, **parameters)
    np.testing.assert_array_equal(got, np.clip(reference(factor, zero_point, acc), low, high))


def test_bisection_finds_every_step_where_the_values_change() -> None:
    function = step_function(0.37, -3)
    for index, step in enumerate(function.steps):
        value = function.low + 1 + index
        around = reference(0.37, -3, np.array([step - 1, step]))
        assert around[0] < value <= around[1]


def test_a_step_in_the_wrong_place_is_noticed() -> None:
    function = step_function(0.0123, 4)
    found = exact.solve(function, 4, 0.0123)
    assert found is not None
    assert exact.equal(function, 4, found)
    moved = list(function.steps)
    moved[100] += 1
    assert not exact.equal(replace(function, steps=tuple(moved)), 4, found)
    wrong = replace(found, multiplier=found.multiplier + 2**12)
    assert not exact.equal(function, 4, wrong)


def test_ties_up_is_not_taken_for_ties_away() -> None:
    function = step_function(2.0**-4, 0)
    away = exact.SingleRounding(multiplier=2**30, right=34, rounding="half_away")
    up = exact.SingleRounding(multiplier=2**30, right=34, rounding="half_up")
    assert exact.equal(function, 0, away)
    assert not exact.equal(function, 0, up)


def test_steps_no_multiplier_can_place_are_refused() -> None:
    steps = [0] * 127 + [1] + [7] * 127  # from 0 to full scale within 7, and back to a line
    function = exact.StepFunction(
        low=-128, high=127, first=INT32_MIN, last=INT32_MAX, steps=tuple(steps)
    )
    assert exact.solve(function, 0, 0.5) is None


def test_a_multiplier_above_one_is_proved_within_reach_only() -> None:
    reach = np.array([[-(10**6), 10**6]])
    fields, searched = exact.double_precision(np.array([3.7]), 0, (-128, 127), reach)
    assert searched == 1
    acc = np.arange(-100, 100)
    parameters = {name: int(values[0]) for name, values in fields.items()}
    expected = np.clip(reference(3.7, 0, acc), -128, 127)
    np.testing.assert_array_equal(requantize(acc, **parameters), expected)
    with pytest.raises(exact.CompileError, match="channel 0: no multiplier, shift and rounding"):
        exact.double_precision(np.array([3.7]), 0, (-128, 127), EVERY_SUM)


def test_a_zero_multiplier_gives_the_zero_point() -> None:
    fields, searched = exact.double_precision(np.array([0.0]), -7, (-128, 127), EVERY_SUM)
    parameters = {name: int(values[0]) for name, values in fields.items()}
    assert searched == 0
    acc = np.array([INT32_MIN, 0, INT32_MAX])
    np.testing.assert_array_equal(requantize(acc, zero_point=-7, **parameters), [-7, -7, -7])


@pytest.mark.parametrize("factor", [0.5, 0.25, 1 - 2**-40, 0.1, 2.0**-31, 2.0**-40, 1e-12])
def test_the_nearest_multiplier_fits_31_bits(factor: float) -> None:
    found = exact.nearest(factor)
    assert 0 <= found.multiplier < 2**31
    assert 0 <= found.right <= 62


def test_reach_counts_every_input_and_gives_up_where_it_wraps() -> None:
    weights = np.array([[127, -127, 0], [1, 1, 1]])
    np.testing.assert_array_equal(
        exact.reachable(weights, np.array([10, -5])),
        [[10 - 127 * 128 - 127 * 127, 10 + 127 * 127 + 127 * 128], [-5 - 384, -5 + 381]],
    )
    wide = exact.reachable(np.full((1, 3), 127), np.array([INT32_MAX]))
    np.testing.assert_array_equal(wide, [[INT32_MIN, INT32_MAX]])
