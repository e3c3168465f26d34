"""Each rule finds the model that breaks it, and finds nothing else there."""

from typing import Any

import numpy as np
import pytest

from eightfold.operators import SPEC_ROWS, check_model
from eightfold.operators.rules import SAME
from tests.support.models.spec import found_in, operator_graph

_INPUT_SCALE = np.float32(0.3)
_CHANNELS = np.array([0.1, 1 / 3, 1e-6], np.float32)
_BIAS_RULE = "(scale, zero_point) = (input0_scale * input1_scale[...], 0)"
_UNQUANTIZED = (
    "no scale and zero point; "
    "real_value = (code - zero_point) * scale [spec, specification summary]"
)
_KEEPING = [row.name for row in SPEC_ROWS if row.entry.same]

_ALONG_DIMENSION_3 = {"array": np.ones((3, 1, 1, 3), np.int8), "axis": 3}
_ALONG_INPUTS = {"array": np.ones((3, 3), np.int8), "scale": _CHANNELS, "axis": 1}
_PRODUCTS = {"scale": _INPUT_SCALE * _CHANNELS}

_CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "bias-int64": ("CONV_2D", {"input_2": {"array": np.zeros(3, np.int64)}},
                   "int64; data_type int32"),
    "bias-zero-point": ("CONV_2D", {"input_2": {"zero_point": [0, 0, 7]}},
                        "zero point 7 at channel 2; zero_point = 0"),
    "bias-size": ("FULLY_CONNECTED", {"input_2": {"array": np.zeros(2, np.int32)}},
                  "2 values for 3 channels; one value per output channel"),
    "bias-one-scale": ("CONV_2D", {"input_2": {"scale": 0.03}},
                       "1 scales, the weight has 3; granularity per-axis"),
    "bias-per-axis-of-a-per-tensor-weight": (
        "FULLY_CONNECTED", {"input_2": {"scale": [0.006] * 3}},
        "3 scales, the weight has 1; granularity per-tensor"),
    "bias-unquantized": ("DEPTHWISE_CONV_2D", {"input_2": {"scale": None}}, _UNQUANTIZED),
    "bias-absent": ("DEPTHWISE_CONV_2D", {"input_2": None},
                    "note -: no Input 2 (Bias); has Input 2 (Bias) "
                    "[spec, row 5 DEPTHWISE_CONV_2D]"),
    "weight-zero-point": ("DEPTHWISE_CONV_2D", {"input_1": {"zero_point": [0, -1, 0]}},
                          "zero point -1 at channel 1; zero_point = 0"),
    "weight-unquantized": ("CONV_2D", {"input_1": {"scale": None}}, _UNQUANTIZED),
    "weight-wrong-axis": ("CONV_2D", {"input_1": _ALONG_DIMENSION_3},
                          "3 scales along dimension 3; granularity per-axis (dim = 0)"),
    "weight-convolution-per-tensor": (
        "CONV_2D",
        {"input_1": {"scale": 0.1}, "input_2": {"scale": _INPUT_SCALE * np.float32(0.1)}},
        "note 1: one scale for 3 channels; granularity per-axis (dim = 0) "
        "[spec, row 4 CONV_2D, Input 1 (Weight)]"),
    "weight-fully-connected-per-channel": (
        "FULLY_CONNECTED", {"input_1": {"scale": _CHANNELS}, "input_2": _PRODUCTS},
        "note 1: 3 scales along dimension 0; granularity per-tensor "
        "[spec, row 6 FULLY_CONNECTED, Input 1 (Weight)]"),
    "weight-fully-connected-along-inputs": (
        "FULLY_CONNECTED", {"input_1": _ALONG_INPUTS, "input_2": _PRODUCTS},
        "3 scales along dimension 1; granularity per-tensor"),
    "activation-per-axis": ("ADD", {"output_0": {"scale": [0.1, 0.2, 0.3, 0.4], "axis": 1}},
                            "4 scales along dimension 1; granularity per-tensor"),
    "activation-unquantized": ("MUL", {"output_0": {"scale": None}}, _UNQUANTIZED),
    "activation-int16": ("MEAN", {"output_0": {"dtype": np.int16}}, "int16; data_type int8"),
    "activation-uint8": ("SUB", {"input_0": {"dtype": np.uint8}}, "uint8; data_type int8"),
    "activation-second-operand-int16": (
        "MAXIMUM", {"input_1": {"dtype": np.int16}},
        "violation 1: int16; data_type int8 [reference kernels, MAXIMUM, Input 1]"),
    "activation-quantize-from-float": (
        "QUANTIZE", {"input_0": {"dtype": np.float32, "scale": None}},
        "note 0: float32 at the edge of the model; data_type int8 "
        "[spec, row 38 QUANTIZE, Input 0]"),
    "activation-absent": ("SQUEEZE", {"input_0": None},
                          "violation -: no Input 0; has Input 0 [spec, row 24 SQUEEZE]"),
    "integer-index-operand": (
        "TRANSPOSE", {"input_1": {"array": np.array([1, 0], np.int64)}},
        "note 1: int64; data_type int32 [reference kernels, TRANSPOSE, Input 1]"),
    "integer-index-operand-absent": ("PAD", {"input_1": None},
                                     "note -: no Input 1; has Input 1 [spec, row 16 PAD]"),
    "integer-comparison-output": (
        "LESS", {"output_0": {"dtype": np.int8}},
        "note 2: int8; data_type bool [reference kernels, LESS, Output 0]"),
    "integer-arg-max-output": (
        "ARG_MAX", {"output_0": {"dtype": np.int8}},
        "note 2: int8; data_type int32 or int64 [reference kernels, ARG_MAX, Output 0]"),
    "integer-shape-output": (
        "SHAPE", {"output_0": {"dtype": np.float32}},
        "note 1: float32; data_type int32 or int64 [reference kernels, SHAPE, Output 0]"),
}  # fmt: skip
"""An operator, what of its operands breaks the rule, and the finding: whole, or what is said of the
first of these operands, which violates its row of the spec."""

