"""Networks written down operator by operator, with random weights; shapes are those of golden."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from eightfold.cases.builder import NetworkBuilder, Quantized, Value, dictated
from eightfold.model import Graph
from eightfold.operators import load_model

CONV, DEPTHWISE = "CONV_2D", "DEPTHWISE_CONV_2D"

Pair = int | tuple[int, int]
"""For rows and columns; a number is both."""


class Written(NetworkBuilder):
    """Operators on any tensors.

    ``scale`` and ``zero_point`` are those of inputs, of int8 constants, and of all results that are
    given no others, unless the spec dictates them.
    """

    def __init__(self, scale: float = 0.5, zero_point: int = 0) -> None:
        super().__init__()
        self.usual = scale, zero_point

    def given(self, *shape: int) -> Value:
        """Add an int8 input."""
        scale, zero_point = self.usual
        index = self.input(shape, scale=scale, zero_point=zero_point)
        return Value(index, shape, scale, zero_point)

    def codes(self, codes: ArrayLike) -> int:
        """Add an int8 constant."""
        scale, zero_point = self.usual
        return self.constant(np.asarray(codes, np.int8), scale=scale, zero_point=zero_point)

    def add(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        quantization: Quantized | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Value:
        """Add an operator with one result; see `NetworkBuilder.add_several`."""
        chosen = quantization or dictated(operator) or self.usual
        return super().add(operator, inputs, chosen, options)

    def model(self, *outputs: Value) -> bytes:
        """Return the network with these outputs behind those that it has."""
        for output in outputs:
            self.output(output.index)
        return self.build()

    def graph(self, *outputs: Value) -> Graph:
        """Return `model`, read."""
        return load_model(self.model(*outputs))


class Layers(Written):
    """Operators one after the other, each of which reads ``top``, the result of the last one."""

    def __init__(
        self, shape: tuple[int, ...], seed: int = 0, *, scale: float = 0.5, zero_point: int = -7
    ) -> None:
        super().__init__(scale, zero_point)
        self.rng = np.random.default_rng(seed)
        self.top = self.given(*shape)

    def then(
        self,
        name: str,
        *constants: Any,
        scale: float | None = None,
        zero_point: int | None = None,
        **options: Any,
    ) -> Self:
        """Add an operator that reads `top` and constants."""
        arrays = map(np.asarray, constants)
        added = [self.codes(a) if a.dtype == np.int8 else self.constant(a) for a in arrays]
        return self._push(name, [self.top, *added], scale, zero_point, options)

    def window(
        self,
        name: str,
        filters: tuple[int, ...] | np.ndarray = (3, 3),
        stride: Pair = 1,
        dilation: Pair = 1,
        padding: str = "VALID",
        *,
        biases: Sequence[int] | np.ndarray | None = None,
        scale: float | None = None,
        zero_point: int | None = None,
        **options: Any,
    ) -> Self:
        """Add a pool, or a convolution with weights and biases, random unless they are given.

        ``filters`` are rows and columns, of a convolution the weights or their shape as well; rows
        and columns alone keep the number of channels.
        """
        options |= {"padding": padding}
        options |= zip(("stride_h", "stride_w"), _pair(stride), strict=True)
        inputs: list[Value | int] = [self.top]
        if name in (CONV, DEPTHWISE):
            options |= zip(("dilation_h_factor", "dilation_w_factor"), _pair(dilation), strict=True)
            weights = self._weights(name, filters)
            axis = 3 if name == DEPTHWISE else 0
            channels = weights.shape[axis]
            if axis:
                options["depth_multiplier"] = channels // self.top.shape[3]
            scales = self.rng.uniform(0.002, 0.01, channels).astype(np.float32)
            drawn = self.rng.integers(-2000, 2000, channels, np.int32) if biases is None else biases
            bias = np.asarray(drawn, np.int32)
            of_bias = {"scale": np.float32(self.top.scale) * scales, "axis": bias.ndim - 1}
            inputs += [self.constant(weights, scale=scales, axis=axis)]
            inputs += [self.constant(bias, **of_bias)]
        else:
            options |= zip(("filter_height", "filter_width"), filters, strict=True)
        return self._push(name, inputs, scale, zero_point, options)

    def out(self) -> Self:
        """Make `top` an output."""
        self.output(self.top.index)
        return self

    def model(self, *outputs: Value) -> bytes:
        """Return the network, whose last output is `top` if no others are given."""
        return super().model(*(outputs or [self.top]))

    def _weights(self, name: str, filters: tuple[int, ...] | np.ndarray) -> np.ndarray:
        if isinstance(filters, np.ndarray):
            return filters
        if len(filters) == 2:
            depth = self.top.shape[3]
            filters = (depth if name == CONV else 1, *filters, depth)
        return self.rng.integers(-127, 128, filters, np.int8)

    def _push(
        self,
        name: str,
        inputs: Sequence[Value | int],
        scale: float | None,
        zero_point: int | None,
        options: dict[str, Any],
    ) -> Self:
        usual_scale, usual_zero = self.usual
        zero = usual_zero if zero_point is None else zero_point
        self.top = self.add(name, inputs, (scale or usual_scale, zero), options)
        return self


def _pair(numbers: Pair) -> tuple[int, int]:
    return (numbers, numbers) if isinstance(numbers, int) else numbers
