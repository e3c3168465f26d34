"""OpenVINO IR: a network that OpenVINO reads, as NNCF's post-training quantization writes it.

The file is read, its shapes are inferred, constants are folded and values computed by the package.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.golden.errors import SpecError
from eightfold.golden.fake_quantize import fake_quantize, to_codes, to_int8
from eightfold.importer.network import Codes, Constant, Layer, Network, Refusal, take

FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
"""Of the CPU plugin: float32 stays float32 on every processor. By itself it takes bfloat16 where
there is such arithmetic, and a dense layer quantizes what it reads where there is VNNI."""

REFERENCE = {**FLOAT32, "LP_TRANSFORMS_MODE": False}
"""The same, and FakeQuantize stays float32 arithmetic: no kernel of int8 takes its place."""


@needs_extra("openvino", "an OpenVINO IR")
def read(path: Path) -> Network:
    """Return the network of an ``.xml`` file, whose ``.bin`` lies beside it.

    Layers that have no int8 form are part of it, with the reason as their ``refusal``.
    Raises `InputError` if OpenVINO cannot read the file, or its shapes are not fixed.
    """
    import openvino
    import openvino.opset13
    from openvino import _offline_transformations as transformations

    core = openvino.Core()
    try:
        model = core.read_model(path)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{path}: OpenVINO cannot read it: {reason}") from None
    if model.is_dynamic():
        shapes = ", ".join(str(port.get_partial_shape()) for port in model.inputs)
        raise InputError(f"{path}: the shapes {shapes} are open; fix them with Model.reshape")
    if path.suffix != ".xml":
        # What openvino.convert_model does, which besides reports to its makers: a front end alone
        # leaves broadcasts, sums of shapes and clamps as the other format has them.
        transformations.apply_moc_transformations(model, cf=True, smart_reshape=True)
    return _Reader(openvino, model, core).read()


class _Reader:
    """Turns the operations of a model into layers, in their order."""

    def __init__(self, openvino: Any, model: Any, core: Any) -> None:
        self.openvino = openvino
        self.model = model
        self.core = core
        name = model.get_friendly_name()
        self.network = Network(name, "OpenVINO", [], [], {}, {}, [], self._evaluate)
        self.ports: dict[str, Any] = {}
        self.compiled = cache(self._compile)

    def read(self) -> Network:
        for node in self.model.get_ordered_ops():
            self._take(node)
        self.network.inputs = [_value(port) for port in self.model.inputs]
        results = self.model.get_results()
        self.network.outputs = [_value(result.input_value(0)) for result in results]
        return self.network

    def _take(self, node: Any) -> None:
        kind = node.get_type_name()
        if kind == "Result":
            return
        for port in node.outputs():
            self.ports[_value(port)] = port
            self.network.shapes[_value(port)] = tuple(port.get_shape())
        if kind == "Parameter":
            return
        names = [_value(port) for port in node.input_values()]
        name = _value(node.output(0))
        constants = [self.network.constants.get(each) for each in names]
        if all(constant is not None for constant in constants):
            self.network.constants[name] = self._constant(node, kind, constants)
            return
        layer = Layer(node.get_friendly_name(), kind, names, name)
        self.network.layers.append(layer)
        try:
            if kind == "FakeQuantize":
                _fake_quantize(self.network, layer, node.get_attributes()["levels"])
            else:
                take(self.network, layer, _attributes(node))
        except Refusal as refusal:
            layer.refusal = str(refusal)

    def _constant(self, node: Any, kind: str, given: Sequence[Any]) -> Constant:
        """Return what a node makes of constants, with scales if it makes codes real."""
        if kind == "FakeQuantize":
            return _quantized(node, *(constant.values for constant in given))
        if kind == "Multiply" and given[0].codes.dtype.kind == "i" and given[1].scale is None:
            scale = np.broadcast_to(given[1].codes.astype(np.float32), given[0].codes.shape)
            return Constant(given[0].codes, scale)
        if kind == "Convert" and given[0].codes.dtype in (np.int8, np.uint8):
            return Constant(given[0].codes.astype(np.int16))
        if kind in ("Reshape", "Squeeze", "Unsqueeze"):
            return given[0].moved(lambda array: array.reshape(tuple(node.get_output_shape(0))))
        if kind == "Transpose":
            return given[0].moved(lambda array: array.transpose(given[1].codes.tolist()))
        if kind == "Constant":
            return Constant(np.array(node.data))
        return Constant(self._folded(node, given))

    def _folded(self, node: Any, given: Sequence[Constant]) -> NDArray[Any]:
        tensors = [
            self.openvino.Tensor(np.array(each.values, dtype=port.get_element_type().to_dtype()))
            for each, port in zip(given, node.input_values(), strict=True)
        ]
        results = [
            self.openvino.Tensor(port.get_element_type(), port.get_shape())
            for port in node.outputs()
        ]
        if not node.evaluate(results, tensors):
            raise InputError(f"{node.get_friendly_name()}: OpenVINO does not fold this constant")
        return np.array(results[0].data)

    def _evaluate(
        self, inputs: Mapping[str, NDArray[Any]], names: Sequence[str]
    ) -> dict[str, NDArray[np.float32]]:
        values = self.compiled(tuple(inputs), tuple(names))([*inputs.values()])
        return {name: np.array(values[number]) for number, name in enumerate(names)}

    def _compile(self, given: Iterable[str], names: Sequence[str]) -> Any:
        """Return the part of the model from some values to others; the model stays as it is."""
        operations = self.openvino.opset13
        parameters, cut = [], []
        for port in (self.ports[name] for name in given):
            if port.get_node().get_type_name() == "Parameter":
                parameters.append(port.get_node())
                continue
            parameters.append(operations.parameter(port.get_shape(), port.get_element_type()))
            for reader in port.get_target_inputs():
                reader.replace_source_output(parameters[-1].output(0))
                cut.append((reader, port))
        results = [operations.result(self.ports[name]) for name in names]
        shown = self.openvino.Model(results, parameters, "values")
        compiled = self.core.compile_model(shown, "CPU", REFERENCE)
        for reader, port in cut:
            reader.replace_source_output(port)
        return compiled


def _value(port: Any) -> str:
    """Return the name of a value: of its node, with the number of an output but the first."""
    number = port.get_index()
    return port.get_node().get_friendly_name() + (f".{number}" if number else "")


def _quantized(node: Any, x: NDArray[Any], *limits: NDArray[Any]) -> Constant:
    """Return the codes of constant weights behind a FakeQuantize, if they have such."""
    levels = node.get_attributes()["levels"]
    low, high, to_low, to_high = (
        each.reshape((1,) * (x.ndim - each.ndim) + each.shape) for each in limits
    )
    values = fake_quantize(x, low, high, to_low, to_high, levels)
    try:
        _, quantization = to_codes(to_low, to_high, to_low, to_high, levels)
    except SpecError:
        return Constant(values)
    if np.any(quantization.zero_point):
        return Constant(values)
    scale = np.broadcast_to(quantization.along_axis(x.ndim)[0], x.shape)
    return Constant(np.rint(values.astype(np.float64) / scale).astype(np.int16), scale)


def _attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an operation under their names in ONNX."""
    given: dict[str, Any] = node.get_attributes()
    found = {_IN_ONNX.get(name, name): value for name, value in given.items()}
    if "pads_begin" in given:
        found["pads"] = [*given["pads_begin"], *given["pads_end"]]
        del found["auto_pad"]  # the package has made numbers of it
    if "exclude-pad" in given:
        found["count_include_pad"] = not given["exclude-pad"]
    if "pad_mode" in given:
        found["mode"] = given["pad_mode"].encode()
    return found