_PLACES = {row.name: place for place, row in enumerate(SPEC_ROWS, 1)}
_LABELS = {"input_1": " (Weight)", "input_2": " (Bias)"}


def _whole(name: str, operand: str, found: str) -> str:
    """Return a whole finding."""
    if found.startswith(("violation", "note")):
        return found
    side, number = operand.split("_")
    tensor = number if side == "input" else len(operator_graph(name).operators[0].inputs)
    if found == _UNQUANTIZED:
        return f"violation {tensor}: {found}"
    label = f"{side.capitalize()} {number}{_LABELS.get(operand, '')}"
    return f"violation {tensor}: {found} [spec, row {_PLACES[name]} {name}, {label}]"


@pytest.mark.parametrize(("name", "changes", "found"), _CASES.values(), ids=_CASES)
def test_a_broken_model_yields_exactly_this_finding(
    name: str, changes: dict[str, Any], found: str
) -> None:
    expected = _whole(name, next(iter(changes)), found)
    assert found_in(operator_graph(name, **changes)) == [expected]


@pytest.mark.parametrize(
    ("name", "place"), [("CONV_2D", 4), ("DEPTHWISE_CONV_2D", 5), ("FULLY_CONNECTED", 6)]
)
def test_weights_of_minus_128_are_counted_and_the_first_located(name: str, place: int) -> None:
    codes = np.array(operator_graph(name).tensors[1].data)
    source = f"range [-127, 127] [spec, row {place} {name}, Input 1 (Weight)]"
    last = [size - 1 for size in codes.shape]
    codes[tuple(last)] = -128
    assert found_in(operator_graph(name, input_1={"array": codes})) == [
        f"violation 1: -128 at {last}, 1 of {codes.size} codes; {source}"
    ]
    codes[...] = -128
    assert found_in(operator_graph(name, input_1={"array": codes})) == [
        f"violation 1: -128 at {[0] * codes.ndim}, {codes.size} of {codes.size} codes; {source}"
    ]


@pytest.mark.parametrize(
    ("name", "place", "words"),
    [
        ("L2_NORMALIZATION", 7, "(1.0 / 128.0, 0)"),
        ("LOGISTIC", 8, "(1.0 / 256.0, -128)"),
        ("SOFTMAX", 13, "(1.0 / 256.0, -128)"),
        ("TANH", 15, "(1.0 / 128.0, 0)"),
        ("LOG_SOFTMAX", 25, "(16.0 / 256.0, 127)"),
    ],
)
def test_fixed_output_scale_and_zero_point_are_exact(name: str, place: int, words: str) -> None:
    fixed = operator_graph(name).tensors[1].quantization
    assert fixed is not None
    scale, point = fixed.scale[0], fixed.zero_point[0]
    rule = f"(scale, zero_point) = {words} [spec, row {place} {name}, Output 0]"
    for wrong in (scale * 2, np.nextafter(scale, np.float32(1))):
        assert found_in(operator_graph(name, output_0={"scale": wrong})) == [
            f"violation 1: scale {wrong!s}, zero point {point}; {rule}"
        ]
    assert found_in(operator_graph(name, output_0={"zero_point": -1})) == [
        f"violation 1: scale {scale!s}, zero point -1; {rule}"
    ]


