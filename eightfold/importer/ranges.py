"""From layers to int8 operators: biases and clamps are taken over, every value gets codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.quantization import Quantization
from eightfold.importer.network import Codes, Constant, Layer, Network, Refusal, codes_between

MOVES = frozenset({"reshape", "transpose", "concat", "max_pool", "avg_pool", "pad"})
"""Kinds whose operands and result must have the same codes."""

_TAKE_BIAS = frozenset({"conv", "matmul"})
_TAKE_CLAMP = frozenset({"conv", "matmul", "add", "sub", "mul"})
_KEEP_RANGE = MOVES | {"relu", "clamp"}

_TAKE_LATER = MOVES - {"avg_pool"}
"""Kinds that do the same whether their operand is quantized before or after them."""

_FIXED = {
    kind: Codes(Quantization(np.array([scale], np.float32), np.array([zero_point])), "fixed")
    for scale, zero_point, *kinds in ((1 / 256, -128, "sigmoid", "softmax"), (1 / 128, 0, "tanh"))
    for kind in kinds
}
"""Codes that the spec fixes for the results of some kinds."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """How values become tensors.

    ``codes`` by tensor; ``tensor_of``: which tensor holds a value of the source, often one that a
    later ``quantize`` layer has given its codes; ``real``: for each tensor the value of the source
    that its codes stand for, and ``before`` the one before its quantization.
    """

    codes: dict[str, Codes]
    tensor_of: dict[str, str]
    real: dict[str, str]
    before: dict[str, str]


def absorb(network: Network) -> None:
    """Let layers take over constants that are added to their result, and clamps behind it.

    A constant behind a convolution or a product with weights is a bias if it has one number or one
    for each channel; a clamp is taken over if nothing else reads what it clamps, of a bias too.
    """
    kept: list[Layer] = []
    for layer in network.layers:
        computed = network.computed(layer)
        earlier = next((each for each in kept if [each.output] == computed), None)
        alone = earlier is not None and network.readers(earlier.output) == [layer]
        alone = alone and earlier is not None and earlier.output not in network.outputs
        if earlier is None or not alone or earlier.activation or earlier.refusal or layer.refusal:
            kept.append(layer)
            continue
        bias = _bias(network, earlier, layer)
        if bias is not None:
            earlier.bias = bias if earlier.bias is None else earlier.bias + bias
            earlier.output = layer.output
        elif earlier.kind in _TAKE_CLAMP and layer.kind in ("relu", "clamp"):
            earlier.activation = layer.attributes["low"], layer.attributes["high"]
            earlier.output = layer.output
        else:
            kept.append(layer)
    network.layers[:] = kept


def relabel(network: Network) -> None:
    """Give what a convolution computes for depthwise ones alone one range in place of channels'.

    With weights and bias of channel c times s / s_c, and the readers' weights times s_c / s, codes
    of scale s are those of scale s_c, and the readers' results stay: s is the largest, and all zero
    points must be the same. `Network.evaluate` then returns such values times s / s_c.
    """
    factors: dict[str, NDArray[np.float64]] = {}
    for layer in network.layers:
        codes, convs = layer.attributes.get("channels", []), _between(network, layer)
        low, high = (convs and convs[0].activation) or (-np.inf, np.inf)
        # A clamp that only the first or the last code shows is what saturation does.
        fits = all(each.position(np.array(high)) > 126.5 for each in codes)
        fits = fits and (low == 0 or all(each.position(np.array(low)) < -127.5 for each in codes))
        if not convs or not fits or len({each.zero_point for each in codes}) != 1:
            continue
        maker = convs[0]
        scale = max(each.scale for each in codes)
        factor = np.array([scale / each.scale for each in codes])
        maker.activation = (0.0 if low == 0 else -np.inf, np.inf)
        maker.bias = None if maker.bias is None else maker.bias * factor
        for conv in convs:
            constant = network.constants[conv.inputs[1]]
            assert constant.scale is not None
            by = factor if conv is maker else 1 / factor.repeat(len(constant.codes) // len(factor))
            conv.inputs[1] += f"/relabelled for {layer.output}"
            scales = constant.scale * by.reshape(-1, 1, 1, 1)
            network.constants[conv.inputs[1]] = Constant(constant.codes, scales.astype(np.float32))
        factors[maker.output] = factors[layer.output] = factor.reshape(-1, 1, 1)
        point = np.array([codes[0].zero_point])
        whole = Codes(Quantization(np.array([scale], np.float32), point), "relabelled")
        layer.kind, layer.refusal, layer.inputs = "quantize", None, layer.inputs[:1]
        layer.attributes = {"codes": whole}
    evaluate = network.evaluate
    network.evaluate = lambda inputs, names: {
        name: values * factors[name] if name in factors else values
        for name, values in evaluate(inputs, names).items()
    }


def _between(network: Network, layer: Layer) -> list[Layer]:
    """Return the convolution that makes what a layer reads, and the depthwise ones behind it.

    No layers if others make or read it, or weights are not quantized.
    """
    maker = next((each for each in network.layers if [each.output] == layer.inputs[:1]), None)
    readers = network.readers(layer.output)
    if not maker or not readers or network.readers(maker.output) != [layer]:
        return []
    if {maker.output, layer.output} & {*network.outputs}:
        return []
    convs, channels = [maker, *readers], network.shapes[layer.output][1:2]
    if any(each.kind != "conv" or each.refusal for each in convs):
        return []
    depthwise = all((each.attributes["groups"],) == channels for each in readers)
    quantized = all(network.constants[each.inputs[1]].scale is not None for each in convs)
    return convs if depthwise and quantized else []


def _bias(network: Network, earlier: Layer, layer: Layer) -> NDArray[np.float64] | None:
    """Return the numbers that a layer adds to each channel of an earlier one; None if it is other.

    Channels are axis 1 of a convolution, and the last axis of a product.
    """
    if earlier.kind not in _TAKE_BIAS or layer.kind not in ("add", "sub"):
        return None
    constants = [network.constants[name] for name in layer.inputs if name in network.constants]
    if len(constants) != 1 or (layer.kind == "sub" and layer.inputs[0] in network.constants):
        return None
    rank = len(network.shapes[earlier.output])
    axis = 1 if earlier.kind == "conv" else rank - 1
    count = network.shapes[earlier.output][axis]
    values = np.asarray(constants[0].values, np.float64)
    values = values.reshape((1,) * (rank - values.ndim) + values.shape)
    if values.shape != tuple(values.size if place == axis else 1 for place in range(rank)):
        return None
    sign = -1.0 if layer.kind == "sub" else 1.0
    return sign * np.broadcast_to(values.reshape(-1), (count,))


def assign(network: Network, samples: Mapping[str, NDArray] | None) -> Ranges:
    """Give every value codes, and put ``requantize`` layers where an operator needs others.

    A value's codes are those of the first ``quantize`` layer that reads it. Else those of a
    neighbour, through layers of `MOVES` and clamps; those that the spec fixes; else a range that
    contains all ``samples``, arrays by input with a further first axis; without samples the least
    and greatest value that can be.
    """
    ranges = _stated(network)
    codes = ranges.codes
    for layer in reversed(network.layers):
        if layer.kind in _TAKE_LATER and layer.output in codes:
            for source in map(ranges.tensor_of.__getitem__, network.computed(layer)):
                if network.readers(source) == [layer] and source not in network.outputs:
                    found = Codes(codes[layer.output].quantization, "neighbour")
                    codes.setdefault(source, found)
    seen = _extremes(network, ranges, samples) if samples else {}
    for name in network.inputs:
        if name in seen:
            codes.setdefault(name, seen[name])
    for layer in network.layers:
        for name in {*layer.inputs} & {*network.inputs} if layer.kind == "table" else ():
            if name not in codes and (found := _read(network, layer, name)):
                codes[name] = found
    network.layers[:] = [
        placed for layer in network.layers for placed in _placed(network, ranges, layer, seen)
    ]
    return ranges


def _stated(network: Network) -> Ranges:
    """Take the ``quantize`` layers out; those that have given a value no codes requantize it."""
    codes: dict[str, Codes] = {}
    tensor_of = {name: name for name in network.inputs}
    real, before = dict(tensor_of), dict(tensor_of)
    kept = []
    for layer in network.layers:
        tensor_of[layer.output] = real[layer.output] = before[layer.output] = layer.output
        for name in (name for name in network.computed(layer) if name not in tensor_of):
            layer.refusal = layer.refusal or f"it reads {name}, which is no first, float result"
            layer.inputs.remove(name)
        if fixed := _FIXED.get(layer.kind):
            codes[layer.output] = fixed
        if layer.kind == "table" and "ends" in layer.attributes:
            low, high = layer.attributes["ends"]
            codes[layer.output] = codes_between(low, high, "stated")
        if layer.kind != "quantize" or layer.refusal:
            kept.append(layer)
            continue
        tensor, stated = tensor_of[layer.inputs[0]], layer.attributes["codes"]
        if tensor not in codes:
            codes[tensor] = stated
            real[tensor] = layer.output
        elif not codes[tensor].same(stated):
            before[layer.output] = layer.inputs[0]
            layer.kind = "requantize"
            codes[layer.output] = stated
            kept.append(layer)
            continue
        del real[layer.output], before[layer.output]
        tensor_of[layer.output] = tensor
    network.layers[:] = kept
    return Ranges(codes, tensor_of, real, before)


def _placed(
    network: Network, ranges: Ranges, layer: Layer, seen: Mapping[str, Codes]
) -> list[Layer]:
    """Give a layer's result codes; return it between the layers that requantize for its sake."""
    codes, tensor = ranges.codes, layer.output
    operands = [ranges.tensor_of[name] for name in network.computed(layer)]
    known = bool(operands) and all(name in codes for name in operands)
    if tensor not in codes and layer.kind in _KEEP_RANGE and known:
        codes[tensor] = _joined([codes[name] for name in operands])
    elif tensor not in codes and tensor in seen:
        codes[tensor] = seen[tensor]
    elif tensor not in codes and known and not layer.refusal:
        try:
            codes[tensor] = codes_between(*_bounds(network, ranges, layer), "bounds")
        except Refusal as refusal:
            layer.refusal = str(refusal)
            codes[tensor] = codes_between(-1, 1, "bounds")
    elif tensor not in codes:  # any codes will do to see what else is refused
        layer.refusal = layer.refusal or "there is no range for it, nor for what it reads"
        codes[tensor] = codes_between(-1, 1, "bounds")
    wanted = codes[tensor]
    if layer.kind not in MOVES or not known or layer.refusal:
        return [layer]
    other = [name for name in operands if not wanted.same(codes[name])]
    if len(operands) == 1 and other:
        layer.output = f"{tensor}/unscaled"
        codes[layer.output] = Codes(codes[other[0]].quantization, "neighbour")
        ranges.real[layer.output] = ranges.before[layer.output] = ranges.before[tensor]
        ranges.tensor_of[layer.output] = layer.output
        return [layer, Layer(f"{layer.name}/scaled", "requantize", [layer.output], tensor)]
    scaled = []
    for number, name in enumerate(layer.inputs):
        if name not in network.constants and (source := ranges.tensor_of[name]) in other:
            layer.inputs[number] = target = f"{name}/{number} of {tensor}"
            codes[target] = Codes(wanted.quantization, "neighbour")
            ranges.real[target], ranges.before[target] = ranges.real[source], name
            ranges.tensor_of[target] = target
            scaled.append(Layer(f"{layer.name}/scaled {number}", "requantize", [name], target))
    return [*scaled, layer]


