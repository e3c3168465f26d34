"""TPU-MLIR's Convolution, InnerProduct and AvgPool against exact fractions, element by element."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.tpu_mlir import numbers as tpu_mlir
from eightfold.golden.tpu_mlir import windows
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

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
f32 = np.float32
seeds = st.integers(0, 2**32)


@given(
    seeds,
    st.sampled_from([(1, 1), (2, 1), (1, 3)]),
    st.sampled_from([(1, 1), (2, 1)]),
    st.sampled_from([(1, 1), (1, 2)]),
    st.sampled_from([((0, 0), (0, 0)), ((1, 2), (0, 1))]),
    st.sampled_from([1, 2]),
    roundings,
    types,
)
def test_convolution_is_step_4_per_channel(
    seed: int,
    kernel: Any,
    stride: Any,
    dilation: Any,
    pads: Any,
    groups: int,
    rounding: str,
    kinds: Any,
) -> None:
    (more, kind), (_, _), (lift, code) = kinds
    rng = np.random.default_rng(seed)
    ic = 2
    oc = 2 * groups
    height = 4
    width = 5
    z_x, z_y = (rng.integers(-128, 128, 2) + np.array([more, lift])).tolist()
    x = (rng.integers(-128, 128, (2, ic * groups, height, width)) + more).astype(kind)
    w = rng.integers(-127, 128, (oc, ic, *kernel)).astype(np.int8)
    bias = rng.integers(-(2**20), 2**20, oc).astype(np.int32)
    multiplier = rng.integers(2**30, 2**31, oc)
    rshift = rng.integers(34, 47, oc)
    fields = tpu_mlir.requantizer(multiplier, rshift, rounding=rounding, zero_point=z_y)
    got = windows.convolution(
        x,
        w,
        bias,
        fields,
        input_zero_point=z_x,
        stride=stride,
        dilation=dilation,
        pads=pads,
        code=code,
    )
    assert got.dtype == code

    def pixel(n: int, c: int, row: int, column: int) -> int:
        inside = 0 <= row < height and 0 <= column < width
        return int(x[n, c, row, column]) if inside else z_x

    for n, o, i, j in np.ndindex(*got.shape):
        acc = int(bias[o])
        for c, ky, kx in np.ndindex(*w.shape[1:]):
            row = i * stride[0] + ky * dilation[0] - pads[0][0]
            column = j * stride[1] + kx * dilation[1] - pads[1][0]
            acc += int(w[o, c, ky, kx]) * pixel(n, c + o // 2 * ic, row, column)
        scaled = exact_shift(acc * int(multiplier[o]), int(rshift[o]), rounding)
        assert int(got[n, o, i, j]) == saturated(scaled + z_y, lift)
    assert (
        got.shape[2] == (height + sum(pads[0]) - (kernel[0] - 1) * dilation[0] - 1) // stride[0] + 1
    )


@given(seeds, roundings, types)
def test_inner_product_is_step_4(seed: int, rounding: str, kinds: Any) -> None:
    (more, kind), (_, _), (lift, code) = kinds
    rng = np.random.default_rng(seed)
    x = (rng.integers(-128, 128, (3, 7)) + more).astype(kind)
    w = rng.integers(-127, 128, (4, 7)).astype(np.int8)
    bias = rng.integers(INT32_MIN // 2, INT32_MAX // 2, 4).astype(np.int32)
    fields = tpu_mlir.requantizer(126, 24, rounding=rounding, zero_point=lift - 3)
    got = windows.inner_product(x, w, bias, fields, code=code)
    assert got.dtype == code
    for n, o in np.ndindex(3, 4):
        acc = sum(int(a) * int(b) for a, b in zip(x[n], w[o], strict=True)) + int(bias[o])
        scaled = exact_shift(acc * 126, 24, rounding)
        assert int(got[n, o]) == saturated(scaled + lift - 3, lift)


@pytest.mark.parametrize(("code", "zero_point"), [("int8", -17), ("uint8", 111)])
def test_folded_bias_makes_the_convolution_real(code: Any, zero_point: int) -> None:
    rng = np.random.default_rng(5)
    q_x, q_w = per_tensor(0.05, zero_point), tpu_mlir.symmetric([0.5, 0.25], "weight", axis=0)
    x = tpu_mlir.from_int8(rng.integers(-128, 128, (1, 6)).astype(np.int8), code)
    w = rng.integers(-127, 128, (2, 6)).astype(np.int8)
    bias = np.array([0.75, -0.31])
    folded = windows.folded_bias(bias, w, input_quantization=q_x, weight_quantization=q_w)
    for o in range(2):
        unit = Fraction(float(f32(0.05))) * Fraction(float(q_w.scale[o]))
        expected = EXACT["half_away"](Fraction(float(bias[o])) / unit) - zero_point * int(
            w[o].sum()
        )
        assert int(folded[o]) == expected
    acc = x.astype(int) @ w.T.astype(int) + folded
    real = tpu_mlir.dequantize(x, q_x).astype(float) @ tpu_mlir.dequantize(w, q_w).T + bias
    np.testing.assert_allclose(acc * 0.05 * q_w.scale, real, atol=0.05 * 0.5 / 127)


@pytest.mark.parametrize("bias", [1e9, np.nan, np.inf, 1.0e30])
def test_folded_bias_refuses_what_leaves_int32(bias: float) -> None:
    with pytest.raises(UndefinedError, match="int32"):
        windows.folded_bias(
            [bias],
            np.ones((1, 1), np.int8),
            input_quantization=per_tensor(1e-3, 0),
            weight_quantization=per_tensor(1e-3, 0),
        )


@given(seeds, scales, scales, int8, int8, st.sampled_from([(1, 1), (2, 3)]), roundings, types)
def test_avg_pool_is_step_3_in_float32(
    seed: int, s_x: float, s_y: float, z_x: int, z_y: int, kernel: Any, rounding: str, kinds: Any
) -> None:
    (more, kind), (_, _), (lift, code) = kinds
    z_x, z_y = z_x + more, z_y + lift
    x = (np.random.default_rng(seed).integers(-128, 128, (1, 2, 4, 4)) + more).astype(kind)
    scale, offset = windows.avg_pool_factors(per_tensor(s_x, z_x), per_tensor(s_y, z_y), kernel)
    ratio = s_x / s_y
    assert scale == f32(ratio / (kernel[0] * kernel[1]))
    assert offset == f32(ratio * z_x - z_y)
    pads = ((1, 0), (0, 1))
    got = windows.avg_pool(
        x,
        kernel=kernel,
        scale=scale,
        offset=offset,
        stride=(1, 2),
        pads=pads,
        input_zero_point=z_x,
        rounding=rounding,
        code=code,
    )
    assert got.dtype == code
    padded = np.pad(x, ((0, 0), (0, 0), *pads), constant_values=z_x)
    for n, c, i, j in np.ndindex(*got.shape):
        taps = padded[n, c, i : i + kernel[0], 2 * j : 2 * j + kernel[1]]
        product = exact32(Fraction(float(scale)) * int(taps.sum(dtype=int)))
        value = exact32(product - Fraction(float(offset)))
        assert int(got[n, c, i, j]) == saturated(EXACT[rounding](value), lift)


def test_avg_pool_is_the_mean_of_the_real_values_whatever_the_zero_points() -> None:
    q_x, q_y = tpu_mlir.asymmetric(-1.0, 3.0), tpu_mlir.asymmetric(-1.5, 3.5)
    x = np.array([[[[-128, 127], [5, 40]]]], np.int8)
    scale, offset = windows.avg_pool_factors(q_x, q_y, (2, 2))
    got = windows.avg_pool(x, kernel=(2, 2), scale=scale, offset=offset)
    mean = tpu_mlir.dequantize(x, q_x).mean()
    assert abs(float(tpu_mlir.dequantize(got, q_y).item() - mean)) <= float(q_y.scale[0])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"scale": np.inf}, UndefinedError),
        ({"offset": np.nan}, UndefinedError),
        ({"kernel": (3, 1)}, UndefinedError),
        ({"pads": ((-1, 0), (0, 0))}, RejectedError),
        ({"input_zero_point": 128}, RejectedError),
    ],
)
def test_avg_pool_refuses_what_it_cannot_compute(change: Any, error: Any) -> None:
    options: Any = {"kernel": (1, 1), "scale": 1.0, "offset": 0.0} | change
    with pytest.raises(error):
        windows.avg_pool(np.zeros((1, 1, 2, 2), np.int8), **options)


def test_ranks_that_are_not_the_chapters_are_refused() -> None:
    flat = np.zeros((2, 2), np.int8)
    with pytest.raises(RejectedError, match="rank 4"):
        windows.convolution(flat, flat, None, {})
    with pytest.raises(RejectedError, match="rank 4"):
        windows.avg_pool(flat, kernel=(1, 1), scale=1.0, offset=0.0)
    with pytest.raises(RejectedError, match="int8 or uint8, not int16"):
        windows.inner_product(flat.astype(np.int16), flat, None, {})