@pytest.mark.parametrize("name", _KEEPING)
@pytest.mark.parametrize(
    ("change", "scale", "zero_point"),
    [({"scale": 0.5}, "0.5", 3), ({"zero_point": 4}, "0.3", 4)],
    ids=["scale", "zero-point"],
)
def test_an_operator_that_keeps_scales_must_not_rescale(
    name: str, change: dict[str, Any], scale: str, zero_point: int
) -> None:
    graph = operator_graph(name, output_0=change)
    assert found_in(graph) == [
        f"violation {graph.outputs[0]}: Output 0 has scale {scale}, zero point {zero_point}; "
        f"Input 0 has scale 0.3, zero point 3; {SAME} [spec, row {_PLACES[name]} {name}]"
    ]


@pytest.mark.parametrize(
    ("name", "position"),
    [("PADV2", 2), ("CONCATENATION", 1), ("CONCATENATION", 2), ("MAXIMUM", 1), ("MINIMUM", 1)],
)
def test_same_scale_covers_every_input_with_values(name: str, position: int) -> None:
    graph = operator_graph(name, **{f"input_{position}": {"zero_point": -3}})
    (finding,) = check_model(graph)
    assert (finding.severity, finding.tensor, finding.rule) == ("violation", position, SAME)
    assert finding.found.startswith(f"Input {position} has ")


def _bias_scales(change: float) -> dict[str, Any]:
    scales = (_INPUT_SCALE * _CHANNELS).astype(np.float64)
    scales[2] *= change
    return {"scale": scales}


def test_bias_scale_off_by_a_little_is_found_at_its_channel() -> None:
    assert found_in(operator_graph("CONV_2D", input_2=_bias_scales(1 + 3e-4))) == [
        "violation 2: bias scale off by 0.0003 relative at channel 2: 3.0009002e-07, not 3e-07; "
        f"1 of 3 channels; {_BIAS_RULE} [spec, row 4 CONV_2D, Input 2 (Bias)]"
    ]


def test_the_worst_of_several_bias_scales_is_named() -> None:
    scales = _INPUT_SCALE * _CHANNELS * np.array([1 + 1e-5, 1 - 2e-2, 1 + 1e-3], np.float32)
    (finding,) = check_model(operator_graph("CONV_2D", input_2={"scale": scales}))
    assert finding.found.startswith("bias scale off by 0.02 relative at channel 1: ")
    assert finding.found.endswith("; 3 of 3 channels")


@pytest.mark.parametrize("change", [1 - 2.0**-21, 1 + 2.0**-21, 1e6, 1e-6])
def test_bias_scale_off_by_more_than_rounding_is_found(change: float) -> None:
    (finding,) = check_model(operator_graph("CONV_2D", input_2=_bias_scales(change)))
    assert (finding.severity, finding.rule) == ("violation", _BIAS_RULE)


def _found_of_scales(*operands: Any) -> list[str]:
    changes = {f"input_{place}": {"scale": scale} for place, scale in enumerate(operands)}
    return found_in(operator_graph("CONV_2D", **changes))


@pytest.mark.parametrize("seed", range(3))
def test_bias_scales_of_float32_and_of_double_products_pass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        exact = rng.uniform(1e-6, 2.0, 4)  # the input's and three channels'
        input_scale = np.float32(exact[0])
        scales = exact[1:].astype(np.float32)
        for products in (input_scale * scales, (exact[0] * exact[1:]).astype(np.float32)):
            assert _found_of_scales(input_scale, scales, products) == []


def test_bias_scales_below_the_normal_float32_range_pass() -> None:
    scales = np.array([1e-38, 3e-38, 1e-30], np.float32)
    input_scale = np.float32(1e-6)
    assert _found_of_scales(input_scale, scales, input_scale * scales) == []
