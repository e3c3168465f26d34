"""The builder's files hold exactly what was asked for; reading and writing a file loses nothing."""

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as generated
from flatbuffers import number_types

from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.model import read_model
from eightfold.model.builder import ModelBuilder
from eightfold.model.schema import OPERATOR_CODES, options_name
from eightfold.model.writer import field_types, pack, unpack

_REFUSED_WHEN_READ = {"CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"}


def test_round_trip_keeps_tensors_operators_and_options() -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (4, 3, 2, 5), dtype=np.int8)
    bias = rng.integers(-(2**31), 2**31, 4, dtype=np.int32)
    scales = np.array([0.1, 1e-30, 3.4e38, 2**-24], np.float32)
    b = ModelBuilder("two operators")
    x = b.input((1, 9, 8, 5), scale=0.3, zero_point=-128, name="image")
    w = b.constant(weights, scale=scales, axis=0)
    c = b.constant(bias, scale=scales * np.float32(0.3))
    y = b.tensor((1, 5, 4, 4), scale=1 / 3, zero_point=127)
    options = {"padding": "VALID", "stride_w": 2, "stride_h": 3, "dilation_w_factor": 4}
    b.operator("CONV_2D", [x, w, c], [y], {**options, "fused_activation_function": "RELU6"})
    z = b.tensor((1, 80), dtype=np.int8)
    b.operator("RESHAPE", [y, -1], [z], {"new_shape": [1, 80]})
    b.output(z)
    graph = read_model(b.build())

    assert (graph.inputs, graph.outputs) == ((x,), (z,))
    assert graph.description == "two operators"
    conv, reshape = graph.operators
    assert (conv.name, conv.inputs, conv.outputs) == ("CONV_2D", (x, w, c), (y,))
    assert conv.options == {
        **options,
        "fused_activation_function": "RELU6",
        "dilation_h_factor": 1,
        "quantized_bias_type": "FLOAT32",
    }
    assert (reshape.index, reshape.inputs) == (1, (y, -1))
    assert reshape.options == {"new_shape": (1, 80)}
    image, filters, biases, result, flat = graph.tensors
    assert (image.name, image.shape, image.dtype) == ("image", (1, 9, 8, 5), np.int8)
    assert filters.data is not None
    assert biases.data is not None
    np.testing.assert_array_equal(filters.data, weights, strict=True)
    np.testing.assert_array_equal(biases.data, bias, strict=True)
    assert filters.quantization is not None
    assert filters.quantization.axis == 0
    np.testing.assert_array_equal(filters.quantization.scale, scales, strict=True)
    zeros = np.zeros(4, np.int64)
    np.testing.assert_array_equal(filters.quantization.zero_point, zeros, strict=True)
    assert result.quantization is not None
    np.testing.assert_array_equal(
        result.quantization.scale, np.array([1 / 3], np.float32), strict=True
    )
    np.testing.assert_array_equal(result.quantization.zero_point, [127])
    assert flat.quantization is None


@pytest.mark.parametrize("name", sorted(OPERATOR_CODES.keys() - _REFUSED_WHEN_READ))
def test_covers_every_builtin_operator(name: str) -> None:
    b = ModelBuilder()
    x, y = b.input((2,)), b.tensor((2,))
    b.operator(name, [x], [y])
    packed: Any = generated.ModelT.InitFromPackedBuf(b.build())
    operator = packed.subgraphs[0].operators[0]
    assert packed.operatorCodes[operator.opcodeIndex].builtinCode == OPERATOR_CODES[name]
    held = operator.builtinOptions or operator.builtinOptions2
    expected = options_name(name)
    assert type(held).__name__ == (expected + "T" if expected else "NoneType")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("AVERAGE_POOL_2D", "Pool2DOptions"),
        ("MAXIMUM", "MaximumMinimumOptions"),
        ("MEAN", "ReducerOptions"),
        ("L2_NORMALIZATION", "L2NormOptions"),
        ("BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions"),
        ("STABLEHLO_COMPOSITE", "StableHLOCompositeOptions"),
        ("LOGISTIC", None),
        ("RELU", None),
        ("PRELU", None),
    ],
)
def test_names_the_schemas_options(name: str, options: str | None) -> None:
    assert options_name(name) == options


