"""TPU-MLIR's scales, codes, multipliers and requantizer fields against exact fractions."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.tpu_mlir import numbers as tpu_mlir
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

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
f32 = np.float32


# Scales and zero points


@given(
    st.floats(-1000, -1, width=32),
    st.floats(1, 1000, width=32),
    st.sampled_from([("int8", -128, 127), ("uint8", 0, 255)]),
)
def test_asymmetric_is_the_rounded_quotient(low: float, high: float, code: Any) -> None:
    name, qmin, qmax = code
    got = tpu_mlir.asymmetric(low, high, name)
    scale = (Fraction(high) - Fraction(low)) / (qmax - qmin)
    zero_point = qmin - Fraction(low) / scale
    assert abs(Fraction(float(got.scale[0])) - scale) <= scale * Fraction(1, 2**23)
    if abs(zero_point % 1 - Fraction(1, 2)) > Fraction(1, 2**40):
        assert got.zero_point.tolist() == [EXACT["half_away"](zero_point)]


def test_asymmetric_ends() -> None:
    assert tpu_mlir.asymmetric(0, 255).zero_point.tolist() == [-128]
    assert tpu_mlir.asymmetric(-255, 0).zero_point.tolist() == [127]
    assert tpu_mlir.asymmetric(-128, 127).scale.tolist() == [1.0]
    assert tpu_mlir.asymmetric(-255, 0, "uint8").zero_point.tolist() == [255]
    # -min / S + qmin = -0.5: ties go away from zero.
    assert tpu_mlir.asymmetric(-127.5, 127.5).zero_point.tolist() == [-1]


@pytest.mark.parametrize(("kind", "steps"), [("activation", 128), ("weight", 127), ("uint8", 255)])
@given(threshold=st.floats(min_value=2.0**-60, max_value=2.0**60))
def test_symmetric_divides_the_threshold(kind: Any, steps: int, threshold: float) -> None:
    got = tpu_mlir.symmetric(threshold, kind)
    assert got.zero_point.tolist() == [0]
    assert got.scale.tolist() == [float(f32(threshold / steps))]


def code_of(real: Any) -> Any:
    return tpu_mlir.quantize(real, per_tensor(1, 0))


UNDEFINED: list[tuple[Callable[..., Any], str, list[tuple]]] = [
    (
        tpu_mlir.asymmetric,
        "range|scale",
        [(1, 1), (2, 1), (1, 2), (-2, -1), (0, np.inf), (np.nan, 1), (0, 1e-46), (-1e308, 1e308)],
    ),
    (tpu_mlir.symmetric, "threshold|scale", [(0,), (-1,), (np.nan,), (np.inf,), (1e300,)]),
    (code_of, "NaN", [(np.nan,), ([0, np.nan],)]),
    (tpu_mlir.decompose, "must be", [(-0.1,), (np.inf,), (np.nan,), (2.0**31,)]),
    (tpu_mlir.search_multiplier, "scale|shift", [(np.inf,), (np.nan,), (1e39,), (2.0**70,)]),
]
"""Functions, what they say, and arguments for which they have no result."""


@pytest.mark.parametrize(
    ("function", "message", "arguments"),
    [
        pytest.param(function, message, arguments, id=f"{function.__name__}{arguments}")
        for function, message, all_arguments in UNDEFINED
        for arguments in all_arguments
    ],
)
def test_what_has_no_result_is_undefined(
    function: Callable[..., Any], message: str, arguments: tuple
) -> None:
    with pytest.raises(UndefinedError, match=message):
        function(*arguments)


# Codes


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), scales, int8, roundings)
@example(0.5, 1.0, -1, "half_away")
@example(-0.5, 1.0, 0, "half_even")
@example(2.5, 1.0, 0, "half_even")
def test_quantize_rounds_three_times(
    real: float, scale: float, zero_point: int, rounding: str
) -> None:
    got = tpu_mlir.quantize(real, per_tensor(scale, zero_point), rounding=rounding)
    quotient = exact32(Fraction(real) / Fraction(scale))
    expected = to_int8(EXACT[rounding](exact32(quotient + zero_point)))
    assert int(got) == expected


@pytest.mark.parametrize(("code", "ends"), [("int8", (-128, 127)), ("uint8", (0, 255))])
def test_quantize_saturates_infinities(code: Any, ends: tuple[int, int]) -> None:
    got = tpu_mlir.quantize([-np.inf, np.inf, -3e38, 3e38], per_tensor(2.0**-10, 3), code)
    assert got.dtype == code
    assert got.tolist() == [*ends, *ends]


def test_ties_away_from_zero_depend_on_the_zero_point() -> None:
    """-2.5 is rounded to -3 in int8; 125.5 in uint8 to 126, which is -2 by offset."""
    assert tpu_mlir.quantize([-2.5], per_tensor(1.0, 0)).tolist() == [-3]
    assert tpu_mlir.quantize([-2.5], per_tensor(1.0, 128), "uint8").tolist() == [126]


@given(int8, scales, int8)
def test_dequantize_rounds_once(q: int, scale: float, zero_point: int) -> None:
    got = tpu_mlir.dequantize(np.array(q, np.int8), per_tensor(scale, zero_point))
    assert Fraction(float(got)) == exact32(Fraction(scale) * (q - zero_point))


def test_weights_per_axis_have_their_own_scales() -> None:
    weights = np.array([[1.0, -1.0], [0.5, 0.25]], f32)
    quantization = tpu_mlir.symmetric([1.0, 0.5], "weight", axis=0)
    codes = tpu_mlir.quantize(weights, quantization)
    np.testing.assert_array_equal(codes, [[127, -127], [127, 64]])
    np.testing.assert_array_equal(tpu_mlir.dequantize(codes, quantization)[0], weights[0])


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ROUNDINGS)
@given(x=st.floats(min_value=-(2.0**30), max_value=2.0**30, width=32))
@example(x=float(np.nextafter(f32(0.5), f32(0))))
@example(x=-0.5)
@example(x=2.5)
def test_round_float_is_each_mode(rounding: str, x: float) -> None:
    assert int(tpu_mlir.round_float(x, rounding)) == EXACT[rounding](Fraction(x))


# Multipliers and shifts


def test_the_chapters_example_of_a_scale() -> None:
    multiplier, rshift = tpu_mlir.decompose(0.1234)
    assert (int(multiplier), int(rshift)) == (2119995857, 34)
    shifts = tpu_mlir.decompose([1.0, 0.5, 0.0, 2.0**-40, 2.0**31 - 1])[1].tolist()
    assert shifts == [30, 31, 0, 0, 0]


@given(st.floats(min_value=2.0**-32, max_value=2.0**30))
def test_decompose_is_within_half_a_unit(scale: float) -> None:
    multiplier, rshift = (int(part) for part in tpu_mlir.decompose(scale))
    assert 2**30 <= multiplier < 2**31
    assert 0 <= rshift <= 62
    assert abs(Fraction(multiplier, 2**rshift) - Fraction(scale)) <= Fraction(1, 2 ** (rshift + 1))


def exact_search(scale: float, bits: int, lowest: int) -> tuple[int, int]:
    best: tuple[Fraction, int, int] | None = None
    for n in range(lowest, 31):
        m = EXACT["half_away"](Fraction(scale) * Fraction(2) ** n)
        error = exact32(abs(Fraction(m) / Fraction(2) ** n - Fraction(scale)))
        if abs(m) < (127 if bits == 8 else INT32_MAX) and (best is None or error < best[0]):
            best = (error, m, n)
    assert best is not None
    return best[1:]


@given(
    st.floats(min_value=-(2.0**6), max_value=2.0**6, width=32),
    st.sampled_from([8, 32]),
    st.booleans(),
)
@example(0.1234, 8, False)
@example(0.0, 8, False)
@example(126.5, 8, False)
@example(1.0, 32, True)
def test_search_takes_the_first_of_the_best_shifts(scale: float, bits: Any, right: bool) -> None:
    real = float(f32(scale))
    got = tpu_mlir.search_multiplier(scale, bits, right_only=right)
    assert got == exact_search(real, bits, 0 if right else -32)


def test_search_reaches_left_shifts() -> None:
    assert tpu_mlir.search_multiplier(1024.0, 8) == (1, -10)
    with pytest.raises(UndefinedError, match="no shift"):
        tpu_mlir.search_multiplier(1024.0, 8, right_only=True)


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=5))
def test_shared_multipliers_round_at_the_largest_scales_shift(values: list[float]) -> None:
    multipliers, rshift = tpu_mlir.search_shared(values)
    assert rshift == exact_search(max(abs(v) for v in values), 8, 0)[1]
    expected = [EXACT["half_away"](Fraction(v) * 2**rshift) for v in values]
    assert multipliers.tolist() == expected
    assert max(abs(m) for m in expected) < 127


# Requantization


@given(
    st.integers(INT32_MIN, INT32_MAX) | st.integers(-300, 300),
    st.integers(0, INT32_MAX),
    st.integers(-32, 62),
    roundings,
    int8,
)
@example(-1, INT32_MAX, -32, "down", -128)
@example(1, 2**30, -1, "down", -128)
@example(INT32_MIN, INT32_MAX, 62, "half_up", 127)
def test_both_shift_modes_are_the_rounded_product(
    acc: int, multiplier: int, rshift: int, rounding: str, zero_point: int
) -> None:
    options: Any = {"rounding": rounding, "zero_point": zero_point}
    got = requantize(acc, **tpu_mlir.requantizer(multiplier, rshift, **options))
    assert int(got) == to_int8(exact_shift(acc * multiplier, rshift, rounding) + zero_point)
    got = requantize(acc, **tpu_mlir.requantizer(multiplier, rshift, mode="shift", **options))
    assert int(got) == to_int8(exact_shift(acc, rshift, rounding) + zero_point)


@given(
    st.integers(-(2**20), 2**20), st.integers(0, INT32_MAX), st.integers(-31, 10), roundings, int8
)
def test_tflite_mode_is_the_pair(
    acc: int, multiplier: int, rshift: int, rounding: str, zero_point: int
) -> None:
    fields = tpu_mlir.requantizer(
        multiplier, rshift, mode="tflite", rounding=rounding, zero_point=zero_point
    )
    high = ((acc << max(rshift, 0)) * multiplier + 2**30) // 2**31
    expected = to_int8(exact_shift(high, max(-rshift, 0), rounding) + zero_point)
    assert int(requantize(acc, **fields)) == expected


def test_default_roundings_differ_at_negative_ties() -> None:
    assert int(requantize(-3, **tpu_mlir.requantizer(1, 1))) == -1
    assert int(requantize(-3, **tpu_mlir.requantizer(1, 1, mode="shift"))) == -1
    assert int(requantize(-3, **tpu_mlir.requantizer(INT32_MAX, -1, mode="tflite"))) == -2


@pytest.mark.parametrize(
    ("multiplier", "rshift", "mode"),
    [
        (-1, 0, "multiplier_shift"),
        (2**31, 0, "multiplier_shift"),
        (1, 63, "multiplier_shift"),
        (1, -33, "shift"),
        (1, 31, "tflite"),
        (1, -32, "tflite"),
        ([1, 1], [0, 63], "multiplier_shift"),
    ],
)
def test_requantizer_refuses_what_is_out_of_range(multiplier: Any, rshift: Any, mode: Any) -> None:
    with pytest.raises(RejectedError, match="must be in"):
        tpu_mlir.requantizer(multiplier, rshift, mode=mode)
