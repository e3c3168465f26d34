"""TPU-MLIR's Add, LeakyReLU, PReLU and Pad against exact fractions, on every code."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eightfold.golden.errors import RejectedError
from eightfold.golden.tpu_mlir import elementwise as tpu_mlir_elementwise
from tests.support.models.exact_arithmetic import (
    EXACT,
    exact32,
    exact_shift,
    int8,
    per_tensor,
    roundings,
    scales,
    to_int8,
)

signed_bytes = st.integers(-127, 127)


@given(
    st.lists(st.tuples(int8, int8), min_size=1),
    signed_bytes,
    signed_bytes,
    st.integers(-3, 20),
    roundings,
)
@example([(-128, -128), (127, 127)], 127, 127, 8, "half_away")
def test_add_symmetric_is_one_shift_of_an_int16(
    rows: list[tuple[int, int]], m_a: int, m_b: int, rshift: int, rounding: str
) -> None:
    a, b = (np.array(column, np.int8) for column in zip(*rows, strict=True))
    got = tpu_mlir_elementwise.add_symmetric(
        a, b, multipliers=(m_a, m_b), rshift=rshift, rounding=rounding
    )
    assert got.dtype == np.int8
    totals = [p * m_a + q * m_b for p, q in rows]
    assert all(-(2**15) <= total < 2**15 for total in totals)
    assert got.tolist() == [to_int8(exact_shift(total, rshift, rounding)) for total in totals]


@given(st.tuples(int8, int8), st.tuples(scales, scales, scales), st.tuples(int8, int8, int8))
def test_add_asymmetric_is_float32_throughout(q: Any, s: Any, z: Any) -> None:
    got = tpu_mlir_elementwise.add_asymmetric(
        np.array([q[0]], np.int8),
        np.array([q[1]], np.int8),
        a_quantization=per_tensor(s[0], z[0]),
        b_quantization=per_tensor(s[1], z[1]),
        output_quantization=per_tensor(s[2], z[2]),
    )
    reals = [exact32(Fraction(s[k]) * (q[k] - z[k])) for k in range(2)]
    quotient = exact32(exact32(reals[0] + reals[1]) / Fraction(s[2]))
    assert got.tolist() == [to_int8(EXACT["half_away"](exact32(quotient + z[2])))]


def test_add_broadcasts_and_refuses_shapes_that_do_not_fit() -> None:
    a, b = np.ones((2, 3), np.int8), np.ones((3,), np.int8)
    assert (
        tpu_mlir_elementwise.add_symmetric(a, b, multipliers=(1, 2), rshift=0).tolist()
        == [[3, 3, 3]] * 2
    )
    with pytest.raises(RejectedError, match="broadcast"):
        tpu_mlir_elementwise.add_symmetric(a, b[:2], multipliers=(1, 2), rshift=0)


EVERY_CODE = np.arange(-128, 128).astype(np.int8)


def exact_slope(x: int, factor: int, rshift: int, z_x: int, z_y: int, rounding: str) -> int:
    if x >= z_x:
        return to_int8(x - z_x + z_y)
    return to_int8(exact_shift(factor * (x - z_x), rshift, rounding) + z_y)


@given(signed_bytes, st.integers(-2, 30), int8, int8, roundings)
def test_leaky_relu_on_every_code(m: int, rshift: int, z_x: int, z_y: int, rounding: str) -> None:
    got = tpu_mlir_elementwise.leaky_relu(
        EVERY_CODE,
        multiplier=m,
        rshift=rshift,
        input_zero_point=z_x,
        output_zero_point=z_y,
        rounding=rounding,
    )
    assert got.dtype == np.int8
    expected = [exact_slope(x, m, rshift, z_x, z_y, rounding) for x in range(-128, 128)]
    assert got.tolist() == expected


@given(st.tuples(int8, int8), st.tuples(signed_bytes, signed_bytes), st.integers(0, 20), int8, int8)
def test_prelu_on_every_code(alpha: Any, m: Any, rshift: int, z_x: int, z_y: int) -> None:
    x = np.stack([EVERY_CODE, EVERY_CODE])[None]
    got = tpu_mlir_elementwise.prelu(
        x,
        np.array(alpha, np.int8),
        multiplier=m,
        rshift=rshift,
        input_zero_point=z_x,
        output_zero_point=z_y,
    )
    for c in range(2):
        factor = alpha[c] * m[c]
        expected = [exact_slope(q, factor, rshift, z_x, z_y, "half_up") for q in range(-128, 128)]
        assert got[0, c].tolist() == expected


@pytest.mark.parametrize("multiplier", [128, -128, 0.5, [1, 200]])
def test_multipliers_beyond_8_bits_are_refused(multiplier: Any) -> None:
    x = np.zeros((1, 2), np.int8)
    with pytest.raises(RejectedError, match="-127..127"):
        tpu_mlir_elementwise.prelu(x, x[0], multiplier=multiplier, rshift=0)
    if np.ndim(multiplier) == 0:
        with pytest.raises(RejectedError, match="-127..127"):
            tpu_mlir_elementwise.leaky_relu(x, multiplier=multiplier, rshift=0)
        with pytest.raises(RejectedError, match="-127..127"):
            tpu_mlir_elementwise.add_symmetric(x, x, multipliers=(1, multiplier), rshift=0)


@pytest.mark.parametrize("alpha", [np.ones(3, np.int8), np.ones((1, 2), np.int8)])
def test_prelu_refuses_slopes_that_do_not_fit(alpha: Any) -> None:
    with pytest.raises(RejectedError, match="slopes"):
        tpu_mlir_elementwise.prelu(np.zeros((1, 2), np.int8), alpha, multiplier=1, rshift=0)


@given(st.floats(-1000, 1000, width=32), scales, int8, int8)
def test_pad_rounds_the_value_and_moves_the_zero_point(
    value: float, s_y: float, z_x: int, z_y: int
) -> None:
    output = per_tensor(s_y, z_y)
    got = tpu_mlir_elementwise.pad(
        EVERY_CODE, [[1, 2]], value, input_zero_point=z_x, output_quantization=output
    )
    fill = to_int8(EXACT["half_away"](exact32(exact32(Fraction(value) / Fraction(s_y)) + z_y)))
    assert got.dtype == np.int8
    inside = [to_int8(x - z_x + z_y) for x in range(-128, 128)]
    assert got.tolist() == [fill, *inside, fill, fill]


@pytest.mark.parametrize("paddings", [[[1, 2]], [[0, 0], [0, -1]], [1, 2]])
def test_pad_refuses_paddings_that_do_not_exist(paddings: Any) -> None:
    with pytest.raises(RejectedError, match="paddings"):
        tpu_mlir_elementwise.pad(
            np.zeros((2, 2), np.int8),
            paddings,
            0.0,
            input_zero_point=0,
            output_quantization=per_tensor(1, 0),
        )
