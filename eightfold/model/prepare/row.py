"""What a row of preparation says of an operator, and how an operator is held against it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eightfold.golden.errors import RejectedError
from eightfold.model.graph import Tensor
from eightfold.model.prepare.node import Node

Shape = tuple[int | None, ...] | None
"""A result's shape as far as it is known before an inference: None is a size, or a whole shape,
that an operand decides which is computed."""

WORK = 48
"""Bytes per element that most operators need: some int64 at a time."""


@dataclass(frozen=True)
class Operand:
    """What an input of an operator must be."""

    dtypes: tuple[str, ...] = ("int8",)
    """numpy names, of which one must hold; none: every element type is fine."""

    values: bool = True
    """Whether the tensor has values to compute with or to copy; else it has axes, sizes or
    positions."""

    ranks: tuple[int, int] = (0, 32)
    """Lowest and highest rank."""

    optional: bool = False
    """Whether it may be left out behind the others."""

    absent: bool = False
    """Whether -1 may stand for it in the file."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One operator: what its tensors must be, and what its results are."""

    shapes: Callable[[Node], Sequence[Shape]]
    """Returns the shapes of all results, and raises what golden raises where LiteRT's Prepare
    refuses shapes, options, or constant operands."""

    operands: tuple[Operand, ...] = (Operand(),)
    variadic: bool = False
    """Whether the only operand stands for any number of them, from one."""

    alike: bool = False
    """Whether all operands with values must have the same element type."""

    results: int | str = 1
    """How many, or the option that says it."""

    activations: frozenset[str] = frozenset()
    """Fused activations that are not refused; none: all, whether they clamp or not."""

    dtype: str | None = None
    """numpy name of the results' element type; None: that of the first operand with values, or
    ``dtype_option``'s."""

    dtype_option: str | None = None
    """The option that says the results' element type."""

    dtypes: tuple[str, ...] = ()
    """Where the file alone says the results' element type: those that are run."""

    work: Callable[[Node], int] | None = None
    """Returns the bytes that golden needs at most besides operands and results; None: `WORK` per
    element of operands and results."""

    def check(self, node: Node) -> None:
        """Check operands and number of results.

        Raises
        ------
        eightfold.golden.errors.RejectedError
            If they are not as the row says.
        """
        self._check_counts(node)
        activation = node.activation()
        if self.activations and activation not in self.activations:
            raise RejectedError(f"{node.operator.name} does not fuse {activation}")
        supported = self.unsupported(node) is None
        first: Tensor | None = None
        for position, tensor in enumerate(node.inputs):
            if tensor is None:
                continue
            operand = self.operand(position)
            low, high = operand.ranks
            if not low <= len(tensor.shape) <= high:
                wanted = f"{low}" if low == high else f"{low} to {high}"
                raise RejectedError(f"{tensor} has rank {len(tensor.shape)}, not {wanted}")
            # Of element types that are not run, such as float32, the rest need not be as here.
            if operand.dtypes and (supported or not operand.values):
                _check_dtype(tensor, operand.dtypes)
            if operand.values:
                first = first or tensor
                if 0 in tensor.shape:
                    raise RejectedError(f"{tensor} has no elements")
                if self.alike and tensor.dtype != first.dtype:
                    raise RejectedError(f"{tensor} is {tensor.dtype}, but {first} {first.dtype}")

    def _check_counts(self, node: Node) -> None:
        most = len(node.inputs) if self.variadic else len(self.operands)
        required = [place for place, operand in enumerate(self.operands) if not operand.optional]
        least = len(required)
        if not least <= len(node.inputs) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            if self.variadic:
                wanted = "at least 1"
            raise RejectedError(f"has {len(node.inputs)} inputs, not {wanted}")
        for position, tensor in enumerate(node.inputs):
            if tensor is None and not self.operand(position).absent:
                raise RejectedError(f"input {position} is absent")
        outputs = len(node.outputs)
        if isinstance(self.results, int):
            if outputs != self.results:
                raise RejectedError(f"has {outputs} outputs, not {self.results}")
        elif outputs != node.options[self.results] or not outputs:
            wanted = node.options[self.results]
            raise RejectedError(f"has {outputs} outputs, but {self.results} {wanted}")

    def operand(self, position: int) -> Operand:
        """Return what an input must be."""
        return self.operands[0 if self.variadic else position]

    def unsupported(self, node: Node) -> str | None:
        """Return in words which tensor has an element type that is read and not run, or None."""
        found = self.misfit(node)
        return None if found is None else _not_one_of(*found)

    def misfit(self, node: Node) -> tuple[Tensor, Sequence[str]] | None:
        """Return the tensor of an element type that is read and not run, and which would be run."""
        for position, tensor in enumerate(node.inputs):
            operand = self.operand(position)
            if tensor is not None and operand.values:
                if operand.dtypes and tensor.dtype.name not in operand.dtypes:
                    return tensor, operand.dtypes
                break
        if self.dtypes and node.output.dtype.name not in self.dtypes:
            return node.output, self.dtypes
        return None

    def result_dtype(self, node: Node) -> np.dtype | None:
        """Return the results' element type; None where the file alone says it."""
        if self.dtype_option:
            return node.option_dtype(self.dtype_option)
        if self.dtypes:
            return None
        if self.dtype:
            return np.dtype(self.dtype)
        values = [
            tensor
            for position, tensor in enumerate(node.inputs)
            if tensor is not None and self.operand(position).values
        ]
        return values[0].dtype


def _check_dtype(tensor: Tensor, dtypes: Sequence[str]) -> None:
    if tensor.dtype.name not in dtypes:
        raise RejectedError(_not_one_of(tensor, dtypes))


def _not_one_of(tensor: Tensor, dtypes: Sequence[str]) -> str:
    return f"{tensor} is {tensor.dtype}, not {' or '.join(dtypes)}"