def _read(network: Network, layer: Layer, name: str) -> Codes | None:
    """Return codes of the range that a table of a quantization tells apart in what it reads.

    Of ONNX it is the range of results, whose ends are those of numbers far outside.
    """
    ends: tuple[float, float] | None = layer.attributes.get("read")
    if layer.attributes["operator"] == "DequantizeLinear":
        far = [np.full(network.shapes[name], end, np.float32) for end in (-1e30, 1e30)]
        found = [network.evaluate({name: each}, [layer.output])[layer.output] for each in far]
        ends = float(found[0].min()), float(found[1].max())
    return codes_between(*ends, "neighbour") if ends else None


def _joined(parts: Sequence[Codes]) -> Codes:
    """Return codes whose range contains all of these: those of one of them, if one does."""
    low, high = min(part.ends[0] for part in parts), max(part.ends[1] for part in parts)
    whole = next((part for part in parts if part.ends == (low, high)), None)
    if whole is None:
        return codes_between(low, high, "merged")
    return Codes(whole.quantization, "neighbour")


def _extremes(network: Network, ranges: Ranges, samples: Mapping[str, NDArray]) -> dict[str, Codes]:
    """Return the codes of least and greatest values over samples, of tensors that have none."""
    names = {*network.inputs, *(layer.output for layer in network.layers)}
    missing = sorted(name for name in names if name not in ranges.codes)
    if not missing:
        return {}
    each = (
        dict(zip(samples, arrays, strict=True)) for arrays in zip(*samples.values(), strict=True)
    )
    ends: dict[str, list[float]] = {name: [] for name in missing}
    for inputs in each:
        for name, values in network.evaluate(inputs, missing).items():
            ends.setdefault(name, []).extend((float(values.min()), float(values.max())))
    return {name: codes_between(min(ends[name]), max(ends[name]), "samples") for name in missing}


