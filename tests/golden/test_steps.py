"""The steps of a requantization end in the result of the function on arrays, for any parameters."""

import numpy as np
import pytest

from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, multiply_by_quantized_multiplier
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.steps import explain_multiplication, explain_requantize, step_lines


def random_fields(rng):
    """Return an accumulator and the parameters of a requantization."""
    single = int(rng.integers(2))
    low, high = sorted(rng.integers(-128, 128, 2).tolist())
    return int(rng.integers(INT32_MIN, INT32_MAX, endpoint=True)), {
        "multiplier": int(rng.integers(0, INT32_MAX, endpoint=True)),
        "bias": int(rng.integers(INT32_MIN, INT32_MAX, endpoint=True)),
        "left": int(rng.integers(31)),
        "right": int(rng.integers(63 if single else 32)),
        "single": single,
        "rounding": int(rng.integers(len(ROUNDINGS))),
        "zero_point": int(rng.integers(-128, 128)),
        "low": low,
        "high": high,
    }


@pytest.mark.parametrize("seed", [0])
def test_steps_of_a_requantization_end_in_its_result(seed):
    rng = np.random.default_rng(seed)
    for _ in range(2000):
        acc, fields = random_fields(rng)
        assert explain_requantize(acc, **fields)[-1][1] == requantize(acc, **fields)


@pytest.mark.parametrize("seed", [0])
@pytest.mark.parametrize("single", [False, True])
def test_steps_of_a_multiplication_end_in_its_result(seed, single):
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        x, multiplier = rng.integers(INT32_MIN, INT32_MAX, 2, endpoint=True).tolist()
        shift = int(rng.integers(-31, 31))
        expected = multiply_by_quantized_multiplier(x, multiplier, shift, single=single)
        assert explain_multiplication(x, multiplier, shift, single=single)[-1][1] == expected


def test_steps_state_the_formula_with_its_numbers():
    steps = explain_requantize(100, multiplier=1 << 30, bias=5, left=2, right=3, zero_point=-3)
    assert step_lines(steps) == [
        "wrap32(100 + bias 5) = 105",
        "wrap32(105 << left 2) = 420",
        "SRDHM(420, multiplier 1073741824) = 210",
        "rounding_shift(210, right 3, half_away) = 26",
        "wrap32(26 + zero point -3) = 23",
        "clamp(23, low -128, high 127) = 23",
    ]


def test_steps_of_a_single_rounding():
    steps = explain_requantize(-3, multiplier=3, right=1, single=1, rounding="half_up", high=-7)
    assert step_lines(steps)[2:] == [
        "-3 * multiplier 3 = -9",
        "rounding_shift(-9, right 1, half_up) = -4",
        "-4 + zero point 0 = -4",
        "clamp(-4, low -128, high -7) = -7",
    ]


def test_parameters_out_of_range_are_refused():
    with pytest.raises(ValueError, match="left must be in 0..30"):
        explain_requantize(1, multiplier=1, left=31)
