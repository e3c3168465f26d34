"""From a network whose values have codes to a ``.tflite`` file, NCHW turned into NHWC."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.quantization import FUSED_ACTIVATIONS, RELU_LIMITS
from eightfold.importer.network import Codes, Constant, Layer, Network, Refusal
from eightfold.importer.ranges import Ranges, tabled
from eightfold.model.builder import ModelBuilder

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)

_MOVES = frozenset({"RESHAPE", "TRANSPOSE"})


@dataclass(frozen=True, eq=False)
class Place:
    """Where a value lies: the file's tensor, its shape, and how that follows from the source's.

    Values of rank 4 lie as NHWC. Of a flattened image, which only matrix products read, element k
    along the last axis is the source's ``columns[k]``.
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
            unknown = [name for name in operands if name not in self.places]
            if unknown and not layer.refusal:
                names = ", ".join(unknown)
                raise Refusal(f"its input {names} has no range; import with --samples")
            place = None if layer.refusal else _LOWERED[layer.kind](self, layer)
        except Refusal as refusal:
            layer.refusal = str(refusal)
            place = None
        # What reads a layer that is refused is lowered all the same, to find what else is.
        self.places[layer.output] = place or self._new(layer.output)
        last = len(self._names)
        made = self._names[first:] or ["RESHAPE"]  # of another shape, without an operator
        name = next((name for name in made[::-1] if name not in _MOVES), made[-1])
        if layer.kind == "table":
            name = f"table of {layer.attributes['operator']}"
        self.steps.append(Step(layer, layer.output, tuple(operands), first, last, name))

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value as it lies."""
        shape = self.shape_of(name)
        return tuple(shape[axis] for axis in TO_NHWC) if len(shape) == 4 else shape

    def codes(self, name: str) -> Codes:
        return self.ranges.codes[self.ranges.tensor_of[name]]

    def place(self, name: str) -> Place:
        """Return where a value that is no constant lies."""
        return self.places[self.ranges.tensor_of[name]]

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value in the source, or of a constant."""
        if name in self.network.constants:
            return self.network.constants[name].codes.shape
        return self.network.shapes[self.ranges.before.get(name, name)]

    def rank(self, name: str) -> int:
        return len(self.shape_of(name))

    def _new(self, name: str, shape: Sequence[int] | None = None, label: str = "") -> Place:
        """Add a tensor with the codes of a value."""
        found = self._shape(name) if shape is None else tuple(shape)
        codes = _quantization(self.ranges.codes[name])
        return Place(self.builder.tensor(found, **codes, name=f"{name}{label}"), found)

    def emit(self, name: str, inputs: Sequence[int], result: Place, options: Any = None) -> Place:
        """Add an operator, and return its result."""
        self.builder.operator(name, inputs, [result.tensor], options)
        self._names.append(name)
        return result

    def integers(self, numbers: Sequence[int] | Sequence[Sequence[int]]) -> int:
        """Add a constant of int32, such as axes."""
        return self.builder.constant(np.asarray(numbers, np.int32))

    def reshaped(self, place: Place, name: str, shape: Sequence[int], label: str = "") -> Place:
        """Return a place of another shape, with the codes of a tensor, elements in their order."""
        if place.shape == tuple(shape) and place.columns is None and label:
            return place
        options = {"new_shape": [int(size) for size in shape]}
        inputs = [place.tensor, self.integers(shape)]
        return self.emit("RESHAPE", inputs, self._new(name, shape, label), options)

    def transposed(self, place: Place, name: str, order: Sequence[int], label: str = "") -> Place:
        """Return a place whose axes are those of another one in ``order``; ones move for free."""
        shape = [place.shape[axis] for axis in order]
        moved = [axis for axis in order if place.shape[axis] != 1]
        if moved == sorted(moved):
            return self.reshaped(place, name, shape, label)
        inputs = [place.tensor, self.integers(order)]
        return self.emit("TRANSPOSE", inputs, self._new(name, shape, label))

    def padded(
        self, name: str, paddings: Sequence[Sequence[int]], code: int, label: str = ""
    ) -> Place:
        """Return the place of a value with a code around it."""
        place, codes = self.place(name), self.codes(name)
        name = self.ranges.tensor_of[name]
        sizes = [size + sum(around) for size, around in zip(place.shape, paddings, strict=True)]
        inputs = [place.tensor, self.integers(paddings)]
        if code == codes.zero_point:
            return self.emit("PAD", inputs, self._new(name, sizes, label))
        value = self.builder.constant(np.array([code], np.int8), **_quantization(codes))
        return self.emit("PADV2", [*inputs, value], self._new(name, sizes, label))

    def window(
        self, layer: Layer, extents: Sequence[int], code: int | None, *, counted: bool = False
    ) -> tuple[int, dict[str, Any]]:
        """Return the tensor that a window goes over and the options ``padding`` and strides.

        Padding that is neither none nor TFLite's SAME becomes an operator, with ``code`` around;
        SAME too, where it is ``counted`` by a mean.
        """
        place, strides = self.place(layer.inputs[0]), layer.attributes["strides"]
        if len(strides) != 2:
            raise Refusal(f"its window has {len(strides)} dimensions; 2 are taken")
        results, begin = self._shape(layer.output)[1:3], layer.attributes["begin"]
        axes = [*zip(results, place.shape[1:3], strides, extents, begin, strict=True)]
        # As far as windows reach.
        end = [max((n - 1) * by + size - whole - at, 0) for n, whole, by, size, at in axes]
        same = all(n == -(-whole // by) for n, whole, by, *_ in axes) and not counted
        same = same and all(at == (at + to) // 2 for at, to in zip(begin, end, strict=True))
        tensor, padding = place.tensor, "SAME" if same and any([*begin, *end]) else "VALID"
        if any([*begin, *end]) and not same:
            if code is None:
                raise Refusal("its padding, which it does not count, is not TFLite's SAME")
            paddings = [(0, 0), *zip(begin, end, strict=True), (0, 0)]
            label = f"/padded for {layer.output}"
            tensor = self.padded(layer.inputs[0], paddings, code, label).tensor
        return tensor, {"stride_h": strides[0], "stride_w": strides[1], "padding": padding}


def _activation(low: Lowering, layer: Layer) -> str:
    """Return the activation of TFLite that does the clamp that a layer is, or has taken over."""
    own = layer.attributes.get("low", -np.inf), layer.attributes.get("high", np.inf)
    lowest, highest = map(float, layer.activation or own)
    first, last = low.ranges.codes[layer.output].ends
    if lowest <= first and highest >= last:
        return "NONE"
    for name in sorted(FUSED_ACTIVATIONS - {"NONE"}):
        below, above = RELU_LIMITS[name]
        fits = lowest == below or max(lowest, below) <= first
        if fits and (highest == above or min(highest, above) >= last):
            return name
    wanted = f"{lowest:g}..{highest:g}"
    raise Refusal(f"TFLite has no clamp to {wanted}; it has from 0, 0 to 6, and -1 to 1")


def _quantization(codes: Codes) -> dict[str, Any]:
    return {"scale": codes.quantization.scale, "zero_point": codes.quantization.zero_point}


def weights_of(network: Network, layer: Layer, channel: int) -> tuple[NDArray[np.int8], NDArray]:
    """Return the codes of a layer's weights and a scale for each output channel, along an axis.

    Raises `Refusal` if they are not quantized, or not as the spec has them.
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
    extents = [(n - 1) * by + 1 for n, by in zip(weights.shape[2:], dilations, strict=True)]
    tensor, options = low.window(layer, extents, low.codes(layer.inputs[0]).zero_point)
    channels = low.place(layer.inputs[0]).shape[3]
    depthwise = groups == channels and groups > 1
    axis, order = (3, (1, 2, 3, 0)) if depthwise else (0, (0, 2, 3, 1))
    stored, name = weights.transpose(order), f"{layer.output}/weights"
    index = low.builder.constant(stored, scale=scales, axis=axis, name=name)
    if any(apart != 1 for apart in dilations):
        names = ("dilation_h_factor", "dilation_w_factor")
        options |= dict(zip(names, dilations, strict=True))
    if depthwise:
        options["depth_multiplier"] = len(weights) // channels
    options["fused_activation_function"] = _activation(low, layer)
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
    options: dict[str, Any] = {"fused_activation_function": _activation(low, layer)}
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
        if low.rank(name) != rank and 4 in (low.rank(name), rank):
            raise Refusal("it broadcasts an image and a value of another rank")
        return low.place(name).tensor
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
    options = {"fused_activation_function": _activation(low, layer)}
    return low.emit(operator, inputs, low._new(layer.output), options)


def _pool(operator: str, low: Lowering, layer: Layer) -> Place:
    """Write a pool; the mean of a whole image is MEAN, which has codes of its own."""
    kernel = layer.attributes["kernel"]
    padded = [*layer.attributes["begin"], *layer.attributes["end"]]
    counted = operator != "MAX_POOL_2D" and not layer.attributes["exclude_pad"]
    place, result = low.place(layer.inputs[0]), low._new(layer.output)
    if operator != "MAX_POOL_2D" and [*place.shape[1:3]] == kernel and not any(padded):
        return low.emit("MEAN", [place.tensor, low.integers([1, 2])], result, {"keep_dims": True})
    around = low.codes(layer.inputs[0]).zero_point if counted else None
    code = -128 if operator == "MAX_POOL_2D" else around
    tensor, options = low.window(layer, kernel, code, counted=counted)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
    return low.emit(operator, [tensor], result, options)


def _mean(low: Lowering, layer: Layer) -> Place:
    axes, keep = layer.attributes["axes"], layer.attributes["keep"]
    if low.rank(layer.inputs[0]) == 4:
        kept = [axis for axis in TO_NHWC if axis not in axes]
        if not keep and kept != sorted(kept):
            raise Refusal(f"its mean over the axes {axes} leaves an image's channels in front")
        axes = sorted(TO_NHWC.index(axis) for axis in axes)
    inputs = [low.place(layer.inputs[0]).tensor, low.integers(axes)]
    return low.emit("MEAN", inputs, low._new(layer.output), {"keep_dims": keep})


def _concat(low: Lowering, layer: Layer) -> Place:
    rank, axis = low.rank(layer.output), layer.attributes["axis"]
    wanted = low.ranges.codes[layer.output]
    inputs = []
    for name in layer.inputs:
        if constant := low.network.constants.get(name):
            codes = wanted.of(constant.values)
            codes = codes.transpose(TO_NHWC) if rank == 4 else codes
            inputs.append(low.builder.constant(codes, **_quantization(wanted), name=name))
        else:
            inputs.append(low.place(name).tensor)
    options = {"axis": TO_NHWC.index(axis) if rank == 4 else axis}
    return low.emit("CONCATENATION", inputs, low._new(layer.output), options)


def _unary(operator: str, low: Lowering, layer: Layer) -> Place:
    return low.emit(operator, [low.place(layer.inputs[0]).tensor], low._new(layer.output))


def _table(low: Lowering, layer: Layer) -> Place:
    """Write a table of codes that is looked up with bytes; of channels in front, one for each.

    A byte of int8 as uint8 is where its entry lies, that of code 0 first.
    """
    name = layer.inputs[0]
    wanted, place = low.ranges.codes[layer.output], low.place(name)
    entries = np.roll(wanted.of(tabled(low.network, layer, low.codes(name))), 128, axis=1)
    channel = 3 if len(place.shape) == 4 else 1
    order = [channel, *(axis for axis in range(len(place.shape)) if axis != channel)]
    by_channel, source = len(entries) > 1, low.ranges.tensor_of[name]
    if by_channel:
        place = low.transposed(place, source, order, f"/by channel for {layer.output}")
        flat = len(entries), math.prod(place.shape[1:])
        place = low.reshaped(place, source, flat, f"/rows for {layer.output}")
    for before, after in pairwise(("INT8", "UINT8", "INT32")):
        index = Place(low.builder.tensor(place.shape, dtype=np.dtype(after.lower())), place.shape)
        options = {"in_data_type": before, "out_data_type": after}
        place = low.emit("CAST", [place.tensor], index, options)
    table = entries if by_channel else entries[0]
    constant = low.builder.constant(table, **_quantization(wanted), name=f"{layer.output}/table")
    result = low._new(layer.output, place.shape, "/rows" if by_channel else "")
    options = dict.fromkeys(("axis", "batch_dims"), int(by_channel))
    low.emit("GATHER", [constant, place.tensor], result, options)
    if not by_channel:
        return result
    shape = [low._shape(layer.output)[axis] for axis in order]
    result = low.reshaped(result, layer.output, shape, "/by channel")
    return low.transposed(result, layer.output, np.argsort(order).tolist())


def _softmax(low: Lowering, layer: Layer) -> Place:
    rank, axis = low.rank(layer.inputs[0]), layer.attributes["axis"]
    if (TO_NHWC.index(axis) if rank == 4 else axis) != rank - 1:
        raise Refusal("it runs along another axis than channels, or the last of a matrix")
    inputs = [low.place(layer.inputs[0]).tensor]
    return low.emit("SOFTMAX", inputs, low._new(layer.output), {"beta": 1.0})


def _clamp(low: Lowering, layer: Layer) -> Place:
    name = _activation(low, layer)
    return _unary("QUANTIZE" if name == "NONE" else name, low, layer)


def _reshape(low: Lowering, layer: Layer) -> Place:
    """Write the source's order of elements, or leave a flattened image as it is.

    The latter if only matrix products read it, whose weights are permuted instead.
    """
    place, shape = low.place(layer.inputs[0]), low.shape_of(layer.output)
    source = low.ranges.tensor_of[layer.inputs[0]]
    names = [name for name, tensor in low.ranges.tensor_of.items() if tensor == layer.output]
    readers = [reader.kind for name in names for reader in low.network.readers(name)]
    if len(place.shape) == 4:
        count, height, width, channels = place.shape
        flat = shape == (count, channels * height * width) and {*readers} == {"matmul"}
        if flat and not {*names} & {*low.network.outputs}:
            numbers = np.arange(channels * height * width).reshape(channels, height, width)
            columns = numbers.transpose(1, 2, 0).reshape(-1)
            return replace(low.reshaped(place, layer.output, shape), columns=columns)
        place = low.transposed(place, source, TO_NCHW, f"/NCHW for {layer.output}")
    if len(shape) != 4:
        return low.reshaped(place, layer.output, shape)
    place = low.reshaped(place, source, shape, f"/shaped for {layer.output}")
    return low.transposed(place, layer.output, TO_NHWC)


def _transpose(low: Lowering, layer: Layer) -> Place:
    order = layer.attributes["order"]
    if len(order) == 4:
        order = [TO_NHWC.index(order[axis]) for axis in TO_NHWC]
    return low.transposed(low.place(layer.inputs[0]), layer.output, order)


def _pad(low: Lowering, layer: Layer) -> Place:
    paddings = [*zip(layer.attributes["begin"], layer.attributes["end"], strict=True)]
    if min(map(min, paddings)) < 0:
        raise Refusal("it takes elements away")
    if len(paddings) == 4:
        paddings = [paddings[axis] for axis in TO_NHWC]
    code = int(low.ranges.codes[layer.output].of(np.array(layer.attributes["value"])))
    return low.padded(layer.inputs[0], paddings, code, f"/padded for {layer.output}")


_LOWERED: dict[str, Callable[[Lowering, Layer], Place]] = {
    "conv": _conv,
    "matmul": _matmul,
    "add": partial(_binary, "ADD"),
    "sub": partial(_binary, "SUB"),
    "mul": partial(_binary, "MUL"),
    "max_pool": partial(_pool, "MAX_POOL_2D"),
    "avg_pool": partial(_pool, "AVERAGE_POOL_2D"),
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
    "table": _table,
}
"""How each kind of layer is written, but for ``quantize``, which has become codes."""
