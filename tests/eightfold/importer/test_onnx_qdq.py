"""ONNX with QuantizeLinear and DequantizeLinear, written here, as int8 files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.importer import Imported, Refused, import_model
from eightfold.operators import load_int8
from tests.support.float_networks import FloatNetwork

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


POINT = np.int8(3)


class Quantized(FloatNetwork):
    """Nodes between QuantizeLinear and DequantizeLinear."""

    def real(self, x: str, scale: float = 0.05, zero_point: Any = POINT) -> str:
        """Quantize a value; without a zero point it is uint8 with 0."""
        given = [self.constant(np.float32(scale))]
        given += [] if zero_point is None else [self.constant(zero_point)]
        return self.add("DequantizeLinear", self.add("QuantizeLinear", x, *given), *given)

    def codes(self, *shape: int) -> str:
        """Return int8 weights with a scale for each of the first axis."""
        weights = self.constant(self.rng.integers(-127, 128, shape).astype(np.int8))
        scale = self.constant(self.rng.uniform(0.001, 0.01, shape[0]).astype(np.float32))
        zeros = self.constant(np.zeros(shape[0], np.int8))
        return self.add("DequantizeLinear", weights, scale, zeros, axis=0)


def imported(net: Quantized, output: str, folder: Path) -> Imported:
    return import_model(net.save(folder / "network.onnx", output))


@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_padding_is_computed(padding: str, tmp_path: Path) -> None:
    net = Quantized(0)
    y = net.add("Conv", net.real("x"), net.codes(4, 3, 3, 3), strides=[2, 2], auto_pad=padding)
    found = imported(net, net.real(y, 0.2), tmp_path)
    names = [operator.name for operator in load_int8(found.model).operators]
    assert names == ["PAD"] * (padding == "SAME_LOWER") + ["CONV_2D"]
    comparison = found.compared(count=5)
    assert comparison.explained, comparison.verdict()
    assert max(tensor.own_largest for tensor in comparison.tensors) <= 1


def test_uint8_codes_are_int8_ones_less_128(tmp_path: Path) -> None:
    net = Quantized(1)
    y = net.add("Relu", net.real("x", 0.05, np.uint8(100)))
    found = imported(net, net.real(y, 0.05, None), tmp_path)
    graph = load_int8(found.model)
    points = [graph.tensors[index].quantization for index in (*graph.inputs, *graph.outputs)]
    assert [int(each.zero_point[0]) for each in points if each] == [-28, -128]
    assert found.compared(count=5).explained


def test_all_layers_without_int8_form_are_named(tmp_path: Path) -> None:
    net = Quantized(2)
    y = net.add("Erf", net.real("x"))
    y = net.real(y, 0.05, np.int16(0))
    y = net.add("Conv", y, net.weights(4, 3, 1, 1))
    y = net.add("MaxPool", net.real(y), kernel_shape=[2, 2], dilations=[2, 2])
    with pytest.raises(Refused) as refused:
        imported(net, net.real(y), tmp_path)
    said = ("this type of layer", "its codes are int16", "its weights", "its window")
    for words, fault in zip(said, refused.value.faults, strict=True):
        assert fault.reason.startswith(words)


def by_channel(net: Quantized, x: str) -> str:
    scales = net.constant(np.array([0.05, 0.02, 0.03], np.float32))
    points = net.constant(np.array([3, 0, -10], np.int8))
    codes = net.add("QuantizeLinear", x, scales, points, axis=1)
    return net.add("DequantizeLinear", codes, scales, points, axis=1)


KEPT: dict[str, tuple[Any, str, str]] = {
    "a function": (
        lambda net: net.add("Erf", net.real("x")),
        "Erf",
        "this type of layer is none of",
    ),
    "65536 levels": (
        lambda net: net.real(net.add("Relu", net.real("x")), 2e-4, np.int16(-20_000)),
        "DequantizeLinear",
        "its codes are int16, not int8 or uint8",
    ),
    "the input in 65536 levels": (
        lambda net: net.real("x", 2e-4, np.uint16(30_000)),
        "DequantizeLinear",
        "its codes are uint16",
    ),
    "the input by channel": (
        lambda net: by_channel(net, "x"),
        "DequantizeLinear",
        "an activation has one range, not 3",
    ),
    "by channel": (
        lambda net: by_channel(net, net.add("Relu", net.real("x"))),
        "DequantizeLinear",
        "an activation has one range, not 3",
    ),
}
"""Layers without an exact int8 form, of which operator the table is, and why it is kept."""


@pytest.mark.parametrize("name", KEPT)
def test_what_a_convolution_reads_is_kept_as_a_table(name: str, tmp_path: Path) -> None:
    build, operator, reason = KEPT[name]
    net = Quantized(4)
    y = net.real(net.add("Conv", build(net), net.codes(4, 3, 3, 3)), 0.1)
    path = net.save(tmp_path / "network.onnx", y, opset=21)
    with pytest.raises(Refused, match=r"--fallback golden keeps as tables of codes: \w+$"):
        import_model(path)
    found = import_model(path, fallback=True)
    names = [operator.name for operator in load_int8(found.model).operators]
    assert names.count("GATHER") == 1 and names[-1] == "CONV_2D"
    ((_, of, why),) = found.kept
    assert of == operator and why.startswith(reason)
    comparison = found.compared(count=5)
    assert comparison.explained, comparison.verdict()


def test_what_onnxruntime_does_not_take_is_refused_in_a_line(tmp_path: Path) -> None:
    net = Quantized(5)
    path = net.save(tmp_path / "network.onnx", net.real("x", 0.05, np.int16(0)), opset=17)
    with pytest.raises(InputError, match=r"network.onnx: onnxruntime does not take it: .*int16"):
        import_model(path, fallback=True)


def test_old_and_open_models_are_refused_in_a_line(tmp_path: Path) -> None:
    net = Quantized(3)
    path = net.save(tmp_path / "network.onnx", net.real("x"))
    model = net.onnx.load(path)
    model.opset_import[0].version = 11
    net.onnx.save(model, path)
    with pytest.raises(InputError, match=r"network.onnx: opset 11; from 13 on"):
        import_model(path)
    model.opset_import[0].version = 17
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    net.onnx.save(model, path)
    with pytest.raises(InputError, match=r"the shape of x is open"):
        import_model(path)
