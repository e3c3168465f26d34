"""The network as data, and its float arithmetic in numpy.

`LAYERS` is the only description of the network: `examples.digits.train` builds its float
training from it, `examples.digits.quantize` its operators. Tensors are NHWC and are named
after the layer that writes them; the input is ``image``.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eightfold.golden.windows import Window

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
    """One operator of the network.

    ``name``: of its output tensor and of its weights too. ``operator``: such as ``"CONV_2D"``.
    ``inputs``: names of the tensors read, in the operator's order. ``channels``: of the output of
    ``CONV_2D`` and ``FULLY_CONNECTED``; 0 elsewhere. ``size``: height and width of the (square)
    kernel or window, whose padding is ``SAME``; 0 without one. ``stride``: of it, the same both
    ways. ``activation``: fused, ``"NONE"``, ``"RELU"`` or ``"RELU6"``. ``like``: for ``QUANTIZE``,
    the tensor that the output shares scale and zero point with.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    channels: int = 0
    size: int = 0
    stride: int = 1
    activation: str = "NONE"
    like: str = ""

    @property
    def window(self) -> Window:
        return Window((self.size, self.size), (self.stride, self.stride), padding="SAME")


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


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor by name, without the batch."""
    found: dict[str, tuple[int, ...]] = {"image": IMAGE_SHAPE}
    for layer in LAYERS:
        first = found[layer.inputs[0]]
        shape = first
        if layer.size:
            shape = (*layer.window.output_sizes((1, *first)), layer.channels or first[2])
        elif layer.operator == "RESHAPE":
            shape = (math.prod(first),)
        elif layer.operator == "FULLY_CONNECTED":
            shape = (layer.channels,)
        found[layer.name] = shape
    return found


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
        tensors[layer.name] = _ACTIVATIONS[layer.activation](result)
    return tensors


def _conv(layer: Layer, x: np.ndarray, filter_: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.einsum("nyxchw,ohwc->nyxo", layer.window.taps(x, 0), filter_) + bias


def _depthwise(layer: Layer, x: np.ndarray, filter_: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.einsum("nyxchw,hwc->nyxc", layer.window.taps(x, 0), filter_[0]) + bias


def _softmax(_: Layer, x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# The poolings tile their input exactly, so that no window reaches into the padding.
_OPERATORS = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": lambda _, x, filter_, bias: x @ filter_.T + bias,
    "MAX_POOL_2D": lambda layer, x: layer.window.taps(x, 0).max(axis=(-2, -1)),
    "AVERAGE_POOL_2D": lambda layer, x: layer.window.taps(x, 0).mean(axis=(-2, -1)),
    "QUANTIZE": lambda _, x: x,
    "LOGISTIC": lambda _, x: 1 / (1 + np.exp(-x)),
    "MUL": lambda _, x, y: x * y,
    "ADD": lambda _, x, y: x + y,
    "RESHAPE": lambda _, x: x.reshape(len(x), -1),
    "SOFTMAX": _softmax,
}
_ACTIVATIONS = {
    "NONE": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0.0),
    "RELU6": lambda x: np.clip(x, 0.0, 6.0),
}
