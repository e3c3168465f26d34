"""FakeQuantize against the openvino package bit for bit, and its ranges as int8 and back."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eightfold.golden.errors import RejectedError
from eightfold.golden.fake_quantize import (
    Broadcast,
    Limits,
    NoInt8Error,
    fake_quantize,
    from_int8,
    to_codes,
    to_int8,
)
from eightfold.golden.quantization import Quantization

f32 = np.float32
Evaluate = Callable[..., NDArray[np.float32]]

SPECIAL = np.array(
    [
        *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-45, -1e-45),
        *(1e-38, 3.4e38, -3.4e38, np.nextafter(f32(1), f32(2)), np.nextafter(f32(1), f32(0))),
    ],
    dtype=f32,
)


def bits(x: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Bit patterns, every NaN the same one: payloads depend on the order of operands."""
    return np.where(np.isnan(x), f32(np.nan), x).astype(f32).view(np.uint32)


@pytest.fixture(scope="module")
def openvino() -> Any:
    pytest.importorskip("openvino.opset1")
    return pytest.importorskip("openvino")


ELEMENTS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


@pytest.fixture(scope="module")
def evaluate(openvino: Any) -> Evaluate:
    """The package's FakeQuantize by its reference; float64, which that has not, on CPU.

    Models are kept per shape.
    """
    models: dict[Any, Any] = {}

    def run(arrays: Sequence[NDArray], levels: int, rule: str = "numpy") -> NDArray:
        name = arrays[0].dtype.name
        element = getattr(openvino.Type, ELEMENTS[name])
        key = (name, *(array.shape for array in arrays), levels, rule)
        if key not in models:
            parameters = [openvino.opset1.parameter(array.shape, element) for array in arrays]
            node = openvino.opset1.fake_quantize(*parameters, levels, rule)
            models[key] = openvino.Model([node], parameters)
        if name == "float64":
            return openvino.Core().compile_model(models[key], "CPU")(list(arrays))[0]
        tensors = [openvino.Tensor(element, openvino.Shape(array.shape)) for array in arrays]
        for tensor, array in zip(tensors, arrays, strict=True):
            # The package shows bfloat16 as float16.
            tensor.data[...] = array.view(tensor.data.dtype)
        output = openvino.Tensor(element, openvino.Shape(arrays[0].shape))
        assert models[key].evaluate([output], tensors)
        return output.data.copy().view(arrays[0].dtype)

    return run


@pytest.fixture(scope="module")
def check(evaluate: Evaluate) -> Callable[..., None]:
    """Hold golden's FakeQuantize against the package's."""

    def compare(arrays: Any, levels: int) -> None:
        got = fake_quantize(*arrays, levels=levels)
        assert got.dtype == f32
        np.testing.assert_array_equal(bits(got), bits(evaluate(arrays, levels)))

    return compare


def random_ranges(rng: np.random.Generator, shape: Any) -> Any:
    """Limits of both signs and many magnitudes; a fifth inverted, a tenth of zero width."""
    magnitude = f32(10.0) ** rng.integers(-6, 7)
    low, high, output_low, output_high = (
        (rng.normal(size=shape) * magnitude).astype(f32) for _ in range(4)
    )
    low, high = np.minimum(low, high), np.maximum(low, high)
    kind = rng.random(shape)
    low, high = np.where(kind < 0.2, high, low), np.where(kind < 0.2, low, high)
    high = np.where(kind > 0.9, low, high)
    if rng.random() < 0.5:
        return [low, high, low, high]
    return [low, high, output_low, output_high]


@pytest.mark.parametrize("levels", [2, 3, 15, 16, 17, 255, 256, 257, 1000, 65535, 65536])
@pytest.mark.parametrize("seed", range(10))
def test_equals_openvino_on_random_ranges_per_element(
    check: Callable[..., None], levels: int, seed: int
) -> None:
    rng = np.random.default_rng([levels, seed])
    limits = random_ranges(rng, (5000,))
    width = np.abs(limits[1] - limits[0])
    x = (np.minimum(limits[0], limits[1]) + width * rng.uniform(-0.3, 1.3, 5000)).astype(f32)
    # Both sides of every end, and the ends themselves.
    x[:40] = np.nextafter(limits[0][:40], f32(np.inf))
    x[40:80], x[80:120] = limits[0][40:80], limits[1][80:120]
    check([x, *limits], levels)


