"""The one graph that every front end makes, and from which the lowering to int8 begins.

Values have names and the shapes of the source, images as NCHW. A layer computes one value from
others; `OPERATORS` has the kinds, which `take` finds by the operators' names in OpenVINO and ONNX
and attributes under their names in ONNX. ``quantize`` says which codes its value has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.golden.quantization import Quantization


class Refusal(Exception):  # noqa: N818 (says what it is)
    """A layer has no exact int8 form; the message says why."""


class Fault(NamedTuple):
    """A layer that has no exact int8 form, as the source calls it, and why."""

    layer: str
    operator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.layer} ({self.operator}): {self.reason}"


class Refused(InputError):  # noqa: N818 (says what happened)
    """Layers of a network have no exact int8 form: ``faults`` has all of them.

    ``advice`` is a line on what to do about some of them, or empty.
    """

    def __init__(self, source: str, faults: Sequence[Fault], advice: str = "") -> None:
        lines = [*map(str, faults), *filter(None, [advice])]
        super().__init__(f"{source}: {'; '.join(lines)}")
        self.faults = faults
        self.advice = advice


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers of the source: ``codes * scale``, or without a scale ``codes`` themselves.

    ``scale`` has the shape of ``codes``, so that whatever moves codes moves their scales.
    """

    codes: NDArray[Any]
    scale: NDArray[np.float32] | None = None

    @property
    def values(self) -> NDArray[Any]:
        """The real numbers, float64 where there is a scale."""
        return self.codes if self.scale is None else self.codes * self.scale.astype(np.float64)

    def moved(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> "Constant":
        """Return it with ``move``, a reshape or a transposition, done to codes and scales."""
        return Constant(move(self.codes), None if self.scale is None else move(self.scale))


@dataclass(eq=False)
class Layer:
    """One layer. ``bias`` and ``activation`` are those of following layers that it takes over.

    ``refusal`` says why there is no int8 form of it, as far as the front end knows.
    """

    name: str
    kind: str
    inputs: list[str]
    output: str
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: NDArray[np.float64] | None = None
    activation: tuple[float, float] | None = None
    refusal: str | None = None


Evaluate = Callable[[Mapping[str, NDArray[Any]], Sequence[str]], dict[str, NDArray[Any]]]
"""Returns values by name from the arrays of others, such as the inputs, from which all paths to
them come: the source's own runtime, in float."""


@dataclass(eq=False)
class Network:
    """A network of the source. ``runtime`` names what `evaluate` asks."""

    name: str
    runtime: str
    inputs: list[str]
    outputs: list[str]
    shapes: dict[str, tuple[int, ...]]
    constants: dict[str, Constant]
    layers: list[Layer]
    evaluate: Evaluate

    def readers(self, value: str) -> list[Layer]:
        """Return the layers that read a value."""
        return [layer for layer in self.layers if value in layer.inputs]

    def computed(self, layer: Layer) -> list[str]:
        """Return the inputs of a layer that are no constants."""
        return [name for name in layer.inputs if name not in self.constants]


@dataclass(frozen=True, eq=False)
class Codes:
    """The int8 codes of a value, and where their range comes from.

    That is: ``stated`` by the source; of a ``neighbour``, through layers that move or choose;
    ``merged`` of what is joined; ``fixed`` by the spec; of ``samples``, or ``bounds`` of what it
    is computed from.
    """

    quantization: Quantization
    origin: str

    @property
    def scale(self) -> float:
        """Of one code."""
        return float(self.quantization.scale[0])

    @property
    def zero_point(self) -> int:
        """The code of real 0."""
        return int(self.quantization.zero_point[0])

    @property
    def ends(self) -> tuple[float, float]:
        """The real values of -128 and 127."""
        return self.scale * (-128 - self.zero_point), self.scale * (127 - self.zero_point)

    def position(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``values / scale + zero_point`` in float64: a code where it is an integer."""
        return np.asarray(values, np.float64) / self.scale + self.zero_point

    def of(self, values: NDArray[Any]) -> NDArray[np.int8]:
        """Return the codes of real values: rounded ties to even, and saturated."""
        return np.clip(np.rint(self.position(values)), -128, 127).astype(np.int8)

    def real(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the real values of codes."""
        return (codes.astype(np.float64) - self.zero_point) * self.scale

    def same(self, other: "Codes") -> bool:
        """Return whether codes stand for the same real values."""
        return self.scale == other.scale and self.zero_point == other.zero_point


def codes_between(low: float, high: float, origin: str) -> Codes:
    """Return the codes of a range, widened to contain 0: ``scale = (high - low) / 255``."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / 255) or np.float32(1)
    zero_point = int(np.clip(np.rint(-128 - low / float(scale)), -128, 127))
    return Codes(Quantization(np.array([scale]), np.array([zero_point])), origin)


def refusals(layers: Sequence[Layer]) -> list[Fault]:
    """Return the layers that have no int8 form."""
    return [
        Fault(layer.name, layer.attributes.get("operator", layer.kind), layer.refusal)
        for layer in layers
        if layer.refusal
    ]


Attributes = Mapping[str, Any]
Taken = dict[str, Any]
"""Attributes of a layer: by the names that its kind's function returns."""


def take(network: Network, layer: Layer, given: Attributes) -> None:
    """Give a layer whose kind is an operator's name its kind and attributes.

    Raises `Refusal` if there is no int8 form of it, as far as is seen here.
    """
    if layer.kind not in OPERATORS:
        raise Refusal("this type of layer is none of those that docs/fakequantize.md lists")
    kind, attributes = OPERATORS[layer.kind]
    found = attributes(network, layer, given)
    if kind not in ("conv", "matmul", "add", "sub", "mul", "concat"):
        del layer.inputs[1:]
    layer.kind, layer.attributes = kind, found


def keep(network: Network) -> None:
    """Make tables of refused layers that compute each element from one: kind ``table``.

    What such a layer is called in the source stands in its attribute ``operator``, why it would be
    refused in ``reason``.
    """
    for layer in filter(partial(may_keep, network), network.layers):
        layer.attributes |= {"operator": layer.kind, "reason": layer.refusal}
        layer.kind, layer.inputs, layer.refusal = "table", network.computed(layer), None


def may_keep(network: Network, layer: Layer) -> bool:
    """Return whether `keep` makes a table of a layer."""
    one = len(network.computed(layer)) == 1
    return layer.refusal is not None and layer.kind in FUNCTIONS and one


def numbers(network: Network, name: str) -> list[Any]:
    """Return the numbers of a constant operand, such as axes."""
    if name not in network.constants:
        raise Refusal(f"the operand {name} is computed")
    return network.constants[name].values.reshape(-1).tolist()


def _window(network: Network, layer: Layer, given: Attributes, kernel: list[int]) -> Taken:
    """Return kernel, strides and padding of a layer that goes over an image."""
    rank = len(kernel)
    strides, pads = given.get("strides") or [1] * rank, given.get("pads") or [0] * 2 * rank
    apart = given.get("dilations") or [1] * rank
    begin, end = list(pads[:rank]), list(pads[rank:])
    if (how := given.get("auto_pad", b"")) in (b"SAME_UPPER", b"SAME_LOWER"):
        for axis, size in enumerate(network.shapes[layer.inputs[0]][2:]):
            reach = (-(-size // strides[axis]) - 1) * strides[axis]
            whole = max(reach + (kernel[axis] - 1) * apart[axis] + 1 - size, 0)
            begin[axis] = whole // 2 if how == b"SAME_UPPER" else whole - whole // 2
            end[axis] = whole - begin[axis]
    return {
        "kernel": list(kernel),
        "strides": list(strides),
        "dilations": list(apart),
        "begin": begin,
        "end": end,
    }


def _weights(network: Network, layer: Layer) -> Any:
    """Return the constant that a layer multiplies by, and make a third operand its bias."""
    weights = network.constants.get(layer.inputs[1])
    if weights is None:
        raise Refusal("its weights are computed")
    if layer.inputs[2:]:
        layer.bias = np.asarray(numbers(network, layer.inputs[2]), np.float64)
        del layer.inputs[2:]
    return weights


def _conv(network: Network, layer: Layer, given: Attributes) -> Taken:
    weights, groups = _weights(network, layer), given.get("group", 1)
    if layer.kind == "GroupConvolution":
        groups, shape = len(weights.codes), (-1, *weights.codes.shape[2:])
        layer.inputs[1] += "/joined"
        weights = weights.moved(lambda array: array.reshape(shape))
        network.constants[layer.inputs[1]] = weights
    return {**_window(network, layer, given, list(weights.codes.shape[2:])), "groups": groups}


def _matmul(network: Network, layer: Layer, given: Attributes) -> Taken:
    weights = _weights(network, layer)
    if given.get("transA") or {given.get("alpha", 1.0), given.get("beta", 1.0)} != {1.0}:
        raise Refusal("it transposes its operand, or has a factor")
    if given.get("transB"):
        layer.inputs[1] += "/transposed"
        network.constants[layer.inputs[1]] = weights.moved(lambda array: array.swapaxes(-1, -2))
    return {}


def _pool(network: Network, layer: Layer, given: Attributes) -> Taken:
    if {*given.get("dilations", [1])} != {1}:
        raise Refusal("its window is dilated")
    counted = bool(given.get("count_include_pad"))
    return {**_window(network, layer, given, given["kernel_shape"]), "exclude_pad": not counted}


def _mean(network: Network, layer: Layer, given: Attributes) -> Taken:
    rank = len(network.shapes[layer.inputs[0]])
    whole = layer.kind == "GlobalAveragePool"
    axes = range(2, rank) if whole else given.get("axes") or numbers(network, layer.inputs[-1])
    keep = whole or bool(given.get("keepdims", 1))
    return {"axes": sorted(axis % rank for axis in axes), "keep": keep}


def _pad(network: Network, layer: Layer, given: Attributes) -> Taken:
    """Return the padding: ONNX has it in one operand, OpenVINO in two, before the value."""
    rank = len(network.shapes[layer.inputs[0]])
    operands = [numbers(network, name) for name in layer.inputs[1:] if name]
    begin, end, *rest = (
        [operands[0][:rank], operands[0][rank:], *operands[1:]]
        if len(operands[0]) == 2 * rank
        else operands
    )
    if given.get("mode", b"constant") != b"constant" or len(begin) != rank or rest[1:]:
        raise Refusal("it repeats or mirrors, or pads some axes; constants on all are taken")
    return {"begin": begin, "end": end, "value": rest[0][0] if rest else 0.0}


def _clamp(network: Network, layer: Layer, given: Attributes) -> Taken:
    low, high, *_ = [*layer.inputs[1:], "", ""]
    return {
        "low": numbers(network, low)[0] if low else given.get("min", -np.inf),
        "high": numbers(network, high)[0] if high else given.get("max", np.inf),
    }


def _axis(default: int, network: Network, layer: Layer, given: Attributes) -> Taken:
    return {"axis": given.get("axis", default) % len(network.shapes[layer.output])}


def _transpose(network: Network, layer: Layer, given: Attributes) -> Taken:
    order = numbers(network, layer.inputs[1]) if layer.inputs[1:] else given.get("perm")
    return {"order": order or list(range(len(network.shapes[layer.output])))[::-1]}


def _nothing(network: Network, layer: Layer, given: Attributes) -> Taken:
    return {}


OPERATORS: Mapping[str, tuple[str, Callable[[Network, Layer, Attributes], Taken]]] = {
    **dict.fromkeys(("Convolution", "GroupConvolution", "Conv"), ("conv", _conv)),
    **dict.fromkeys(("MatMul", "Gemm"), ("matmul", _matmul)),
    "Add": ("add", _nothing),
    **dict.fromkeys(("Subtract", "Sub"), ("sub", _nothing)),
    **dict.fromkeys(("Multiply", "Mul"), ("mul", _nothing)),
    "MaxPool": ("max_pool", _pool),
    **dict.fromkeys(("AvgPool", "AveragePool"), ("avg_pool", _pool)),
    **dict.fromkeys(("ReduceMean", "GlobalAveragePool"), ("mean", _mean)),
    "Concat": ("concat", partial(_axis, 0)),
    "Sigmoid": ("sigmoid", _nothing),
    "Tanh": ("tanh", _nothing),
    **dict.fromkeys(("SoftMax", "Softmax"), ("softmax", partial(_axis, -1))),
    "Relu": ("relu", lambda *_: {"low": 0.0, "high": np.inf}),
    **dict.fromkeys(("Clamp", "Clip"), ("clamp", _clamp)),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten"), ("reshape", _nothing)),
    "Transpose": ("transpose", _transpose),
    "Pad": ("pad", _pad),
}
"""Operators that have an int8 form: the kind of layer, and who finds its attributes."""

FUNCTIONS = frozenset(
    "Abs Ceil Ceiling Div Divide Elu Erf Exp Floor Gelu HSigmoid HSwish HardSigmoid HardSwish "  # noqa: SIM905 (rows)
    "LeakyRelu Max Maximum Min Minimum Mish Neg Negative PRelu Round Selu Sign SoftPlus "
    "Softplus Sqrt Swish FakeQuantize DequantizeLinear relu clamp add sub mul".split()
)
"""Operators of which each element is a function of one, if their other operands are constants, that
rises, or falls, or turns once; and kinds, where TFLite lacks the clamp, or a constant has no codes.
"""
