"""A model that grows operator by operator: the tensors it has, and what may still be added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from eightfold.cases.models.tensors import (
    Case,
    Random,
    SingleOperator,
    output_shape,
    random_codes,
    random_window,
    random_zero_point,
)

SCALES = (2.0**-16, 2.0**6)
"""Scales of activations stay in this range: a chain of MULs squares them again and again."""


def any_rank(value: "Value") -> bool:
    """Return true: also a scalar suits."""
    return True


def has_axes(value: "Value") -> bool:
    """Return whether a tensor is no scalar."""
    return len(value.shape) > 0


class UnsuitableError(Exception):
    """No tensor of the network suits the operator, or its result would exceed the limits."""


@dataclass(frozen=True)
class Value:
    """An int8 activation that operators can read."""

    index: int
    shape: tuple[int, ...]
    scale: float
    zero_point: int


class GrowingNetwork(SingleOperator):
    """Draws inputs of operators from the tensors there are, and adds the operators.

    Parameters
    ----------
    rng
        Source of every choice.
    operators
        Names that may be added.
    max_elements
        Most elements of a tensor.
    max_macs
        Most multiply-accumulates of the whole network, padding taps included.
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
        self._inputs: set[int] = set()
        self._read: set[int] = set()
        self._results: list[int] = []

    def graph_input(self, shape: Sequence[int], scale: float | None = None) -> Value:
        """Add an input of the graph."""
        self._need_room(shape)
        scale, zero_point = self.scale() if scale is None else scale, random_zero_point(self.rng)
        index = self.input(np.asarray(random_codes(self.rng, shape)), scale, zero_point)
        self._inputs.add(index)
        return self._add(Value(index, tuple(shape), scale, zero_point))

    def pick(self, suits: Callable[[Value], bool] = has_axes) -> Value:
        """Return one of the tensors that suit; the newest ones often, so that chains form."""
        suitable = [value for value in self._values if suits(value)]
        if not suitable:
            raise UnsuitableError
        if self.rng.integers(2):
            suitable = suitable[-2:]
        return suitable[self.rng.integers(len(suitable))]

    def kernel(self, shape: Sequence[int], most: int) -> list[int]:
        """Return height and width of a window for an input of a shape, usually ``most`` at most."""
        return self.rng.integers(1, most, 2, endpoint=True).tolist()

    def window(
        self, shape: Sequence[int], kernel: Sequence[int], channels: int, *, dilated: bool
    ) -> tuple[dict[str, Any], list[int]]:
        """Return the options of a window that fits an input, and the shape of the output."""
        options, _ = random_window(self.rng, (kernel[0], kernel[1]), dilated)
        if min(output_shape(shape, kernel, options, channels)) < 1:
            options["padding"] = "SAME"
        return options, output_shape(shape, kernel, options, channels)

    def kept(self, value: Value) -> tuple[float, int]:
        """Return the value's quantization; sometimes another: accepted, and not rescaled."""
        if self.rng.integers(4):
            return value.scale, value.zero_point
        return self.scale(), random_zero_point(self.rng)

    def equalized(self, value: Value, like: Value) -> Value:
        """Return the value with the quantization of ``like``, by a QUANTIZE if need be."""
        if (value.scale, value.zero_point) == (like.scale, like.zero_point):
            return value
        if "QUANTIZE" not in self.operators:
            raise UnsuitableError
        return self.add("QUANTIZE", [value], value.shape, like.scale, like.zero_point)

    def add(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        shape: Sequence[int],
        scale: float,
        zero_point: int,
        options: dict[str, Any] | None = None,
        macs: int = 0,
    ) -> Value:
        """Add an operator that reads activations and constants (indices); return its result.

        Raises
        ------
        UnsuitableError
            If the result exceeds the limits, or its scale leaves `SCALES`.
        """
        return self.add_several(operator, inputs, [shape], scale, zero_point, options, macs)[0]

    def add_several(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        shapes: Sequence[Sequence[int]],
        scale: float,
        zero_point: int,
        options: dict[str, Any] | None = None,
        macs: int = 0,
    ) -> list[Value]:
        """Add an operator with several results, as `add`; return them."""
        if macs > self._macs or not SCALES[0] <= scale <= SCALES[1]:
            raise UnsuitableError
        for shape in shapes:
            self._need_room(shape)
        indices = self._operator(operator, inputs, shapes[0])
        outputs = [self.builder.tensor(s, scale=scale, zero_point=zero_point) for s in shapes]
        self.builder.operator(operator, indices, outputs, options)
        self._macs -= macs
        self._results += outputs
        return [
            self._add(Value(output, tuple(shape), scale, zero_point))
            for output, shape in zip(outputs, shapes, strict=True)
        ]

    def add_last(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        shape: Sequence[int],
        dtype: DTypeLike,
        options: dict[str, Any] | None = None,
    ) -> int:
        """Add an operator whose result is no int8, so that none is drawn to read it.

        Returns its index, for an operator that can.
        """
        indices = self._operator(operator, inputs, shape)
        output = self.builder.tensor(shape, dtype=dtype)
        self.builder.operator(operator, indices, [output], options)
        self._results.append(output)
        return output

    def finish_network(self) -> Case:
        """Return the model and its inputs.

        Outputs are all results that nothing reads, some that operators read further, and now and
        then an input of the graph.
        """
        outputs = [
            index for index in self._results if index not in self._read or not self.rng.integers(6)
        ]
        if self.rng.integers(8) == 0:
            outputs.append(int(self.rng.choice(sorted(self._inputs))))
        for index in self.rng.permutation(outputs):
            self.builder.output(int(index))
        return self.builder.build(), self.inputs

    def _need_room(self, shape: Sequence[int]) -> None:
        if prod(shape) > self._max_elements:
            raise UnsuitableError

    def _operator(
        self, operator: str, inputs: Sequence[Value | int], shape: Sequence[int]
    ) -> list[int]:
        assert operator in self.operators
        self._need_room(shape)
        self.length += 1
        indices = [value if isinstance(value, int) else value.index for value in inputs]
        self._read.update(indices)
        return indices

    def _add(self, value: Value) -> Value:
        self._values.append(value)
        return value
