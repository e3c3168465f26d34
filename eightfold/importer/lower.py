"""From a network whose values have codes to a ``.tflite`` file, NCHW turned into NHWC."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.importer.network import Codes, Constant, Layer, Network, Refusal
from eightfold.importer.ranges import Ranges
from eightfold.model.builder import ModelBuilder

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)

_MOVES = frozenset({"RESHAPE", "TRANSPOSE"})


@dataclass(frozen=True, eq=False)
class Place:
    """Where a value lies: the file's tensor, its shape, and how that follows from the source's.

    Values of rank 4 lie as NHWC. Of another one element k along the last axis is the source's
    ``columns[k]``, or k without columns.
    """

    tensor: int
    shape: tuple[int, ...]
    columns: NDArray[np.intp] | None = None

    def stored(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the source in the order of the file's tensor."""
        if values.ndim == 4:
            return values.transpose(TO_NHWC)
        return values if self.columns is None else values[..., self.columns]


@dataclass(frozen=True, eq=False)
class Step:
    """A layer in the file: the operators from ``first`` to before ``last`` compute its tensor."""

    layer: Layer
    tensor: str
    operands: tuple[str, ...]
    """Tensors of `Ranges` that are no constants, one for each computed input of the layer."""

    first: int
    last: int
    operator: str
    """The operator that makes the result, in the schema's words."""


