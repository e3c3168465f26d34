"""Operators of a graph reach golden with their tensors and options, or a message that says why."""

from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_int8, load_model, quantization_of, run_graph, run_operator
from eightfold.operators.run import named_errors
from eightfold.run.session import Session
from tests.support.models.single import moved, one_operator
from tests.support.networks.layers import Written


def graph_of(operator: str, **more: Any) -> Graph:
    return load_model(one_operator(operator, [(1, 4)], (1, 4), **more))


def run(graph: Graph, reference: str = "litert") -> list[np.ndarray]:
    values = {i: np.zeros(graph.tensors[i].shape, graph.tensors[i].dtype) for i in graph.inputs}
    return run_operator(graph, graph.operators[0], values, reference)


def test_shapes_come_from_the_arrays() -> None:
    graph = graph_of("RELU")
    every = np.arange(-128, 128).astype(np.int8)
    (result,) = run_operator(graph, graph.operators[0], {0: every})
    np.testing.assert_array_equal(result, np.maximum(every, 0))


def test_quantization_has_an_axis_only_if_there_are_several_scales() -> None:
    constants = ((np.zeros((2, 3), np.int8), [1, 2, 3], 0, 1),)
    model = one_operator("ADD", [(2, 3)], (2, 3), zero_points=(-3, 0), constants=constants)
    one, several, _ = load_model(model).tensors
    assert quantization_of(one).axis is None
    assert quantization_of(one).per_tensor() == (0.5, -3)
    assert quantization_of(several).axis == 1


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (graph_of("CEIL"), "operator 0 CEIL: not supported"),
        (graph_of("RELU", source_dtype=np.float32), "operator 0 RELU: tensor 0 'tensor_0' is fl"),
        (graph_of("RELU", scales=(None, 0.5)), "operator 0 RELU: tensor 0 'tensor_0' has no scale"),
        (graph_of("LOGISTIC"), "operator 0 LOGISTIC: the output scale"),
    ],
    ids=["operator", "dtype", "quantization", "rule"],
)
def test_says_what_is_wrong_where(graph: Graph, message: str) -> None:
    with pytest.raises(InputError) as raised:
        run(graph)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_refuses_a_missing_value_and_an_unknown_reference() -> None:
    graph = graph_of("RELU")
    with pytest.raises(InputError, match="tensor 0 'tensor_0' has no value"):
        run_operator(graph, graph.operators[0], {})
    with pytest.raises(InputError, match="reference must be litert or tflm"):
        run(graph, "tensorflow")


def test_refuses_all_operators_that_do_not_run_before_any_runs() -> None:
    builder = ModelBuilder()
    tensors = [builder.input((2,), scale=0.5), *(builder.tensor((2,), scale=0.5) for _ in range(3))]
    for place, name in enumerate(("CEIL", "RELU", "FLOOR")):
        builder.operator(name, [tensors[place]], [tensors[place + 1]])
    builder.output(tensors[-1])
    graph = load_model(builder.build())
    with pytest.raises(InputError, match=r"^operator 0 CEIL: not .*; operator 2 FLOOR: not [^;]*"):
        run_graph(graph, {0: np.zeros(2, np.int8)})


def test_refuses_a_computed_shape_that_is_not_the_declared_one() -> None:
    graph = load_model(one_operator("RESHAPE", [(4,)], (2, 2), computed=[(2,)]))
    source, size, result = range(3)
    inputs = {source: np.zeros(4, np.int8), size: np.array([2, 2], np.int32)}
    assert run_graph(graph, inputs)[result].shape == (2, 2)
    message = (
        "operator 0 RESHAPE: tensor 2 'tensor_2': "
        "declared shape [2, 2], computed [4, 1]; give inputs that lead to the declared shape, or a "
        "model that declares the computed one"
    )
    with pytest.raises(InputError) as raised:
        run_graph(graph, inputs | {size: np.array([4, 1], np.int32)})
    assert str(raised.value) == message


def test_names_the_operator_where_numbers_leave_their_type() -> None:
    operator = graph_of("RELU").operators[0]
    with pytest.raises(InputError, match="^operator 0 RELU: overflow"), named_errors(operator):
        _ = np.float32(3e38) * np.float32(10)
    with pytest.raises(InputError, match="^operator 0 RELU: .*memory"), named_errors(operator):
        np.empty((1 << 31, 1 << 31), np.int8)


