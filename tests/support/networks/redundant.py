"""Random networks of what rules of rewriting look for, and of what looks nearly like it."""

import numpy as np

from eightfold.cases.builder import Value
from eightfold.model import Graph
from eightfold.operators import load_model
from tests.support.networks.sparse import SparseNetwork

NONE = {"fused_activation_function": "NONE"}


class RedundantNetwork(SparseNetwork):
    """Layers with padding of their own, functions of a byte, movements, twins and dead ends.

    Some tensors between layers are outputs of the network, or are read a second time.
    """

    def draw(self, layers: int) -> bytes:
        """Return a network of so many layers, and a head."""
        for _ in range(layers):
            before = self.top
            name = str(self.rng.choice(list(LAYERS), p=list(LAYERS.values())))
            getattr(self, name)()
            kind = int(self.rng.integers(12))
            if kind == 0:
                self._output(self.top)
            elif kind == 1:
                self._read_again(before)
        return super().draw(0)

    def _read_again(self, tensor: Value) -> None:
        """Read a tensor a second time, for an output of its own."""
        top = self.top
        self._output(self._push("RELU", [tensor]))
        self.top = top

    def surround(self) -> None:
        """PAD or PADV2, and then a layer with a window."""
        around = self.rng.integers(0, 3, (4, 2)).astype(np.int32)
        around[[0, 3]] = 0
        if self.rng.integers(8) == 0:
            around[3] = self.rng.integers(0, 2, 2)
        if max(self.shape[1:3]) > 9 or self.rng.integers(6) == 0:
            around[:3] = 0
        inputs = [self.top, self.constant(around)]
        name = str(self.rng.choice(["PAD", "PADV2"]))
        if name == "PADV2":
            code = int(self.rng.choice([self.usual[1], -128, int(self.rng.integers(-128, 128))]))
            inputs.append(self.codes(np.full((1,), code, np.int8)))
        self._push(name, inputs)
        getattr(self, str(self.rng.choice(["conv", "depthwise", "depthwise", "pool"])))()

    def function(self) -> None:
        """A function of one byte, of which some clamp and some change nothing."""
        rng = self.rng
        name = str(rng.choice(["RELU", "RELU6", "LEAKY_RELU", "TANH", *BINARY]))
        if name in ("RELU", "RELU6", "LEAKY_RELU"):
            options = {"alpha": 0.1} if name == "LEAKY_RELU" else {}
            self._push(name, [self.top], options)
        elif name == "TANH":
            self.usual = 1 / 128, 0
            self._push(name, [self.top])
        else:
            shape = ((1,), (), (1, 1, 1, 1), (self.shape[3],))[int(rng.integers(4))]
            codes = rng.choice([-128, 127, int(rng.integers(-128, 128))], shape).astype(np.int8)
            inputs = [self.top, self.codes(codes)]
            if name in BOTH_WAYS and rng.integers(2):
                inputs = inputs[::-1]
            if rng.integers(8) == 0:
                inputs = [self.top, self.top]
            options = {} if name in ("MAXIMUM", "MINIMUM") else self._activation()
            self._push(name, inputs, options)

    def requantize(self) -> None:
        """QUANTIZE to the same, or to another scale or zero point."""
        kind = int(self.rng.integers(3))
        scale, zero_point = self.usual
        if kind:
            zero_point = int(self.rng.integers(-40, 40))
        if kind == 2:
            scale = float(self.rng.uniform(0.02, 0.1))
        self.usual = scale, zero_point
        self._push("QUANTIZE", [self.top])

    def move(self) -> None:
        """RESHAPE there and back, or TRANSPOSE once or twice, with a function between."""
        shape = self.shape
        if self.rng.integers(2):
            flat = (shape[0] * shape[1], shape[2] * shape[3])
            self._reshaped(flat)
            if self.rng.integers(2):
                self._push("RELU", [self.top])
            self._reshaped(shape)
        else:
            for _ in range(int(self.rng.integers(1, 4))):
                axes = (0, *(1 + self.rng.permutation(3)))
                if self.rng.integers(3) == 0:
                    axes = (0, 1, 2, 3)
                self._push("TRANSPOSE", [self.top, self.integers(axes)])
                if self.rng.integers(3) == 0:
                    self._push("RELU", [self.top])

    def _reshaped(self, shape: tuple[int, ...]) -> None:
        self._push("RESHAPE", [self.top, self.integers(shape)], {"new_shape": shape})

    def join(self) -> None:
        """CONCATENATION of a tensor with a concatenation; of one part; along any axis."""
        if np.prod(self.shape) > 1500:
            return
        axis = int(self.rng.integers(-2, 4))
        options = {"axis": axis} | NONE
        part = self.top
        inner = self._push("CONCATENATION", [part] * int(self.rng.integers(1, 3)), options)
        both = (part, inner) if self.rng.integers(2) else (inner, part)
        self._push("CONCATENATION", both, options)

    def twins(self) -> None:
        """Two operators that do the same, or nearly, and their sum."""
        part = self.top
        name = str(self.rng.choice(["RELU", "LEAKY_RELU", "LEAKY_RELU"]))
        options: dict = {"alpha": 0.1} if name == "LEAKY_RELU" else {}
        first = self._push(name, [part], options)
        if name == "LEAKY_RELU" and self.rng.integers(2):
            options = {"alpha": 0.2}
        second = self._push(name, [part], options)
        self._push("ADD", [first, second], self._activation())

    def fixed(self) -> None:
        """A sum with a tensor that is computed from constants, and a result that nobody reads."""
        top = self.top
        codes = self.rng.integers(-128, 128, self.shape, dtype=np.int8)
        other = self._push("RELU", [self.codes(codes)])
        self._push("RELU", [top])  # nobody reads it
        self._push("ADD", [top, other], self._activation())


BINARY = ("ADD", "MUL", "SUB", "MAXIMUM", "MINIMUM")
BOTH_WAYS = ("ADD", "MUL", "SUB")

LAYERS = {
    "conv": 0.12,
    "depthwise": 0.06,
    "surround": 0.24,
    "function": 0.2,
    "requantize": 0.1,
    "move": 0.1,
    "join": 0.06,
    "twins": 0.06,
    "fixed": 0.06,
}
"""What a network is drawn from, and how often."""


def redundant_model(seed: int) -> bytes:
    """Return network ``seed``."""
    rng = np.random.default_rng([0x4ED04DA, seed])
    return RedundantNetwork(rng).draw(int(rng.integers(2, 9)))


def redundant_network(seed: int) -> Graph:
    """Return `redundant_model`, read."""
    return load_model(redundant_model(seed))
