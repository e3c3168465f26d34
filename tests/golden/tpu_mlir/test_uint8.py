"""TPU-MLIR in uint8 with a zero point Z is int8 with Z - 128: forms of integers always, those in
float32 but at ties, where the sum that is rounded has the zero point in it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eightfold.golden.tpu_mlir import elementwise, numbers, windows
from tests.support.models.exact_arithmetic import per_tensor

RNG = np.random.default_rng(0)
W = RNG.integers(-127, 128, (3, 2, 2, 2)).astype(np.int8)
S = (0.031, 0.047, 0.0577321)
"""Scales of two operands and the result, whose ratios have no ties."""


def fields(z: int) -> dict[str, Any]:
    return numbers.requantizer([1 << 30, 3 << 29, 1 << 29], [37, 38, 36], zero_point=z)


def bias(weights: np.ndarray, z: int) -> np.ndarray:
    options = {
        "input_quantization": per_tensor(S[0], z),
        "weight_quantization": per_tensor(0.02, 0),
    }
    return windows.folded_bias([0.3, -2.0, 1.1], weights, **options)


def mean(x: np.ndarray, z: int, y: int, code: Any) -> np.ndarray:
    scale, offset = windows.avg_pool_factors(per_tensor(S[0], z), per_tensor(S[2], y), (2, 2))
    options: Any = {"kernel": (2, 2), "scale": scale, "offset": offset, "code": code}
    return windows.avg_pool(x, **options, pads=((1, 0), (0, 1)), input_zero_point=z)


def total(x: np.ndarray, z: int, y: int, code: Any) -> np.ndarray:
    zeros = zip(S, (z, z, y), strict=True)
    names = ("a_quantization", "b_quantization", "output_quantization")
    each: Any = dict(zip(names, (per_tensor(*pair) for pair in zeros), strict=True))
    return elementwise.add_asymmetric(x, x[::-1], **each, code=code)


def sloped(z: int, y: int, code: Any) -> dict[str, Any]:
    return {"rshift": 9, "input_zero_point": z, "output_zero_point": y, "code": code}


Form = Callable[[np.ndarray, int, int, Any], np.ndarray]

FORMS: dict[str, Form] = {
    "Convolution": lambda x, z, y, code: windows.convolution(
        x, W, bias(W, z), fields(y), input_zero_point=z, pads=((1, 1), (0, 1)), code=code
    ),
    "InnerProduct": lambda x, z, y, code: windows.inner_product(
        x[:, :, 0, 0], W[:, :, 0, 0], bias(W[:, :, 0, 0], z), fields(y), code=code
    ),
    "LeakyReLU": lambda x, z, y, code: elementwise.leaky_relu(
        x, multiplier=51, **sloped(z, y, code)
    ),
    "PReLU": lambda x, z, y, code: elementwise.prelu(
        x, np.array([3, -7], np.int8), multiplier=(99, 35), **sloped(z, y, code)
    ),
    "Pad": lambda x, z, y, code: elementwise.pad(
        x, [[0, 1]] * 4, 0.5, input_zero_point=z, output_quantization=per_tensor(S[2], y), code=code
    ),
    "AvgPool": mean,
    "Add": total,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("z", "y"), [(128, 128), (0, 255), (255, 0), (77, 131)])
def test_a_form_of_uint8_is_that_of_int8_by_offset(form: str, z: int, y: int) -> None:
    held = RNG.integers(-128, 128, (4, 2, 6, 6)).astype(np.int8)
    expected = FORMS[form](held, z - 128, y - 128, "int8")
    got = FORMS[form](numbers.from_int8(held, "uint8"), z, y, "uint8")
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(numbers.to_int8(got), expected)


def test_symmetric_operands_of_an_add_have_no_offset() -> None:
    """Products of q, not of q - Z: int8 by offset is another sum, and the machine has tables."""
    a = np.array([200], np.uint8)
    options: Any = {"multipliers": (64, 32), "rshift": 7}
    assert elementwise.add_symmetric(a, a, **options).tolist() == [150]
    assert elementwise.add_symmetric(a, a, **options, code="int8").tolist() == [127]


def test_ties_away_from_zero_depend_on_the_zero_point() -> None:
    """-2.5 is rounded to -3 and 125.5 to 126, which is -2 by offset."""
    int8, uint8 = (
        numbers.quantize([-2.5], per_tensor(1.0, z), code).tolist() for z, code in ZERO_POINTS
    )
    assert (int8, uint8) == ([-3], [126])


ZERO_POINTS: tuple[tuple[int, numbers.Code], ...] = ((0, "int8"), (128, "uint8"))
