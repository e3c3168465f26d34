"""Random networks of layers with channels, many of which are constant or read by nobody."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eightfold.cases.builder import Value
from eightfold.model import Graph
from eightfold.operators import load_model
from tests.support.networks.layers import Written

LOUD = 1 << 20
"""A bias beside which the products of a small layer do not matter."""


class SparseNetwork(Written):
    """Layers drawn one after the other; filters are 0 often, and so are the weights of channels.

    ``top`` is the last tensor, of shape (n, h, w, c).
    """

    def __init__(self, rng: np.random.Generator) -> None:
        shape = (1, *rng.integers(3, 9, 2).tolist(), int(rng.integers(1, 5)))
        super().__init__(0.05, int(rng.integers(-20, 20)))
        self.rng = rng
        self.top = self.given(*shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `top`."""
        return self.top.shape

    def draw(self, layers: int) -> bytes:
        """Return a network of so many layers, and a head."""
        for _ in range(layers):
            name = str(self.rng.choice(list(LAYERS), p=list(LAYERS.values())))
            getattr(self, name)()
        self.head()
        self._output(self.top)
        return self.build()

    def _output(self, tensor: Value) -> None:
        """Make a tensor an output, which it can be once."""
        if tensor.index not in self._outputs:
            self.output(tensor.index)

    def _push(
        self, name: str, inputs: Sequence[Value | int], options: Mapping[str, Any] | None = None
    ) -> Value:
        self.top = self.add(name, inputs, None, options)
        return self.top

    def _activation(self) -> dict:
        return {"fused_activation_function": str(self.rng.choice(["NONE", "RELU", "RELU6"]))}

    def _filters(self, shape: tuple[int, ...], axis: int) -> tuple[int, int]:
        """Return weights along whose ``axis`` outputs lie, and their bias."""
        rng = self.rng
        weights = rng.integers(-127, 128, shape, dtype=np.int8)
        dead = rng.random(shape[axis]) < rng.choice([0.1, 0.5])
        np.moveaxis(weights, axis, 0)[dead] = 0
        if axis == 0:
            weights[..., rng.random(shape[-1]) < rng.choice([0.0, 0.4, 0.8])] = 0
            if rng.integers(3) == 0:  # a single small weight: a channel that is read after all
                weights.reshape(-1)[rng.integers(weights.size)] = rng.choice([-1, 1])
        bias = rng.integers(-3000, 3000, shape[axis]).astype(np.int32)
        quiet = rng.random(shape[axis]) < 0.3
        bias[quiet] = rng.choice([-LOUD, 0, 40, LOUD], int(quiet.sum()))
        scales = rng.uniform(0.002, 0.02, shape[axis])
        if rng.integers(4) == 0:
            scales[:] = scales[0]
        w = self.constant(weights, scale=scales, zero_point=0, axis=axis)
        b = self.constant(bias, scale=scales * self.usual[0], zero_point=0, axis=0)
        return w, b

    def _window(self) -> tuple[tuple[int, int], dict]:
        """Return kernel and options."""
        rng = self.rng
        padding = str(rng.choice(["SAME", "VALID"], p=[0.7, 0.3]))
        largest = (4, 4) if padding == "SAME" else (min(4, self.shape[1]), min(4, self.shape[2]))
        kernel = (int(rng.integers(1, largest[0] + 1)), int(rng.integers(1, largest[1] + 1)))
        if rng.integers(2):
            kernel = (1, 1)
        stride = (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
        return kernel, {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}

    def conv(self) -> None:
        """CONV_2D."""
        outputs = int(self.rng.integers(2, 13))
        kernel, options = self._window()
        w, b = self._filters((outputs, *kernel, self.shape[3]), 0)
        dilation = {"dilation_h_factor": 1, "dilation_w_factor": 1}
        self._push("CONV_2D", [self.top, w, b], options | dilation | self._activation())

    def depthwise(self) -> None:
        """DEPTHWISE_CONV_2D, sometimes with several filters of a channel."""
        repeats = int(self.rng.choice([1, 1, 1, 2])) if self.shape[3] < 13 else 1
        kernel, options = self._window()
        w, b = self._filters((1, *kernel, repeats * self.shape[3]), 3)
        options |= {"dilation_h_factor": 1, "dilation_w_factor": 1, "depth_multiplier": repeats}
        name = "DEPTHWISE_CONV_2D"
        self._push(name, [self.top, w, b], options | self._activation())

    def pool(self) -> None:
        """A pool."""
        kernel, options = self._window()
        options |= {"filter_height": kernel[0], "filter_width": kernel[1]} | self._activation()
        name = str(self.rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"]))
        self._push(name, [self.top], options)

    def pad(self) -> None:
        """PAD of rows and columns."""
        around = self.rng.integers(0, 3, (4, 2)).astype(np.int32)
        around[[0, 3]] = 0
        if self.shape[1] > 12 or self.shape[2] > 12:
            around[:] = 0
        self._push("PAD", [self.top, self.constant(around)])

    def pointwise(self) -> None:
        """A function of one byte, or of two with a constant for each channel, or for all."""
        name = str(self.rng.choice(["RELU", "LEAKY_RELU", "ADD", "MUL", "SUB", "MAXIMUM"]))
        if name in ("RELU", "LEAKY_RELU"):
            options = {"alpha": 0.1} if name == "LEAKY_RELU" else {}
            self._push(name, [self.top], options)
            return
        shape = ((self.shape[3],), (1,))[int(self.rng.integers(2))]
        codes = self.rng.integers(-128, 128, shape, dtype=np.int8)
        options = {} if name == "MAXIMUM" else self._activation()
        self._push(name, [self.top, self.codes(codes)], options)

    def residual(self) -> None:
        """Two layers of one tensor, added or joined."""
        before = self.top
        depth = self.shape[3]
        kernel, dilation = (3, 3), {"dilation_h_factor": 1, "dilation_w_factor": 1}
        options = {"padding": "SAME", "stride_h": 1, "stride_w": 1} | dilation
        w, b = self._filters((depth, *kernel, depth), 0)
        first = self._push("CONV_2D", [before, w, b], options | self._activation())
        if self.rng.integers(2) or depth > 12:
            self._push("ADD", [first, before], self._activation())
        else:
            none = {"axis": 3, "fused_activation_function": "NONE"}
            self._push("CONCATENATION", [before, first], none)

    def head(self) -> None:
        """A mean, a RESHAPE and a FULLY_CONNECTED; or a convolution; or nothing."""
        kind = int(self.rng.integers(4))
        if kind == 0:
            return
        if kind == 1:
            self.conv()
            return
        if kind == 2:
            self._push("MEAN", [self.top, self.integers([1, 2])], {"keep_dims": False})
        else:
            kernel = self.shape[1:3]
            options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
            options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
            none = {"fused_activation_function": "NONE"}
            self._push("AVERAGE_POOL_2D", [self.top], options | none)
            shape = (self.shape[0], self.shape[3])
            self._push("RESHAPE", [self.top, self.integers(shape)], {"new_shape": shape})
        outputs = int(self.rng.integers(1, 6))
        w, b = self._filters((outputs, self.shape[1]), 0)
        options = {"keep_num_dims": False} | self._activation()
        self._push("FULLY_CONNECTED", [self.top, w, b], options)


LAYERS = {
    "conv": 0.4,
    "depthwise": 0.25,
    "pool": 0.05,
    "pad": 0.1,
    "pointwise": 0.1,
    "residual": 0.1,
}
"""What a network is drawn from, and how often."""


def sparse_model(seed: int) -> bytes:
    """Return network ``seed``."""
    rng = np.random.default_rng([0x5BA25E, seed])
    return SparseNetwork(rng).draw(int(rng.integers(2, 9)))


def sparse_network(seed: int) -> Graph:
    """Return `sparse_model`, read."""
    return load_model(sparse_model(seed))
