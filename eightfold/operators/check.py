"""Hold a model against the spec's operator table, and against the gate, and say what is found."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from eightfold.common.errors import InputError
from eightfold.model.graph import Graph, Operator, Quantization, Tensor
from eightfold.operators.folding import fold_operands
from eightfold.operators.gate import prepare
from eightfold.operators.load import Limits, check_cost
from eightfold.operators.registry import spec_row
from eightfold.operators.rules import (
    SAME,
    FixedQuantization,
    Granularity,
    Restriction,
    Role,
    SpecRow,
    TensorRule,
)
from eightfold.operators.spec import (
    DIMENSION,
    FORMULA,
    LISTED,
    RESTRICTION,
    RESULTS,
    ZERO_POINT,
    SpecRule,
    rule_at,
)

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
    cited: SpecRule | None = None,
) -> Finding:
    """Return a finding about an operator, or about a tensor of it; ``cited``: the spec's rule."""
    return Finding(
        severity=severity,
        operator=operator.index,
        operator_name=operator.name,
        tensor=tensor and tensor.index,
        tensor_name=tensor and tensor.name,
        rule=rule,
        identity=cited and cited.identity,
        source=source,
        found=found,
    )


def render(findings: Iterable[Finding], graph: Graph) -> list[str]:
    """Return one line per finding on ``graph``: severity, operator, tensor, found, rule, source."""
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


BIAS_SCALE_TOLERANCE = 2.0**-22
"""Relative; of the product of the stored scales. A converter that multiplies in float32 is off by
one rounding, 2^-24; one that multiplies doubles and rounds all three to float32 by up to three."""

_SMALLEST = 2.0**-149  # float32's spacing below 2^-126, where the relative error has no bound

_SOURCE = "LiteRT, Prepare"


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundOperand:
    """A tensor in its place of an operator."""

    operator: Operator
    row: SpecRow
    place: str
    """``"Input 0"``, ``"Output 0"``."""

    rule: TensorRule
    tensor: Tensor

    def listed(self, part: str = "") -> SpecRule | None:
        """Return what the row says of the operand, or only restricts; None if it says nothing."""
        return rule_at(self.row.name, f"{self.place} {part}".strip())

    def finding(
        self, severity: Severity, rule: str, found: str, cited: SpecRule | None = None
    ) -> Finding:
        """Return a finding about this operand; ``cited``: the spec's rule, if not its entry."""
        cited = cited or self.listed()
        source = self.row.operand_source(self.place, self.rule)
        if cited and not cited.place.startswith(("Input", "Output")):
            source = cited.source
        return finding_of(severity, self.operator, self.tensor, rule, found, source, cited)


def check_model(graph: Graph) -> list[Finding]:
    """Return every place where a model is not as the spec's operator table wants it.

    In the order of the operators. What is wrong with a tensor by itself (its dtype, range, zero
    point, granularity) is reported once, at the first operator that meets it; what is wrong between
    tensors at every operator. Element types that the hardware does not know are findings.
    """
    edges = frozenset((*graph.inputs, *graph.outputs))
    findings: list[Finding] = []
    reported: set[tuple[int | None, str, str, str]] = set()
    for operator in graph.operators:
        row = spec_row(operator.name)
        if row is None:
            asked = LISTED.checks[0], f"no row for {operator.name}", LISTED.source, LISTED
            findings.append(finding_of("note", operator, None, *asked))
            continue
        operands, unbound = _bind(graph, operator, row)
        findings.extend(unbound)
        if note := _integer_note(operands):
            findings.append(note)
            continue
        for finding in (each for operand in operands for each in _check_tensor(operand, edges)):
            key = finding.tensor, finding.severity, finding.rule, finding.found
            if key not in reported:
                reported.add(key)
                findings.append(finding)
        findings.extend(_check_bias(operands))
        findings.extend(_check_same(operands))
    return findings