def test_pad_needs_quantization_on_both_sides() -> None:
    # LiteRT fills with 0 where the input has none, whatever the output's zero point.
    scales, zero_points = (None, 0.25), (0, 27)
    paddings = [[0, 0], [1, 1]]
    model = moved("PAD", (1, 2), (1, 4), paddings, scales=scales, zero_points=zero_points)
    graph = load_model(model)
    with pytest.raises(InputError, match="PAD: tensor 0 'tensor_0' has no scale and zero point"):
        run_graph(graph, {0: np.zeros((1, 2), np.int8)})


@pytest.mark.parametrize("name", ["ADD", "EQUAL", "LOGISTIC"])
def test_an_unused_operator_of_several_scales_is_refused(name: str) -> None:
    """LiteRT prepares it all the same, and the scale that it reads there is 0."""
    b = ModelBuilder()
    several = b.input((3, 2), scale=[0.5, 0.5, 0.5])
    inputs = [several] if name == "LOGISTIC" else [b.input((3, 2), scale=0.25), several]
    dtype = np.bool_ if name == "EQUAL" else np.int8
    scale = {} if name == "EQUAL" else {"scale": 1 / 256, "zero_point": -128}
    b.operator(name, inputs, [b.tensor((3, 2), dtype=dtype, **scale)])
    b.output(inputs[0])
    graph = load_model(b.build())
    values = {index: np.zeros((3, 2), np.int8) for index in graph.inputs}
    with pytest.raises(InputError, match="an activation has one scale, not 3"):
        run_graph(graph, values)


def test_int8_and_its_companions_are_computed_with() -> None:
    net = Written()
    x = net.given(1, 4)
    net.add("LESS", [x, x])
    net.add("ARG_MAX", [x, net.integers([1])], options={"output_type": "INT64"})
    net.tensor((1,), dtype=np.float32, name="unused")
    load_int8(net.build())


def test_float32_may_stand_at_the_edges() -> None:
    net = Written()
    codes = net.add("QUANTIZE", [net.input((1, 4), dtype=np.float32)])
    load_int8(net.model(net.add("DEQUANTIZE", [codes])))


def network(dtype: str, *, edges: bool) -> bytes:
    """Return a network that computes with an element type, or only takes and gives it."""
    b = ModelBuilder()
    x = b.input((1, 4), dtype=dtype, scale=0.5, name="image")
    y = b.tensor((1, 4), dtype="int8" if edges else dtype, scale=0.5)
    z = b.tensor((1, 4), dtype=dtype, scale=0.5)
    b.operator("QUANTIZE" if edges else "RELU", [x], [y])
    b.operator("QUANTIZE" if edges else "LOGISTIC", [y], [z])
    b.output(z)
    return b.build()


@pytest.mark.parametrize(
    ("dtype", "edges", "advice"),
    [
        (
            "float32",
            False,
            "representative_dataset and TFLITE_BUILTINS_INT8, or by litert-quantizer",
        ),
        ("uint8", False, "scheme of TensorFlow 1, .* convert the float network again"),
        ("int16", False, "activations of 8 bits in place of 16"),
        ("int16", True, "inference_input_type and inference_output_type tf.int8"),
    ],
)
def test_another_type_is_told_how_to_convert_it(dtype: str, edges: bool, advice: str) -> None:
    model = network(dtype, edges=edges)
    name = "QUANTIZE" if edges else "RELU"
    second = f"operator 1 {'QUANTIZE' if edges else 'LOGISTIC'}"
    where = rf"^model: operator 0 {name} works on {dtype}, in tensor 0 'image' \(and {second}\); "
    for run in (lambda: load_int8(model), lambda: Session().run(model)):
        with pytest.raises(InputError, match=f"{where}.*{advice}"):
            run()


def test_all_that_does_not_run_is_named_at_once() -> None:
    b = ModelBuilder()
    for name, dtype in (("SIN", "int8"), ("ADD", "float32"), ("ADD", "int8"), ("RELU", "uint8")):
        x = b.input((1, 4), dtype=dtype, scale=0.5)
        y = b.tensor((1, 4), dtype=dtype, scale=0.5)
        b.operator(name, [x, x] if name == "ADD" else [x], [y])
        b.output(y)
    words = (
        r"operator 1 ADD .* \(and operator 3 RELU on uint8\); .*; operator 0 SIN: not supported: "
    )
    with pytest.raises(InputError, match=words):
        load_int8(b.build())