@pytest.mark.parametrize("levels", [2, 256, 65536])
@pytest.mark.parametrize("seed", range(10))
def test_equals_openvino_on_every_pair_of_special_values(
    check: Callable[..., None], levels: int, seed: int
) -> None:
    rng = np.random.default_rng([levels, seed])
    x, low, high = (g.ravel() for g in np.meshgrid(SPECIAL, SPECIAL, SPECIAL, indexing="ij"))
    check([x, low, high, rng.choice(SPECIAL, x.size), rng.choice(SPECIAL, x.size)], levels)


@pytest.mark.parametrize("levels", [2**24, 2**24 + 1, 2**31 + 1, 2**32])
def test_equals_openvino_on_levels_that_float32_rounds(
    check: Callable[..., None], levels: int
) -> None:
    x = np.random.default_rng(levels).random(5000, dtype=f32)
    check([x, *np.array([[0], [1]] * 2, f32)], levels)


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.usual("name")
def test_equals_openvino_of_four_float_types_on_a_thousand_shapes(
    evaluate: Evaluate, name: str, seed: int
) -> None:
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)
    rng = np.random.default_rng([seed, len(name)])
    for levels in [2, 16, 255, 256, *rng.choice([3, 4, 15, 257, 65536, 2**32], 6)]:
        shape = tuple(int(size) for size in rng.integers(1, 7, rng.integers(0, 6)))
        low, high, to_low, to_high = (
            np.squeeze(limit, 0) if limit.shape[:1] == (1,) and rng.random() < 0.5 else limit
            for limit in random_ranges(rng, [size if rng.random() < 0.5 else 1 for size in shape])
        )
        x = low + (high - low) * rng.uniform(-0.3, 1.3, shape) + (rng.random(shape) < 0.05)
        with np.errstate(over="ignore"):
            arrays: Any = [np.asarray(a).astype(dtype) for a in (x, low, high, to_low, to_high)]
        wanted = evaluate(arrays, int(levels)).astype(np.float64)
        got = fake_quantize(*arrays, levels=int(levels))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.astype(np.float64), wanted, f"{shape} {levels}")
        # Equal shapes are legal under every rule.
        full: Any = [np.broadcast_to(array, shape) for array in arrays]
        rules: list[Broadcast] = ["none", "pdpd"]
        for rule in rules:
            got = fake_quantize(*full, levels=int(levels), auto_broadcast=rule)
            np.testing.assert_array_equal(got.astype(np.float64), wanted, rule)


PDPD = [
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (2, 3)),
    ((2, 3, 4), (2,)),
    ((2, 3, 4), (2, 1)),
    ((2, 3, 4), (1, 3)),
    ((2, 3, 4), (1, 3, 1)),
    ((2, 3, 4), (1, 1, 4)),
    ((2, 3, 4), (1,)),
    ((2, 3, 4), ()),
    ((2, 2, 2), (2, 2)),
    ((), ()),
]


@pytest.mark.parametrize(("shape", "size"), PDPD)
def test_pdpd_places_limits_as_openvinos_elementwise_operators(
    openvino: Any, evaluate: Evaluate, shape: tuple[int, ...], size: tuple[int, ...]
) -> None:
    opset = openvino.opset1
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(f32)
    limits: Any = [rng.normal(size=size).astype(f32) for _ in range(4)]
    full = [x]
    # The reference of FakeQuantize ignores the rule and reads limits of a lower rank as numpy
    # would; Add does not, so it expands them.
    for limit in limits:
        parameters = [opset.parameter(shape, f32), opset.parameter(size, f32)]
        model = openvino.Model([opset.add(*parameters, "pdpd")], parameters)
        output = openvino.Tensor(np.zeros(shape, f32))
        assert model.evaluate(
            [output], [openvino.Tensor(np.zeros(shape, f32)), openvino.Tensor(limit)]
        )
        full.append(output.data.copy())
    got = fake_quantize(x, *limits, levels=16, auto_broadcast="pdpd")
    np.testing.assert_array_equal(bits(got), bits(evaluate(full, 16)))