def _bind(
    graph: Graph, operator: Operator, row: SpecRow
) -> tuple[list[BoundOperand], list[Finding]]:
    """Return an operator's operands with their rules, and findings where one lacks the other."""
    operands: list[BoundOperand] = []
    findings: list[Finding] = []
    for side, rules, indices in (
        ("Input", row.inputs, operator.inputs),
        ("Output", row.outputs, operator.outputs),
    ):
        for position in range(max(len(rules), len(indices))):
            place = f"{side} {position}"
            index = indices[position] if position < len(indices) else -1
            tensor = graph.tensors[index] if index >= 0 else None
            if side == "Input":
                rule = row.input_rule(position)
            else:
                rule = rules[position] if position < len(rules) else None
            if rule is not None and tensor is not None:
                operands.append(
                    BoundOperand(operator=operator, row=row, place=place, rule=rule, tensor=tensor)
                )
            elif rule is not None:
                findings.extend(_absent(operator, row, place, rule))
            elif tensor is not None:
                found = f"{place} is {tensor.dtype.name}"
                asked = f"{row.name} has no {place}", found, row.source, rule_at(row.name, RESULTS)
                findings.append(finding_of("note", operator, None, *asked))
    return operands, findings


def _absent(operator: Operator, row: SpecRow, place: str, rule: TensorRule) -> Iterator[Finding]:
    name = place + rule.label
    listed = rule_at(row.name, place)
    is_note = rule.role is Role.BIAS or not listed
    if rule.role is Role.BIAS or not rule.optional:
        severity: Severity = "note" if is_note else "violation"
        asked = f"has {name}", f"no {name}", row.source, listed or rule_at(row.name, RESULTS)
        yield finding_of(severity, operator, None, *asked)


def _integer_note(operands: Sequence[BoundOperand]) -> Finding | None:
    """Return a note if all values are integers without scale, none a weight; None otherwise."""
    data = [operand for operand in operands if operand.rule.quantized]
    if not data or not all(
        operand.tensor.dtype.name in ("int32", "int64", "bool")
        and operand.tensor.quantization is None
        and operand.rule.role is Role.DATA
        for operand in data
    ):
        return None
    first = data[0]  # of such arithmetic the spec says nothing
    found = f"{first.tensor.dtype.name} without scale: arithmetic on shapes or indices"
    asked = first.rule.dtype_words, found, first.row.source, first.listed()
    return finding_of("note", first.operator, None, *asked)


def _check_same(operands: Sequence[BoundOperand]) -> Iterator[Finding]:
    """Yield each operand whose scale or zero point is not that of the first input."""
    if not operands or not operands[0].row.entry.same:
        return
    values = [operand for operand in operands if _is_quantized(operand)]
    for operand in values[1:]:
        first = values[0].tensor.quantization
        this = operand.tensor.quantization
        assert first is not None and this is not None
        if not (
            np.array_equal(first.scale, this.scale)
            and np.array_equal(first.zero_point, this.zero_point)
        ):
            found = f"{operand.place} has {_words(this)}; {values[0].place} has {_words(first)}"
            yield operand.finding("violation", SAME, found, rule_at(operand.row.name, RESTRICTION))


def _check_bias(operands: Sequence[BoundOperand]) -> Iterator[Finding]:
    """Yield where a bias does not fit input and weight: number of values, of scales, scales."""
    inputs = [operand for operand in operands if operand.place.startswith("Input")]
    roles = {operand.rule.role: operand for operand in reversed(inputs)}
    if not {Role.DATA, Role.WEIGHT, Role.BIAS} <= roles.keys():
        return
    data, weight, bias = roles[Role.DATA], roles[Role.WEIGHT], roles[Role.BIAS]
    count = _channels(weight)
    size = int(np.prod(bias.tensor.shape))
    if count is not None and size != count:
        found = f"{size} values for {count} channels"
        yield bias.finding("violation", "one value per output channel", found)
        return
    if all(map(_is_quantized, (data, weight, bias))):
        yield from _bias_scales(bias, data.tensor, weight.tensor)


