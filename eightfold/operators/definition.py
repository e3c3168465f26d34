"""The record of one operator: what its tensors must be, and how golden computes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import signature
from typing import Any, Literal

import numpy as np

from eightfold.golden.errors import RejectedError
from eightfold.model.graph import Tensor
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.rules import SpecEntry, SpecRow, TensorRule, unquantized
from eightfold.operators.stacks import Stacks

Shape = tuple[int | None, ...] | None
"""A result's shape as far as it is known before an inference: None is a size, or a whole shape,
that an operand decides which is computed."""

Shapes = Callable[[Node], Sequence[Shape]]
Index = tuple[int, ...]
"""Where an element is in its tensor."""

Function = Callable[..., np.ndarray]
Results = np.ndarray | list[np.ndarray] | tuple[np.ndarray, ...]
"""The only output, or all."""

WORK = 48
"""Bytes per element that most operators need: some int64 at a time."""


@dataclass(frozen=True)
class Without:
    """Takes the place of a part that an operator lacks; ``reason`` says why, after "because"."""

    reason: str


Read = Callable[[OperatorCall], Any]


def quantization(position: int) -> Read:
    """Return what reads an input's quantization."""
    return lambda call: call.quantization(position)


NAMED: Mapping[str, Read] = {
    "a_quantization": quantization(0),
    "activation": OperatorCall.activation,
    "alpha_quantization": quantization(1),
    "b_quantization": quantization(1),
    "bias_quantization": lambda call: call.quantization_if_any(2),
    "count": lambda call: len(call.outputs),
    "dtype": lambda call: call.output.dtype.type,
    "input_quantization": lambda call: None if call.is_float() else call.quantization(0),
    "output_quantization": lambda call: (
        None if call.output.dtype == np.float32 else call.output_quantization()
    ),
    "quantizations": OperatorCall.every_quantization,
    "reference": lambda call: call.reference,
    "value_quantization": quantization(2),
    "weight_quantization": quantization(1),
    "window": OperatorCall.filter_window,
    "x_quantization": quantization(0),
    "y_quantization": quantization(1),
}
"""Who reads what golden's functions take by these names; other names are those of options."""


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(function).parameters)


def named_arguments(
    function: Callable[..., Any], first: int, call: OperatorCall, own: Mapping[str, Read]
) -> dict[str, Any]:
    """Return what a function takes from a parameter on, read by name as ``own`` or `NAMED` says."""
    readers = {**NAMED, **own}
    return {
        name: readers[name](call) if name in readers else call.options[name]
        for name in _parameters(function)[first:]
    }


@dataclass(frozen=True)
class Operand:
    """What an input of an operator must be.

    ``dtypes``: numpy names, of which one must hold; none: every element type is fine.
    ``values``: whether the tensor has values to compute with or to copy; else it has axes, sizes,
        positions, or conditions by which values are chosen.
    ``taken_as``: how golden takes it if it has no values.
    ``ranks``: lowest and highest rank.
    ``optional``: whether it may be left out behind the others.
    ``absent``: whether -1 may stand for it in the file.
    ``listed``: what the spec says of it if it is not what it says of most: that values are int8
        with one scale. Axes, sizes and positions only the kernels define.
    """

    dtypes: tuple[str, ...] = ("int8",)
    values: bool = True
    taken_as: Literal["array", "vector", "integer"] = "array"
    ranks: tuple[int, int] = (0, 32)
    optional: bool = False
    absent: bool = False
    listed: TensorRule | None = None

    @property
    def read_by(self) -> str:
        """The method of a call that reads it for golden."""
        if self.optional or self.absent:
            return "optional"
        return "codes" if self.values else self.taken_as

    @property
    def rule(self) -> TensorRule:
        """What the spec says of it."""
        if self.listed is not None:
            return self.listed
        return TensorRule() if self.values else unquantized(*self.dtypes, optional=self.optional)


INT8 = Operand()
INT32 = Operand(("int32",), values=False)
INT32_VECTOR = replace(INT32, taken_as="vector")
INDEX = Operand(("int32", "int64"), values=False)
INDEX_VECTOR = replace(INDEX, taken_as="vector")
BOOL = Operand(("bool",))
CONDITION = Operand(("bool",), values=False)

COPIED = Operand(("int8", "int32", "int64"))
"""An operand that is copied: codes, or the integers of shapes."""


