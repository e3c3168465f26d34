"""Requantization in float64 equals the integer one, above all next to the steps of the codes."""

import numpy as np
import pytest

from eightfold.golden.fixed_point import multiply_by_quantized_multiplier
from eightfold.golden.prepared import Channels, FloatRequantizer, float_requantizer

CHANNELS = 5
BOUNDS = [(-128, 127), (-128, 0), (-5, 90), (17, 17)]


def expected(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, zero_point: int, bounds):
    scaled = multiply_by_quantized_multiplier(acc, multiplier, shift)
    return np.clip(scaled + zero_point, *bounds).astype(np.int8)


def near_steps(
    bound: np.ndarray, addend: np.ndarray, multiplier: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """Return raw sums within ``bound``: around every half code, and random ones."""
    rng = np.random.default_rng(int(bound.sum()) & 0xFFFF)
    real = np.ldexp(np.maximum(multiplier, 1).astype(float), shift - 31)
    halves = np.arange(-600, 601)[:, None] / 2
    middle = np.rint(np.clip(halves / real, -(2.0**40), 2.0**40)).astype(np.int64) - addend
    around = (middle[None] + np.arange(-2, 3)[:, None, None]).reshape(-1, bound.size)
    anywhere = rng.integers(-bound, bound + 1, (2000, bound.size))
    return np.clip(np.concatenate([around, anywhere]), -bound, bound)


@pytest.mark.slow
@pytest.mark.parametrize("right", range(-6, 32))
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usual("right")
def test_equals_the_integers(right: int, seed: int) -> None:
    rng = np.random.default_rng([right + 6, seed])
    multiplier = rng.integers(2**30, 2**31, CHANNELS)
    multiplier[:2] = 2**30, rng.choice([2**31 - 1, 3 * 2**29, 2**30 + 1])
    shift = np.full(CHANNELS, -right)
    shift[-1] = -max(0, right - 3)
    bound = rng.integers(1, 2 ** int(np.clip(right + 9, 3, 29)), CHANNELS)
    if right < 0:
        bound = np.minimum(bound, 2 ** (28 + right))
    addend = rng.integers(-bound, bound + 1) * int(rng.integers(2))
    zero_point = int(rng.choice([-128, -5, 0, 127]))
    raw = near_steps(bound, addend, multiplier, shift)
    done = 0
    for bounds in BOUNDS:
        known = Channels(bound, addend, multiplier, shift, zero_point, bounds)
        run = float_requantizer(known, len(raw))
        if run is None:
            continue
        done += 1
        want = expected(raw + addend, multiplier, shift, zero_point, bounds)
        np.testing.assert_array_equal(run(raw.astype(np.float64)), want)
    assert done or right > 12


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_channel_of_one_code_needs_no_exact_product(bounds: tuple[int, int]) -> None:
    multiplier, shift = np.array([2**31 - 1, 2**30 + 7]), np.array([-28, -9])
    bound = np.array([100, 90000])
    addend = np.array([2**30, -70])
    raw = np.random.default_rng(0).integers(-bound, bound + 1, (96, 2))
    run = float_requantizer(Channels(bound, addend, multiplier, shift, 3, bounds), len(raw))
    assert run is not None
    np.testing.assert_array_equal(
        run(raw.astype(np.float32)), expected(raw + addend, multiplier, shift, 3, bounds)
    )


def test_rounding_twice_is_seen() -> None:
    # 2^30 * 23 / 2^34 = 1.4375: first 11.5 to 12, then 12 / 8 = 1.5 to 2.
    one = np.array([1])
    known = Channels(23 * one, 0 * one, 2**30 * one, -3 * one, 0, (-128, 127))
    run = FloatRequantizer(known, 2)
    np.testing.assert_array_equal(run(np.array([[23.0], [-23.0]])), [[2], [-1]])
    integers = multiply_by_quantized_multiplier(np.array([23, -23]), 2**30, -3)
    np.testing.assert_array_equal(integers, [2, -1])


@pytest.mark.parametrize(
    ("bound", "shift", "zero_point", "bounds"),
    [
        (2**31, -9, 0, (-128, 127)),
        (2**28, 2, 0, (-128, 127)),
        (2**30, -32, 0, (-128, 127)),
        (1000, -9, 128, (-128, 127)),
        (1000, -9, 0, (5, 4)),
        (1000, -9, 0, (-129, 4)),
    ],
)
def test_what_may_wrap_is_left_to_the_integers(
    bound: int, shift: int, zero_point: int, bounds: tuple[int, int]
) -> None:
    one = np.array([1])
    arguments = bound * one, 0 * one, 2**30 * one, shift * one
    assert float_requantizer(Channels(*arguments, zero_point, bounds), 1) is None


def test_many_sums_are_worked_on_in_blocks() -> None:
    rng = np.random.default_rng(1)
    bound = np.full(3, 10**5)
    multiplier = rng.integers(2**30, 2**31, 3)
    shift = np.full(3, -9)
    addend = np.array([5, -77, 123456])
    raw = rng.integers(-(10**5), 10**5 + 1, (50_001, 3))
    known = Channels(bound, addend, multiplier, shift, -1, (-128, 127))
    run = float_requantizer(known, len(raw))
    assert run is not None
    want = expected(raw + addend, multiplier, shift, -1, (-128, 127))
    np.testing.assert_array_equal(run(raw.astype(np.float32)), want)
