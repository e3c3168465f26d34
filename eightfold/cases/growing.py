"""A model that grows operator by operator: the tensors it has, and what may still be added."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from eightfold.cases.builder import Quantized, Value
from eightfold.cases.draws import (
    Case,
    Random,
    SingleOperator,
    beyond,
    output_shape,
    random_codes,
    random_kernel,
    random_truths,
    random_window,
    random_zero_point,
)

SCALES = (2.0**-16, 2.0**6)
"""Scales of activations stay in this range: a chain of MULs squares them again and again."""


def any_rank(value: Value) -> bool:
    """Return true: also a scalar suits."""
    return True


def has_axes(value: Value) -> bool:
    """Return whether a tensor is no scalar."""
    return len(value.shape) > 0


def is_image(value: Value) -> bool:
    """Return whether a tensor has rank 4."""
    return len(value.shape) == 4


class UnsuitableError(Exception):
    """No tensor of the network suits the operator, or its result would exceed the limits."""


class GrowingNetwork(SingleOperator):
    """Draws inputs of operators from the tensors there are, and adds the operators.

    ``rng``: source of every choice.
    ``operators``: names that may be added.
    ``max_elements``: most elements of a tensor.
    ``max_macs``: most multiply-accumulates of the whole network, padding taps included.
    """

    def __init__(
        self, rng: Random, operators: frozenset[str], max_elements: int, max_macs: int
    ) -> None:
        super().__init__(rng)
        self.operators = operators
        self.length = 0
        self._max_elements = max_elements
        self._macs = max_macs
        self._values: list[Value] = []
        self._truths: list[Value] = []
        self._graph_inputs: set[int] = set()
        self._read: set[int] = set()
        self._results: list[int] = []

    def graph_input(self, shape: Sequence[int], scale: float | None = None) -> Value:
        """Add an input of the graph, and return its int8 codes.

        If there may be a QUANTIZE some are uint8 and, if a DEQUANTIZE too, float32 in front of one.
        """
        self._need_room(shape)
        scale, zero_point = self.scale() if scale is None else scale, random_zero_point(self.rng)
        codes = np.asarray(random_codes(self.rng, shape))
        kind = self.rng.integers(8) if "QUANTIZE" in self.operators else 0
        if kind == 1:
            above = (codes.astype(np.int16) + 128).astype(np.uint8)
            source = self.operand(above, scale, random_zero_point(self.rng) + 128)
        elif kind == 2 and "DEQUANTIZE" in self.operators:
            steps = codes.astype(np.float32) - self.rng.integers(3, size=shape) / np.float32(2)
            source = self.unquantized((steps * np.float32(scale)).astype(np.float32))
        else:
            source = self.operand(codes, scale, zero_point)
        self._graph_inputs.add(source)
        index = source
        if self.inputs[source].dtype != np.int8:
            index = self.quantized(source, shape, np.int8, scale, zero_point)
        value = Value(index, tuple(shape), scale, zero_point)
        self._values.append(value)
        return value

    def quantized(
        self, source: int, shape: Sequence[int], dtype: type, scale: float, zero_point: int
    ) -> int:
        """Return the result of a QUANTIZE to int8 or uint8, which operators need not read."""
        result = self.tensor(shape, scale=scale, zero_point=zero_point, dtype=dtype)
        self.operator("QUANTIZE", [source], [result])
        self.length += 1
        self._read.add(source)
        self._results.append(result)
        return result

    def pick(self, suits: Callable[[Value], bool] = has_axes) -> Value:
        """Return one of the tensors that suit; the newest ones often, so that chains form."""
        suitable = [value for value in self._values if suits(value)]
        if not suitable:
            raise UnsuitableError
        if self.rng.integers(2):
            suitable = suitable[-2:]
        return suitable[self.rng.integers(len(suitable))]

    def truth(self, suits: Callable[[Value], bool], shape: Sequence[int]) -> Value:
        """Return truth values that suit: of a comparison, or if there are none an input's."""
        if not (found := [value for value in self._truths if suits(value)]):
            self._need_room(shape)
            array = np.asarray(random_truths(self.rng, shape))
            found = [Value(self.unquantized(array), tuple(shape))]
            self._truths += found
        return found[self.rng.integers(len(found))]

    def kernel(self, shape: Sequence[int], most: int) -> list[int]:
        """Return height and width of a window for an input of a shape, usually ``most`` at most."""
        return random_kernel(self.rng, most)

    def window(
        self, shape: Sequence[int], kernel: Sequence[int], *, dilated: bool
    ) -> dict[str, Any]:
        """Return the options of a window that fits an input."""
        options, _ = random_window(self.rng, (kernel[0], kernel[1]), dilated)
        if min(output_shape(shape, kernel, options, 1)) < 1:
            options["padding"] = "SAME"
        return options

    def rescaled(self, near: float, spread: float = 2.0) -> tuple[float, int]:
        """Return a scale near another, and any zero point."""
        return self.scale(near, spread), random_zero_point(self.rng)

    def kept(self, value: Value) -> tuple[float, int]:
        """Return the value's quantization; sometimes another: accepted, and not rescaled."""
        if not beyond(self.rng, 4):
            return value.scale, value.zero_point
        return self.rescaled(0.1)

    def need(self, operator: str) -> None:
        """Raise `UnsuitableError` if an operator may not be added."""
        if operator not in self.operators:
            raise UnsuitableError

    def equalized(self, value: Value, like: Value) -> Value:
        """Return the value with the quantization of ``like``, by a QUANTIZE if need be."""
        if (value.scale, value.zero_point) == (like.scale, like.zero_point):
            return value
        self.need("QUANTIZE")
        return self.add("QUANTIZE", [value], like)

    def add_several(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        quantization: Quantized | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[Value]:
        """Add an operator as `NetworkBuilder.add_several`; later ones may read int8 results.

        Raises `UnsuitableError` if the network gets more multiply-accumulates than it may have, a
        result more elements, or their scale leaves `SCALES`.
        """
        assert operator in self.operators
        shapes, dtype = self.results(operator, inputs, options)
        macs = self.count_macs(operator, inputs, shapes)
        if macs > self._macs:
            raise UnsuitableError
        if isinstance(quantization, tuple) and not SCALES[0] <= quantization[0] <= SCALES[1]:
            raise UnsuitableError
        for shape in shapes:
            self._need_room(shape)
        values = super().add_several(operator, inputs, quantization, options)
        self.length += 1
        self._macs -= macs
        self._read.update(each if isinstance(each, int) else each.index for each in inputs)
        self._results += [value.index for value in values]
        self._values += values if dtype == np.int8 else []
        self._truths += values if dtype == np.bool_ else []
        return values

    def assign(self, handle: int, value: Value) -> None:
        """Add ASSIGN_VARIABLE, which has no result."""
        self.operator("ASSIGN_VARIABLE", [handle, value.index], [])
        self.length += 1
        self._read.add(value.index)

    def finish_network(self) -> Case:
        """Return the model and its inputs.

        Outputs are all results that nothing reads, some that operators read further, and now and
        then an input of the graph.
        """
        outputs = [
            index for index in self._results if index not in self._read or not self.rng.integers(6)
        ]
        if self.rng.integers(8) == 0:
            outputs.append(int(self.rng.choice(sorted(self._graph_inputs))))
        for index in self.rng.permutation(outputs):
            self.output(int(index))
        return self.build(), self.inputs

    def _need_room(self, shape: Sequence[int]) -> None:
        if prod(shape) > self._max_elements:
            raise UnsuitableError


Extension = Callable[[GrowingNetwork], object]
"""Adds an operator to a network, with operands of those that are there."""


@dataclass(frozen=True)
class Maker:
    """How models with an operator are drawn.

    ``single``: makes a model of it alone.
    ``extend``: makes a network grow by it; None: networks do not have it.
    """

    single: Callable[[Random], Case]
    extend: Extension | None