class Lowering:
    """Writes operators, layer by layer; `steps` and `places` say what has become of which value."""

    def __init__(self, network: Network, ranges: Ranges) -> None:
        self.network = network
        self.ranges = ranges
        self.builder = ModelBuilder(f"{network.name}, imported from {network.runtime}")
        self.places: dict[str, Place] = {}
        self.steps: list[Step] = []
        self._names: list[str] = []

    def lower(self) -> bytes:
        """Return the file; a layer without int8 form is marked as refused and left out."""
        for name in self.network.inputs:
            if name not in self.ranges.codes:
                continue  # a layer that reads it is refused
            index = self.builder.input(
                self._shape(name), **_quantization(self.ranges.codes[name]), name=name
            )
            self.places[name] = Place(index, self._shape(name))
        for layer in self.network.layers:
            self._lower(layer)
        for name in self.network.outputs:
            if place := self.places.get(self.ranges.tensor_of.get(name, name)):
                self.builder.output(place.tensor)
        return self.builder.build()

    def _lower(self, layer: Layer) -> None:
        operands = [self.ranges.tensor_of[name] for name in self.network.computed(layer)]
        first = len(self._names)
        try:
            if any(name not in self.places for name in operands):
                raise Refusal("an input that it reads has no range")
            place = None if layer.refusal else _LOWERED[layer.kind](self, layer)
        except Refusal as refusal:
            layer.refusal = str(refusal)
            place = None
        # What reads a layer that is refused is lowered all the same, to find what else is.
        self.places[layer.output] = place or self._new(layer.output)
        last = len(self._names)
        made = self._names[first:] or ["RESHAPE"]  # of another shape, without an operator
        name = next((name for name in made[::-1] if name not in _MOVES), made[-1])
        self.steps.append(Step(layer, layer.output, tuple(operands), first, last, name))

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value as it lies."""
        shape = self.network.shapes[self.ranges.before.get(name, name)]
        return tuple(shape[axis] for axis in TO_NHWC) if len(shape) == 4 else shape

    def codes(self, name: str) -> Codes:
        """Return the codes of a value."""
        return self.ranges.codes[self.ranges.tensor_of[name]]

    def place(self, name: str) -> Place:
        """Return where a value that is no constant lies."""
        return self.places[self.ranges.tensor_of[name]]

    def rank(self, name: str) -> int:
        """Return the rank of a value."""
        if name in self.network.constants:
            return self.network.constants[name].codes.ndim
        return len(self.network.shapes[self.ranges.before.get(name, name)])

    def _new(self, name: str, shape: Sequence[int] | None = None, label: str = "") -> Place:
        """Add a tensor with the codes of a value."""
        found = self._shape(name) if shape is None else tuple(shape)
        index = self.builder.tensor(
            found, **_quantization(self.ranges.codes[name]), name=f"{name}{label}"
        )
        return Place(index, found)

    def emit(
        self,
        operator: str,
        inputs: Sequence[int],
        output: Place,
        options: dict[str, Any] | None = None,
    ) -> Place:
        """Add an operator, and return its result."""
        self.builder.operator(operator, inputs, [output.tensor], options)
        self._names.append(operator)
        return output

    def integers(self, numbers: Sequence[int] | Sequence[Sequence[int]]) -> int:
        """Add a constant of int32, such as axes."""
        return self.builder.constant(np.asarray(numbers, np.int32))

    def reshaped(self, place: Place, name: str, shape: Sequence[int], label: str = "") -> Place:
        """Return a place of another shape, with the codes of a tensor, elements in their order."""
        if place.shape == tuple(shape) and place.columns is None and label:
            return place
        new = self._new(name, shape, label)
        return self.emit(
            "RESHAPE",
            [place.tensor, self.integers(shape)],
            new,
            {"new_shape": [int(size) for size in shape]},
        )

    def transposed(self, place: Place, name: str, order: Sequence[int], label: str = "") -> Place:
        """Return a place whose axes are those of another one in ``order``; ones move for free."""
        shape = [place.shape[axis] for axis in order]
        moved = [axis for axis in order if place.shape[axis] != 1]
        if moved == sorted(moved):
            return self.reshaped(place, name, shape, label)
        new = self._new(name, shape, label)
        return self.emit("TRANSPOSE", [place.tensor, self.integers(order)], new)

    def padded(self, layer: Layer, before: Sequence[int], after: Sequence[int], code: int) -> Place:
        """Return the layer's operand with codes around its height and width."""
        name = self.ranges.tensor_of[layer.inputs[0]]
        place = self.places[name]
        paddings = [(0, 0), *zip(before, after, strict=True), (0, 0)]
        shape = [size + sum(around) for size, around in zip(place.shape, paddings, strict=True)]
        new = self._new(name, shape, f"/padded for {layer.output}")
        return self._pad(place, new, paddings, code, self.ranges.codes[name])

    def _pad(
        self, place: Place, new: Place, paddings: Sequence[Sequence[int]], code: int, codes: Codes
    ) -> Place:
        table = self.integers(paddings)
        if code == codes.zero_point:
            return self.emit("PAD", [place.tensor, table], new)
        value = self.builder.constant(np.array([code], np.int8), **_quantization(codes))
        return self.emit("PADV2", [place.tensor, table, value], new)

    def window(
        self, layer: Layer, kernel: Sequence[int], code: int | None
    ) -> tuple[int, dict[str, Any]]:
        """Return the tensor that a window goes over and the options ``padding`` and strides.

        Padding that is neither none nor TFLite's SAME becomes an operator, with ``code`` around.
        """
        attributes = layer.attributes
        if len(kernel) != 2:
            raise Refusal(f"its window has {len(kernel)} dimensions; 2 are taken")
        sizes = self.place(layer.inputs[0]).shape[1:3]
        results = self.network.shapes[self.ranges.before.get(layer.output, layer.output)][2:]
        strides = attributes["strides"]
        options = {"stride_h": strides[0], "stride_w": strides[1]}
        begin, end = attributes["begin"], list(attributes["end"])
        for axis in range(2):  # as far as windows reach
            reach = (results[axis] - 1) * strides[axis] + kernel[axis] - sizes[axis]
            end[axis] = max(reach - begin[axis], 0)
        tensor = self.place(layer.inputs[0]).tensor
        if not any(begin) and not any(end):
            return tensor, {**options, "padding": "VALID"}
        same = [
            max((-(-size // stride) - 1) * stride + extent - size, 0)
            for size, stride, extent in zip(sizes, strides, kernel, strict=True)
        ]
        fits = all(
            count == -(-size // stride)
            for count, size, stride in zip(results, sizes, strides, strict=True)
        )
        if (
            fits
            and list(begin) == [whole // 2 for whole in same]
            and end == [whole - whole // 2 for whole in same]
        ):
            return tensor, {**options, "padding": "SAME"}
        if code is None:
            raise Refusal("its padding, which it does not count, is not TFLite's SAME")
        return self.padded(layer, begin, end, code).tensor, {**options, "padding": "VALID"}

    def activation(self, layer: Layer) -> str:
        """Return the fused activation for a layer's clamp."""
        if layer.activation is None:
            return "NONE"
        return _activation(layer.activation, self.ranges.codes[layer.output])


def _activation(clamp: tuple[float, float], codes: Codes) -> str:
    """Return the activation of TFLite that clamps codes to real bounds."""
    low, high = (float(bound) for bound in clamp)
    first, last = codes.ends
    if low <= first and high >= last:
        return "NONE"
    for name, bounds in {
        "RELU": (0.0, np.inf),
        "RELU6": (0.0, 6.0),
        "RELU_N1_TO_1": (-1.0, 1.0),
    }.items():
        fits_below = low == bounds[0] or (low <= first and bounds[0] <= first)
        fits_above = high == bounds[1] or (high >= last and bounds[1] >= last)
        if fits_below and fits_above:
            return name
    raise Refusal(f"TFLite has no clamp to {low:g}..{high:g}; it has from 0, 0 to 6, and -1 to 1")


def _quantization(codes: Codes) -> dict[str, Any]:
    return {"scale": codes.quantization.scale, "zero_point": codes.quantization.zero_point}


def weights_of(network: Network, layer: Layer, channel: int) -> tuple[NDArray[np.int8], NDArray]:
    """Return the codes of a layer's weights and a scale for each output channel, along an axis.

    Raises
    ------
    Refusal
        If they are not quantized, or not as the spec has them.
    """
    constant = network.constants[layer.inputs[1]]
    if constant.scale is None:
        raise Refusal(f"its weights {layer.inputs[1]} are not quantized to int8")
    scales = np.moveaxis(constant.scale, channel, 0).reshape(constant.scale.shape[channel], -1)
    if np.any(scales != scales[:, :1]):
        raise Refusal("its weights have several scales within an output channel")
    if constant.codes.min() < -127 or constant.codes.max() > 127:
        raise Refusal(
            f"its weights have the codes {constant.codes.min()} to {constant.codes.max()}; the "
            "spec has -127 to 127 around the zero point 0"
        )
    if np.any(scales <= 0) or not np.all(np.isfinite(scales)):
        raise Refusal("a scale of its weights is not above 0")
    return constant.codes.astype(np.int8), scales[:, 0]


def bias_codes(bias: NDArray[np.float64] | None, real: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the int32 bias, ``rint(bias / real)``, ``real`` being s_in * s_w of each channel."""
    found = np.zeros(len(real)) if bias is None else np.rint(bias / real.astype(np.float64))
    if np.any(np.abs(found) > np.iinfo(np.int32).max):
        raise Refusal("its bias leaves int32 at the scale of its products")
    return found.astype(np.int32)


def _bias(low: Lowering, layer: Layer, scales: NDArray[np.float32]) -> int:
    real = low.codes(layer.inputs[0]).quantization.scale[0] * scales
    codes = bias_codes(layer.bias, real)
    return low.builder.constant(codes, scale=real, name=f"{layer.output}/bias")


def _conv(low: Lowering, layer: Layer) -> Place:
    weights, scales = weights_of(low.network, layer, 0)
    groups, dilations = layer.attributes["groups"], layer.attributes["dilations"]
    extents = [
        (size - 1) * apart + 1 for size, apart in zip(weights.shape[2:], dilations, strict=True)
    ]
    tensor, options = low.window(layer, extents, low.codes(layer.inputs[0]).zero_point)
    channels = low.place(layer.inputs[0]).shape[3]
    depthwise = groups == channels and groups > 1
    order = (1, 2, 3, 0) if depthwise else (0, 2, 3, 1)
    index = low.builder.constant(
        weights.transpose(order),
        scale=scales,
        axis=3 if depthwise else 0,
        name=f"{layer.output}/weights",
    )
    if any(apart != 1 for apart in dilations):
        names = ("dilation_h_factor", "dilation_w_factor")
        options |= dict(zip(names, dilations, strict=True))
    if depthwise:
        options["depth_multiplier"] = len(weights) // channels
    options["fused_activation_function"] = low.activation(layer)
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    inputs = [tensor, index, _bias(low, layer, scales)]
    return low.emit(name, inputs, low._new(layer.output), options)


def _matmul(low: Lowering, layer: Layer) -> Place:
    """Write FULLY_CONNECTED, or with a scale for each output CONV_2D of one tap.

    The spec has scales for each channel in convolutions alone.
    """
    weights, scales = weights_of(low.network, layer, -1)
    place = low.place(layer.inputs[0])
    if weights.ndim != 2:
        raise Refusal(f"its weights have rank {weights.ndim}; 2 is taken")
    if len(place.shape) == 4:
        raise Refusal("it multiplies the width of an image; flatten it, or transpose it first")
    weights = weights.T if place.columns is None else weights.T[:, place.columns]
    options: dict[str, Any] = {"fused_activation_function": low.activation(layer)}
    name = f"{layer.output}/weights"
    if np.all(scales == scales[0]):
        index = low.builder.constant(weights, scale=scales[:1], name=name)
        inputs = [place.tensor, index, _bias(low, layer, scales[:1].repeat(len(scales)))]
        options["keep_num_dims"] = len(place.shape) != 2
        return low.emit("FULLY_CONNECTED", inputs, low._new(layer.output), options)
    rows, size = math.prod(place.shape[:-1]), place.shape[-1]
    source = low.ranges.tensor_of[layer.inputs[0]]
    shaped = low.reshaped(place, source, (rows, 1, 1, size), f"/pixels for {layer.output}")
    index = low.builder.constant(weights[:, None, None, :], scale=scales, name=name)
    result = low._new(layer.output, (rows, 1, 1, len(weights)), "/pixels")
    options |= {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    low.emit("CONV_2D", [shaped.tensor, index, _bias(low, layer, scales)], result, options)
    return low.reshaped(result, layer.output, low._shape(layer.output))


def _operand(low: Lowering, name: str, rank: int) -> int:
    """Return the tensor of an operand of a broadcasting operator."""
    constant = low.network.constants.get(name)
    if constant is None:
        place = low.place(name)
        if place.columns is not None:
            raise Refusal("it reads an image that was flattened; only a matrix product can")
        if low.rank(name) != rank and 4 in (low.rank(name), rank):
            raise Refusal("it broadcasts an image and a value of another rank")
        return place.tensor
    codes, scale = _constant_codes(constant, name)
    if codes.size == 1:
        codes = codes.reshape((1,) * rank)
    elif rank == 4:
        codes = codes.reshape((1,) * (4 - codes.ndim) + codes.shape).transpose(TO_NHWC)
    return low.builder.constant(codes, scale=scale, name=name)


def _constant_codes(constant: Constant, name: str) -> tuple[NDArray[np.int8], float]:
    """Return codes and scale; a single number is code 1 or -1 of the scale that it is itself."""
    if constant.scale is not None and np.all(constant.scale == constant.scale.flat[0]):
        return constant.codes.astype(np.int8), float(constant.scale.flat[0])
    values = np.asarray(constant.values, np.float64)
    magnitude = float(np.abs(values).flat[0])
    if values.size == 1 or np.all(np.abs(values) == magnitude):
        return np.sign(values).astype(np.int8), magnitude or 1.0
    raise Refusal(f"its constant {name} is not quantized to int8 with one scale")


def _binary(operator: str, low: Lowering, layer: Layer) -> Place:
    rank = max(low.rank(name) for name in layer.inputs)
    inputs = [_operand(low, name, rank) for name in layer.inputs]
    options = {"fused_activation_function": low.activation(layer)}
    return low.emit(operator, inputs, low._new(layer.output), options)


def _max_pool(low: Lowering, layer: Layer) -> Place:
    tensor, options = low.window(layer, layer.attributes["kernel"], -128)
    return low.emit("MAX_POOL_2D", [tensor], low._new(layer.output), _kernel(layer, options))


def _avg_pool(low: Lowering, layer: Layer) -> Place:
    attributes = layer.attributes
    place = low.place(layer.inputs[0])
    code = None if attributes["exclude_pad"] else low.codes(layer.inputs[0]).zero_point
    padded = any([*attributes["begin"], *attributes["end"]])
    if list(place.shape[1:3]) == list(attributes["kernel"]) and not padded:
        result = low._new(layer.output)
        return low.emit("MEAN", [place.tensor, low.integers([1, 2])], result, {"keep_dims": True})
    tensor, options = low.window(layer, attributes["kernel"], code)
    if options["padding"] == "SAME" and code is not None:
        tensor = low.padded(layer, attributes["begin"], attributes["end"], code).tensor
        options["padding"] = "VALID"
    return low.emit("AVERAGE_POOL_2D", [tensor], low._new(layer.output), _kernel(layer, options))


def _kernel(layer: Layer, options: dict[str, Any]) -> dict[str, Any]:
    height, width = layer.attributes["kernel"]
    return {**options, "filter_height": height, "filter_width": width}


def _mean(low: Lowering, layer: Layer) -> Place:
    place, axes, keep = (
        low.place(layer.inputs[0]),
        layer.attributes["axes"],
        layer.attributes["keep"],
    )
    if place.columns is not None:
        raise Refusal("it reads an image that was flattened; only a matrix product can")
    if len(place.shape) == 4:
        kept = [axis for axis in TO_NHWC if axis not in axes]
        if not keep and kept != sorted(kept):
            raise Refusal(f"its mean over the axes {axes} leaves an image's channels in front")
        axes = sorted(TO_NHWC.index(axis) for axis in axes)
    inputs = [place.tensor, low.integers(axes)]
    return low.emit("MEAN", inputs, low._new(layer.output), {"keep_dims": keep})


def _concat(low: Lowering, layer: Layer) -> Place:
    rank = low.rank(layer.output)
    axis = TO_NHWC.index(layer.attributes["axis"]) if rank == 4 else layer.attributes["axis"]
    wanted = low.ranges.codes[layer.output]
    inputs = []
    for name in layer.inputs:
        constant = low.network.constants.get(name)
        if constant is None:
            inputs.append(_operand(low, name, rank))
            continue
        codes = wanted.of(constant.values)
        codes = codes.transpose(TO_NHWC) if rank == 4 else codes
        inputs.append(low.builder.constant(codes, **_quantization(wanted), name=name))
    return low.emit("CONCATENATION", inputs, low._new(layer.output), {"axis": axis})


def _unary(operator: str, low: Lowering, layer: Layer) -> Place:
    place = low.place(layer.inputs[0])
    result = replace(low._new(layer.output), columns=place.columns)
    return low.emit(operator, [place.tensor], result)


def _softmax(low: Lowering, layer: Layer) -> Place:
    place = low.place(layer.inputs[0])
    axis = layer.attributes["axis"]
    axis = TO_NHWC.index(axis) if len(place.shape) == 4 else axis
    if axis != len(place.shape) - 1:
        raise Refusal("it runs along another axis than channels, or the last of a matrix")
    result = replace(low._new(layer.output), columns=place.columns)
    return low.emit("SOFTMAX", [place.tensor], result, {"beta": 1.0})


def _clamp(low: Lowering, layer: Layer) -> Place:
    clamp = (layer.attributes.get("low", 0.0), layer.attributes.get("high", np.inf))
    name = _activation(clamp, low.ranges.codes[layer.output])
    return _unary("QUANTIZE" if name == "NONE" else name, low, layer)


def _reshape(low: Lowering, layer: Layer) -> Place:
    """Write the source's order of elements, or leave a flattened image as it is.

    The latter if only matrix products read it, whose weights are permuted instead.
    """
    place, shape = low.place(layer.inputs[0]), low.network.shapes[layer.output]
    source = low.ranges.tensor_of[layer.inputs[0]]
    readers = [
        reader
        for name, tensor in low.ranges.tensor_of.items()
        if tensor == layer.output
        for reader in low.network.readers(name)
    ]
    if low.ranges.tensor_of[layer.output] in map(
        low.ranges.tensor_of.__getitem__, low.network.outputs
    ):
        readers = []
    if place.columns is not None:
        raise Refusal("it reads an image that was flattened; only a matrix product can")
    if len(place.shape) == 4:
        count, height, width, channels = place.shape
        flat = shape == (count, channels * height * width)
        if flat and readers and all(reader.kind == "matmul" for reader in readers):
            numbers = np.arange(channels * height * width).reshape(channels, height, width)
            columns = numbers.transpose(1, 2, 0).reshape(-1)
            result = low.reshaped(place, layer.output, shape)
            return replace(result, columns=columns)
        place = low.transposed(place, source, TO_NCHW, f"/NCHW for {layer.output}")
    if len(shape) != 4:
        return low.reshaped(place, layer.output, shape)
    place = low.reshaped(place, source, shape, f"/shaped for {layer.output}")
    return low.transposed(place, layer.output, TO_NHWC)


def _transpose(low: Lowering, layer: Layer) -> Place:
    place, order = low.place(layer.inputs[0]), layer.attributes["order"]
    if place.columns is not None:
        raise Refusal("it reads an image that was flattened; only a matrix product can")
    if len(place.shape) == 4:
        order = [TO_NHWC.index(order[axis]) for axis in TO_NHWC]
    return low.transposed(place, layer.output, order)


def _pad(low: Lowering, layer: Layer) -> Place:
    begin, end = layer.attributes["begin"], layer.attributes["end"]
    if min([*begin, *end]) < 0:
        raise Refusal("it takes elements away")
    codes = low.ranges.codes[layer.output]
    paddings = list(zip(begin, end, strict=True))
    place = low.place(layer.inputs[0])
    if len(place.shape) == 4:
        paddings = [paddings[axis] for axis in TO_NHWC]
    code = int(codes.of(np.array(layer.attributes["value"])))
    return low._pad(place, low._new(layer.output), paddings, code, codes)


_LOWERED: dict[str, Callable[[Lowering, Layer], Place]] = {
    "conv": _conv,
    "matmul": _matmul,
    "add": partial(_binary, "ADD"),
    "sub": partial(_binary, "SUB"),
    "mul": partial(_binary, "MUL"),
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "mean": _mean,
    "concat": _concat,
    "sigmoid": partial(_unary, "LOGISTIC"),
    "tanh": partial(_unary, "TANH"),
    "softmax": _softmax,
    "relu": _clamp,
    "clamp": _clamp,
    "reshape": _reshape,
    "transpose": _transpose,
    "pad": _pad,
    "requantize": partial(_unary, "QUANTIZE"),
}
"""How each of `KINDS` is written, but for ``quantize``, which has become codes."""
