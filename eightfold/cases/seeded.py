"""A network that is written down, but for its weights, which a seed gives."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from eightfold.cases.builder import NetworkBuilder, Quantized, Value

CODE = 73.0
"""Standard deviation of a uniform int8 code."""


class SeededNetwork(NetworkBuilder):
    """Adds operators to a model; what no operator reads becomes an output of the model.

    Parameters
    ----------
    description
        Text that the file carries.
    seed
        Of weights and other constants.
    """

    def __init__(self, description: str, seed: int) -> None:
        super().__init__(description)
        self._rng = np.random.default_rng(seed)
        self._unread: list[int] = []

    def graph_input(self, shape: Sequence[int], scale: float, zero_point: int) -> Value:
        """Add an int8 input of the model."""
        index = self.input(shape, scale=scale, zero_point=zero_point)
        return Value(index, tuple(shape), scale, zero_point)

    def codes(self, shape: Sequence[int], scale: float, zero_point: int = 0) -> int:
        """Add random int8 codes in [-127, 127]; return their index."""
        codes = self._rng.integers(-127, 127, shape, dtype=np.int8, endpoint=True)
        return self.constant(codes, scale=scale, zero_point=zero_point)

    def code(self, code: int, scale: float) -> int:
        """Add one int8 code; return its index."""
        return self.constant(np.array([code], dtype=np.int8), scale=scale, zero_point=0)

    def add_several(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        quantization: Quantized | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[Value]:
        """Add an operator; see `NetworkBuilder.add_several`."""
        values = super().add_several(operator, inputs, quantization, options)
        read = [each if isinstance(each, int) else each.index for each in inputs]
        self._unread = [index for index in self._unread if index not in read]
        self._unread += [value.index for value in values]
        return values

    def weighted(
        self,
        operator: str,
        x: Value,
        filters: Sequence[int],
        options: Mapping[str, Any],
        scale: float | None = None,
        shape: Sequence[int] = (),
    ) -> Value:
        """Add an operator with random weights and bias, one scale per output channel.

        Parameters
        ----------
        filters
            Shape of the weights. FULLY_CONNECTED has one scale for all of them.
        scale
            Of the result, to which the weights' scales are chosen; else what random ones lead to.
            In deep networks that grows from layer to layer.
        shape
            Of the result of TRANSPOSE_CONV.
        """
        axis = 3 if operator == "DEPTHWISE_CONV_2D" else 0
        channels = filters[axis]
        count = 1 if operator == "FULLY_CONNECTED" else channels
        scales = self._rng.uniform(0.01, 0.04, count).astype(np.float32)
        codes = self._rng.integers(-127, 127, filters, dtype=np.int8, endpoint=True)
        spread = CODE * CODE * np.sqrt(prod(filters) / channels)
        if scale is not None:
            scales *= np.float32(scale / (x.scale * scales.mean() * spread / 50))
        weights = self.constant(codes, scale=scales, axis=axis)
        values = self._rng.normal(0, spread, channels).astype(np.int32)
        bias = self.constant(values, scale=np.float32(x.scale) * scales)
        inputs: list[Value | int] = [x, weights, bias]
        if operator == "TRANSPOSE_CONV":
            inputs = [self.integers(shape), weights, x, bias]
        scale = scale or float(np.float32(x.scale * scales.mean() * spread / 50))
        return self.add(operator, inputs, (scale, 7), options)

    def build(self) -> bytes:
        """Return the file's bytes."""
        for index in self._unread:
            self.output(index)
        return super().build()
