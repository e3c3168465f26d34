"""Findings: where a model is not as the spec or the kernels want it, and how that is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from eightfold.model.graph import Graph

Severity = Literal["violation", "note"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One place in which a model is not as a row wants it."""

    severity: Severity
    """``violation``: the spec forbids it. ``note``: the spec is silent, or the reference kernels
    accept what the row does not list; hardware made for the spec may not."""

    operator: int
    """Index of the operator."""

    operator_name: str
    tensor: int | None
    """Index of the tensor; None if the finding is about the operator as a whole."""

    tensor_name: str | None
    rule: str
    """What is asked, in words."""

    identity: str | None
    """The spec's rule that asks it, by which `eightfold.operators.spec.rule` has it; None of what
    the reference kernels ask."""

    source: str
    """Who asks it: the spec's section or row, or the reference kernels."""

    found: str
    """What the model has instead, in words."""


def render(findings: Iterable[Finding], graph: Graph) -> list[str]:
    """Return one line per finding: severity, operator, tensor, what was found, rule, source.

    Parameters
    ----------
    findings
        What `eightfold.operators.check_model` returned for ``graph``.
    graph
        The model; it says how operators and tensors are named in messages.
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
