"""The committed network of examples/digits: what quantizes it, and what its README says of it."""

import math
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from eightfold.run.reference.oracle import Oracle
from examples.digits import images, network
from examples.digits.accuracy import float_correct, int8_correct
from examples.digits.quantize import from_range, quantize, quantize_bias, quantize_filter

MODEL = network.MODEL_FILE.read_bytes()
README = (network.FOLDER / "README.md").read_text(encoding="utf-8")
# Read with the schema's own classes, so that the example's tests judge no reader but LiteRT's.
PARSED: Any = schema.ModelT.InitFromObj(schema.Model.GetRootAs(MODEL))
GRAPH = PARSED.subgraphs[0]
TENSORS: dict[str, Any] = {tensor.name.decode(): tensor for tensor in GRAPH.tensors}
OPERATORS = {
    *("ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "LOGISTIC"),
    *("MAX_POOL_2D", "MUL", "QUANTIZE", "RESHAPE", "SOFTMAX"),
}


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    with np.load(network.WEIGHTS_FILE) as file:
        return dict(file)


@pytest.fixture(scope="module")
def tensors(oracle: Oracle) -> dict[str, np.ndarray]:
    """Every tensor as the reference sees it, by name."""
    values = oracle.run(MODEL, {0: images.load(network.TEST_FILE)[0][:1]})
    return {name: values[index] for index, name in enumerate(TENSORS)}


def quantization(name: str) -> tuple[float, int]:
    found = TENSORS[name].quantization
    (scale,), (zero_point,) = found.scale, found.zeroPoint
    return float(scale), int(zero_point)


def correct_in_readme(kind: str) -> str:
    (line,) = [line for line in README.splitlines() if line.startswith(f"| {kind}")]
    return line.split("|")[2].strip()


def table_row(index: int, layer: network.Layer) -> str:
    """Return the layer's row of the README."""
    shape = network.shapes()[layer.name]
    macs = 0
    if layer.operator in network.WEIGHTED:
        taps = TENSORS[f"{layer.name}.filter"].shape[1:]
        macs = math.prod(shape) * math.prod(taps[:2] if "DEPTHWISE" in layer.operator else taps)
    kernel = f"{layer.size}, {layer.stride}" if layer.size else ""
    no_activation = ("QUANTIZE", "LOGISTIC", "RESHAPE", "SOFTMAX")
    cells = (
        index,
        layer.operator,
        layer.name,
        ", ".join(layer.inputs),
        "x".join(map(str, shape)),
        kernel,
        "" if layer.operator in no_activation else layer.activation,
        macs,
    )
    return "|" + "|".join(f" {cell} " if cell != "" else " " for cell in cells) + "|"


def test_quantization_reproduces_the_committed_model_byte_for_byte(weights):
    assert quantize(weights, images.load(network.CALIBRATION_FILE)[0]) == MODEL


def test_the_accuracies_are_those_stated(weights):
    codes, labels = images.load(network.TEST_FILE)
    assert correct_in_readme("int8") == f"{int8_correct(MODEL, codes, labels)} of {len(labels)}"
    assert correct_in_readme("float") == f"{float_correct(weights, codes, labels)} of {len(labels)}"


def test_model_is_small_and_its_figures_are_the_ones_stated(weights):
    macs = sum(int(table_row(i, layer).split("|")[-2]) for i, layer in enumerate(network.LAYERS))
    count = sum(values.size for values in weights.values())
    text = " ".join(README.split())
    assert len(MODEL) < 100_000
    assert f"{count} weights and biases, {macs} multiply-accumulates, {len(MODEL)} bytes." in text


def test_operators_are_all_those_that_the_example_promises():
    assert {layer.operator for layer in network.LAYERS} == OPERATORS


@pytest.mark.parametrize(
    ("index", "layer"),
    [pytest.param(i, layer, id=layer.name) for i, layer in enumerate(network.LAYERS)],
)
def test_readme_has_the_layer(index, layer):
    assert table_row(index, layer) in README.splitlines()


def test_shapes_are_those_the_reference_computes(tensors):
    assert {name: tensors[name].shape for name in network.shapes()} == {
        name: (1, *shape) for name, shape in network.shapes().items()
    }


def test_quantize_changes_scale_and_zero_point_to_those_of_the_other_branch():
    before, after = quantization("peak"), quantization("peak_rescaled")
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert after == quantization("reduce")


def test_every_pixel_value_survives_quantization():
    pixels = np.arange(17, dtype=np.uint8)
    codes = images.to_codes(pixels)
    assert codes[0] == -128
    assert codes[-1] == 127
    np.testing.assert_array_equal(images.to_real(codes), pixels / 16)


def test_no_test_image_is_a_calibration_image():
    test, calibration = (
        {image.tobytes() for image in images.load(path)[0]}
        for path in (network.TEST_FILE, network.CALIBRATION_FILE)
    )
    assert len(test) == images.TEST_COUNT
    assert len(calibration) == images.CALIBRATION_COUNT
    assert not test & calibration


def test_sample_is_the_first_test_image():
    with np.load(network.SAMPLE_FILE) as file:
        assert list(file) == ["tensor_0"]
        np.testing.assert_array_equal(file["tensor_0"], images.load(network.TEST_FILE)[0][:1])
    assert f"the first test image, a {images.load(network.TEST_FILE)[1][0]}," in README


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0.0, 2.55], (0.01, -128), id="positive"),
        pytest.param([1.0, 2.55], (0.01, -128), id="zero-is-covered"),
        pytest.param([-2.55, -1.0], (0.01, 127), id="negative"),
        pytest.param([-1.0, 1.55], (0.01, -28), id="both"),
        pytest.param([0.0, 0.0], (1.0, -128), id="constant-zero"),
    ],
)
def test_range_is_covered_from_end_to_end(values, expected):
    found = from_range(np.array(values))
    assert (found.scale, found.zero_point) == (np.float32(expected[0]), expected[1])


def test_filter_codes_reach_both_ends_and_a_zero_channel_has_scale_one():
    codes, scales = quantize_filter(np.array([[-2.0, 1.0], [0.5, 0.25], [0.0, 0.0]]), 0)
    np.testing.assert_array_equal(codes, np.array([[-127, 64], [127, 64], [0, 0]], np.int8))
    np.testing.assert_array_equal(scales, np.array([2 / 127, 0.5 / 127, 1.0], np.float32))


def test_bias_beyond_int32_is_refused():
    with pytest.raises(ValueError, match="bias 4294967296 does not fit int32"):
        quantize_bias(np.array([2.0**31]), np.array([0.5], np.float32))
