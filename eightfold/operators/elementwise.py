"""Operators that work element by element: arithmetic on two, functions of one, comparisons."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eightfold.golden import comparison, unary
from eightfold.golden.binary import (
    ADD_LEFT_SHIFT,
    add,
    broadcast_shape,
    common_scales,
    div,
    mul,
    multiplication_scale,
    squared_difference,
    sub,
)
from eightfold.golden.comparison import sliced_condition
from eightfold.golden.errors import UndefinedError
from eightfold.golden.floats import cast, dequantize, quantize_float
from eightfold.golden.prepared import binary_table, unary_table
from eightfold.golden.quantization import Quantization, fused_bounds, quantized_bounds
from eightfold.golden.rectifiers import hard_swish, leaky_relu, prelu, prelu_scales, prelu_shape
from eightfold.golden.steps import step_lines
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    BOOL,
    CONDITION,
    INT8,
    Arguments,
    Definition,
    Explain,
    Function,
    Index,
    Operand,
    Shape,
    Shapes,
)
from eightfold.operators.lines import (
    difference,
    end_lines,
    operand,
    operand_line,
    scale_lines,
    value_text,
)
from eightfold.operators.rules import OTHER_INT8, FixedQuantization, SpecEntry
from eightfold.operators.stacks import ELEMENTS, is_per_axis

NUMBERS = ("bool", "int8", "uint8", "int32", "int64", "float32")
"""Element types between which CAST goes."""

BYTES = ("int8", "uint8")
"""Element types between which QUANTIZE takes codes, and from which DEQUANTIZE does."""


def same_shape(node: Node) -> Sequence[Shape]:
    """Return the first operand's shape, which the result has too."""
    return [node.shape(0)]


def _common_shape(node: Node) -> Sequence[Shape]:
    return [broadcast_shape(node.shape(0), node.shape(1))]


def _selected_shape(node: Node) -> Sequence[Shape]:
    condition, a, b = (node.shape(position) for position in range(3))
    if node.operator.name == "SELECT":
        sliced_condition(condition, a, b)
        return [a]
    return [broadcast_shape(broadcast_shape(condition, a), b)]


def _prelu_shape(node: Node) -> Sequence[Shape]:
    return [prelu_shape(node.shape(0), node.shape(1))]


def is_float(call: OperatorCall) -> bool:
    """Return whether an operator works on float32, which has no scale."""
    return call.input(0).dtype == np.float32


def unary_arguments(
    *options: str, variants: bool = False, fused: bool = False, **fixed: Any
) -> Callable[[OperatorCall], Arguments]:
    """Return what reads one input and its quantizations.

    Parameters
    ----------
    *options
        Options of the operator that are arguments of the same name.
    variants
        Whether golden takes the reference.
    fused
        Whether golden takes a fused activation.
    **fixed
        Arguments that are the same for every call.
    """

    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            input_quantization=None if is_float(call) else call.quantization(0),
            output_quantization=None if is_float(call) else call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
            **({"activation": call.activation()} if fused else {}),
            **{option: call.options[option] for option in options},
            **fixed,
        )

    return arguments


def _binary_arguments(
    *, variants: bool = False, fused: bool = True
) -> Callable[[OperatorCall], Arguments]:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.codes(1),
            a_quantization=call.quantization(0),
            b_quantization=call.quantization(1),
            output_quantization=call.output_quantization(),
            **({"activation": call.activation()} if fused else {}),
            **({"reference": call.reference} if variants else {}),
        )

    return arguments


def _comparison_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.codes(1),
        a_quantization=call.quantization(0),
        b_quantization=call.quantization(1),
    )


def _codes_alone(call: OperatorCall) -> Arguments:
    return Arguments(*map(call.codes, range(len(call.inputs))))


def _prelu_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.codes(1),
        input_quantization=call.quantization(0),
        alpha_quantization=call.quantization(1),
        output_quantization=call.output_quantization(),
        reference=call.reference,
    )


def _quantize_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        input_quantization=None if is_float(call) else call.quantization(0),
        output_quantization=call.output_quantization(),
        dtype=call.output.dtype,
        reference=call.reference,
    )


def _code_alone(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0))


def _cast_arguments(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), dtype=call.output.dtype, reference=call.reference)


def _dequantize_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0), input_quantization=call.quantization(0), reference=call.reference
    )


