"""From float to TPU-MLIR's int8: ranges from samples, BackwardCalibration, forms.

A front end makes one graph of the file; its runtime computes every value of the samples, whose
magnitudes are counted. Of these come thresholds, and of thresholds scales; values that a form takes
to have one scale get one. docs/other-specs.md has the steps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.tpu_mlir.network import TO_NCHW, TO_NHWC, Form, Program, Value
from eightfold.golden.errors import SpecError
from eightfold.golden.tpu_mlir import numbers, windows
from eightfold.importer import openvino_ir
from eightfold.importer.network import Layer, Network, Refusal, Refused, refusals
from eightfold.importer.ranges import absorb

Method = Literal["max", "percentile", "kl"]
"""How a threshold comes from the magnitudes of values: see `Histogram.threshold`."""

SUFFIXES = (".tflite", ".onnx", ".xml")
"""Files that OpenVINO reads."""

BINS, PERCENTILE, LEVELS, STEP = 2048, 99.99, 128, 16
"""Of a histogram; of ``percentile``; of ``kl``: magnitudes of int8, and bins between trials."""

ONE_SCALE = frozenset({"prelu", "relu", "pad", "max_pool", "concat", "reshape", "transpose"})
"""Kinds whose forms have S_x = S_y: BackwardCalibration makes their thresholds equal."""


@dataclass(eq=False)
class Histogram:
    """Values over samples: how many magnitudes are in each bin of 0 to ``top``, and the ends."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, np.int64))
    top: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def add(self, values: NDArray[Any]) -> None:
        """Count values; the top is doubled, and pairs of bins joined, until all have a bin."""
        sizes = np.abs(np.asarray(values, np.float64)).reshape(-1)
        most = float(sizes.max())
        self.top = self.top or most
        while self.top < most:
            self.counts = np.pad(self.counts.reshape(-1, 2).sum(axis=1), (0, BINS // 2))
            self.top *= 2
        if self.top:
            self.counts += np.histogram(sizes, BINS, (0, self.top))[0]
        self.low = min(self.low, float(np.min(values)))
        self.high = max(self.high, float(np.max(values)))

    def threshold(self, method: Method) -> float:
        """Return the magnitude that the largest codes stand for.

        ``max``: the largest. ``percentile``: the end of the bin up to which 99.99 % of the
        magnitudes are. ``kl``: the end of 128, 144, ... bins, whose distribution differs least
        (Kullback-Leibler) from that with 128 levels, magnitudes beyond counting in the last bin.
        """
        most = max(abs(self.low), abs(self.high))
        if method == "max" or not most:
            return most
        if method == "percentile":
            reached = np.cumsum(self.counts) >= PERCENTILE / 100 * self.counts.sum()
            bins = int(np.argmax(reached)) + 1
        else:
            ends = range(LEVELS, BINS + 1, STEP)
            bins = min(ends, key=lambda end: _divergence(self.counts, end))
        return min(self.top * bins / BINS, most)


def _divergence(counts: NDArray[np.int64], end: int) -> float:
    """Return how much the first ``end`` bins lose with `LEVELS` levels, each of its bins alike."""
    kept = counts[:end].astype(np.float64)
    level = np.arange(end) * LEVELS // end
    filled = kept > 0
    total = np.bincount(level, kept, LEVELS)
    share = np.bincount(level, filled, LEVELS)
    coarse = np.where(filled, (total / np.maximum(share, 1))[level], 0)
    kept[-1] += counts[end:].sum()
    if not coarse.sum():
        return np.inf
    p, q = kept / kept.sum(), coarse / coarse.sum()
    some = p > 0
    # A last bin that was empty has a probability only because of what was cut off.
    return float(np.sum(p[some] * np.log(p[some] / np.maximum(q[some], 1e-12))))


Range = tuple[float, float]


def calibrate(
    network: Network, samples: Mapping[str, NDArray[Any]], method: Method
) -> dict[str, Range]:
    """Return for each value the least and the greatest real number that a code stands for.

    They are those over the samples, within the threshold of `Histogram.threshold`.
    """
    names = [*network.inputs, *(layer.output for layer in network.layers)]
    histograms = {name: Histogram() for name in names}
    for number in range(len(next(iter(samples.values())))):
        values = network.evaluate({name: array[number] for name, array in samples.items()}, names)
        for name, histogram in histograms.items():
            if not np.all(np.isfinite(values[name])):
                raise InputError(f"sample {number}: {name} is not finite; take it out")
            histogram.add(values[name])
    found = {}
    for name, histogram in histograms.items():
        most = histogram.threshold(method)
        found[name] = max(histogram.low, -most), min(histogram.high, most)
    return found


def backward(network: Network, ranges: dict[str, Range]) -> None:
    """BackwardCalibration: give values that a layer of `ONE_SCALE` joins one range.

    It is that of the last of them, which others read than such layers; of several the hull.
    """
    owner = {name: name for name in ranges}

    def root(name: str) -> str:
        while owner[name] != name:
            name = owner[name]
        return name

    joined = [layer for layer in network.layers if layer.kind in ONE_SCALE]
    others = {name for layer in network.layers if layer not in joined for name in layer.inputs}
    read = {name for layer in joined for name in network.computed(layer)}
    read -= others | set(network.outputs)
    for layer in joined:
        for name in network.computed(layer):
            owner[root(name)] = root(layer.output)
    groups: dict[str, list[Range]] = {}
    for name, found in ranges.items():
        if name not in read:
            groups.setdefault(root(name), []).append(found)
    for name in ranges:
        ends = groups[root(name)]
        ranges[name] = min(low for low, _ in ends), max(high for _, high in ends)


@dataclass(frozen=True, eq=False)
class ImportedProgram:
    """A network in TPU-MLIR's int8: ``network`` and ``ranges`` are what it was made of."""

    program: Program
    network: Network
    ranges: Mapping[str, Range]
    left: tuple[str, ...]
    """Layers behind the last form that whoever reads the results computes."""

    def lines(self, samples: Mapping[str, NDArray[Any]]) -> list[str]:
        """Return in words how the int8 network differs from the float one over samples."""
        codes = [value.code for value in self.program.values]
        found = [
            f"{len(self.program.forms)} forms; {codes.count('int8')} values in int8, "
            f"{codes.count('uint8')} in uint8"
        ]
        names = [self.program.values[index].name for index in self.program.outputs]
        real: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        mine: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        for number in range(len(next(iter(samples.values())))):
            given = {name: array[number] for name, array in samples.items()}
            wanted, got = self.network.evaluate(given, names), self.program.run(given)
            for index, name in zip(self.program.outputs, names, strict=True):
                real[name].append(wanted[name])
                mine[name].append(self.program.values[index].real(got[index]))
        for index, name in zip(self.program.outputs, names, strict=True):
            x, y = (np.stack(each[name]).astype(np.float64) for each in (real, mine))
            away = np.abs(x - y).max() / self.program.values[index].scale
            lengths = np.linalg.norm(x) * np.linalg.norm(y)
            cosine = np.sum(x * y) / lengths if lengths else float(not np.any(x - y))
            same = np.mean(x.reshape(len(x), -1).argmax(1) == y.reshape(len(y), -1).argmax(1))
            found.append(
                f"{name}: cosine {cosine:.6f} to float, {away:.1f} codes away at most, "
                f"the largest element the same in {same:.1%} of {len(x)} samples"
            )
        return found + [f"left out, the host's: {each}" for each in self.left]


def import_program(
    source: Path,
    samples: Mapping[str, NDArray[Any]],
    method: Method = "max",
    *,
    asymmetric: bool = False,
) -> ImportedProgram:
    """Return a float network as one of TPU-MLIR's int8 forms.

    Raises `Refused` if layers have no form; all of them are listed. Raises `InputError` if the file
    is none of these, cannot be read, or the samples are not its inputs'.

    ``source``: a file that OpenVINO reads, whose name ends as one of `SUFFIXES`.
    ``samples``: arrays by input, with a further first axis of samples.
    ``method``: how thresholds come from the samples' values.
    ``asymmetric``: whether scales and zero points are of [least, greatest], all int8; else of a
        threshold, int8 with zero point 0, or uint8 of what is never negative.
    """
    if source.suffix not in SUFFIXES:
        raise InputError(f"{source}: --spec tpu-mlir takes {', '.join(SUFFIXES)} files")
    if not source.is_file():
        raise InputError(f"{source}: no such file")
    network = openvino_ir.read(source)
    wanted = {name: network.shapes[name] for name in network.inputs}
    given = {name: array.shape[1:] for name, array in samples.items()}
    if wanted != given:
        raise InputError(f"samples are of {given}; the inputs are {wanted}, each behind a count")
    for layer in network.layers:
        if layer.kind == "PRelu" and layer.inputs[1] in network.constants:
            layer.kind, layer.refusal = "prelu", None
    absorb(network)
    left = _without_softmax(network)
    for layer in network.layers:
        if not layer.refusal and layer.kind not in _FORMS:
            layer.refusal = f"TPU-MLIR's chapter has no form of {layer.kind}"
    if faults := refusals(network.layers):
        raise Refused(str(source), faults)
    ranges = calibrate(network, samples, method)
    backward(network, ranges)
    maker = _Maker(network, ranges, asymmetric)
    for layer in network.layers:
        maker.add(layer)
    if faults := refusals(network.layers):
        raise Refused(str(source), faults)
    return ImportedProgram(maker.program(), network, ranges, left)


def _without_softmax(network: Network) -> tuple[str, ...]:
    """Take out a softmax that makes an output: it moves no largest element."""
    left = []
    for layer in [each for each in network.layers if each.kind == "softmax"]:
        if layer.output in network.outputs and not network.readers(layer.output):
            network.outputs[network.outputs.index(layer.output)] = layer.inputs[0]
            network.layers.remove(layer)
            left.append(f"{layer.name} (softmax)")
    return tuple(left)


class _Maker:
    """Adds values and forms, layer by layer."""

    def __init__(self, network: Network, ranges: Mapping[str, Range], asymmetric: bool) -> None:
        self.network = network
        self.ranges = ranges
        self.asymmetric = asymmetric
        self.numbers: dict[str, int] = {}
        self.values: list[Value] = []
        self.forms: list[Form] = []
        for name in network.inputs:
            self.value(name, network.shapes[name])

    def add(self, layer: Layer) -> None:
        """Add a layer, and its clamp if no end of its range is one; or mark it as refused."""
        try:
            _FORMS[layer.kind](self, layer)
            self._clamp(layer)
        except (Refusal, SpecError) as refusal:
            layer.refusal = str(refusal)
            self.result(layer)

    def _clamp(self, layer: Layer) -> None:
        value = self.of(layer.output)
        low, high = layer.activation or (-np.inf, np.inf)
        least, most = (value.scale * (end - value.zero_point) for end in numbers.RANGES[value.code])
        # A scale is rounded, and so are the ends.
        if least >= low - value.scale / 2 and most <= high + value.scale / 2:
            return
        if (low, high) != (0, np.inf):
            raise Refusal(f"a clamp to {low}..{high} is no end of its range {least}..{most}")
        operands = (self.numbers[layer.output],)
        self.result(layer)
        self.forms.append(Form("leaky_relu", operands, _relu(value, value)))

    def program(self) -> Program:
        outputs = tuple(self.numbers[name] for name in self.network.outputs)
        return Program(tuple(self.values), len(self.network.inputs), outputs, tuple(self.forms))

    def value(self, name: str, sizes: tuple[int, ...]) -> Value:
        """Add a value, with the codes of its range and a shape of the source's."""
        low, high = self.ranges[name]
        if self.asymmetric:
            ends = min(low, 0.0), max(high, 0.0)
            code: numbers.Code = "int8"
            found = numbers.asymmetric(*(ends if ends[0] < ends[1] else (0.0, 1.0)))
        else:
            code = "uint8" if low >= 0 else "int8"
            threshold = max(abs(low), abs(high)) or 1.0
            found = numbers.symmetric(threshold, "uint8" if low >= 0 else "activation")
        scale, zero_point = found.per_tensor()
        nhwc = tuple(sizes[axis] for axis in TO_NHWC) if len(sizes) == 4 else sizes
        self.values.append(
            Value(name=name, shape=nhwc, code=code, scale=float(scale), zero_point=zero_point)
        )
        self.numbers[name] = len(self.values) - 1
        return self.values[-1]

    def of(self, name: str) -> Value:
        return self.values[self.numbers[name]]

    def form(self, name: str, layer: Layer, options: Mapping[str, Any]) -> None:
        """Add a form, whose result was added as a value before."""
        operands = tuple(self.numbers[each] for each in self.network.computed(layer))
        coded = {} if name in ("max_pool", "arrange") else {"code": self.values[-1].code}
        self.forms.append(Form(name, operands, {**options, **coded}))

    def result(self, layer: Layer) -> Value:
        """Add the value that a layer computes."""
        return self.value(layer.output, self.network.shapes[layer.output])

    def source(self, layer: Layer) -> Value:
        """Return what a layer reads first."""
        return self.of(self.network.computed(layer)[0])

    def weights(self, layer: Layer, kernel: NDArray[Any]) -> dict[str, Any]:
        """Add a layer's result; return weights, bias and fields, for a kernel (outputs, ...)."""
        x, y = self.source(layer), self.result(layer)
        rows = np.abs(kernel.reshape(len(kernel), -1)).max(axis=1)
        scales = numbers.symmetric(np.where(rows > 0, rows, 1.0), "weight", axis=0)
        codes = numbers.quantize(kernel, scales)
        bias = np.zeros(len(kernel)) if layer.bias is None else layer.bias
        folded = windows.folded_bias(
            bias, codes, input_quantization=x.quantization, weight_quantization=scales
        )
        ratios = x.scale * scales.scale.astype(np.float64) / y.scale
        found = [numbers.search_multiplier(ratio) for ratio in ratios.tolist()]
        multiplier, rshift = (np.array(column) for column in zip(*found, strict=True))
        fields = numbers.requantizer(multiplier, rshift, zero_point=y.zero_point)
        return {"weights": codes, "bias": folded, "fields": fields}


def _window(maker: _Maker, layer: Layer, *names: str) -> dict[str, Any]:
    """Return options of a window over images: the strides, padding, and others by name."""
    if len(maker.source(layer).shape) != 4:
        raise Refusal("its windows are not of two axes")
    found = {name: tuple(layer.attributes[name]) for name in names}
    pads = tuple(zip(layer.attributes["begin"], layer.attributes["end"], strict=True))
    return {**found, "stride": tuple(layer.attributes["strides"]), "pads": pads}


def _conv(maker: _Maker, layer: Layer) -> None:
    window = _window(maker, layer)
    made = maker.weights(layer, maker.network.constants[layer.inputs[1]].values)
    window["dilation"] = tuple(layer.attributes["dilations"])
    zero_point = maker.source(layer).zero_point
    maker.form("convolution", layer, {**made, **window, "input_zero_point": zero_point})


def _matmul(maker: _Maker, layer: Layer) -> None:
    if len(maker.source(layer).shape) != 2:
        raise Refusal("InnerProduct is of two axes; reshape before it")
    kernel = maker.network.constants[layer.inputs[1]].values
    maker.form("inner_product", layer, maker.weights(layer, kernel.T))


def _add(maker: _Maker, layer: Layer) -> None:
    if len(maker.network.computed(layer)) != 2:
        raise Refusal("one operand is a constant, and not one number for each channel")
    a, b = (maker.of(name) for name in layer.inputs)
    y = maker.result(layer)
    if len(a.shape) != len(b.shape):
        raise Refusal(f"operands of {len(a.shape)} and {len(b.shape)} axes")
    if maker.asymmetric:
        three = ("a_quantization", a), ("b_quantization", b), ("output_quantization", y)
        maker.form("add_asymmetric", layer, {name: each.quantization for name, each in three})
        return
    multipliers, rshift = numbers.search_shared([a.scale / y.scale, b.scale / y.scale])
    maker.form("add_symmetric", layer, {"multipliers": multipliers.tolist(), "rshift": rshift})


def _avg_pool(maker: _Maker, layer: Layer) -> None:
    window = _window(maker, layer, "kernel")
    if layer.attributes["exclude_pad"] and any(map(any, window["pads"])):
        raise Refusal("its padding does not count among the taps; AvgPool's does")
    _averaged(maker, layer, maker.result(layer), window)


def _averaged(maker: _Maker, layer: Layer, y: Value, window: dict[str, Any]) -> None:
    x = maker.source(layer)
    scale, offset = windows.avg_pool_factors(x.quantization, y.quantization, window["kernel"])
    factors = {"scale": float(scale), "offset": float(offset), "input_zero_point": x.zero_point}
    maker.form("avg_pool", layer, {**window, **factors})


def _mean(maker: _Maker, layer: Layer) -> None:
    if len(maker.source(layer).shape) != 4 or layer.attributes["axes"] != [2, 3]:
        raise Refusal("AvgPool is over the height and width of images")
    n, height, width, c = maker.source(layer).shape
    pooled = maker.value(layer.output, (n, c, 1, 1))
    _averaged(maker, layer, pooled, {"kernel": (height, width)})
    if not layer.attributes["keep"]:
        operands = (maker.numbers[layer.output],)
        maker.result(layer)
        maker.forms.append(Form("arrange", operands, {"order": _order((n, c))}))


def _order(shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.arange(prod(shape)).reshape(shape)


def _max_pool(maker: _Maker, layer: Layer) -> None:
    window = _window(maker, layer, "kernel")
    maker.result(layer)
    maker.form("max_pool", layer, window)


def _concat(maker: _Maker, layer: Layer) -> None:
    if len(maker.network.computed(layer)) != len(layer.inputs):
        raise Refusal("one operand is a constant")
    y = maker.result(layer)
    axis = layer.attributes["axis"]
    axis = TO_NHWC.index(axis) if len(y.shape) == 4 else axis
    parts, start = [], 0
    for shape in (maker.of(name).shape for name in layer.inputs):
        parts.append(start + _order(shape))
        start += prod(shape)
    maker.form("arrange", layer, {"order": np.concatenate(parts, axis)})


def _slopes(maker: _Maker, layer: Layer) -> None:
    """LeakyReLU of one slope, PReLU of several; ReLU is a slope of 0."""
    x, y = maker.source(layer), maker.result(layer)
    zeros = _relu(x, y)
    if layer.kind == "relu":
        maker.form("leaky_relu", layer, zeros)
        return
    slopes = maker.network.constants[layer.inputs[1]].values.astype(np.float64).reshape(-1)
    if slopes.size == 1:
        multiplier, rshift = numbers.search_multiplier(float(slopes[0]), 8)
        maker.form("leaky_relu", layer, {**zeros, "multiplier": multiplier, "rshift": rshift})
        return
    if slopes.size != x.shape[-1] or len(x.shape) != 4:
        raise Refusal(f"{slopes.size} slopes of {x.shape[-1]} channels of an image")
    scale = numbers.symmetric(np.abs(slopes).max() or 1.0, "weight")
    multipliers, rshift = numbers.search_shared(scale.scale)
    options = {"alpha": numbers.quantize(slopes, scale), "multiplier": int(multipliers[0])}
    maker.form("prelu", layer, {**zeros, **options, "rshift": rshift})


def _relu(x: Value, y: Value) -> dict[str, Any]:
    """Return options of a LeakyReLU with a slope of 0."""
    zeros = {"input_zero_point": x.zero_point, "output_zero_point": y.zero_point}
    return {"multiplier": 0, "rshift": 0, "code": y.code, **zeros}


def _pad(maker: _Maker, layer: Layer) -> None:
    x, y = maker.source(layer), maker.result(layer)
    pairs = list(zip(layer.attributes["begin"], layer.attributes["end"], strict=True))
    if min(map(min, pairs)) < 0:
        raise Refusal("it cuts; Pad adds")
    pairs = [pairs[axis] for axis in TO_NHWC] if len(pairs) == 4 else pairs
    options = {"input_zero_point": x.zero_point, "output_quantization": y.quantization}
    options |= {"paddings": pairs, "value": layer.attributes["value"]}
    maker.form("pad", layer, options)


def _arrange(maker: _Maker, layer: Layer) -> None:
    """Reshape and Transpose, of elements in the order of the source."""
    x, y = maker.source(layer), maker.result(layer)
    places = _order(x.shape)
    places = places.transpose(TO_NCHW) if places.ndim == 4 else places
    if layer.kind == "transpose":
        places = places.transpose(layer.attributes["order"])
    places = places.reshape(maker.network.shapes[layer.output])
    places = places.transpose(TO_NHWC) if places.ndim == 4 else places
    assert places.shape == y.shape
    maker.form("arrange", layer, {"order": places})


_FORMS: Mapping[str, Callable[[_Maker, Layer], None]] = {
    "conv": _conv,
    "matmul": _matmul,
    "add": _add,
    "avg_pool": _avg_pool,
    "mean": _mean,
    "max_pool": _max_pool,
    "concat": _concat,
    "relu": _slopes,
    "prelu": _slopes,
    "pad": _pad,
    "reshape": _arrange,
    "transpose": _arrange,
}
"""Kinds that have a form."""
