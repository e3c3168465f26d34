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


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One operator of the network.

    Attributes
    ----------
    name : str
        Name of the layer, of its output tensor and of its weights.
    operator : str
        The TFLite operator, for example ``"CONV_2D"``.
    inputs : tuple of str
        Names of the tensors read, in the operator's order.
    channels : int
        Output channels of ``CONV_2D`` and ``FULLY_CONNECTED``; 0 elsewhere.
    size : int
        Height and width of the (square) kernel or window; 0 without one.
    stride : int
        Step of the kernel or window, the same both ways.
    activation : str
        Fused activation: ``"NONE"``, ``"RELU"`` or ``"RELU6"``.
    like : str
        For ``QUANTIZE``: the tensor that the output shares scale and zero point with.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    channels: int = 0
    size: int = 0
    stride: int = 1
    activation: str = "NONE"
    like: str = ""


# A 3x3 stem; a reduction by a depthwise and a pooling branch side by side; a residual block of
# depthwise and pointwise convolution whose channels are gated by what the whole image looks like
# (squeeze and excitation); and a linear classifier.
LAYERS = (
    Layer(
        name="stem", operator="CONV_2D", inputs=("image",), channels=32, size=3, activation="RELU"
    ),
    Layer(name="reduce", operator="DEPTHWISE_CONV_2D", inputs=("stem",), size=3, stride=2),
    Layer(name="peak", operator="MAX_POOL_2D", inputs=("stem",), size=2, stride=2),
    # ADD would rescale the pooled branch by itself; QUANTIZE gives both branches one scale first,
    # as operators without a rescaling of their own need it.
    Layer(name="peak_rescaled", operator="QUANTIZE", inputs=("peak",), like="reduce"),
    Layer(name="joined", operator="ADD", inputs=("reduce", "peak_rescaled")),
    Layer(
        name="spatial", operator="DEPTHWISE_CONV_2D", inputs=("joined",), size=3, activation="RELU"
    ),
    Layer(name="mixed", operator="CONV_2D", inputs=("spatial",), channels=32, size=1),
    Layer(name="squeeze", operator="AVERAGE_POOL_2D", inputs=("mixed",), size=4, stride=4),
    Layer(
        name="excite",
        operator="CONV_2D",
        inputs=("squeeze",),
        channels=8,
        size=1,
        activation="RELU",
    ),
    Layer(name="opening", operator="CONV_2D", inputs=("excite",), channels=32, size=1),
    Layer(name="gate", operator="LOGISTIC", inputs=("opening",)),
    Layer(name="gated", operator="MUL", inputs=("mixed", "gate")),
    Layer(name="residual", operator="ADD", inputs=("joined", "gated"), activation="RELU"),
    Layer(
        name="wide",
        operator="CONV_2D",
        inputs=("residual",),
        channels=48,
        size=1,
        activation="RELU6",
    ),
    Layer(name="pooled", operator="MAX_POOL_2D", inputs=("wide",), size=2, stride=2),
    Layer(name="flat", operator="RESHAPE", inputs=("pooled",)),
    Layer(name="logits", operator="FULLY_CONNECTED", inputs=("flat",), channels=CLASSES),
    Layer(name="probabilities", operator="SOFTMAX", inputs=("logits",)),
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

    Parameters
    ----------
    weights : dict of ndarray
        ``<name>.filter`` in TFLite's layout (CONV_2D OHWI, DEPTHWISE_CONV_2D 1HWO,
        FULLY_CONNECTED OK) and ``<name>.bias`` of shape (O,), any float dtype.
    images : ndarray, shape (N, 8, 8, 1)
        Real values in [0, 1].

    Returns
    -------
    dict of ndarray, float64
        Tensor of every layer by name, first axis N, and ``image``.
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
