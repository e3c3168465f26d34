"""Networks written down operator by operator, with random weights; shapes are those of golden."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from eightfold.cases.builder import NetworkBuilder, Value
from eightfold.model import Graph
from eightfold.operators import load_model

CONV, DEPTHWISE = "CONV_2D", "DEPTHWISE_CONV_2D"

Pair = int | tuple[int, int]
"""For rows and columns; a number is both."""


class Layers(NetworkBuilder):
    """Operators one after the other, each of which reads ``top``, the result of the last one.

    ``scale`` and ``zero_point`` are those of the input, of int8 constants, and of all results that
    are given no others.
    """

    def __init__(
        self, shape: tuple[int, ...], seed: int = 0, *, scale: float = 0.5, zero_point: int = -7
    ) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.usual = scale, zero_point
        index = self.input(shape, scale=scale, zero_point=zero_point)
        self.top = Value(index, shape, scale, zero_point)

    def then(
        self,
        name: str,
        *constants: Any,
        scale: float | None = None,
        zero_point: int | None = None,
        **options: Any,
    ) -> Self:
        """Add an operator that reads `top` and constants."""
        inputs: list[Value | int] = [self.top]
        usual_scale, usual_zero = self.usual
        for array in map(np.asarray, constants):
            codes = {"scale": usual_scale, "zero_point": usual_zero}
            inputs.append(self.constant(array, **(codes if array.dtype == np.int8 else {})))
        return self._push(name, inputs, scale, zero_point, options)

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

    def model(self) -> bytes:
        """Return the network, whose last output is `top`."""
        return self.out().build()

    def graph(self) -> Graph:
        """Return `model`, read."""
        return load_model(self.model())

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
