"""One tensor of a model beside the rule that it must meet."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eightfold.model.graph import Operator, Quantization, Tensor
from eightfold.operators.findings import Finding, Severity
from eightfold.operators.rules import (
    Authority,
    FixedQuantization,
    Granularity,
    Restriction,
    Role,
    SpecRow,
    TensorRule,
)

SUMMARY = "spec, specification summary"
"""The spec's section on the tensors of every operator: formula, ranges, zero points."""

PER_AXIS = "spec, per-axis vs per-tensor"
"""The spec's section on scales along a dimension, which is counted in the tensor's shape."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundOperand:
    """A tensor in its place of an operator."""

    operator: Operator
    row: SpecRow
    place: str
    """``"Input 0"``, ``"Output 0"``."""

    rule: TensorRule
    tensor: Tensor

    @property
    def label(self) -> str:
        """The table's name of the operand: ``"Input 1 (Weight)"``."""
        return self.place + self.rule.label

    @property
    def source(self) -> str:
        """Who says what the operand must be."""
        if self.rule.source is Authority.SPEC:
            return f"{self.row.source}, {self.label}"
        return f"{Authority.KERNELS}, {self.row.name}, {self.label}"

    def finding(
        self, severity: Severity, rule: str, found: str, source: str | None = None
    ) -> Finding:
        """Return a finding about this operand."""
        return Finding(
            severity=severity,
            operator=self.operator.index,
            operator_name=self.operator.name,
            tensor=self.tensor.index,
            tensor_name=self.tensor.name,
            rule=rule,
            source=source or self.source,
            found=found,
        )


def check_tensor(operand: BoundOperand, edges: frozenset[int]) -> Iterator[Finding]:
    """Yield what is wrong with one operand, taken by itself.

    Of a tensor of another dtype only that is said: nothing else of it can be judged.

    Parameters
    ----------
    operand
        The operand.
    edges
        Indices of the graph's inputs and outputs.
    """
    tensor, rule = operand.tensor, operand.rule
    yield from _dimension(operand)
    if tensor.dtype.name not in rule.dtypes:
        yield _dtype_finding(operand, edges)
        return
    if not rule.quantized:
        return
    quantization = tensor.quantization
    if quantization is None:
        yield operand.finding(
            "violation",
            "real_value = (code - zero_point) * scale",
            "no scale and zero point",
            SUMMARY,
        )
    else:
        yield from _scales(operand, quantization)
        yield from _zero_points(operand, quantization)
        yield from _granularity(operand, quantization)
        yield from _fixed(operand, quantization)
    yield from _range(operand)


def _dimension(operand: BoundOperand) -> Iterator[Finding]:
    quantization = operand.tensor.quantization
    if quantization is not None and quantization.stated_axis is not None:
        wanted = "quantized_dimension is a dimension of the tensor"
        yield operand.finding("note", wanted, quantization.dimension_note(), PER_AXIS)


def _dtype_finding(operand: BoundOperand, edges: frozenset[int]) -> Finding:
    rule, tensor = operand.rule, operand.tensor
    wanted = f"data_type {' or '.join(rule.dtypes)}"
    found = tensor.dtype.name
    if not rule.quantized:
        return operand.finding("note", wanted, found)
    if operand.row.name == "QUANTIZE" and tensor.index in edges:
        return operand.finding("note", wanted, f"{found} at the edge of the model")
    return operand.finding("violation", wanted, found)


def _scales(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    """Only graphs that were not read from a file can fail here: the reader refuses such files."""
    scale = quantization.scale
    wrong = np.flatnonzero(~(np.isfinite(scale) & (scale > 0)))
    if wrong.size:
        found = f"scale {scale[wrong[0]]!s}{_at(quantization, wrong[0])}"
        yield operand.finding("violation", "scale is finite and above 0", found, SUMMARY)


def _zero_points(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    points = quantization.zero_point
    restriction = operand.rule.restriction
    if isinstance(restriction, Restriction):  # symmetric, and the bias is too
        rule = Restriction.SYMMETRIC.value
        wrong = np.flatnonzero(points != 0)
        source = None
    else:
        low, high = np.iinfo(np.int8).min, np.iinfo(np.int8).max
        rule = f"zero_point in [{low}, {high}]"
        source = SUMMARY
        wrong = np.flatnonzero((points < low) | (points > high))
    if wrong.size:
        found = f"zero point {points[wrong[0]]}{_at(quantization, wrong[0])}"
        yield operand.finding("violation", rule, found, source)


def _granularity(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    """Compare number and axis of the scales; a bias follows its weight, see `operators`."""
    rule = operand.rule
    count = len(quantization.scale)
    if rule.role is Role.BIAS:
        return
    wanted = f"granularity {rule.granularity}"
    found = f"{count} scales along dimension {quantization.axis}"
    if rule.granularity is Granularity.PER_TENSOR:
        if count > 1:
            accepted = rule.axis is not None and quantization.axis == rule.axis
            yield operand.finding("note" if accepted else "violation", wanted, found)
        return
    wanted += f" (dim = {rule.axis})"
    if count > 1 and quantization.axis != rule.axis:
        yield operand.finding("violation", wanted, found)
    elif count == 1 and channels(operand) not in (1, None):
        yield operand.finding("note", wanted, f"one scale for {channels(operand)} channels")


def channels(operand: BoundOperand) -> int | None:
    """Return the number of output channels of a weight; None if it lacks that dimension."""
    axis, shape = operand.rule.axis, operand.tensor.shape
    return shape[axis] if axis is not None and axis < len(shape) else None


def _fixed(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    wanted = operand.rule.restriction
    if not isinstance(wanted, FixedQuantization):
        return
    if (quantization.scale != wanted.scale).any() or (
        quantization.zero_point != wanted.zero_point
    ).any():
        yield operand.finding("violation", str(wanted), in_words(quantization))


def _range(operand: BoundOperand) -> Iterator[Finding]:
    tensor = operand.tensor
    limits = operand.rule.range
    if limits is None or operand.rule.role is not Role.WEIGHT:
        return  # every code of the dtype is allowed
    wanted = f"range [{limits[0]}, {limits[1]}]"
    if tensor.data is None:
        yield operand.finding("note", wanted, "computed, so that its range is not known")
        return
    outside = (tensor.data < limits[0]) | (tensor.data > limits[1])
    if outside.any():
        first = tuple(int(i) for i in np.unravel_index(np.argmax(outside), outside.shape))
        found = f"{tensor.data[first]} at {list(first)}, {outside.sum()} of {outside.size} codes"
        yield operand.finding("violation", wanted, found)


def in_words(quantization: Quantization) -> str:
    """Return scale and zero point, the first of them if there are several."""
    words = f"scale {quantization.scale[0]!s}, zero point {quantization.zero_point[0]}"
    return words + _at(quantization, 0)


def _at(quantization: Quantization, index: int) -> str:
    return f" at channel {index}" if len(quantization.scale) > 1 else ""