def test_option_vectors_have_the_schemas_width() -> None:
    b = ModelBuilder()
    options = {
        "window_strides": (2**40, -1),  # int64
        "window_reversal": [True, False],
        "precision_config": np.array([1, 2]),
    }
    x, y = b.input((2,)), b.tensor((2,))
    b.operator("STABLEHLO_CONVOLUTION", [x], [y], options)
    b.operator("SQUEEZE", [y], [b.tensor((2,))], {"squeeze_dims": (-1, 2**31 - 1)})  # int32
    read = [operator.options for operator in read_model(b.build()).operators]
    assert {name: read[0][name] for name in options} == {
        "window_strides": (2**40, -1),
        "window_reversal": (True, False),
        "precision_config": (1, 2),
    }
    assert read[1] == {"squeeze_dims": (-1, 2**31 - 1)}


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "float32", "bool"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1, 2, 1, 2, 1, 2)])
def test_constants_keep_shape_and_type(kind: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).integers(0, 100, shape).astype(kind)
    b = ModelBuilder()
    b.constant(array)
    data = read_model(b.build()).tensors[0].data
    assert data is not None
    np.testing.assert_array_equal(data, array, strict=True)


def test_constants_start_at_multiples_of_16_bytes() -> None:
    b = ModelBuilder()
    patterns = [np.random.default_rng(n).integers(0, 256, 20 + n, np.uint8) for n in range(9)]
    for pattern in patterns:
        b.constant(pattern)
    model = b.build()
    assert [model.index(pattern.tobytes()) % 16 for pattern in patterns] == [0] * 9


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("CONV_3", None, "no such builtin operator"),
        ("RELU", {"alpha": 1}, "RELU has no options"),
        ("CONV_2D", {"strides": 1}, "CONV_2D has no option strides; it has padding, stride_w"),
        ("CONV_2D", {"padding": "FULL"}, "padding must be one of SAME, VALID, not 'FULL'"),
    ],
)
def test_refuses_what_the_schema_lacks(name: str, options: dict | None, message: str) -> None:
    b = ModelBuilder()
    with pytest.raises(ValueError, match=message):
        b.operator(name, [b.input((1,))], [b.tensor((1,))], options)


@pytest.mark.parametrize("operator", OPERATORS)
def test_packed_again_a_file_is_the_same(operator: str) -> None:
    for seed in range(3):
        model, _ = random_case(operator, case_rng(operator, seed))
        assert pack(unpack(model)) == model


def test_tables_have_the_schemas_names() -> None:
    b = ModelBuilder("what it is")
    x = b.input((1, 4), scale=0.5, zero_point=-1)
    y = b.tensor((1, 4), scale=0.25)
    b.operator("SOFTMAX", [x], [y], {"beta": 2.0})
    b.output(y)
    model = unpack(b.build())
    assert model.name == "Model"
    assert model.fields["Description"] == "what it is"
    (subgraph,) = model.fields["Subgraphs"]
    (operator,) = subgraph.fields["Operators"]
    assert operator.fields["BuiltinOptions"].name == "SoftmaxOptions"
    assert operator.fields["BuiltinOptions"].fields == {"Beta": 2.0}
    tensor = subgraph.fields["Tensors"][x].fields
    np.testing.assert_array_equal(tensor["Shape"], [1, 4])
    np.testing.assert_array_equal(tensor["Quantization"].fields["ZeroPoint"], [-1])


def test_fields_have_types() -> None:
    types = field_types("Pool2DOptions")
    assert list(types)[:2] == ["Padding", "StrideW"]
    assert types["Padding"] is number_types.Int8Flags
    assert types["StrideW"] is number_types.Int32Flags
    assert field_types("Tensor")["Shape"] is number_types.UOffsetTFlags
