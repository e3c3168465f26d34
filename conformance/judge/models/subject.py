"""One run of an operator: its tensors, golden's results, and the same with other parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.judge.explain import NamedMistake
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator, Quantization
from eightfold.operators import OPERATORS, OperatorCall

OUTPUT = -1
"""In place of an input's position: the outputs."""

Results = list[np.ndarray]


class SameError(Exception):
    """A mistake changes nothing in this run."""


@dataclass(frozen=True, eq=False)
class OperatorRun:
    """One run of an operator."""

    graph: Graph
    operator: Operator
    """A graph and one of its operators."""
    values: Mapping[int, np.ndarray]
    """What the operator reads and is no constant, by tensor index."""
    expected: tuple[np.ndarray, ...]
    """Golden's results."""
    reference: Reference = "litert"
    """Whose kernels golden equals."""

    @cached_property
    def call(self) -> OperatorCall:
        """The operator as it is."""
        return OperatorCall(self.graph, self.operator, self.values, self.reference)

    @cached_property
    def size(self) -> int:
        """Elements of inputs and results: how hard it is to follow by hand."""
        inputs = [self.call.optional(p) for p in range(len(self.operator.inputs))]
        return sum(x.size for x in (*inputs, *self.expected) if x is not None)

    def changed(
        self,
        quantizations: Mapping[int, Quantization] | None = None,
        options: Mapping[str, Any] | None = None,
        arrays: Mapping[int, np.ndarray] | None = None,
        reference: Reference | None = None,
    ) -> OperatorCall:
        """Return the operator with other parameters, by an input's position or `OUTPUT`."""
        tensors = list(self.graph.tensors)
        for position, quantization in (quantizations or {}).items():
            for index in self._tensors(position):
                tensors[index] = replace(tensors[index], quantization=quantization)
        values = dict(self.values)
        for position, array in (arrays or {}).items():
            (index,) = self._tensors(position)
            tensors[index] = replace(tensors[index], data=None)
            values[index] = array
        operator = replace(self.operator, options={**self.operator.options, **(options or {})})
        graph = replace(self.graph, tensors=tuple(tensors))
        return OperatorCall(graph, operator, values, reference or self.reference)

    def _tensors(self, position: int) -> Sequence[int]:
        if position == OUTPUT:
            return self.operator.outputs
        return [self.operator.inputs[position]]

    def quantization(self, position: int) -> Quantization:
        """Return the quantization of an input, or of the first output.

        Raises SameError if there is none.
        """
        if position != OUTPUT and position >= len(self.operator.inputs):
            raise SameError
        index = self._tensors(position)[0]
        quantization = self.graph.tensors[index].quantization if index >= 0 else None
        if quantization is None:
            raise SameError
        return quantization


def run(call: OperatorCall) -> Results:
    """Return golden's results of a changed operator."""
    return OPERATORS[call.operator.name].run(call)


@dataclass(frozen=True)
class OperatorMistake(NamedMistake):
    """A mistake of some operators."""

    compute: Callable[[OperatorRun], Results]
    """Returns the results with the mistake; raises `SameError` where it changes nothing."""

    def results(self, subject: OperatorRun) -> Results:
        """Return the results with the mistake; golden's where it has none of its own."""
        try:
            with np.errstate(all="ignore"):
                return self.compute(subject)
        except (SameError, SpecError, InputError, ArithmeticError, ValueError, IndexError):
            return list(subject.expected)


def mistake(compute: Callable[[OperatorRun], Results]) -> OperatorMistake:
    """Make a mistake of a function: its name, and its docstring as the sentence."""
    return OperatorMistake(compute.__name__, " ".join(str(compute.__doc__).split()), compute)


def with_zero_point(quantization: Quantization, zero_point: Any) -> Quantization:
    """Return a quantization with another zero point, the same for all slices."""
    points = np.full_like(np.atleast_1d(quantization.zero_point), zero_point)
    return replace(quantization, zero_point=points)
