"""Checks of one operator: its operands against the row, and between its tensors."""

from collections.abc import Iterator, Sequence

import numpy as np

from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.spec.finding import Finding, Severity
from eightfold.spec.operand import Operand, label, row_source
from eightfold.spec.row import SAME, Granularity, Restriction, Role, Row, Source, TensorRule
from eightfold.spec.tensors import channels, in_words

BIAS_SCALE_TOLERANCE = 2.0**-22
"""Relative; of the product of the stored scales. A converter that multiplies in float32 is off by
one rounding, 2^-24; one that multiplies doubles and rounds all three to float32 by up to three."""

_SMALLEST = 2.0**-149  # float32's spacing below 2^-126, where the relative error has no bound


def bind(graph: Graph, operator: Operator, row: Row) -> tuple[list[Operand], list[Finding]]:
    """Return an operator's operands with their rules, and findings where one lacks the other."""
    operands: list[Operand] = []
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
                    Operand(operator=operator, row=row, place=place, rule=rule, tensor=tensor)
                )
            elif rule is not None:
                findings.extend(_absent(operator, row, place, rule))
            elif tensor is not None:
                found = f"{place} is {tensor.dtype.name}"
                rule_words = f"{row.name} has no {place}"
                findings.append(_of_operator(operator, row, "note", rule_words, found))
    return operands, findings


def _absent(operator: Operator, row: Row, place: str, rule: TensorRule) -> Iterator[Finding]:
    name = label(place, rule)
    if rule.role is Role.BIAS:
        yield _of_operator(operator, row, "note", f"has {name}", f"no {name}")
    elif not rule.optional:
        severity: Severity = "violation" if rule.source is Source.SPEC else "note"
        yield _of_operator(operator, row, severity, f"has {name}", f"no {name}")


def _of_operator(
    operator: Operator, row: Row, severity: Severity, rule: str, found: str
) -> Finding:
    return Finding(
        severity=severity,
        operator=operator.index,
        operator_name=operator.name,
        tensor=None,
        tensor_name=None,
        rule=rule,
        source=row_source(row),
        found=found,
    )


def is_integer_arithmetic(operands: Sequence[Operand]) -> bool:
    """Return whether an operator works on shapes or indices: unquantized integers throughout.

    Of such an operator the spec says nothing. One with weights never counts as such.
    """
    data = [operand for operand in operands if operand.rule.quantized]
    return bool(data) and all(
        operand.tensor.dtype.name in ("int32", "int64", "bool")
        and operand.tensor.quantization is None
        and operand.rule.role is Role.DATA
        for operand in data
    )


def integer_finding(operands: Sequence[Operand]) -> Finding:
    """Return the note on an operator for which `is_integer_arithmetic` holds."""
    operand = next(operand for operand in operands if operand.rule.quantized)
    found = f"{operand.tensor.dtype.name} without scale: arithmetic on shapes or indices"
    wanted = f"data_type {' or '.join(operand.rule.dtypes)}"
    return _of_operator(operand.operator, operand.row, "note", wanted, found)


def check_same(operands: Sequence[Operand]) -> Iterator[Finding]:
    """Yield each operand whose scale or zero point is not that of the first input."""
    if not operands or not operands[0].row.same:
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
            found = f"{operand.place} has {in_words(this)}; {values[0].place} has {in_words(first)}"
            yield operand.finding("violation", SAME, found, row_source(operand.row))


def check_bias(operands: Sequence[Operand]) -> Iterator[Finding]:
    """Yield where a bias does not fit input and weight: number of values, of scales, scales."""
    roles = {operand.rule.role: operand for operand in reversed(operands) if _is_input(operand)}
    if not {Role.DATA, Role.WEIGHT, Role.BIAS} <= roles.keys():
        return
    data, weight, bias = roles[Role.DATA], roles[Role.WEIGHT], roles[Role.BIAS]
    count = channels(weight)
    size = int(np.prod(bias.tensor.shape))
    if count is not None and size != count:
        found = f"{size} values for {count} channels"
        yield bias.finding("violation", "one value per output channel", found)
        return
    if all(map(_is_quantized, (data, weight, bias))):
        yield from _bias_scales(bias, data.tensor, weight.tensor)


def _bias_scales(bias: Operand, data: Tensor, weight: Tensor) -> Iterator[Finding]:
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
        yield bias.finding("violation", Restriction.BIAS.value, found)


def _is_input(operand: Operand) -> bool:
    return operand.place.startswith("Input")


def _is_quantized(operand: Operand) -> bool:
    """Return whether scale and zero point are there and can be compared with others."""
    quantization = operand.tensor.quantization
    return (
        operand.rule.quantized
        and operand.tensor.dtype.name in operand.rule.dtypes
        and quantization is not None
        and bool((np.isfinite(quantization.scale) & (quantization.scale > 0)).all())
    )