def _prepare_table(definition: Definition, call: OperatorCall) -> Function | None:
    """Return a look-up in the results of all codes there are, of one or two int8.

    Of DIV there is none: it refuses some.
    """
    arrays = [call.array(position) for position in range(len(call.inputs))]
    if definition.golden is div or any(a.dtype != np.int8 for a in arrays) or is_per_axis(call):
        return None

    def entries(*codes: np.ndarray) -> np.ndarray:
        (results,) = definition.run(call.substituted(*codes))
        return results

    if len(arrays) == 1:
        return unary_table(entries)
    table = binary_table(entries)
    if call.is_constant(0):
        return lambda *others: table(arrays[0], *others)
    if call.is_constant(1):
        return lambda other: table(other, arrays[1])
    return table


def _operand_lines(call: OperatorCall, index: Index) -> list[str]:
    return [operand_line(call, position, index) for position in range(len(call.inputs))]


def _explain_golden(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    """Return the operands, and golden's function of these alone."""
    codes = [operand(call, position, index) for position in range(len(call.inputs))]
    alone = call.substituted(*(np.asarray([code]) for code in codes))
    formula = f"{definition.golden_name}({', '.join(map(value_text, codes))})"
    result = value_text(definition.run(alone)[output][0])
    return [*_operand_lines(call, index), f"{formula} = {result}"]


def _explain_sum(sign: int) -> Explain:
    def explain(definition: Definition, call: OperatorCall, output: int, index: Index) -> list[str]:
        result = call.output_quantization()
        quantizations = [call.quantization(position) for position in (0, 1)]
        reals = common_scales(quantizations[0], quantizations[1], result)
        lines = _operand_lines(call, index)
        terms = []
        for position, quantization in enumerate(quantizations):
            step = difference(operand(call, position, index), quantization)
            shifted = step[1] << ADD_LEFT_SHIFT
            lines += step_lines([step, (f"{step[1]} << {ADD_LEFT_SHIFT}", shifted)])
            name = f"scale of input {position} / (2 * the larger scale)"
            more, term = scale_lines(shifted, reals[position], name)
            lines, terms = lines + more, [*terms, term]
        value = terms[0] + sign * terms[1]
        lines += step_lines([(f"{terms[0]} {'+' if sign > 0 else '-'} {terms[1]}", value)])
        name = f"2 * the larger scale / (2^{ADD_LEFT_SHIFT} * output scale)"
        more, scaled = scale_lines(value, reals[2], name)
        bounds = fused_bounds(call.activation(), result)
        return [*lines, *more, *end_lines(scaled, result, bounds)]

    return explain


def _explain_mul(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    result = call.output_quantization()
    quantizations = [call.quantization(position) for position in (0, 1)]
    a, b, out = (q.per_tensor()[0] for q in (*quantizations, result))
    steps = [difference(operand(call, p, index), quantizations[p]) for p in (0, 1)]
    product = steps[0][1] * steps[1][1]
    steps.append((f"{steps[0][1]} * {steps[1][1]}", product))
    real = multiplication_scale(a, b, out, call.reference)
    more, scaled = scale_lines(product, real, f"scale {a} * {b} / {out}")
    bounds = fused_bounds(call.activation(), result)
    lines = _operand_lines(call, index) + step_lines(steps)
    return [*lines, *more, *end_lines(scaled, result, bounds)]


def _explain_rescaled(double: bool, activation: str | None = None) -> Explain:
    """Return the steps of what scales a code by ``s_in / s_out``, in float32 or ``double``."""

    def explain(definition: Definition, call: OperatorCall, output: int, index: Index) -> list[str]:
        if is_float(call):
            return _explain_quantize_float(call, index)
        if call.operator.name == "RELU6" and call.reference == "tflm":
            return _explain_golden(definition, call, output, index)
        inputs, result = call.quantization(0), call.output_quantization()
        scale, out = (q.per_tensor()[0] for q in (inputs, result))
        step = difference(operand(call, 0, index), inputs)
        with np.errstate(over="ignore"):
            real = float(scale) / float(out) if double else float(scale / out)
        more, scaled = scale_lines(step[1], real, f"scale {scale} / {out}")
        limits = np.iinfo(call.output.dtype)
        bounds = (int(limits.min), int(limits.max))
        if activation:
            bounds = quantized_bounds(activation, result, UndefinedError)
        lines = _operand_lines(call, index) + step_lines([step])
        return [*lines, *more, *end_lines(scaled, result, bounds)]

    return explain


def _slice_quantization(quantization: Quantization, index: Index) -> tuple[Quantization, str]:
    """Return the scale and zero point of an element, of a tensor with one per slice too."""
    axis = quantization.axis
    at = slice(0, 1) if axis is None else slice(index[axis], index[axis] + 1)
    own = Quantization(quantization.scale[at], quantization.zero_point[at])
    return own, f"scale {own.scale[0]}, zero point {own.zero_point[0]}"


def _explain_quantize_float(call: OperatorCall, index: Index) -> list[str]:
    own, text = _slice_quantization(call.output_quantization(), index)
    x = np.asarray([operand(call, 0, index)])
    result = quantize_float(x, output_quantization=own, dtype=call.output.dtype)
    formula = f"clamp(round(x / s) + z) in float32, {text}"
    return [*_operand_lines(call, index), f"{formula} = {value_text(result)}"]


def _explain_dequantize(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    # TFLite Micro takes the first scale for all slices.
    own, text = _slice_quantization(
        call.quantization(0), index if call.reference == "litert" else (0,) * len(index)
    )
    result = dequantize(np.asarray([operand(call, 0, index)]), input_quantization=own)
    formula = f"s * (q - z) rounded to float32, {text}"
    return [*_operand_lines(call, index), f"{formula} = {value_text(result)}"]


def _explain_leaky_relu(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    inputs, result = call.quantization(0), call.output_quantization()
    scale, out = (q.per_tensor()[0] for q in (inputs, result))
    alpha = np.float32(call.options["alpha"])
    step = difference(operand(call, 0, index), inputs)
    lines = _operand_lines(call, index) + step_lines([step])
    with np.errstate(over="ignore", under="ignore"):
        one, slope = float(scale / out), float(scale * alpha / out)
    if step[1] >= 0:
        more, scaled = scale_lines(step[1], one, f"scale {scale} / {out}")
        return [*lines, *more, *end_lines(scaled, result)]
    name = f"scale {scale} * alpha {alpha} / {out}"
    more, scaled = scale_lines(step[1], slope, name, magnitude=True)
    if slope < 0:
        more += step_lines([(f"alpha is negative: -({scaled})", -scaled)])
        scaled = -scaled
    return [*lines, *more, *end_lines(scaled, result)]


def _explain_prelu(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    inputs, alphas = call.quantization(0), call.quantization(1)
    result = call.output_quantization()
    one, slope = prelu_scales(inputs, alphas, result, call.reference)
    step = difference(operand(call, 0, index), inputs)
    lines = _operand_lines(call, index) + step_lines([step])
    if step[1] >= 0:
        more, scaled = scale_lines(step[1], one, "input scale / output scale")
    else:
        alpha = difference(operand(call, 1, index), alphas)
        product = step[1] * alpha[1]
        lines += step_lines([alpha, (f"{step[1]} * {alpha[1]}", product)])
        name = "input scale * alpha's scale / output scale"
        more, scaled = scale_lines(product, slope, name)
    return [*lines, *more, *end_lines(scaled, result)]


def _elementwise(
    golden: Function,
    arguments: Callable[[OperatorCall], Arguments],
    explain: Explain = _explain_golden,
    *,
    shapes: Shapes = same_shape,
    **fields: Any,
) -> Definition:
    """Return the record of a function of one element, if ``fields`` say nothing else."""
    return Definition(
        **fields,
        shapes=shapes,
        golden=golden,
        arguments=arguments,
        explain=explain,
        stacks=ELEMENTS,
        prepare=_prepare_table,
    )


_TWO: dict[str, Any] = {"shapes": _common_shape, "operands": (INT8, INT8), "alike": True}
"""What is the same for all functions of two elements, which broadcast."""


def _comparison(golden: Function, number: int) -> Definition:
    return _elementwise(golden, _comparison_arguments, **_TWO, dtype="bool", spec=SpecEntry(number))


def _extreme(golden: Function, number: int) -> Definition:
    fields: dict[str, Any] = _TWO | {"operands": (INT8, Operand(listed=OTHER_INT8))}
    return _elementwise(golden, _codes_alone, **fields, spec=SpecEntry(number, same=True))


def _logical(golden: Function) -> Definition:
    return _elementwise(
        golden, _codes_alone, shapes=_common_shape, operands=(BOOL, BOOL), alike=True
    )


_CHOSEN = Operand(("int8", "bool", "int32", "int64"))
"""What SELECT copies: codes, truth values, or the integers of shapes."""


def _selection(golden: Function) -> Definition:
    operands = CONDITION, _CHOSEN, _CHOSEN
    return _elementwise(golden, _codes_alone, shapes=_selected_shape, operands=operands, alike=True)


def _clipping(activation: str) -> Definition:
    """Return the record of a RELU that is named after its bounds."""
    arguments = unary_arguments(activation=activation)
    return _elementwise(unary.relu, arguments, _explain_rescaled(False, activation))


ELEMENTWISE: dict[str, Definition] = {
    "ABS": _elementwise(unary.absolute, unary_arguments()),
    "ADD": _elementwise(add, _binary_arguments(), _explain_sum(1), **_TWO, spec=SpecEntry(1)),
    "CAST": _elementwise(cast, _cast_arguments, operands=(Operand(NUMBERS),), dtypes=NUMBERS),
    "DEQUANTIZE": _elementwise(
        dequantize,
        _dequantize_arguments,
        _explain_dequantize,
        operands=(Operand(BYTES),),
        dtype="float32",
    ),
    "DIV": _elementwise(div, _binary_arguments(), **_TWO),
    "ELU": _elementwise(unary.elu, unary_arguments(variants=True)),
    "EQUAL": _comparison(comparison.equal, 35),
    "EXP": _elementwise(unary.exponential, unary_arguments()),
    "GELU": _elementwise(unary.gelu, unary_arguments("approximate")),
    "GREATER": _comparison(comparison.greater, 31),
    "GREATER_EQUAL": _comparison(comparison.greater_equal, 32),
    "HARD_SWISH": _elementwise(hard_swish, unary_arguments()),
    "LEAKY_RELU": _elementwise(leaky_relu, unary_arguments("alpha"), _explain_leaky_relu),
    "LESS": _comparison(comparison.less, 29),
    "LESS_EQUAL": _comparison(comparison.less_equal, 33),
    "LOG": _elementwise(unary.logarithm, unary_arguments()),
    "LOGISTIC": _elementwise(
        unary.logistic,
        unary_arguments(variants=True),
        spec=SpecEntry(8, output=FixedQuantization(1.0, 256.0, -128)),
    ),
    "LOGICAL_AND": _logical(comparison.logical_and),
    "LOGICAL_NOT": _elementwise(
        comparison.logical_not,
        _code_alone,
        operands=(Operand(("bool",)),),
    ),
    "LOGICAL_OR": _logical(comparison.logical_or),
    "MAXIMUM": _extreme(comparison.maximum, 26),
    "MINIMUM": _extreme(comparison.minimum, 28),
    "MUL": _elementwise(
        mul, _binary_arguments(variants=True), _explain_mul, **_TWO, spec=SpecEntry(10)
    ),
    "NEG": _elementwise(unary.negate, _code_alone),
    "NOT_EQUAL": _comparison(comparison.not_equal, 36),
    "PRELU": _elementwise(
        prelu, _prelu_arguments, _explain_prelu, **_TWO | {"shapes": _prelu_shape}
    ),
    "QUANTIZE": _elementwise(
        unary.quantize,
        _quantize_arguments,
        _explain_rescaled(double=True),
        operands=(Operand((*BYTES, "float32")),),
        dtypes=BYTES,
        spec=SpecEntry(38, remark="Requantization"),
    ),
    "RELU": _elementwise(unary.relu, unary_arguments(), _explain_rescaled(False, "RELU")),
    "RELU6": _elementwise(
        unary.relu6, unary_arguments(variants=True), _explain_rescaled(False, "RELU6")
    ),
    "RELU_0_TO_1": _clipping("RELU_0_TO_1"),
    "RELU_N1_TO_1": _clipping("RELU_N1_TO_1"),
    "RSQRT": _elementwise(unary.reciprocal_square_root, unary_arguments()),
    "SELECT": _selection(comparison.select_slices),
    "SELECT_V2": _selection(comparison.select),
    "SQRT": _elementwise(unary.square_root, unary_arguments()),
    "SQUARED_DIFFERENCE": _elementwise(
        squared_difference, _binary_arguments(variants=True, fused=False), **_TWO
    ),
    "SUB": _elementwise(sub, _binary_arguments(), _explain_sum(-1), **_TWO, spec=SpecEntry(22)),
    "TANH": _elementwise(
        unary.tanh,
        unary_arguments(variants=True),
        spec=SpecEntry(15, output=FixedQuantization(1.0, 128.0, 0)),
    ),
}
"""Operators on values; booleans come out of the comparisons, floats out of DEQUANTIZE."""
