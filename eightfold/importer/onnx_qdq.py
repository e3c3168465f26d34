"""ONNX with QuantizeLinear and DequantizeLinear, as onnxruntime's static quantization writes it.

The file is read, its shapes are inferred and constants are folded by `onnx`; values are computed by
onnxruntime, without its optimizations: float32 between a rounding to nearest, ties to even.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.golden.quantization import Quantization
from eightfold.importer.network import Codes, Constant, Layer, Network, Refusal, take

LOWEST_OPSET = 13
"""Of ONNX: the first with a scale for each channel, and with SoftMax along one axis."""


@needs_extra("onnx", "an ONNX model")
def read(path: Path) -> Network:
    """Return the network of an ``.onnx`` file; layers without int8 form have a ``refusal``.

    Raises `InputError` if it cannot be read, its shapes are not fixed, or its opset is below
    `LOWEST_OPSET`.
    """
    import onnx
    import onnx.reference
    import onnx.utils
    import onnxruntime

    try:
        model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
    except Exception as error:  # a damaged file raises whatever protobuf and onnx like
        raise InputError(f"{path}: onnx cannot read it: {error}") from None
    opset = next((each.version for each in model.opset_import if each.domain == ""), 0)
    if opset < LOWEST_OPSET:
        raise InputError(
            f"{path}: opset {opset}; from {LOWEST_OPSET} on it is taken, see onnx.version_converter"
        )
    return _Reader(path, onnx, onnxruntime, model).read()


class _Reader:
    """Turns the nodes of a model into layers, in their order."""

    def __init__(self, path: Path, onnx: Any, runtime: Any, model: Any) -> None:
        self.path = path
        self.onnx = onnx
        self.runtime = runtime
        self.model = model
        self.session = cache(self._session)
        self.quantized: dict[str, tuple[str, Codes | str]] = {}
        graph = model.graph
        infos = [*graph.input, *graph.value_info, *graph.output]
        self.network = Network(
            name=graph.name,
            runtime="onnxruntime",
            inputs=[],
            outputs=[each.name for each in graph.output],
            shapes={each.name: self._shape(each) for each in infos},
            constants={x.name: Constant(onnx.numpy_helper.to_array(x)) for x in graph.initializer},
            layers=[],
            evaluate=self._evaluate,
        )
        given = [each.name for each in graph.input]
        self.network.inputs = [name for name in given if name not in self.network.constants]

    def _shape(self, info: Any) -> tuple[int, ...]:
        sizes = info.type.tensor_type.shape.dim
        if any(not size.HasField("dim_value") for size in sizes):
            raise InputError(
                f"{self.path}: the shape of {info.name} is open; fix it with "
                "onnxruntime.tools.make_dynamic_shape_fixed"
            )
        return tuple(size.dim_value for size in sizes)

    def read(self) -> Network:
        for node in self.model.graph.node:
            self._take(node)
        return self.network

    def _take(self, node: Any) -> None:
        network, names = self.network, list(node.input)
        value_of = self.onnx.helper.get_attribute_value
        attributes = {each.name: value_of(each) for each in node.attribute}
        given = [network.constants.get(name) for name in names if name]
        if node.op_type == "DequantizeLinear" and given[0] is not None:
            network.constants[node.output[0]] = _dequantized(network, names, attributes)
        elif all(constant is not None for constant in given):
            values = [constant.values for constant in given if constant is not None]
            feeds = dict(zip(filter(None, names), values, strict=True))
            results = self.onnx.reference.ReferenceEvaluator(node).run(None, feeds)
            for name, result in zip(node.output, results, strict=True):
                network.constants[name] = Constant(np.asarray(result))
        elif node.op_type == "QuantizeLinear":
            self.quantized[node.output[0]] = names[0], _codes(network, names)
        else:
            self._add(node, names, attributes)

    def _add(self, node: Any, names: list[str], attributes: dict[str, Any]) -> None:
        layer = Layer(node.name or node.output[0], node.op_type, names, node.output[0])
        self.network.layers.append(layer)
        try:
            if node.op_type == "DequantizeLinear":
                source, codes = self.quantized.get(names[0], (names[0], "it has no QuantizeLinear"))
                layer.inputs = [source]
                if isinstance(codes, str):
                    raise Refusal(codes)
                layer.kind, layer.attributes = "quantize", {"codes": codes}
                return
            take(self.network, layer, attributes)
        except Refusal as refusal:
            layer.refusal = str(refusal)

    def _evaluate(
        self, inputs: Mapping[str, NDArray[Any]], names: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        session = self.session(tuple(inputs), tuple(names))
        found = session.run(None, dict(inputs))
        outputs = [output.name for output in session.get_outputs()]
        return {**inputs, **dict(zip(outputs, found, strict=True))}

    def _session(self, given: Sequence[str], names: Sequence[str]) -> Any:
        """Return what computes the part of the model from some values to others."""
        results = [name for name in names if name not in given]
        shown = self.onnx.utils.Extractor(self.model).extract_model([*given], results)
        options = self.runtime.SessionOptions()
        options.graph_optimization_level = self.runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        data = shown.SerializeToString()
        try:
            return self.runtime.InferenceSession(data, options, ["CPUExecutionProvider"])
        except Exception as error:  # its errors have no class in common
            reason = str(error).strip().splitlines()[0]
            raise InputError(f"{self.path}: onnxruntime does not take it: {reason}") from None


def _codes(network: Network, names: Sequence[str]) -> Codes | str:
    """Return the int8 codes of a QuantizeLinear, of uint8 those less 128, or why there are none."""
    scale = network.constants.get(names[1])
    zero_point = network.constants.get(names[2]) if names[2:] else Constant(np.zeros((), np.uint8))
    if scale is None or zero_point is None:
        return "its scale or zero point is computed"
    if zero_point.codes.dtype not in (np.int8, np.uint8):
        return f"its codes are {zero_point.codes.dtype}, not int8 or uint8"
    if scale.codes.size != 1:
        return f"an activation has one range, not {scale.codes.size}"
    offset = 128 if zero_point.codes.dtype == np.uint8 else 0
    points = np.array([int(zero_point.codes.item()) - offset])
    return Codes(Quantization(scale.codes.astype(np.float32).reshape(1), points), "stated")


def _dequantized(network: Network, names: Sequence[str], attributes: Mapping[str, Any]) -> Constant:
    codes, scale, *rest = (network.constants[name].codes for name in names)
    shape = [1] * codes.ndim
    if scale.size != 1:
        shape[attributes.get("axis", 1)] = scale.size
    zero_point = rest[0].astype(np.int64).reshape(shape) if rest else 0
    scale = np.broadcast_to(scale.astype(np.float32).reshape(shape), codes.shape)
    return Constant(codes.astype(np.int64) - zero_point, scale)
