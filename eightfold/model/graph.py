"""The typed graph that `read_model` returns: plain frozen data, arrays read-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

Arrays = Mapping[int, np.ndarray]
"""By the tensor's index."""

_NAME_LENGTH = 60  # characters of a tensor's name that a message repeats


@dataclass(frozen=True, eq=False)
class Quantization:
    """How codes stand for real numbers: ``real = scale * (code - zero_point)``."""

    scale: np.ndarray
    """float32, shape (1,) or (size of dimension ``axis``,); finite and above 0 wherever something
    is computed with it, see `is_sound`."""

    zero_point: np.ndarray
    """int64, the shape of ``scale``; within the range of the tensor's dtype."""

    axis: int
    """The dimension along which the values differ, 0 in a tensor of rank 1; of no meaning with a
    single scale."""

    stated_axis: int | None = None
    """What the file of a tensor of rank 1 says in place of dimension 0, its only one; None where
    it says what ``axis`` does."""

    @property
    def is_sound(self) -> bool:
        """Whether every scale is finite and above 0."""
        return bool((np.isfinite(self.scale) & (self.scale > 0)).all())

    def dimension_note(self) -> str:
        """Return in words how `stated_axis` is taken."""
        return f"quantized dimension {self.stated_axis} of a tensor of rank 1 is taken as 0"


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor of subgraph 0."""

    index: int
    name: str
    shape: tuple[int, ...]
    """``()`` is a scalar. A dimension of 0 has a tensor that nothing is computed from: a list of no
    axes, or what only moves."""

    dtype: np.dtype
    """int8, int16, int32, int64, uint8, float32 or bool."""

    quantization: Quantization | None
    data: np.ndarray | None
    """A constant's content, of this shape and dtype; None if the tensor is computed or given."""

    stated: bool = True
    """Whether the file states the shape; else `eightfold.operators.gate` has computed it."""

    open_batch: bool = False
    """Whether the file leaves dimension 0 of an input open, ``shape_signature`` -1, and states what
    it is for now."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        """Return index and name in one line, as messages name the tensor."""
        shortened = self.name[:_NAME_LENGTH] + "..." * (len(self.name) > _NAME_LENGTH)
        return f"tensor {self.index} {shortened!r}"


@dataclass(frozen=True, eq=False)
class Operator:
    """One builtin operator; the graph holds them in the order in which they run."""

    index: int
    name: str
    """The schema's name, such as ``"CONV_2D"``."""

    inputs: tuple[int, ...]
    """Tensor indices; -1 is an optional input that is absent."""

    outputs: tuple[int, ...]
    options: dict[str, Any]
    """The schema's fields, such as ``{"padding": "SAME", "stride_w": 1}``: enums as strings,
    vectors as tuples; a field that the file leaves out has the schema's default."""

    intermediates: tuple[int, ...] = ()
    """Tensors that hold no values, and the scales of what the operator computes on its way."""

    def __str__(self) -> str:
        """Return index and name, as messages name the operator."""
        return f"operator {self.index} {self.name}"


@dataclass(frozen=True, eq=False)
class Variable:
    """State: what a model keeps from one inference to the next; see `eightfold.model.variables`."""

    name: str
    before: int
    """The tensor that is the value when an inference begins."""

    after: int
    """The tensor that is the value when it has ended, of the same shape and dtype."""

    initial: np.ndarray
    """The value before the first inference."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Subgraph 0 of a model.

    Operators read only tensors that are inputs, constants, values of variables before the inference
    or results of earlier operators, and every tensor is produced at most once. Tensors beyond those
    of the file are new values of variables.
    """

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    description: str
    variables: tuple[Variable, ...] = ()

    @property
    def given(self) -> tuple[int, ...]:
        """The inputs, and the tensors that are the values of variables before an inference."""
        return (*self.inputs, *(variable.before for variable in self.variables))

    @property
    def results(self) -> tuple[int, ...]:
        """The outputs, and the tensors that are the values of variables after an inference."""
        return (*self.outputs, *(variable.after for variable in self.variables))

    def initial_state(self) -> dict[int, np.ndarray]:
        """Return the values of variables before the first inference, by tensor."""
        return {variable.before: variable.initial for variable in self.variables}

    def next_state(self, values: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the values before the next inference, from the tensors of one, by tensor."""
        return {variable.before: values[variable.after] for variable in self.variables}

    def operator(self, index: int) -> Operator:
        """Return the operator of a number; in a graph that was rewritten that is not its place."""
        return self._by_number[index]

    @cached_property
    def _by_number(self) -> dict[int, Operator]:
        return {operator.index: operator for operator in self.operators}

    def unused(self) -> set[int]:
        """Return the numbers of the operators from whose results neither output nor state comes."""
        needed, found = set(self.results), set()
        for operator in reversed(self.operators):
            if needed.isdisjoint(operator.outputs):
                found.add(operator.index)
            else:
                needed.update(operator.inputs)
        return found

    def notes(self) -> list[str]:
        """Return in words which tensors are not taken as the file states them."""
        found: dict[str, list[str]] = {}
        for tensor in self.tensors:
            if tensor.quantization and tensor.quantization.stated_axis is not None:
                note = tensor.quantization.dimension_note()
                found.setdefault(note, []).append(str(tensor.index))
            if not tensor.stated and tensor.shape:
                note = "the file states no shape, so it is computed"
                found.setdefault(note, []).append(f"{tensor.index} {list(tensor.shape)}")
            if tensor.open_batch:
                note = f"the file leaves the batch open, taken as {tensor.shape[0]} without --batch"
                found.setdefault(note, []).append(str(tensor.index))
        return [f"{note}: tensor {', '.join(tensors)}" for note, tensors in found.items()]
