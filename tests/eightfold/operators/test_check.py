"""The checker as a whole: conforming models, models of several operators, and how it reports."""

import json
from dataclasses import replace

import numpy as np
import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.model import read_model
from eightfold.model.builder import ModelBuilder
from eightfold.model.graph import Quantization
from eightfold.operators import SPEC_ROWS, check_model, findings_as_json, has_violation, render
from eightfold.operators.rules import SAME
from eightfold.run.reference.oracle import Oracle
from tests.support.models.mlperf_tiny import NETWORKS, mlperf_tiny
from tests.support.models.networks import BIASES, person_detect
from tests.support.models.single import one_operator
from tests.support.models.spec import found_in, operator_graph, operator_model

_ROOT = IMPORT_ROOT
_NAMES = [row.name for row in SPEC_ROWS]
_TABLE = "spec, int8 quantized operator specifications"


@pytest.mark.parametrize("name", _NAMES)
def test_a_conforming_model_of_each_row_has_no_finding(name: str) -> None:
    assert found_in(operator_graph(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
def test_conforming_models_are_what_the_reference_kernels_take(name: str, oracle: Oracle) -> None:
    model = operator_model(name)
    graph = read_model(model)
    inputs = {index: np.zeros(graph.tensors[index].shape, np.int8) for index in graph.inputs}
    result = oracle.run(model, inputs)
    (output,) = graph.outputs
    assert result[output].dtype == graph.tensors[output].dtype
    assert result[output].shape == graph.tensors[output].shape


def test_the_projects_own_network_conforms() -> None:
    assert found_in(read_model(_ROOT / "examples" / "digits" / "digits.tflite")) == []


@pytest.mark.parametrize("name", NETWORKS)
def test_models_of_the_tflite_converter_conform(name: str) -> None:
    assert found_in(read_model(mlperf_tiny(name))) == []


def test_a_bias_with_a_dimension_that_it_does_not_have_is_noted_once() -> None:
    graph = read_model(person_detect(3))
    findings = check_model(graph)
    assert [finding.tensor for finding in findings] == list(BIASES)
    assert not has_violation(findings)
    assert "quantized dimension 3 of a tensor of rank 1 is taken as 0" in render(findings, graph)[0]
    assert check_model(read_model(person_detect(0))) == []


@pytest.mark.parametrize(
    "name", ["RELU", "LEAKY_RELU", "HARD_SWISH", "STRIDED_SLICE", "DEQUANTIZE"]
)
def test_an_operator_without_row_is_noted_once(name: str) -> None:
    graph = read_model(one_operator(name, [(2,)], (2,), dtype=np.float32))
    assert found_in(graph) == [
        f"note -: no row for {name}; the operator table has 38 rows [{_TABLE}]"
    ]
    assert not has_violation(check_model(graph))


def test_float_inside_the_model_is_a_violation() -> None:
    b = ModelBuilder()
    x = b.input((2,), scale=0.1)
    middle = b.tensor((2,), dtype=np.float32)
    y = b.tensor((2,), scale=0.1)
    b.operator("QUANTIZE", [x], [middle])
    b.operator("QUANTIZE", [middle], [y])
    b.output(y)
    assert found_in(read_model(b.build())) == [
        f"violation {middle}: float32; data_type int8 [spec, row 38 QUANTIZE, Output 0]"
    ]


def test_arithmetic_on_shapes_is_noted_once_per_operator() -> None:
    b = ModelBuilder()
    x = b.input((2, 3), scale=0.1)
    sizes, part = b.tensor((2,), dtype=np.int32), b.tensor((1,), dtype=np.int32)
    b.operator("SHAPE", [x], [sizes], {"out_type": "INT32"})
    index = [b.constant(np.array([value], np.int32)) for value in (0, 1)]
    b.operator("SLICE", [sizes, *index], [part])
    b.output(part)
    assert found_in(read_model(b.build())) == [
        "note -: int32 without scale: arithmetic on shapes or indices; "
        "data_type int8 [spec, row 34 SLICE]"
    ]


def test_int32_with_a_scale_is_no_arithmetic_on_shapes() -> None:
    b = ModelBuilder()
    x = b.input((2,), dtype=np.int32, scale=0.1)
    y = b.tensor((2,), dtype=np.int32, scale=0.1)
    b.operator("ADD", [x, x], [y])
    b.output(y)
    findings = check_model(read_model(b.build()))
    found = [(f.severity, f.tensor, f.found) for f in findings]
    assert found == [("violation", x, "int32"), ("violation", y, "int32")]


def test_weights_that_are_int32_are_no_arithmetic_on_shapes() -> None:
    model = one_operator("FULLY_CONNECTED", [], (1, 1), computed=[(1, 4)] * 2, dtype=np.int32)
    findings = check_model(read_model(model))
    assert [f.tensor for f in findings if f.severity == "violation"] == [0, 1, 2]


def test_a_weight_that_is_computed_is_noted() -> None:
    bias = (np.zeros(1, np.int32), 0.125, 0, 0)
    model = one_operator(
        "FULLY_CONNECTED", [(1, 4)] * 2, (1, 1), scales=(0.5, 0.25, 0.5), constants=(bias,)
    )
    assert found_in(read_model(model)) == [
        "note 1: computed, so that its range is not known; "
        "range [-127, 127] [spec, row 6 FULLY_CONNECTED, Input 1 (Weight)]"
    ]


def test_an_input_too_many_is_noted() -> None:
    fixed = {"scales": (0.5, 0.5, 1 / 256), "zero_points": (0, 0, -128)}
    assert found_in(read_model(one_operator("LOGISTIC", [(2,)] * 2, (2,), **fixed))) == [
        "note -: Input 1 is int8; LOGISTIC has no Input 1 [spec, row 8 LOGISTIC]"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("count", range(5))
def test_any_number_of_scalar_operands_is_judged(name: str, count: int) -> None:
    b = ModelBuilder()
    inputs = [b.constant(np.int8(-128), scale=0.5) for _ in range(count)]
    b.operator(name, [*inputs, -1], [])
    findings = check_model(read_model(b.build()))
    assert any(f.found == "no Output 0" for f in findings)


@pytest.mark.parametrize(
    ("scale", "zero_point", "rule", "found"),
    [
        (0.3, -129, "zero_point in [-128, 127]", "zero point -129"),
        (0.3, 128, "zero_point in [-128, 127]", "zero point 128"),
        (0.0, 0, "scale is finite and above 0", "scale 0.0"),
        (-1.0, 0, "scale is finite and above 0", "scale -1.0"),
        (np.inf, 0, "scale is finite and above 0", "scale inf"),
        (np.nan, 0, "scale is finite and above 0", "scale nan"),
    ],
)
@pytest.mark.parametrize(("name", "tensor"), [("ADD", 2), ("CONV_2D", 0), ("MAX_POOL_2D", 1)])
def test_a_graph_that_no_file_can_hold_is_judged_too(
    name: str, tensor: int, scale: float, zero_point: int, rule: str, found: str
) -> None:
    graph = operator_graph(name)
    wrong = Quantization(np.array([scale], np.float32), np.array([zero_point]), 0)
    tensors = list(graph.tensors)
    tensors[tensor] = replace(tensors[tensor], quantization=wrong)
    first, *others = check_model(replace(graph, tensors=tuple(tensors)))
    assert (first.severity, first.tensor) == ("violation", tensor)
    assert (first.rule, first.found) == (rule, found)
    # A zero point that differs is also one that an operator with equal scales must not have.
    assert [f.rule for f in others] == [SAME] * (name == "MAX_POOL_2D" and scale == 0.3)


def test_what_is_wrong_with_a_tensor_is_reported_at_the_first_operator() -> None:
    b = ModelBuilder()
    x = b.input((1, 4), dtype=np.int16, scale=0.1)
    y, z = (b.tensor((1, 4), dtype=np.int16, scale=0.1) for _ in range(2))
    b.operator("ADD", [x, x], [y])
    b.operator("ADD", [y, x], [z])
    b.output(z)
    findings = check_model(read_model(b.build()))
    assert [(f.operator, f.tensor) for f in findings] == [(0, x), (0, y), (1, z)]


def test_lines_and_json_say_the_same() -> None:
    codes = np.full((3, 1, 1, 2), -128, np.int8)
    graph = operator_graph("CONV_2D", input_1={"array": codes, "name": "kernel\n"}, input_2=None)
    findings = check_model(graph)
    assert render(findings, graph) == [
        "note: operator 0 CONV_2D: no Input 2 (Bias); rule: has Input 2 (Bias) "
        "[TFL8-CONV_2D-4: spec, row 4 CONV_2D]",
        "violation: operator 0 CONV_2D, tensor 1 'kernel\\n': -128 at [0, 0, 0, 0], 6 of 6 codes; "
        "rule: range [-127, 127] [TFL8-CONV_2D-2: spec, row 4 CONV_2D, Input 1 (Weight)]",
    ]
    document = findings_as_json(findings)
    assert json.loads(json.dumps(document)) == document
    assert (document["violations"], document["notes"]) == (1, 1)
    assert document["findings"][1] == {
        "severity": "violation",
        "operator": 0,
        "operator_name": "CONV_2D",
        "tensor": 1,
        "tensor_name": "kernel\n",
        "rule": "range [-127, 127]",
        "identity": "TFL8-CONV_2D-2",
        "source": "spec, row 4 CONV_2D, Input 1 (Weight)",
        "found": "-128 at [0, 0, 0, 0], 6 of 6 codes",
    }
    assert has_violation(findings)
    assert not has_violation(findings[:1])
