"""TFLite Micro's variants against exact arithmetic.

`test_against_tflite_micro` holds them against TFLite Micro itself, where it is installed.
"""

from fractions import Fraction

import numpy as np
import pytest

from eightfold.golden.binary import mul
from eightfold.golden.blocks import space_to_batch_nd
from eightfold.golden.convolution import conv_2d
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from eightfold.golden.floats import dequantize
from eightfold.golden.fully_connected import fully_connected, integer_multipliers
from eightfold.golden.quantization import Quantization
from eightfold.golden.rectifiers import prelu
from eightfold.golden.unary import CODES, logistic, relu6, tanh
from eightfold.golden.windows import Window
from tests.support.models.exact_arithmetic import per_tensor

EVERY_CODE = CODES.astype(np.int8)
DENSE = {"bias_quantization": None, "activation": "RELU6", "reference": "tflm"}


@pytest.mark.parametrize("seed", range(20))
def test_fully_connected_per_channel_is_a_convolution_of_one_pixel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, (5, 33)).astype(np.int8)
    weights = rng.integers(-127, 128, (7, 33)).astype(np.int8)
    bias = rng.integers(-30000, 30000, 7).astype(np.int32)
    quantizations = {
        "input_quantization": per_tensor(0.05, -128),
        "weight_quantization": Quantization(
            rng.uniform(0.001, 0.02, 7).astype(np.float32), np.zeros(7, np.int64), axis=0
        ),
        "output_quantization": per_tensor(0.1, 5),
    }
    got = fully_connected(x, weights, bias, **quantizations, **DENSE)
    expected = conv_2d(
        x[:, None, None],
        weights[:, None, None],
        bias,
        **quantizations,
        window=Window(kernel=(1, 1)),
        activation="RELU6",
    )
    np.testing.assert_array_equal(got, expected.reshape(5, 7))


def test_fully_connected_per_tensor_multiplies_scales_in_float32() -> None:
    inputs, filters, output = np.float32(0.1), np.float32(0.3), np.float32(0.7)
    multiplier, shift = integer_multipliers(
        per_tensor(0.1, 0), per_tensor(0.3, 0), per_tensor(0.7, 0)
    )
    narrow = float(inputs * filters)
    wide = float(inputs) * float(filters)
    assert narrow != wide
    scaled = Fraction(narrow) / Fraction(float(output)) * 2 ** (31 - int(shift[0]))
    assert abs(multiplier[0] - scaled) <= Fraction(1, 2)
    assert abs(multiplier[0] - scaled * Fraction(wide) / Fraction(narrow)) > Fraction(1, 2)


@pytest.mark.parametrize("exponent", range(-12, 1))
def test_logistic_and_tanh_are_within_the_known_distance_of_the_tables(exponent: int) -> None:
    """At most 5 codes (LOGISTIC, whose radius saturates early at large scales) and 1 (TANH)."""
    rng = np.random.default_rng(exponent + 100)
    for function, output, limit in (
        (logistic, per_tensor(1 / 256, -128), 5),
        (tanh, per_tensor(1 / 128, 0), 1),
    ):
        for zero_point in (-128, 0, 127):
            inputs = per_tensor(2.0**exponent * rng.uniform(1, 2), zero_point)
            both = [
                function(
                    EVERY_CODE,
                    input_quantization=inputs,
                    output_quantization=output,
                    reference=reference,
                ).astype(int)
                for reference in ("litert", "tflm")
            ]
            assert np.max(np.abs(both[0] - both[1])) <= limit
            assert np.count_nonzero(both[0] != both[1]) <= 4


def test_logistic_saturates_at_the_radius() -> None:
    """Scale 1/16: 1/16 * 2^27 = 0.5 * 2^24, so the radius is floor(15 * 2^27 / 2^24) = 120."""
    got = logistic(
        EVERY_CODE,
        input_quantization=per_tensor(1 / 16, 0),
        output_quantization=per_tensor(1 / 256, -128),
        reference="tflm",
    )
    assert set(got[CODES <= -120]) == {-128}
    assert set(got[CODES >= 120]) == {127}
    assert got[128] == 0


def test_mul_takes_its_multiplier_in_float64() -> None:
    """At chosen scales, as PRELU below: with random ones float32 hardly ever gives another code."""
    scale, factor, output = map(np.float32, (0.02505448, 0.0339971, 0.013628476))
    got = mul(
        EVERY_CODE[:, None],
        EVERY_CODE[None, :],
        a_quantization=per_tensor(float(scale), 13),
        b_quantization=per_tensor(float(factor), -128),
        output_quantization=per_tensor(float(output), 0),
        reference="tflm",
    )
    products = np.multiply.outer(CODES - 13, CODES + 128)
    pair = quantize_multiplier(float(scale) * float(factor) / float(output))
    scaled = multiply_by_quantized_multiplier(products, *pair)
    np.testing.assert_array_equal(got, np.clip(scaled, -128, 127))


@pytest.mark.parametrize(("scale", "zero_point"), [(0.1, -3), (0.05, 0), (0.001, 100), (1.0, -128)])
def test_relu6_clamps_codes_and_never_rescales(scale: float, zero_point: int) -> None:
    got = relu6(
        EVERY_CODE,
        input_quantization=per_tensor(scale, zero_point),
        output_quantization=per_tensor(0.7, 50),
        reference="tflm",
    )
    six = zero_point + round(6 / scale)
    np.testing.assert_array_equal(got, np.clip(CODES, zero_point, min(six, 127)))


def test_space_to_batch_pads_with_the_code_0() -> None:
    same = per_tensor(0.5, -7)
    got = space_to_batch_nd(
        np.array([[[[3], [4]]]], np.int8),
        [1, 2],
        np.array([[0, 0], [1, 1]]),
        input_quantization=same,
        output_quantization=same,
        reference="tflm",
    )
    assert got.reshape(2, 2).tolist() == [[0, 4], [3, 0]]


def test_dequantize_takes_the_first_scale_and_zero_point_for_all() -> None:
    channels = Quantization(np.array([0.5, 2.0], np.float32), np.array([1, 9]), axis=1)
    codes = np.array([[3, 3], [-5, -5]], np.int8)
    got = dequantize(codes, input_quantization=channels, reference="tflm")
    assert got.tolist() == [[1.0, 1.0], [-3.0, -3.0]]


def test_prelu_takes_its_multipliers_in_float64() -> None:
    scale, slope, output = map(np.float32, (0.05462424, 0.15565102, 1.5996146))
    got = prelu(
        EVERY_CODE[:, None].repeat(256, axis=1),
        EVERY_CODE,
        input_quantization=per_tensor(float(scale), 127),
        alpha_quantization=per_tensor(float(slope), -128),
        output_quantization=per_tensor(float(output), 0),
        reference="tflm",
    )
    v = (CODES - 127)[:, None]
    one = quantize_multiplier(float(scale) / float(output))
    both = quantize_multiplier(float(scale) * float(slope) / float(output))
    positive = multiply_by_quantized_multiplier(v, *one)
    negative = multiply_by_quantized_multiplier(v * (CODES + 128), *both)
    np.testing.assert_array_equal(got, np.clip(np.where(v >= 0, positive, negative), -128, 127))
