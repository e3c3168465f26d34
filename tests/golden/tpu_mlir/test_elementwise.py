"""TPU-MLIR's Add, LeakyReLU, PReLU and Pad against exact fractions, on every code."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eightfold.golden.errors import RejectedError
from eightfold.golden.tpu_mlir import elementwise
from tests.support.models.exact_arithmetic import (
    EXACT,
    exact32,
    exact_shift,
    int8,
    per_tensor,
    roundings,
    saturated,
    scales,
    types,
)

signed_bytes = st.integers(-127, 127)


@given(
    st.lists(st.tuples(int8, int8), min_size=1),
    signed_bytes,
    signed_bytes,
    st.integers(-3, 20),
    roundings,
    types,
)
@example([(-128, -128), (127, 127)], 127, 127, 8, "half_away", ((0, "int8"),) * 3)
@example([(127, 127)], 127, 127, 8, "half_away", ((128, "uint8"),) * 3)
def test_add_symmetric_is_one_shift_of_16_bits(
    rows: list[tuple[int, int]], m_a: int, m_b: int, rshift: int, rounding: str, kinds: Any
) -> None:
    (more, kind), (other, second), (lift, code) = kinds
    rows = [(p + more, q + other) for p, q in rows]
    a, b = (np.array(c, k) for c, k in zip(zip(*rows, strict=True), (kind, second), strict=True))
    got = elementwise.add_symmetric(
        a, b, multipliers=(m_a, m_b), rshift=rshift, rounding=rounding, code=code
    )
    assert got.dtype == code
    totals = [p * m_a + q * m_b for p, q in rows]
    if not more and not other:
        assert all(-(2**15) <= total < 2**15 for total in totals)
    if more and other and min(m_a, m_b) >= 0:
        assert all(0 <= total < 2**16 for total in totals)
    expected = [saturated(exact_shift(total, rshift, rounding), lift) for total in totals]
    assert got.tolist() == expected


@given(st.tuples(int8, int8), st.tuples(scales, scales, scales), st.tuples(int8, int8, int8), types)
def test_add_asymmetric_is_float32_throughout(q: Any, s: Any, z: Any, kinds: Any) -> None:
    offsets, dtypes = zip(*kinds, strict=True)
    q = [q[k] + offsets[k] for k in range(2)]
    z = [z[k] + offsets[k] for k in range(3)]
    got = elementwise.add_asymmetric(
        np.array([q[0]], dtypes[0]),
        np.array([q[1]], dtypes[1]),
        code=dtypes[2],
        a_quantization=per_tensor(s[0], z[0]),
        b_quantization=per_tensor(s[1], z[1]),
        output_quantization=per_tensor(s[2], z[2]),
    )
    reals = [exact32(Fraction(s[k]) * (q[k] - z[k])) for k in range(2)]
    quotient = exact32(exact32(reals[0] + reals[1]) / Fraction(s[2]))
    rounded = EXACT["half_away"](exact32(quotient + z[2]))
    assert got.dtype == dtypes[2] and got.tolist() == [saturated(rounded, offsets[2])]


def test_add_broadcasts_and_refuses_shapes_that_do_not_fit() -> None:
    a, b = np.ones((2, 3), np.int8), np.ones((3,), np.int8)
    assert elementwise.add_symmetric(a, b, multipliers=(1, 2), rshift=0).tolist() == [[3, 3, 3]] * 2
    with pytest.raises(RejectedError, match="broadcast"):
        elementwise.add_symmetric(a, b[:2], multipliers=(1, 2), rshift=0)


def test_symmetric_operands_of_uint8_have_no_offset() -> None:
    """Products of q, not of q - Z: int8 by offset is another sum, and the machine has tables."""
    a = np.array([200], np.uint8)
    options: Any = {"multipliers": (64, 32), "rshift": 7}
    assert elementwise.add_symmetric(a, a, **options).tolist() == [150]
    assert elementwise.add_symmetric(a, a, **options, code="int8").tolist() == [127]


def exact_slope(
    x: int, factor: int, rshift: int, zero_points: tuple[int, int], rounding: str, lift: int
) -> int:
    z_x, z_y = zero_points
    if x >= z_x:
        return saturated(x - z_x + z_y, lift)
    return saturated(exact_shift(factor * (x - z_x), rshift, rounding) + z_y, lift)


@given(signed_bytes, st.integers(-2, 30), int8, int8, roundings, types)
def test_leaky_relu_on_every_code(
    m: int, rshift: int, z_x: int, z_y: int, rounding: str, kinds: Any
) -> None:
    (more, kind), (_, _), (lift, code) = kinds
    z_x, z_y = z_x + more, z_y + lift
    x = (np.arange(-128, 128) + more).astype(kind)
    got = elementwise.leaky_relu(
        x,
        code=code,
        multiplier=m,
        rshift=rshift,
        input_zero_point=z_x,
        output_zero_point=z_y,
        rounding=rounding,
    )
    assert got.dtype == code
    expected = [exact_slope(q, m, rshift, (z_x, z_y), rounding, lift) for q in x.tolist()]
    assert got.tolist() == expected


@given(
    st.tuples(int8, int8),
    st.tuples(signed_bytes, signed_bytes),
    st.integers(0, 20),
    int8,
    int8,
    types,
)
def test_prelu_on_every_code(
    alpha: Any, m: Any, rshift: int, z_x: int, z_y: int, kinds: Any
) -> None:
    (more, kind), (_, _), (lift, code) = kinds
    z_x, z_y = z_x + more, z_y + lift
    codes = (np.arange(-128, 128) + more).astype(kind)
    x = np.stack([codes, codes])[None]
    got = elementwise.prelu(
        x,
        code=code,
        alpha=np.array(alpha, np.int8),
        multiplier=m,
        rshift=rshift,
        input_zero_point=z_x,
        output_zero_point=z_y,
    )
    for c in range(2):
        factor = alpha[c] * m[c]
        expected = [
            exact_slope(q, factor, rshift, (z_x, z_y), "half_up", lift) for q in codes.tolist()
        ]
        assert got.dtype == code and got[0, c].tolist() == expected


@pytest.mark.parametrize("multiplier", [128, -128, 0.5, [1, 200]])
def test_multipliers_beyond_8_bits_are_refused(multiplier: Any) -> None:
    x = np.zeros((1, 2), np.int8)
    with pytest.raises(RejectedError, match="-127..127"):
        elementwise.prelu(x, x[0], multiplier=multiplier, rshift=0)
    if np.ndim(multiplier) == 0:
        with pytest.raises(RejectedError, match="-127..127"):
            elementwise.leaky_relu(x, multiplier=multiplier, rshift=0)
        with pytest.raises(RejectedError, match="-127..127"):
            elementwise.add_symmetric(x, x, multipliers=(1, multiplier), rshift=0)


@pytest.mark.parametrize("alpha", [np.ones(3, np.int8), np.ones((1, 2), np.int8)])
def test_prelu_refuses_slopes_that_do_not_fit(alpha: Any) -> None:
    with pytest.raises(RejectedError, match="slopes"):
        elementwise.prelu(np.zeros((1, 2), np.int8), alpha, multiplier=1, rshift=0)


@given(st.floats(-1000, 1000, width=32), scales, int8, int8, types)
def test_pad_rounds_the_value_and_moves_the_zero_point(
    value: float, s_y: float, z_x: int, z_y: int, kinds: Any
) -> None:
    (more, kind), (_, _), (lift, code) = kinds
    z_x, z_y = z_x + more, z_y + lift
    output = per_tensor(s_y, z_y)
    x = (np.arange(-128, 128) + more).astype(kind)
    got = elementwise.pad(
        x, [[1, 2]], value, input_zero_point=z_x, output_quantization=output, code=code
    )
    quotient = exact32(exact32(Fraction(value) / Fraction(s_y)) + z_y)
    fill = saturated(EXACT["half_away"](quotient), lift)
    assert got.dtype == code
    inside = [saturated(q - z_x + z_y, lift) for q in x.tolist()]
    assert got.tolist() == [fill, *inside, fill, fill]


@pytest.mark.parametrize("paddings", [[[1, 2]], [[0, 0], [0, -1]], [1, 2]])
def test_pad_refuses_paddings_that_do_not_exist(paddings: Any) -> None:
    with pytest.raises(RejectedError, match="paddings"):
        elementwise.pad(
            np.zeros((2, 2), np.int8),
            paddings,
            0.0,
            input_zero_point=0,
            output_quantization=per_tensor(1, 0),
        )
