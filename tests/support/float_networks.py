"""Small float networks in ONNX, and their quantization by NNCF and onnxruntime.

Needs the package `onnx`; whoever quantizes skips without the others.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

SHAPE = (1, 3, 12, 12)


class FloatNetwork:
    """Collects nodes with random weights; `save` writes the model."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.onnx = pytest.importorskip("onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}_{len(self.nodes)}".lower()
        node = self.onnx.helper.make_node(operator, [*inputs], [name], name, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def weights(self, *shape: int) -> str:
        return self.constant(self.rng.normal(0, 0.3, shape).astype(np.float32))

    def conv(self, x: str, outputs: int, inputs: int, size: int = 3, **attributes: Any) -> str:
        pads = attributes.pop("pads", [size // 2] * 4)
        filters = self.weights(outputs, inputs, size, size)
        return self.add("Conv", x, filters, self.weights(outputs), pads=pads, **attributes)

    def save(self, path: Path, *outputs: str, opset: int = 17) -> Path:
        helper = self.onnx.helper
        kind = self.onnx.TensorProto.FLOAT
        given = [helper.make_tensor_value_info("x", kind, SHAPE)]
        results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "network", given, results, self.constants)
        opsets = [helper.make_opsetid("", opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        self.onnx.save(self.onnx.shape_inference.infer_shapes(model), path)
        return path


def residual(net: FloatNetwork) -> list[str]:
    """Convolution, depthwise, residual, pools, concatenation, flattening, dense layer, softmax."""
    a = net.add("Relu", net.conv("x", 8, 3))
    b = net.conv(a, 8, 1, group=8)
    b = net.add("Clip", b, net.constant(np.float32(0)), net.constant(np.float32(6)))
    c = net.add("Relu", net.add("Add", a, net.conv(b, 8, 8, 1)))
    c = net.add("MaxPool", c, kernel_shape=[2, 2], strides=[2, 2])
    c = net.add("Concat", net.conv(c, 4, 8), net.add("Relu", net.conv(c, 4, 8, 1)), axis=1)
    c = net.add("AveragePool", c, kernel_shape=[2, 2], strides=[2, 2])
    c = net.add("Flatten", c)
    return [net.add("Softmax", net.add("Gemm", c, net.weights(10, 72), net.weights(10), transB=1))]


def gated(net: FloatNetwork) -> list[str]:
    """Strides, dilation, groups, a sigmoid gate, padding, a mean over space, a sigmoid."""
    a = net.add("Relu", net.conv("x", 6, 3, strides=[2, 2], pads=[0, 0, 1, 1]))
    a = net.conv(a, 6, 2, group=3, dilations=[2, 2], pads=[2, 2, 2, 2])
    a = net.add("Mul", a, net.add("Sigmoid", net.conv(a, 6, 6, 1)))
    a = net.add("Pad", a, net.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2])))
    a = net.add("Transpose", net.conv(a, 5, 6), perm=[0, 1, 3, 2])
    a = net.add("ReduceMean", a, axes=[2, 3], keepdims=0)
    return [net.add("Sigmoid", net.add("MatMul", a, net.weights(5, 4)))]


def mobile(net: FloatNetwork) -> list[str]:
    """Depthwise convolutions behind others, of which NNCF quantizes each channel by itself."""
    limits = [net.constant(np.float32(limit)) for limit in (0, 6)]
    a = net.add("Relu", net.conv("x", 6, 3, strides=[2, 2]))
    a = net.conv(net.add("Relu", net.conv(a, 12, 1, group=6)), 8, 12, 1)
    b = net.add("Clip", net.conv(a, 16, 8, 1), *limits)
    b = net.add("Clip", net.conv(b, 16, 1, group=16), *limits)
    a = net.add("Add", a, net.conv(b, 8, 16, 1))
    a = net.conv(net.conv(net.conv(a, 8, 8, 1), 8, 1, group=8), 8, 1, group=8)
    a = net.add("Flatten", net.add("GlobalAveragePool", a))
    return [net.add("Softmax", net.add("Gemm", a, net.weights(8, 4)))]


NETWORKS = {"residual": residual, "gated": gated, "mobile": mobile}


def float_network(name: str, folder: Path) -> Path:
    """Write a float network of `NETWORKS`."""
    net = FloatNetwork(0)
    return net.save(folder / f"{name}.onnx", *NETWORKS[name](net))


def samples(count: int) -> NDArray[np.float32]:
    """Return inputs, to calibrate and to compare with."""
    return np.random.default_rng(1).normal(size=(count, *SHAPE)).astype(np.float32)


def quantized_by_nncf(source: Path) -> Path:
    """Return an OpenVINO IR with FakeQuantize."""
    openvino, nncf = pytest.importorskip("openvino"), pytest.importorskip("nncf")
    model = openvino.convert_model(source)
    quantized = nncf.quantize(model, nncf.Dataset(list(samples(20))), subset_size=20)
    openvino.save_model(quantized, source.with_suffix(".xml"), compress_to_fp16=False)
    return source.with_suffix(".xml")


def quantized_by_onnxruntime(source: Path, activations: str = "QInt8") -> Path:
    """Return an ONNX model with QuantizeLinear and DequantizeLinear."""
    pytest.importorskip("onnxruntime")
    quantization: Any = pytest.importorskip("onnxruntime.quantization")

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.left: Iterator[NDArray] = iter(samples(20))

        def get_next(self) -> dict[str, NDArray] | None:
            return next(({"x": sample} for sample in self.left), None)

    target = source.with_suffix(f".{activations}.onnx")
    quantization.quantize_static(
        source,
        target,
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=quantization.QuantType[activations],
        weight_type=quantization.QuantType.QInt8,
    )
    return target


QUANTIZERS = {
    "nncf": quantized_by_nncf,
    "onnxruntime": quantized_by_onnxruntime,
    "onnxruntime-uint8": lambda source: quantized_by_onnxruntime(source, "QUInt8"),
}
"""By name: who writes a quantized network of a float one, beside it."""
