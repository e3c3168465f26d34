"""Writes models operator by operator; what an operator computes has the shape that golden says.

A `SeededNetwork` is one that is written down, but for its weights, which a seed gives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from eightfold.model import Graph, Operator, Tensor
from eightfold.model.builder import ModelBuilder
from eightfold.model.schema import decoded_options, options_name, options_table
from eightfold.operators import OPERATORS, Node, count_macs, spec_row
from eightfold.operators.rules import FixedQuantization


@dataclass(frozen=True)
class Value:
    """A tensor that is no constant: an input of the model, or what an operator has computed.

    ``scale`` is 0 where codes stand for themselves: axes, indices, truth values.
    """

    index: int
    shape: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0


Quantized = tuple[float, int] | Value
"""Scale and zero point, or the tensor that has them."""


class NetworkBuilder(ModelBuilder):
    """Collects a model as its base class does; results' shapes follow from operands and options."""

    def __init__(self, description: str = "") -> None:
        super().__init__(description)
        self._known: list[Tensor] = []

    def tensor(
        self, shape: Sequence[int] | None, *, dtype: DTypeLike = np.int8, **fields: Any
    ) -> int:
        """Add a tensor; see `ModelBuilder.tensor`."""
        index = super().tensor(shape, dtype=dtype, **fields)
        # A row compares quantizations where results must have those of operands: all are alike.
        self._known.append(Tensor(index, "", tuple(shape or ()), np.dtype(dtype), None, None))
        return index

    def constant(self, array: ArrayLike, **fields: Any) -> int:
        """Add a constant; see `ModelBuilder.constant`."""
        index = super().constant(array, **fields)
        self.assume(index, np.asarray(array))
        return index

    def integers(self, values: object, name: str | None = None) -> int:
        """Add an int32 constant, such as axes; return its index."""
        return self.constant(np.array(values, dtype=np.int32), name=name)

    def add(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        quantization: Quantized | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Value:
        """Add an operator with one result; see `add_several`."""
        return self.add_several(operator, inputs, quantization, options)[0]

    def add_several(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        quantization: Quantized | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[Value]:
        """Add an operator, and return its results, which must have shapes in golden.

        ``inputs``: tensors, and indices of constants; -1 for one that is absent.
        ``quantization``: scale and zero point of the results, or the tensor that they share them
            with. None where the spec dictates them, and where results are not int8.
        ``options``: as `ModelBuilder.operator` takes them.
        """
        indices = [each if isinstance(each, int) else each.index for each in inputs]
        shapes, dtype = self.results(operator, inputs, options)
        if dtype != np.int8:
            quantization = (0.0, 0)
        elif quantization is None:
            quantization = dictated(operator)
            assert quantization is not None, f"{operator} may have any scale"
        elif isinstance(quantization, Value):
            quantization = quantization.scale, quantization.zero_point
        scale, zero_point = quantization
        values = [
            Value(
                self.tensor(shape, scale=scale or None, zero_point=zero_point, dtype=dtype),
                shape,
                scale,
                zero_point,
            )
            for shape in shapes
        ]
        self.operator(operator, indices, [value.index for value in values], options)
        self.added(indices, values)
        return values

    def added(self, inputs: Sequence[int], results: Sequence[Value]) -> None:
        """Take note of an operator that was added; here there is nothing to note."""

    def results(
        self, operator: str, inputs: Sequence[Value | int], options: Mapping[str, Any] | None = None
    ) -> tuple[list[tuple[int, ...]], np.dtype]:
        """Return the shapes of an operator's results, and their element type.

        Where the file alone says the element type, int8, or of CAST the option ``out_data_type``.
        """
        row = OPERATORS[operator]
        every = {**_defaults(operator), **(options or {})}
        count = row.results if isinstance(row.results, int) else int(every[row.results])
        graph = self._graph(operator, inputs, [()] * count, every)
        node = Node(graph.tensors, graph.operators[0])
        shapes = []
        for shape in row.shapes(node):
            assert shape is not None and None not in shape, "an operand decides the shape"
            shapes.append(tuple(int(size) for size in shape if size is not None))
        stated = str(every.get("out_data_type", "INT8")).lower()
        return shapes, row.result_dtype(node) or np.dtype(stated)

    def count_macs(
        self, operator: str, inputs: Sequence[Value | int], shapes: Sequence[tuple[int, ...]]
    ) -> int:
        """Return an operator's multiply-accumulates, padding taps included; shapes: of results."""
        graph = self._graph(operator, inputs, shapes, {})
        return count_macs(graph, graph.operators[0])

    def _graph(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        shapes: Sequence[tuple[int, ...]],
        options: dict[str, Any],
    ) -> Graph:
        """Return a graph of the tensors that there are, the operator alone and int8 results."""
        first = len(self._known)
        results = [
            Tensor(first + number, "", shape, np.dtype(np.int8), None, None)
            for number, shape in enumerate(shapes)
        ]
        indices = tuple(each if isinstance(each, int) else each.index for each in inputs)
        node = Operator(0, operator, indices, tuple(result.index for result in results), options)
        return Graph((*self._known, *results), (node,), (), (), "")

    def assume(self, index: int, array: np.ndarray) -> None:
        """Take this for a tensor's content where shapes depend on it."""
        self._known[index] = replace(self._known[index], data=array)


def dictated(operator: str) -> tuple[float, int] | None:
    """Return the scale and zero point that the spec dictates for an operator's result, if any."""
    row = spec_row(operator)
    fixed = row.outputs[0].restriction if row else None
    return (fixed.scale, fixed.zero_point) if isinstance(fixed, FixedQuantization) else None


@cache
def _defaults(operator: str) -> dict[str, Any]:
    """Return the options of an operator whose file says none."""
    table = options_name(operator)
    if table is None:
        return {}
    return decoded_options(table, options_table(table), lambda *_: np.empty(0))


CODE = 73.0
"""Standard deviation of a uniform int8 code."""


class SeededNetwork(NetworkBuilder):
    """Adds operators to a model, weights by a seed; what no operator reads becomes an output."""

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

    def added(self, inputs: Sequence[int], results: Sequence[Value]) -> None:
        """Note what no operator reads."""
        self._unread = [index for index in self._unread if index not in inputs]
        self._unread += [value.index for value in results]

    def weighted(
        self,
        operator: str,
        x: Value,
        filters: Sequence[int],
        options: Mapping[str, Any],
        scale: float | None = None,
        shape: Sequence[int] = (),
    ) -> Value:
        """Add an operator with random weights of shape ``filters`` and bias, one scale per channel.

        FULLY_CONNECTED has one scale for all. ``scale`` of the result decides the weights'; without
        it random ones decide it, and it grows from layer to layer. ``shape``: of TRANSPOSE_CONV.
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
