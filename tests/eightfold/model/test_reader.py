"""Every unsound file is refused in one line that says what, where and what to do instead."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as generated

from eightfold.common.errors import InputError
from eightfold.model import normalize_dimensions, read_model, writer
from eightfold.model.builder import ModelBuilder
from eightfold.model.schema import TENSOR_TYPES
from eightfold.operators import load_int8
from eightfold.run.reference.oracle import Oracle, OracleRejected
from tests.support.models.edited import Edit, convolved, each, edited, ints, put, with_buffer
from tests.support.models.mlperf_tiny import mlperf_tiny
from tests.support.models.networks import BIASES, INPUT, person_detect

_subgraph = partial(put, "subgraphs", 0)
_tensor = partial(_subgraph, "tensors")
_operator = partial(_subgraph, "operators")


def _custom_operators(*names: str) -> Edit:
    codes = [
        generated.OperatorCodeT(deprecatedBuiltinCode=32, builtinCode=32, customCode=code)
        for code in names
    ]
    return put(operatorCodes=codes)


_UNSOUND = [
    ("negative dimension", _tensor(0, shape=ints(1, -4, 4, 2)), "tensor 0 .*must be fixed"),
    ("dynamic batch", _tensor(0, shape=ints(-1, 4, 4, 2)), "tensor 0 .*must be fixed"),
    ("rank 33", _tensor(3, shape=np.ones(33, np.int32)), "33 dimensions; the limit is 32"),
    ("2 GiB", _tensor(3, shape=ints(2, 2**30)), "tensor 3 .*2147483648 bytes; the limit"),
    ("huge product", _tensor(3, shape=np.full(32, 2**31 - 1, np.int32)), "tensor 3 .*the limit"),
    ("data too long", _tensor(1, shape=ints(3, 1, 1, 1), quantization=None), "takes 3 .* has 6"),
    ("data too short", _tensor(2, shape=ints(4), quantization=None), "takes 16 .* has 12"),
    ("buffer index", _tensor(1, buffer=3), "tensor 1 .*buffer 3 of 3"),
    (
        "external buffer",
        put("buffers", 1, offset=4096, size=6),
        "tensor 1 .*outside the flatbuffer",
    ),
    ("external buffer id", _tensor(1, externalBuffer=1), "tensor 1 .*outside the flatbuffer"),
    (
        "int4",
        _tensor(1, type=TENSOR_TYPES["INT4"]),
        "tensor 1 .*element type INT4, not int8, .*; convert the float network",
    ),
    ("strange type", _tensor(1, type=99), "tensor 1 .*element type code 99"),
    ("sparse", _tensor(1, sparsity=generated.SparsityParametersT()), "tensor 1 .*is sparse"),
    ("variable", _tensor(3, isVariable=True), "operator 0 CONV_2D computes tensor 3 .*state"),
    (
        "scale count",
        _tensor(1, "quantization", scale=np.array([1, 1], np.float32)),
        "tensor 1 .*2 scales for shape",
    ),
    (
        "point count",
        _tensor(1, "quantization", zeroPoint=np.array([0], np.int64)),
        "3 scales and 1 zero points",
    ),
    (
        "zero point",
        _tensor(3, "quantization", zeroPoint=np.array([128], np.int64)),
        "zero point 128; int8 holds -128",
    ),
    ("axis", _tensor(1, "quantization", quantizedDimension=4), "along dimension 4 of 4"),
    ("negative axis", _tensor(3, "quantization", quantizedDimension=-1), "along dimension -1 of 4"),
    ("details", _tensor(3, "quantization", detailsType=1), "tensor 3 .*custom quantization"),
    ("input index", _operator(0, inputs=ints(0, 1, 5)), "operator 0 CONV_2D names tensor 5"),
    ("input below -1", _operator(0, inputs=ints(0, 1, -2)), "names tensor -2 among its inputs"),
    ("output index", _operator(1, outputs=ints(-1)), "operator 1 RELU names tensor -1"),
    ("operator code", _operator(1, opcodeIndex=2), "operator 1 refers to operator code 2 of 2"),
    ("graph input", _subgraph(inputs=ints(5)), "the graph names tensor 5 among its inputs"),
    ("graph output", _subgraph(outputs=ints(-1)), "the graph names tensor -1 among its outputs"),
    ("never produced", _subgraph(operators=[]), "output tensor 4 .*never produced"),
    ("output twice", _subgraph(outputs=ints(4, 4)), "outputs name a tensor twice"),
    ("input twice", _subgraph(inputs=ints(0, 0)), "inputs name a tensor twice"),
    ("constant input", _subgraph(inputs=ints(0, 1)), "tensor 1 .*both a constant and an input"),
    (
        "wrong order",
        lambda model: model.subgraphs[0].operators.reverse(),
        "operator 0 RELU reads tensor 3 .*no earlier operator",
    ),
    ("cycle", _operator(0, inputs=ints(4, 1, 2)), "operator 0 CONV_2D reads tensor 4"),
    ("own output", _operator(1, inputs=ints(4)), "operator 1 RELU reads tensor 4"),
    ("produced twice", _operator(1, outputs=ints(3)), "RELU produces tensor 3 .*already produced"),
    ("writes constant", _operator(1, outputs=ints(2)), "RELU produces tensor 2 .*a constant"),
    (
        "custom operators",
        _custom_operators("Detect\nor", "Other"),
        r"custom 'Detect\\nor' \(operator 0\), custom 'Other' \(operator 1\); replace",
    ),
    (
        "detection",
        _custom_operators("TFLite_Detection_PostProcess", "Other"),
        r"custom 'TFLite_Detection_PostProcess' \(operator 0\), .* cut the network off before it",
    ),
    (
        "unknown operators",
        each(put("operatorCodes", 0, builtinCode=4711), put("operatorCodes", 1, builtinCode=51)),
        r"code 4711 \(operator 0\), DELEGATE \(operator 1\); replace",
    ),
    (
        "control flow",
        put("operatorCodes", 1, builtinCode=119),
        "operator 1 WHILE runs another subgraph",
    ),
    (
        "wrong options",
        _operator(0, builtinOptions=generated.Pool2DOptionsT(), builtinOptionsType=5),
        "operator 0 CONV_2D: its options are Pool2DOptions instead",
    ),
    (
        "padding",
        _operator(0, "builtinOptions", padding=9),
        "operator 0 CONV_2D: padding has the unknown code 9",
    ),
    ("no subgraph", put(subgraphs=[]), "no subgraph"),
    (
        "operator code",
        lambda model: model.operatorCodes.append(generated.OperatorCodeT(builtinCode=4711)),
        "an unknown one, code 4711",
    ),
    (
        "empty buffer",
        with_buffer(0, 0, data=np.zeros(0, np.uint8)),
        "tensor 0 .*bytes, but its data has 0",
    ),
    ("no buffer", put(buffers=[]), "no buffer in it"),
    ("version", put(version=2), "schema version 2 instead of 3"),
]


def test_data_of_buffer_0_is_nobodys() -> None:
    filled = edited(put("buffers", 0, data=np.arange(5, dtype=np.uint8)))
    found = [[t.data is None for t in read_model(m).tensors] for m in (filled, convolved())]
    assert found[0] == found[1]


def test_the_model_that_the_cases_edit_is_sound() -> None:
    graph = read_model(edited())
    assert [operator.name for operator in graph.operators] == ["CONV_2D", "RELU"]


@pytest.mark.parametrize(
    ("edit", "message"), [case[1:] for case in _UNSOUND], ids=[case[0] for case in _UNSOUND]
)
def test_refuses_and_says_where(edit: Edit, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_model(edited(edit))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty; name a .tflite file"),
        (b"TFL", "not a .tflite file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), "not a .tflite file: bytes 4 to 7 are"),
        (b"\x00\x00\x00\x10TFL3", "damaged or truncated"),
        (convolved()[:100], "damaged or truncated"),
    ],
    ids=["empty", "three bytes", "picture", "header only", "truncated"],
)
def test_refuses_other_files_and_names_them(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "network.tflite"
    path.write_bytes(content)
    for source in (path, str(path)):
        with pytest.raises(InputError, match=message) as caught:
            read_model(source)
        assert str(caught.value).startswith(f"{path}: ")
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(InputError, match=message):
        read_model(content)


@pytest.mark.parametrize("name", ["missing.tflite", "", "a\nb", "nul\0.tflite", "x" * 5000])
def test_refuses_what_cannot_be_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"name a .*\.tflite file") as caught:
        read_model(f"{tmp_path}/{name}")  # the empty name is the folder itself
    assert len(str(caught.value).splitlines()) == 1


def test_refuses_a_structure_without_end() -> None:
    long = "x" * (2**21 + 1)
    with pytest.raises(InputError, match="more tables and elements than any network"):
        read_model(edited(put(description=long)))


def test_reads_a_resizable_batch_as_written() -> None:
    edit = _tensor(0, shapeSignature=ints(-1, 4, 4, 2))
    assert read_model(edited(edit)).tensors[0].shape == (1, 4, 4, 2)


def test_reads_subgraph_0_of_several_that_nothing_runs() -> None:
    def double(model: Any) -> None:
        model.subgraphs *= 2

    assert len(read_model(edited(double)).operators) == 2


def test_missing_options_have_the_schemas_defaults() -> None:
    edit = _operator(0, builtinOptions=None, builtinOptionsType=0)
    options = read_model(edited(edit)).operators[0].options
    assert (options["padding"], options["stride_w"], options["dilation_w_factor"]) == ("SAME", 0, 1)


def test_codes_in_the_old_field_alone_are_read() -> None:
    old = edited(*(put("operatorCodes", number, builtinCode=0) for number in range(2)))
    assert [o.name for o in read_model(old).operators] == ["CONV_2D", "RELU"]


def test_arrays_are_read_only() -> None:
    tensor = read_model(convolved()).tensors[1]
    assert tensor.data is not None
    assert tensor.quantization is not None
    arrays = (tensor.data, tensor.quantization.scale, tensor.quantization.zero_point)
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize(
    ("name", "operators", "tensors"),
    [
        ("ad01_int8", 10, 31),
        ("kws_ref_model", 13, 35),
        ("pretrainedResnet_quant", 16, 38),
        ("vww_96_int8", 31, 89),
    ],
)
def test_reads_published_models(name: str, operators: int, tensors: int) -> None:
    graph = load_int8(mlperf_tiny(name))
    assert (len(graph.operators), len(graph.tensors)) == (operators, tensors)


IMAGE = np.arange(-18, 18, dtype=np.int8).reshape(1, 6, 6, 1)


@pytest.mark.parametrize("dimension", [3, 1, -1])
def test_the_reader_takes_the_only_dimension_and_notes_what_the_file_says(dimension: int) -> None:
    graph = read_model(person_detect(dimension))
    axes = [graph.tensors[index].quantization for index in BIASES]
    assert [(q.axis, q.stated_axis) for q in axes if q] == [(0, dimension)] * len(BIASES)
    assert graph.notes() == [
        f"quantized dimension {dimension} of a tensor of rank 1 is taken as 0: tensor 2, 5, 9"
    ]


def test_nothing_is_noted_of_a_file_that_states_dimension_0() -> None:
    model = person_detect(0)
    assert read_model(model).notes() == []
    assert normalize_dimensions(model) == model


def test_litert_refuses_the_file_and_takes_the_normalized_one(oracle: Oracle) -> None:
    with pytest.raises(OracleRejected, match="quantized_dimension must be in range"):
        oracle.run(person_detect(3), {INPUT: IMAGE})
    normalized = oracle.run(normalize_dimensions(person_detect(3)), {INPUT: IMAGE})
    expected = oracle.run(person_detect(0), {INPUT: IMAGE})
    assert normalized.keys() == expected.keys()
    for index, tensor in expected.items():
        np.testing.assert_array_equal(normalized[index], tensor)


def test_only_the_dimensions_of_rank_1_change() -> None:
    given = person_detect(3)
    changed = normalize_dimensions(person_detect(3))
    assert len(given) == len(changed)
    assert sum(a != b for a, b in zip(given, changed, strict=True)) == len(BIASES)
    for before, after in zip(read_model(given).tensors, read_model(changed).tensors, strict=True):
        assert (before.quantization is None) == (after.quantization is None)
        if before.quantization and after.quantization:
            assert before.quantization.axis == after.quantization.axis


def test_a_quantization_shared_with_a_tensor_of_more_dimensions_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder = ModelBuilder()
    builder.constant(np.ones((1, 2), np.int8), scale=[0.5, 0.25], axis=1)
    builder.constant(np.ones(2, np.int32), scale=[0.5, 0.25], axis=1)
    shared: list[int] = []

    def once(output, value):
        if getattr(value, "name", "") != "QuantizationParameters":
            return write(output, value)
        if not shared:
            shared.append(write(output, value))
        return shared[0]

    write = writer.write
    monkeypatch.setattr(writer, "write", once)
    model = builder.build()
    assert normalize_dimensions(model) == model
