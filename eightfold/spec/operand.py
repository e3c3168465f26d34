"""One operand of an operator beside the rule that it must meet."""

from dataclasses import dataclass

from eightfold.model.graph import Operator, Tensor
from eightfold.spec.finding import Finding, Severity
from eightfold.spec.row import Role, Row, Source, TensorRule
from eightfold.spec.rows import place_of

SUMMARY = "spec, specification summary"
"""The spec's section on the tensors of every operator: formula, ranges, zero points."""

PER_AXIS = "spec, per-axis vs per-tensor"
"""The spec's section on scales along a dimension, which is counted in the tensor's shape."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Operand:
    """A tensor in its place of an operator."""

    operator: Operator
    row: Row
    place: str
    """``"Input 0"``, ``"Output 0"``."""

    rule: TensorRule
    tensor: Tensor

    @property
    def label(self) -> str:
        """The table's name of the operand: ``"Input 1 (Weight)"``."""
        return label(self.place, self.rule)

    @property
    def source(self) -> str:
        """Who says what the operand must be."""
        if self.rule.source is Source.SPEC:
            return f"{row_source(self.row)}, {self.label}"
        return f"{Source.KERNELS}, {self.row.name}, {self.label}"

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


def label(place: str, rule: TensorRule) -> str:
    """Return the table's name of an operand from its place and role."""
    return place if rule.role is Role.DATA else f"{place} ({rule.role})"


def row_source(row: Row) -> str:
    """Return how findings name a row."""
    return f"spec, row {place_of(row)} {row.name}"
