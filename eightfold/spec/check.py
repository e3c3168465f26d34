"""Hold a model against the rows of the spec."""

from collections.abc import Iterable, Iterator

from eightfold.model.graph import Graph, Operator
from eightfold.spec.finding import Finding
from eightfold.spec.operators import (
    bind,
    check_bias,
    check_same,
    integer_finding,
    is_integer_arithmetic,
)
from eightfold.spec.rows import ROWS, row_of
from eightfold.spec.tensors import check_tensor


def check_model(graph: Graph) -> list[Finding]:
    """Return every place where a model is not as the spec's operator table wants it.

    What is wrong with a tensor by itself (its dtype, range, zero point, granularity) is reported
    once, at the first operator that meets it; what is wrong between tensors at every operator.

    Parameters
    ----------
    graph
        The model, from `eightfold.model.load_model`. Element types that the hardware does not
        know are fine here: that they are there is a finding.

    Returns
    -------
    list of Finding
        In the order of the operators; empty if the model conforms.
    """
    edges = frozenset((*graph.inputs, *graph.outputs))
    findings: list[Finding] = []
    reported: set[tuple[int | None, str, str, str]] = set()
    for operator in graph.operators:
        row = row_of(operator.name)
        if row is None:
            findings.append(_without_row(operator))
            continue
        operands, unbound = bind(graph, operator, row)
        findings.extend(unbound)
        if is_integer_arithmetic(operands):
            findings.append(integer_finding(operands))
            continue
        for operand in operands:
            findings.extend(_new(check_tensor(operand, edges), reported))
        findings.extend(check_bias(operands))
        findings.extend(check_same(operands))
    return findings


def _without_row(operator: Operator) -> Finding:
    return Finding(
        severity="note",
        operator=operator.index,
        operator_name=operator.name,
        tensor=None,
        tensor_name=None,
        rule=f"the operator table has {len(ROWS)} rows",
        source="spec, int8 quantized operator specifications",
        found=f"no row for {operator.name}",
    )


def _new(
    findings: Iterable[Finding], reported: set[tuple[int | None, str, str, str]]
) -> Iterator[Finding]:
    """Yield findings about tensors that no earlier operator has given, and note them."""
    for finding in findings:
        key = (finding.tensor, finding.severity, finding.rule, finding.found)
        if key not in reported:
            reported.add(key)
            yield finding