def tabled(network: Network, layer: Layer, codes: Codes) -> NDArray[np.float64]:
    """Return what the source's runtime makes of each code: a row of 256 for each channel, or one.

    Channels are axis 1.
    Raises `Refusal` if a result is no number, or elements differ otherwise than by channel.
    """
    if "rows" in layer.attributes:
        return layer.attributes["rows"]
    (source,) = network.computed(layer)
    columns = []
    for value in codes.real(np.arange(-128, 128).astype(np.int8)):
        array = np.full(network.shapes[source], value, np.float32)
        result = network.evaluate({source: array}, [layer.output])[layer.output]
        if result.shape != array.shape or not np.all(np.isfinite(result)):
            raise Refusal(f"of {value:g}, a code of what it reads, it makes no number, or several")
        slices = np.moveaxis(result.reshape(*result.shape, 1), min(1, result.ndim), 0)
        slices = slices.reshape(len(slices), -1)
        if np.any(slices != slices[:, :1]):
            raise Refusal("its constants differ along other axes than that of channels, 1")
        columns.append(slices[:, 0].astype(np.float64))
    rows = np.stack(columns, axis=1)
    layer.attributes["rows"] = rows = rows[:1] if np.all(rows == rows[:1]) else rows
    return rows


def _bounds(network: Network, ranges: Ranges, layer: Layer) -> tuple[float, float]:
    """Return the least and the greatest value that a layer can compute from its operands' codes."""
    ends = []
    if layer.kind == "table":
        values = tabled(network, layer, ranges.codes[ranges.tensor_of[layer.inputs[0]]])
        return float(values.min()), float(values.max())
    for name in layer.inputs[:1] if layer.kind in ("conv", "matmul") else layer.inputs:
        if name in network.constants:
            values = network.constants[name].values
            ends.append((float(values.min()), float(values.max())))
        else:
            ends.append(ranges.codes[ranges.tensor_of[name]].ends)
    (low, high), (other_low, other_high) = ends[0], ends[-1]
    if layer.kind in ("conv", "matmul"):
        weights = network.constants[layer.inputs[1]].values
        axes = (1, 2, 3) if layer.kind == "conv" else (0,)
        up, down = (np.maximum(sign * weights, 0).sum(axis=axes) for sign in (1, -1))
        bias = 0.0 if layer.bias is None else layer.bias
        low, high = min(low, 0.0), max(high, 0.0)  # what pads is 0
        low, high = (up * low - down * high + bias).min(), (up * high - down * low + bias).max()
    elif layer.kind == "add":
        low, high = low + other_low, high + other_high
    elif layer.kind == "sub":
        low, high = low - other_high, high - other_low
    elif layer.kind == "mul":
        products = [a * b for a in (low, high) for b in (other_low, other_high)]
        low, high = min(products), max(products)
    clip = layer.activation or (-np.inf, np.inf)
    return float(np.clip(low, *clip)), float(np.clip(high, *clip))