def hollow(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of ``shape`` with strides of 0: numpy's views of it take no memory either."""
    return np.broadcast_to(np.int8(0), shape)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One operator: what its tensors must be, what its results are, and how golden has them.

    ``shapes``: returns the shapes of all results, and raises what golden raises where LiteRT's
        Prepare refuses shapes, options, or constant operands.
    ``variadic``: whether the only operand stands for any number of them, from one.
    ``alike``: whether all operands with values must have the same element type.
    ``empty``: whether operands with values may have no elements: then a dimension is 0.
    ``results``: how many, or the option that says it.
    ``updates``: which inputs are state: the last results, of their element types, are what becomes
        of it.
    ``activations``: fused activations that are not refused; none: all, whether they clamp or not.
    ``dtype``: numpy name of the results' element type; None: that of the first operand with values,
        or ``dtype_option``'s.
    ``dtype_option``: the option that says the results' element type.
    ``dtypes``: where the file alone says the results' element type: those that are run.
    ``work``: returns the bytes that golden needs at most besides operands and results; None: `WORK`
        per element of operands and results.
    ``golden``: the function of golden whose results the operator has.
    ``operands_of``: reads from a call what ``golden`` takes first; None: the inputs in order, each
        as `Operand.read_by` says, or if they are any number a list of them. The names of what it
        takes further say what that is, see `NAMED`.
    ``named``: who reads what ``golden`` takes by a name, if not as `NAMED` says.
    ``explain``: returns the lines of the arithmetic that gives one element of an output, each
        ``formula = value``; the last value is the element.
    ``stacks``: when the operator computes stacked inferences as one.
    ``prepare``: takes the operator's own record and a call that `run` has accepted, and returns a
        faster function of the inputs that are no constants, in order, for inputs of the same shapes
        and dtypes. None: there is none for this call.
    ``macs``: counts the operator's multiply-accumulates, padding taps included. It looks at the
        shapes that the graph states, at no array.
    ``spec``: the operator's row in the spec's table; the operands say the rest of it.
    """

    shapes: Shapes
    operands: tuple[Operand, ...] = (INT8,)
    variadic: bool = False
    alike: bool = False
    empty: bool = False
    results: int | str = 1
    updates: tuple[int, ...] = ()
    activations: frozenset[str] = frozenset()
    dtype: str | None = None
    dtype_option: str | None = None
    dtypes: tuple[str, ...] = ()
    work: Callable[[Node], int] | None = None
    golden: Callable[..., Results] = field(kw_only=False)
    operands_of: Callable[[OperatorCall], Sequence[Any]] | None = None
    named: Mapping[str, Read] = field(default_factory=dict)
    explain: "Explain"
    stacks: Stacks | Without
    prepare: "Prepare | Without"
    macs: Callable[[OperatorCall], int] | Without = Without("it has no weights")
    spec: SpecEntry | Without = Without("the spec's table does not list it")

    @property
    def golden_name(self) -> str:
        """The golden function with its module, such as ``eightfold.golden.binary.add``."""
        return f"{self.golden.__module__}.{self.golden.__qualname__}"

    def arguments(self, call: OperatorCall) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return what ``golden`` takes by position, and by name."""
        if self.operands_of:
            first = self.operands_of(call)
        elif self.variadic:
            first = [[call.codes(position) for position in range(len(call.inputs))]]
        else:
            kinds = enumerate(operand.read_by for operand in self.operands)
            first = [getattr(call, kind)(position) for position, kind in kinds]
        return first, named_arguments(self.golden, len(first), call, self.named)

    def run(self, call: OperatorCall) -> list[np.ndarray]:
        """Return the outputs; raises what golden does, without the operator's name."""
        first, named = self.arguments(call)
        results = self.golden(*first, **named)
        return [*results] if isinstance(results, list | tuple) else [results]

    def spec_row(self, name: str) -> SpecRow | None:
        """Return the row of the spec's table; None if it has none. ``name`` is the operator's."""
        if isinstance(self.spec, Without):
            return None
        if self.dtype:
            output = unquantized(self.dtype)
        elif self.dtype_option:
            output = unquantized("int32", "int64")
        else:
            output = TensorRule(restriction=self.spec.output)
        return SpecRow(
            name=name,
            entry=self.spec,
            inputs=tuple(operand.rule for operand in self.operands),
            outputs=(output,),
            variadic=self.variadic,
        )

    def check(self, node: Node) -> None:
        """Raise `RejectedError` if operands or number of results are not as the record says."""
        self._check_counts(node)
        activation = node.activation()
        if self.activations and activation not in self.activations:
            raise RejectedError(f"{node.operator.name} does not fuse {activation}")
        supported = self.misfit(node) is None
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
            dtypes = operand.dtypes if supported or not operand.values else ()
            if dtypes and tensor.dtype.name not in dtypes:
                raise RejectedError(not_one_of(tensor, dtypes))
            if operand.values:
                first = first or tensor
                if 0 in tensor.shape and not self.empty:
                    raise RejectedError(f"{tensor} has no elements")
                if self.alike and tensor.dtype != first.dtype:
                    raise RejectedError(f"{tensor} is {tensor.dtype}, but {first} {first.dtype}")

    def _check_counts(self, node: Node) -> None:
        most = len(node.inputs) if self.variadic else len(self.operands)
        least = sum(not operand.optional for operand in self.operands)
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

    def result_dtype(self, node: Node, number: int = 0) -> np.dtype | None:
        """Return a result's element type; None where the file alone says it."""
        if self.updates and (place := number - len(node.outputs) + len(self.updates)) >= 0:
            return node.input(self.updates[place]).dtype
        if self.dtype_option:
            name = node.options[self.dtype_option]
            if name not in ("INT32", "INT64"):
                raise RejectedError(f"{self.dtype_option} must be INT32 or INT64, not {name}")
            return np.dtype(name.lower())
        if self.dtypes:
            return None
        if self.dtype:
            return np.dtype(self.dtype)
        inputs = ((self.operand(place), tensor) for place, tensor in enumerate(node.inputs))
        return next(tensor.dtype for operand, tensor in inputs if tensor and operand.values)


def not_one_of(tensor: Tensor, dtypes: Sequence[str]) -> str:
    """Return in words that a tensor is of another element type."""
    return f"{tensor} is {tensor.dtype}, not {' or '.join(dtypes)}"


@dataclass(frozen=True)
class Element:
    """An element, at ``index`` of the output of number ``output``, which is explained."""

    definition: Definition
    call: OperatorCall
    output: int
    index: Index

    def of(self, call: OperatorCall) -> np.ndarray:
        """Return the output of another call."""
        return self.definition.run(call)[self.output]


Explain = Callable[[Element], list[str]]
Prepare = Callable[[Definition, OperatorCall], Function | None]