def _bias_scales(bias: BoundOperand, data: Tensor, weight: Tensor) -> Iterator[Finding]:
    assert data.quantization and weight.quantization and bias.tensor.quantization
    input_scale = data.quantization.scale.astype(np.float64)
    weight_scale = weight.quantization.scale.astype(np.float64)
    scale = bias.tensor.quantization.scale.astype(np.float64)
    if len(input_scale) != 1:
        return  # the input itself is wrong
    if len(scale) != len(weight_scale):
        wanted = Granularity.PER_AXIS if len(weight_scale) > 1 else Granularity.PER_TENSOR
        found = f"{len(scale)} scales, the weight has {len(weight_scale)}"
        yield bias.finding("violation", f"granularity {wanted}", found)
        return
    product = input_scale * weight_scale
    error = np.abs(scale - product)
    wrong = np.flatnonzero(~(error <= np.maximum(product * BIAS_SCALE_TOLERANCE, _SMALLEST)))
    if wrong.size:
        worst = wrong[np.argmax(error[wrong] / product[wrong])]
        found = (
            f"bias scale off by {error[worst] / product[worst]:.1g} relative at channel {worst}: "
            f"{np.float32(scale[worst])!s}, not {np.float32(product[worst])!s}"
        )
        if len(scale) > 1:
            found += f"; {wrong.size} of {len(scale)} channels"
        yield bias.finding("violation", Restriction.BIAS.value, found, bias.listed(RESTRICTION))


def _is_quantized(operand: BoundOperand) -> bool:
    """Return whether scale and zero point are there and can be compared with others."""
    quantization = operand.tensor.quantization
    return (
        operand.rule.quantized
        and operand.tensor.dtype.name in operand.rule.dtypes
        and quantization is not None
        and quantization.is_sound
    )


def _check_tensor(operand: BoundOperand, edges: frozenset[int]) -> Iterator[Finding]:
    """Yield what is wrong with an operand by itself; of a tensor of another dtype only that."""
    tensor, rule = operand.tensor, operand.rule
    quantization = tensor.quantization
    if quantization is not None and quantization.stated_axis is not None:
        (wanted,) = DIMENSION.checks
        yield operand.finding("note", wanted, quantization.dimension_note(), DIMENSION)
    if tensor.dtype.name not in rule.dtypes:
        yield _dtype_finding(operand, edges)
        return
    if not rule.quantized:
        return
    if quantization is None:
        yield operand.finding("violation", FORMULA.checks[0], "no scale and zero point", FORMULA)
    else:
        yield from _scales(operand, quantization)
        yield from _zero_points(operand, quantization)
        yield from _granularity(operand, quantization)
        yield from _fixed(operand, quantization)
    yield from _range(operand)


def _dtype_finding(operand: BoundOperand, edges: frozenset[int]) -> Finding:
    rule, tensor = operand.rule, operand.tensor
    wanted = rule.dtype_words
    found = tensor.dtype.name
    if not rule.quantized:
        return operand.finding("note", wanted, found)
    if operand.row.name == "QUANTIZE" and tensor.index in edges:
        return operand.finding("note", wanted, f"{found} at the edge of the model")
    return operand.finding("violation", wanted, found)


