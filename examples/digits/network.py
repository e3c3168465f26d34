"""The network as data, and its float arithmetic in numpy.

`LAYERS` is the only description of the network: `examples.digits.train` builds its float
training from it, `examples.digits.quantize` its operators. Tensors are NHWC and are named
after the layer that writes them; the input is ``image``.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CLASSES = 10
IMAGE_SHAPE = (8, 8, 1)
PIXEL_MAX = 16
"""The brightest pixel of the data set: an image's real value is ``pixel / PIXEL_MAX``."""

FOLDER = Path(__file__).parent
WEIGHTS_FILE = FOLDER / "float_weights.npz"
CALIBRATION_FILE = FOLDER / "calibration_images.npz"
TEST_FILE = FOLDER / "test_images.npz"
SAMPLE_FILE = FOLDER / "sample.npz"
MODEL_FILE = FOLDER / "digits.tflite"


@dataclass(frozen=True)
class Layer:
    """One operator of the network."""

    name: str
    """Of its output tensor and of its weights too."""
    operator: str
    """Such as ``"CONV_2D"``."""
    inputs: tuple[str, ...]
    """Names of the tensors read, in the operator's order."""
    channels: int = 0
    """Of the output of ``CONV_2D`` and ``FULLY_CONNECTED``; 0 elsewhere."""
    size: int = 0
    """Height and width of the (square) kernel or window; 0 without one."""
    stride: int = 1
    """Of the kernel or window, the same both ways."""
    activation: str = "NONE"
    """Fused: ``"NONE"``, ``"RELU"`` or ``"RELU6"``."""
    like: str = ""
    """For ``QUANTIZE``: the tensor that the output shares scale and zero point with."""


# A 3x3 stem; a reduction by a depthwise and a pooling branch side by side; a residual block of
# depthwise and pointwise convolution whose channels are gated by what the whole image looks like
# (squeeze and excitation); and a linear classifier.
LAYERS = (
    Layer("stem", "CONV_2D", ("image",), channels=32, size=3, activation="RELU"),
    Layer("reduce", "DEPTHWISE_CONV_2D", ("stem",), size=3, stride=2),
    Layer("peak", "MAX_POOL_2D", ("stem",), size=2, stride=2),
    # ADD would rescale the pooled branch by itself; QUANTIZE gives both branches one scale first,
    # as operators without a rescaling of their own need it.
    Layer("peak_rescaled", "QUANTIZE", ("peak",), like="reduce"),
    Layer("joined", "ADD", ("reduce", "peak_rescaled")),
    Layer("spatial", "DEPTHWISE_CONV_2D", ("joined",), size=3, activation="RELU"),
    Layer("mixed", "CONV_2D", ("spatial",), channels=32, size=1),
    Layer("squeeze", "AVERAGE_POOL_2D", ("mixed",), size=4, stride=4),
    Layer("excite", "CONV_2D", ("squeeze",), channels=8, size=1, activation="RELU"),
    Layer("opening", "CONV_2D", ("excite",), channels=32, size=1),
    Layer("gate", "LOGISTIC", ("opening",)),
    Layer("gated", "MUL", ("mixed", "gate")),
    Layer("residual", "ADD", ("joined", "gated"), activation="RELU"),
    Layer("wide", "CONV_2D", ("residual",), channels=48, size=1, activation="RELU6"),
    Layer("pooled", "MAX_POOL_2D", ("wide",), size=2, stride=2),
    Layer("flat", "RESHAPE", ("pooled",)),
    Layer("logits", "FULLY_CONNECTED", ("flat",), channels=CLASSES),
    Layer("probabilities", "SOFTMAX", ("logits",)),
)

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
"""Operators that have a filter ``<name>.filter`` and a bias ``<name>.bias``."""

Arrays = dict[str, np.ndarray]


def same_padding(length: int, size: int, stride: int) -> tuple[int, int]:
    """Return what ``SAME`` padding adds before and after ``length`` elements.

    ``total = max(0, (ceil(length / stride) - 1) * stride + size - length)``; the smaller half
    comes first. Source: TFLite reference kernels, `ComputePaddingHeightWidth`.
    """
    outputs = -(-length // stride)
    total = max(0, (outputs - 1) * stride + size - length)
    return total // 2, total - total // 2


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor by name, without the batch."""
    found: dict[str, tuple[int, ...]] = {"image": IMAGE_SHAPE}
    for layer in LAYERS:
        first = found[layer.inputs[0]]
        shape = first
        if layer.size:
            rows, columns = (-(-n // layer.stride) for n in first[:2])
            shape = (rows, columns, layer.channels or first[2])
        elif layer.operator == "RESHAPE":
            shape = (math.prod(first),)
        elif layer.operator == "FULLY_CONNECTED":
            shape = (layer.channels,)
        found[layer.name] = shape
    return found


def activate(x: np.ndarray, activation: str) -> np.ndarray:
    """Apply a fused activation to real values."""
    high = 6.0 if activation == "RELU6" else np.inf
    return x if activation == "NONE" else np.clip(x, 0.0, high)


def forward(weights: Arrays, images: np.ndarray) -> Arrays:
    """Run the float network and keep every tensor.

    All arithmetic is float64: its rounding errors, which differ from machine to machine with
    the summation order, then stay far below the float32 scales that calibration derives.

    ``weights``: ``<name>.filter`` in TFLite's layout (CONV_2D OHWI, DEPTHWISE_CONV_2D 1HWO,
    FULLY_CONNECTED OK) and ``<name>.bias`` of shape (O,), any float dtype. ``images``: real values
    in [0, 1], shape (N, 8, 8, 1). Returns by name the tensor of every layer, float64, first axis N,
    and ``image``.
    """
    tensors: Arrays = {"image": images.astype(np.float64)}
    for layer in LAYERS:
        operands = [tensors[name] for name in layer.inputs]
        if layer.operator in WEIGHTED:
            operands += [
                weights[f"{layer.name}.{part}"].astype(np.float64) for part in ("filter", "bias")
            ]
        result = _OPERATORS[layer.operator](layer, *operands)
        tensors[layer.name] = activate(result, layer.activation)
    return tensors


def _windows(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Return ``SAME`` windows of x, shape (N, H', W', C, size, size), zeros outside."""
    rows, columns = (same_padding(n, layer.size, layer.stride) for n in x.shape[1:3])
    padded = np.pad(x, ((0, 0), rows, columns, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (layer.size,) * 2, axis=(1, 2))
    return windows[:, :: layer.stride, :: layer.stride]


def _conv(layer: Layer, x: np.ndarray, filter_: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.einsum("nyxchw,ohwc->nyxo", _windows(layer, x), filter_) + bias


def _depthwise(layer: Layer, x: np.ndarray, filter_: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.einsum("nyxchw,hwc->nyxc", _windows(layer, x), filter_[0]) + bias


def _softmax(_: Layer, x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# The poolings tile their input exactly, so that no window reaches into the padding.
_OPERATORS = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": lambda _, x, filter_, bias: x @ filter_.T + bias,
    "MAX_POOL_2D": lambda layer, x: _windows(layer, x).max(axis=(-2, -1)),
    "AVERAGE_POOL_2D": lambda layer, x: _windows(layer, x).mean(axis=(-2, -1)),
    "QUANTIZE": lambda _, x: x,
    "LOGISTIC": lambda _, x: 1 / (1 + np.exp(-x)),
    "MUL": lambda _, x, y: x * y,
    "ADD": lambda _, x, y: x + y,
    "RESHAPE": lambda _, x: x.reshape(len(x), -1),
    "SOFTMAX": _softmax,
}