@pytest.mark.parametrize("rule", ["numpy", "pdpd", "none"])
@pytest.mark.parametrize(
    ("shape", "size"),
    [
        *PDPD,
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (3,)),
        ((2, 3, 4), (3, 4)),
        ((2, 3, 4), (3, 1)),
        ((2, 3, 4), (1, 4)),
        ((2, 3, 4), (3, 1, 1)),
        ((2, 3), (2, 3, 1)),
        ((2, 3, 4), (1, 1, 1, 1)),
        ((2, 3, 4), (1, 1, 3, 1)),
        ((), (1,)),
    ],
)
def test_accepts_the_shapes_that_openvino_accepts(
    openvino: Any, rule: Any, shape: tuple[int, ...], size: tuple[int, ...]
) -> None:
    parameters = [openvino.opset1.parameter(s, f32) for s in (shape, *[size] * 4)]
    arrays: Any = [np.ones(shape, f32), *[np.zeros(size, f32)] * 4]
    try:
        openvino.opset1.fake_quantize(*parameters, 4, rule)
    except RuntimeError:
        with pytest.raises(RejectedError, match="broadcast"):
            fake_quantize(*arrays, levels=4, auto_broadcast=rule)
    else:
        assert fake_quantize(*arrays, levels=4, auto_broadcast=rule).shape == shape


def test_pdpd_axis_places_the_first_size_of_the_limit() -> None:
    x = np.arange(24, dtype=f32).reshape(2, 3, 4)
    limits = np.array([3, 9, 15], f32)
    by_axis = fake_quantize(x, limits, limits, 0, 1, 2, "pdpd", axis=1)
    np.testing.assert_array_equal(by_axis, (x > limits[:, None]).astype(f32))
    aligned = fake_quantize(x, x[0, 0], x[0, 0], 0, 1, 2, "pdpd", axis=-1)
    np.testing.assert_array_equal(aligned, (x > x[0, 0]).astype(f32))
    for axis in (-2, 3):
        with pytest.raises(RejectedError, match="broadcast"):
            fake_quantize(x, limits, limits, 0, 1, 2, "pdpd", axis=axis)


@pytest.mark.parametrize(
    ("levels", "rule", "size", "match"),
    [
        (1, "numpy", (), "levels"),
        (2**32 + 1, "numpy", (), "levels"),
        (4, "explicit", (), "auto_broadcast"),
        (4, "numpy", (4,), "broadcast"),
        (4, "numpy", (2, 3), "broadcast"),
    ],
)
def test_refuses_what_does_not_exist(levels: int, rule: Any, size: Any, match: str) -> None:
    limit = np.zeros(size, f32)
    with pytest.raises(RejectedError, match=match):
        fake_quantize(np.zeros(3, f32), limit, limit, limit, limit, levels, rule)


scales = st.floats(min_value=2.0**-100, max_value=2.0**100, width=32)


# The examples: the float32 nearest to (high - low) / 255 gives other limits, a neighbour these.
@given(scales, st.integers(-128, 127))
@example(1.5319669246673584, 70)
@example(1.4951937198638916, 66)
@example(1.2142642736434937, -90)
def test_an_activation_survives_the_way_there_and_back(scale: float, zero_point: int) -> None:
    limits = from_int8(Quantization(np.array([scale], f32), np.array([zero_point])))
    assert limits.input_low == f32(float(f32(scale)) * (-128 - zero_point))
    back = to_int8(*limits, 256)
    assert back.zero_point.tolist() == [zero_point]
    assert back.axis is None
    # Several scales may round to the same limits; the limits themselves come back exactly.
    assert abs(float(back.scale[0]) - scale) <= np.spacing(f32(scale))
    again = from_int8(back)
    assert again.input_low == limits.input_low
    assert again.input_high == limits.input_high