_IN_ONNX: dict[str, str] = {
    "kernel": "kernel_shape",
    "keep_dims": "keepdims",
    "transpose_a": "transA",
    "transpose_b": "transB",
}


def _fake_quantize(network: Network, layer: Layer, levels: int) -> None:
    limits = [network.constants.get(name) for name in layer.inputs[1:]]
    if any(limit is None for limit in limits):
        raise Refusal("its ranges are computed")
    low, high, to_low, to_high = (limit.values for limit in limits if limit is not None)
    layer.attributes = {
        "ends": (float(to_low.min()), float(to_high.max())),
        "read": (float(low.min()), float(high.max())),
    }
    if levels != 256:
        raise Refusal(f"an int8 activation has 256 levels, not {levels}")
    try:
        codes = Codes(to_int8(low, high, to_low, to_high, levels), "stated")
    except SpecError as error:
        limits_of = [each.reshape(-1) for each in np.broadcast_arrays(low, high, to_low, to_high)]
        if low.size > 1 and low.shape == (1, low.size, 1, 1):
            with suppress(SpecError):
                layer.attributes["channels"] = [
                    Codes(to_int8(a, b, to_a, to_b, levels), "stated")
                    for a, b, to_a, to_b in zip(*limits_of, strict=True)
                ]
        hint = "; have NNCF quantize activations with per_channel=False" if low.size > 1 else ""
        raise Refusal(f"{error}{hint}") from None
    layer.kind, layer.inputs, layer.attributes = "quantize", layer.inputs[:1], {"codes": codes}