def _scales(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    scale = quantization.scale
    wrong = np.flatnonzero(~(np.isfinite(scale) & (scale > 0)))
    if wrong.size:
        found = f"scale {scale[wrong[0]]!s}{_at(quantization, wrong[0])}"
        yield operand.finding("violation", FORMULA.checks[1], found, FORMULA)


def _zero_points(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    points = quantization.zero_point
    restriction = operand.rule.restriction
    if isinstance(restriction, Restriction):  # symmetric, and the bias is too
        rule = Restriction.SYMMETRIC.value
        wrong = np.flatnonzero(points != 0)
        cited = operand.listed(RESTRICTION)
    else:
        low, high = np.iinfo(np.int8).min, np.iinfo(np.int8).max
        (rule,) = ZERO_POINT.checks
        cited = ZERO_POINT
        wrong = np.flatnonzero((points < low) | (points > high))
    if wrong.size:
        found = f"zero point {points[wrong[0]]}{_at(quantization, wrong[0])}"
        yield operand.finding("violation", rule, found, cited)


def _granularity(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    """Compare number and axis of the scales; a bias follows its weight, see `operators`."""
    rule = operand.rule
    count = len(quantization.scale)
    if rule.role is Role.BIAS:
        return
    wanted = rule.granularity_words
    found = f"{count} scales along dimension {quantization.axis}"
    if rule.granularity is Granularity.PER_TENSOR:
        if count > 1:
            accepted = rule.axis is not None and quantization.axis == rule.axis
            yield operand.finding("note" if accepted else "violation", wanted, found)
        return
    if count > 1 and quantization.axis != rule.axis:
        yield operand.finding("violation", wanted, found)
    elif count == 1 and _channels(operand) not in (1, None):
        yield operand.finding("note", wanted, f"one scale for {_channels(operand)} channels")


def _channels(operand: BoundOperand) -> int | None:
    """Return the number of output channels of a weight; None if it lacks that dimension."""
    axis = operand.rule.axis
    shape = operand.tensor.shape
    return shape[axis] if axis is not None and axis < len(shape) else None


def _fixed(operand: BoundOperand, quantization: Quantization) -> Iterator[Finding]:
    wanted = operand.rule.restriction
    if not isinstance(wanted, FixedQuantization):
        return
    if (quantization.scale != wanted.scale).any() or (
        quantization.zero_point != wanted.zero_point
    ).any():
        cited = operand.listed(RESTRICTION)
        yield operand.finding("violation", str(wanted), _words(quantization), cited)


def _range(operand: BoundOperand) -> Iterator[Finding]:
    tensor = operand.tensor
    limits = operand.rule.range
    if limits is None or operand.rule.role is not Role.WEIGHT:
        return  # every code of the dtype is allowed
    wanted = operand.rule.range_words
    if tensor.data is None:
        yield operand.finding("note", wanted, "computed, so that its range is not known")
        return
    outside = (tensor.data < limits[0]) | (tensor.data > limits[1])
    if outside.any():
        first = tuple(int(i) for i in np.unravel_index(np.argmax(outside), outside.shape))
        found = f"{tensor.data[first]} at {list(first)}, {outside.sum()} of {outside.size} codes"
        yield operand.finding("violation", wanted, found)


def _words(quantization: Quantization) -> str:
    """Return scale and zero point, the first of them if there are several."""
    words = f"scale {quantization.scale[0]!s}, zero point {quantization.zero_point[0]}"
    return words + _at(quantization, 0)


def _at(quantization: Quantization, index: int) -> str:
    return f" at channel {index}" if len(quantization.scale) > 1 else ""


def check_prepared(graph: Graph, limits: Limits | None = None) -> tuple[Graph, list[Finding]]:
    """Return a graph behind the gate, and as findings what did not pass or was filled in.

    A violation has the words with which `eightfold.operators.load_model` refuses the model, or
    `eightfold.operators.folding.with_folded_operands` a computed shape that contradicts it. Beyond
    ``limits`` nothing is computed that shapes may depend on, since no such model is run.
    """
    prepared, refusals = prepare(graph)
    if not refusals:
        with suppress(InputError):
            check_cost(prepared, limits or Limits())
            refusals = fold_operands(prepared)[1]
    findings = []
    for refusal in refusals:
        rule = "the kernel takes it"
        if refusal.tensor is not None:
            rule = "a result is declared as the kernel computes it"
        asked = rule, refusal.message, _SOURCE
        findings.append(finding_of("violation", refusal.operator, refusal.tensor, *asked))
    for operator in prepared.operators:
        for tensor in (prepared.tensors[index] for index in operator.outputs):
            if not tensor.stated and tensor.shape:
                found = f"no shape, computed {list(tensor.shape)}"
                stated = "the file states a tensor's shape"
                findings.append(finding_of("note", operator, tensor, stated, found, _SOURCE))
    return prepared, findings