@given(st.lists(scales, min_size=2, max_size=5), st.integers(0, 3))
def test_weights_per_channel_survive_the_way_there_and_back(steps: list[float], axis: int) -> None:
    weights = Quantization(np.array(steps, f32), np.zeros(len(steps), np.int64), axis)
    limits = from_int8(weights, 255, rank=4)
    assert limits.input_low.shape == tuple(len(steps) if d == axis else 1 for d in range(4))
    np.testing.assert_array_equal(
        limits.input_high.ravel(), (np.array(steps, np.float64) * 127).astype(f32)
    )
    back = to_int8(*limits, 255)
    assert back.axis == axis
    assert not back.zero_point.any()
    for name in Limits._fields:
        np.testing.assert_array_equal(
            getattr(from_int8(back, 255, rank=4), name), getattr(limits, name)
        )


@given(
    st.floats(min_value=2.0**-10, max_value=2.0**10, width=32),
    st.integers(-128, 127),
    st.integers(-8, 8),
    st.integers(-8, 8),
)
def test_limits_off_by_float32_roundings_are_accepted_and_nearly_int8(
    scale: float, zero_point: int, low_ulps: int, high_ulps: int
) -> None:
    # With their own rounding the limits are off by less than 2^-23 + 2^-24, relatively.
    low = f32(float(scale) * (-128 - zero_point) * (1 + low_ulps * 2.0**-26))
    high = f32(float(scale) * (127 - zero_point) * (1 + high_ulps * 2.0**-26))
    got = to_int8(low, high, low, high, 256)
    assert got.zero_point.tolist() == [zero_point]
    # Each level of FakeQuantize is the real value of its code, to the precision of the limits.
    codes = np.arange(-128, 128)
    real = float(got.scale[0]) * (codes - zero_point)
    levels = fake_quantize(real.astype(f32), low, high, low, high, 256)
    assert np.max(np.abs(levels - real)) <= 256 * scale * 2.0**-20


@pytest.mark.parametrize("ulps", range(-7, 8))
def test_a_zero_point_may_miss_an_integer_by_the_tolerance(ulps: int) -> None:
    # One unit in the last place of 128 moves the position of 0 by 2^-16 * 127 / 255 = 7.6e-6.
    low, high = f32(-128 - ulps * 2.0**-16), f32(127)
    if abs(ulps) <= 4:
        assert to_int8(low, high, low, high, 256).zero_point.tolist() == [0]
    else:
        with pytest.raises(NoInt8Error, match="between two levels"):
            to_int8(low, high, low, high, 256)


@given(st.floats(-200, -1, width=32), st.floats(1, 200, width=32))
def test_int8_exists_where_zero_is_a_level(low: float, high: float) -> None:
    position = -Fraction(low) / (Fraction(high) - Fraction(low)) * 255
    distance = abs(position - round(position))
    limit = Fraction(255, 2**23)
    if abs(distance - limit) < Fraction(1, 2**40):
        return
    if distance < limit:
        assert to_int8(low, high, low, high, 256).zero_point.tolist() == [round(position) - 128]
    else:
        with pytest.raises(NoInt8Error, match="between two levels"):
            to_int8(low, high, low, high, 256)


