"""A model that is written operator by operator, with random weights from a fixed seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from eightfold.model.builder import ModelBuilder

CODE = 73.0
"""Standard deviation of a uniform int8 code."""


@dataclass(frozen=True)
class Value:
    """A tensor that operators have written, or an input of the model."""

    index: int
    shape: tuple[int, ...]
    scale: float | None
    zero_point: int


class Growth:
    """Adds operators to a model; what no operator reads becomes an output of the model.

    Parameters
    ----------
    description
        Text that the file carries.
    seed
        Of weights and other constants.
    """

    def __init__(self, description: str, seed: int) -> None:
        self._builder = ModelBuilder(description)
        self._rng = np.random.default_rng(seed)
        self._unread: list[int] = []

    def input(self, shape: Sequence[int], scale: float, zero_point: int) -> Value:
        """Add an int8 input of the model."""
        index = self._builder.input(shape, scale=scale, zero_point=zero_point)
        return Value(index, tuple(shape), scale, zero_point)

    def codes(self, shape: Sequence[int], scale: float, zero_point: int = 0) -> int:
        """Add random int8 codes in [-127, 127]; return their index."""
        codes = self._rng.integers(-127, 127, shape, dtype=np.int8, endpoint=True)
        return self._builder.constant(codes, scale=scale, zero_point=zero_point)

    def code(self, code: int, scale: float) -> int:
        """Add one int8 code; return its index."""
        return self._builder.constant(np.array([code], dtype=np.int8), scale=scale, zero_point=0)

    def integers(self, values: object) -> int:
        """Add an int32 constant, such as axes; return its index."""
        return self._builder.constant(np.array(values, dtype=np.int32))

    def add(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        shape: Sequence[int],
        quantization: tuple[float, int] | Value | None,
        options: Mapping[str, Any] | None = None,
        dtype: DTypeLike = np.int8,
    ) -> Value:
        """Add an operator with one result.

        Parameters
        ----------
        inputs
            Tensors, and indices of constants.
        quantization
            The result's scale and zero point, or the tensor it shares them with; None for results
            that are not int8.
        """
        return self.add_several(operator, inputs, [shape], quantization, options, dtype)[0]

    def add_several(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        shapes: Sequence[Sequence[int]],
        quantization: tuple[float, int] | Value | None,
        options: Mapping[str, Any] | None = None,
        dtype: DTypeLike = np.int8,
    ) -> list[Value]:
        """Add an operator with a result of each shape, as `add`."""
        if isinstance(quantization, Value):
            assert quantization.scale is not None
            quantization = quantization.scale, quantization.zero_point
        scale, zero_point = quantization or (None, 0)
        results = []
        for shape in shapes:
            index = self._builder.tensor(shape, scale=scale, zero_point=zero_point, dtype=dtype)
            results.append(Value(index, tuple(shape), scale, zero_point))
        indices = [each if isinstance(each, int) else each.index for each in inputs]
        self._unread = [index for index in self._unread if index not in indices]
        self._unread += [result.index for result in results]
        outputs = [result.index for result in results]
        self._builder.operator(operator, indices, outputs, options)
        return results

    def weighted(
        self,
        operator: str,
        x: Value,
        filters: Sequence[int],
        axis: int,
        shape: Sequence[int],
        options: Mapping[str, Any],
        scale: float | None = None,
    ) -> Value:
        """Add an operator with random weights and bias, one scale per output channel.

        Parameters
        ----------
        filters, axis
            Shape of the weights, and where it has the output channels. FULLY_CONNECTED has one
            scale for all of them.
        scale
            Of the result, to which the weights' scales are chosen; else what random ones lead to.
            In deep networks that grows from layer to layer.
        """
        assert x.scale is not None
        channels = filters[axis]
        dense = operator == "FULLY_CONNECTED"
        scales = self._rng.uniform(0.01, 0.04, 1 if dense else channels).astype(np.float32)
        codes = self._rng.integers(-127, 127, filters, dtype=np.int8, endpoint=True)
        spread = CODE * CODE * np.sqrt(prod(filters) / channels)
        if scale is not None:
            scales *= np.float32(scale / (x.scale * scales.mean() * spread / 50))
        weights = self._builder.constant(codes, scale=scales, axis=0 if dense else axis)
        values = self._rng.normal(0, spread, channels).astype(np.int32)
        bias = self._builder.constant(values, scale=np.float32(x.scale) * scales)
        inputs: list[Value | int] = [x, weights, bias]
        if operator == "TRANSPOSE_CONV":
            inputs = [self.integers(shape), weights, x, bias]
        scale = scale or float(np.float32(x.scale * scales.mean() * spread / 50))
        return self.add(operator, inputs, shape, (scale, 7), options)

    def build(self) -> bytes:
        """Return the file's bytes."""
        for index in self._unread:
            self._builder.output(index)
        return self._builder.build()
