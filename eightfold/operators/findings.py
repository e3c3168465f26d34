"""Findings: where a model is not as the spec or the kernels want it, and how that is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from eightfold.model.graph import Graph, Operator, Tensor

Severity = Literal["violation", "note"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A place in which the model is not as a row of the spec, or a kernel, wants it."""

    # The spec forbids a violation. In a note the spec is silent, or the reference kernels accept
    # what the row does not list; hardware made for the spec may not.
    severity: Annotated[Severity, "`violation` or `note`"]
    operator: Annotated[int, "the operator's index"]
    operator_name: Annotated[str, "its name, such as `CONV_2D`"]
    tensor: Annotated[int | None, "the tensor's index; null if it is about the operator"]
    tensor_name: Annotated[str | None, "its name"]
    rule: Annotated[str, "what is asked"]
    identity: Annotated[
        str | None,
        "the [rule of the spec](spec.md) that asks it, such as `TFL8-CONV_2D-3`; null of what the "
        "reference kernels ask",
    ]
    source: Annotated[str, "who asks it"]
    found: Annotated[str, "what the model has instead"]


def finding_of(
    severity: Severity,
    operator: Operator,
    tensor: Tensor | None,
    rule: str,
    found: str,
    source: str,
    identity: str | None = None,
) -> Finding:
    """Return a finding about an operator, or about a tensor of it."""
    return Finding(
        severity=severity,
        operator=operator.index,
        operator_name=operator.name,
        tensor=tensor and tensor.index,
        tensor_name=tensor and tensor.name,
        rule=rule,
        identity=identity,
        source=source,
        found=found,
    )


def render(findings: Iterable[Finding], graph: Graph) -> list[str]:
    """Return one line per finding: severity, operator, tensor, what was found, rule, source.

    ``findings``: what `eightfold.operators.check_model` returned for ``graph``.
    ``graph``: the model; it says how operators and tensors are named in messages.
    """
    lines = []
    for finding in findings:
        where = str(graph.operator(finding.operator))
        if finding.tensor is not None:
            where += f", {graph.tensors[finding.tensor]}"
        cited = f"{finding.identity}: " if finding.identity else ""
        lines.append(
            f"{finding.severity}: {where}: {finding.found}; rule: {finding.rule} "
            f"[{cited}{finding.source}]"
        )
    return lines


def findings_as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return plain data: counts of ``violations`` and ``notes``, and the ``findings``."""
    violations = sum(finding.severity == "violation" for finding in findings)
    return {
        "violations": violations,
        "notes": len(findings) - violations,
        "findings": [asdict(finding) for finding in findings],
    }


def has_violation(findings: Iterable[Finding]) -> bool:
    """Return whether the model breaks the spec; exit status 1 of ``eightfold check``."""
    return any(finding.severity == "violation" for finding in findings)