@pytest.mark.parametrize(
    ("convert", "limits", "levels", "match"),
    [
        (to_int8, (-1, 1, -1, 1), 16, "levels"),
        (to_int8, (-1, 1, -1, 1), 257, "levels"),
        (to_int8, (-128, 127, -128, 126), 256, "output range"),
        (to_int8, (127, -128, 127, -128), 256, "inverted"),
        (to_int8, (0, 0, 0, 0), 256, "zero width"),
        (to_int8, (np.nan, 1, np.nan, 1), 256, "finite"),
        (to_int8, (-1, np.inf, -1, np.inf), 256, "finite"),
        (to_int8, (-1, 1, -1, 1), 256, "between two levels"),
        (to_int8, (1, 2, 1, 2), 256, "does not contain 0"),
        (to_int8, (-2, -1, -2, -1), 256, "does not contain 0"),
        (to_int8, (-128, 127, -128, 127), 255, "symmetric"),
        (to_int8, (0, 1e-45, 0, 1e-45), 256, "scale is 0"),
        (to_int8, ([0, 0], [1, 2], [0, 0], [1, 2]), 256, "one range"),
        (to_int8, ([[-1, -2]] * 2, [[1, 2]] * 2, [[-1, -2]], [[1, 2]]), 255, "several axes"),
        (to_codes, (-1, 1, -1, 1), 257, "2 to 256 levels"),
        (to_codes, (-1, 1, -1, 1), 2, "between two levels"),
        (to_codes, (-1, 2, -1, 2), 15, "15 levels are a weight's"),
        (to_codes, (0, 15, 1, 16), 16, "does not contain 0"),
        (to_codes, (0, [[15], [30]], 0, 15), 16, "one range"),
    ],
)
def test_refuses_ranges_without_codes_and_says_why(
    convert: Callable[..., object], limits: Any, levels: int, match: str
) -> None:
    with pytest.raises(NoInt8Error, match=match):
        convert(*limits, levels=levels)


@given(
    st.floats(min_value=2.0**-10, max_value=2.0**10, width=32),
    st.integers(2, 256),
    st.integers(0, 255),
    st.integers(0, 255),
)
@example(1.0, 2, 0, 1)
@example(0.5, 16, 15, 3)
def test_codes_of_fewer_bits_are_the_levels_and_a_rescale(
    scale: float, levels: int, zero: int, other: int
) -> None:
    first = -(levels // 2)
    numbers = np.arange(first, first + levels)
    zero, other = (first + each % levels if levels % 2 == 0 else 0 for each in (zero, other))
    low, high = (f32(scale * (end - zero)) for end in (first, first + levels - 1))
    to_low, to_high = (f32(3 * scale * (end - other)) for end in (first, first + levels - 1))
    given, taken = to_codes(low, high, to_low, to_high, levels)
    assert (given.zero_point.tolist(), taken.zero_point.tolist()) == ([zero], [other])
    x = (float(given.scale[0]) * (numbers - zero)).astype(f32)
    wanted = float(taken.scale[0]) * (numbers - other)
    got = fake_quantize(x, low, high, to_low, to_high, levels)
    assert np.max(np.abs(got - wanted)) <= 3 * levels * scale * 2.0**-19


def test_refuses_limits_whose_shapes_do_not_broadcast() -> None:
    with pytest.raises(RejectedError, match="broadcast"):
        to_int8([-1, -1], [1, 1, 1], [-1], [1], 255)


@pytest.mark.parametrize(
    ("scale", "zero_point", "axis", "levels", "rank", "error", "match"),
    [
        ([1], [0], None, 16, None, NoInt8Error, "levels"),
        ([1], [1], None, 255, None, NoInt8Error, "zero point is 0"),
        ([1], [128], None, 256, None, NoInt8Error, "no int8"),
        ([1, 2], [0, 0], 0, 256, 4, NoInt8Error, "one scale"),
        ([1, 2], [0, 0], 0, 255, None, RejectedError, "rank"),
        ([1, 2], [0, 0], 4, 255, 4, RejectedError, "rank"),
        ([1, 2], [0, 0], None, 255, 4, RejectedError, "axis"),
        ([0], [0], None, 256, None, NoInt8Error, "empty or infinite"),
        ([3e38], [0], None, 256, None, NoInt8Error, "empty or infinite"),
    ],
)
def test_refuses_codes_without_a_fake_quantize(
    scale: list, zero_point: list, axis: int, levels: Any, rank: int, error: Any, match: str
) -> None:
    quantization = Quantization(np.array(scale, f32), np.array(zero_point), axis)
    with pytest.raises(error, match=match):
        from_int8(quantization, levels, rank)
