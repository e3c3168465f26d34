"""One run of an operator: its tensors, golden's results, and the same with other parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Concatenate, ParamSpec

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.judge.explain import NamedMistake
from eightfold.conformance.vectors.models import OperatorCase
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Reference, clamp, fused_bounds
from eightfold.golden.tpu_mlir.numbers import round_float
from eightfold.model import Graph, Operator, Quantization
from eightfold.operators import OPERATORS, OperatorCall

OUTPUT = -1
"""In place of an input's position: the outputs."""

Results = list[np.ndarray]

Scale = tuple[np.float32, int]


class SameError(Exception):
    """A mistake changes nothing in this run."""


class OperatorRun(OperatorCall):
    """One run of an operator.

    ``values``: what the operator reads and is no constant, by tensor index.
    ``expected``: golden's results.
    ``reference``: whose kernels golden equals.
    """

    def __init__(
        self,
        graph: Graph,
        operator: Operator,
        values: Mapping[int, np.ndarray],
        expected: tuple[np.ndarray, ...],
        reference: Reference = "litert",
    ) -> None:
        super().__init__(graph, operator, values, reference)
        self.values = values
        self.expected = expected

    @cached_property
    def size(self) -> int:
        """Elements of inputs and results: how hard it is to follow by hand."""
        inputs = [self.optional(p) for p in range(len(self.inputs))]
        return sum(x.size for x in (*inputs, *self.expected) if x is not None)

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """Scale and zero point of the first input, and those of the output."""
        return self.quantization(0).per_tensor(), self.output_quantization().per_tensor()

    def of_other_kernels(self) -> OperatorCall:
        """Return the operator as TFLite Micro has it, or where that is golden's, LiteRT."""
        return self.changed(reference="tflm" if self.reference == "litert" else "litert")

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

    def stated(self, position: int) -> Quantization:
        """Return the quantization that the file states of an input, or of the first output. Raises
        SameError if there is none."""
        if position != OUTPUT and position >= len(self.operator.inputs):
            raise SameError
        index = self._tensors(position)[0]
        quantization = self.graph.tensors[index].quantization if index >= 0 else None
        if quantization is None:
            raise SameError
        return quantization


def runs_of(case: OperatorCase, reference: Reference) -> list[OperatorRun]:
    """Return the runs of a model's operators, in their order; none of a model to refuse."""
    if case.graph is None:
        return []
    values = {**case.inputs, **case.tensors}
    return [
        OperatorRun(
            case.graph, each, values, tuple(case.tensors[i] for i in each.outputs), reference
        )
        for each in case.graph.operators
    ]


def run(call: OperatorCall) -> Results:
    """Return golden's results of a changed operator."""
    return OPERATORS[call.operator.name].run(call)


def bounded(call: OperatorCall, codes: np.ndarray) -> np.ndarray:
    """Return codes clamped as the operator's activation says."""
    return clamp(codes, fused_bounds(call.activation(), call.output_quantization()))


Compute = Callable[[OperatorRun], Results]

ROUNDED = {
    "half_away": "rounded, ties away from zero",
    "half_even": "rounded, ties to even",
    "half_up": "rounded, ties up",
    "toward_zero": "truncated toward zero",
    "down": "floored",
}
"""What happens to a real number, by rounding mode."""


@dataclass(frozen=True)
class OperatorMistake(NamedMistake):
    """A mistake of some operators."""

    compute: Compute
    """Returns the results with the mistake; raises `SameError` where it changes nothing."""

    def results(self, subject: OperatorRun) -> Results:
        """Return the results with the mistake; golden's where it has none of its own."""
        try:
            with np.errstate(all="ignore"):
                return self.compute(subject)
        except (SameError, SpecError, InputError, ArithmeticError, ValueError, IndexError):
            return list(subject.expected)


P = ParamSpec("P")


def maker(compute: Callable[Concatenate[OperatorRun, P], Results]) -> Callable[P, Compute]:
    """Return what makes computations of a function that has further arguments, of these alone."""

    def make(*args: P.args, **kwargs: P.kwargs) -> Compute:
        return lambda subject: compute(subject, *args, **kwargs)

    return make


Table = Mapping[tuple[str, Compute], str]
"""Sentences of mistakes, by their names and what computes them."""


def named(table: Table) -> list[OperatorMistake]:
    return [OperatorMistake(name, text, compute) for (name, compute), text in table.items()]


def with_zero_point(quantization: Quantization, zero_point: Any) -> Quantization:
    """Return a quantization with another zero point, the same for all slices."""
    points = np.full_like(np.atleast_1d(quantization.zero_point), zero_point)
    return replace(quantization, zero_point=points)


@maker
def zero_points(
    subject: OperatorRun, points: Callable[[OperatorRun], Mapping[int, Any]]
) -> Results:
    """Return the results with other zero points, by an input's position or `OUTPUT`."""
    wanted = points(subject).items()
    return run(subject.changed({p: with_zero_point(subject.stated(p), z) for p, z in wanted}))


def zero_points_ignored(*positions: int) -> Compute:
    """Return what computes as if zero points were 0."""
    return zero_points(lambda subject: dict.fromkeys(positions, 0))


def swapped(first: int, second: int) -> Compute:
    """Return what computes with each other's zero point of two tensors."""
    pairs = {first: second, second: first}
    return zero_points(lambda s: {p: s.stated(other).zero_point[0] for p, other in pairs.items()})


INPUT_ZERO_POINT_IGNORED: Table = {
    ("input_zero_point_ignored", zero_points_ignored(0)): "The input's zero point is not "
    "subtracted."
}
ZERO_POINTS_SWAPPED: Table = {
    ("zero_points_swapped", swapped(0, OUTPUT)): "The zero points of input and output are swapped."
}


def without_activation(subject: OperatorRun) -> Results:
    return run(subject.changed(options={"fused_activation_function": "NONE"}))


def _rescaled(subject: OperatorRun) -> Results:
    (scale, zero), (out, out_zero) = subject.scales
    if (scale, zero) == (out, out_zero):
        raise SameError
    found = []
    for codes in without_activation(subject):
        real = (codes.astype(np.int64) - zero) * (float(scale) / float(out))
        whole = round_float(real, "half_away").astype(np.int64) + out_zero
        found.append(bounded(subject, whole))
    return found


RESCALED: Table = {
    ("rescaled", _rescaled): "Codes are rescaled where input and output have another scale or zero "
    "point; the kernels copy them."
}
