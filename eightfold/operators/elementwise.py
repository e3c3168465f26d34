"""Operators that work element by element: arithmetic on two, functions of one, comparisons."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from eightfold.golden import binary, comparison, unary
from eightfold.golden.comparison import sliced_condition
from eightfold.golden.errors import UndefinedError
from eightfold.golden.floats import cast, dequantize, quantize_float
from eightfold.golden.prepared import binary_table, unary_table
from eightfold.golden.quantization import Quantization, fused_bounds, quantized_bounds
from eightfold.golden.rectifiers import hard_swish, leaky_relu, prelu, prelu_scales, prelu_shape
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    BOOL,
    CONDITION,
    INT8,
    Definition,
    Element,
    Function,
    Index,
    Operand,
    Shape,
    Shapes,
)
from eightfold.operators.lines import (
    difference,
    operand,
    operand_lines,
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


def of_two(shape_of: Callable[..., Shape]) -> Shapes:
    """Return what gives the shape of a result that those of two operands decide."""
    return lambda node: [shape_of(node.shape(0), node.shape(1))]


def _selected_shape(node: Node) -> Sequence[Shape]:
    condition, a, b = (node.shape(position) for position in range(3))
    if node.operator.name == "SELECT":
        sliced_condition(condition, a, b)
        return [a]
    return [binary.broadcast_shape(binary.broadcast_shape(condition, a), b)]


def _prepare_table(definition: Definition, call: OperatorCall) -> Function | None:
    """Return a look-up in all results of one or two int8; None of DIV, which refuses some."""
    arrays = [call.array(position) for position in range(len(call.inputs))]
    if (
        definition.golden is binary.div
        or any(a.dtype != np.int8 for a in arrays)
        or is_per_axis(call)
    ):
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


def _explain_golden(element: Element) -> list[str]:
    """Return the operands, and golden's function of these alone."""
    codes = [operand(element, position) for position in range(len(element.call.inputs))]
    alone = element.call.substituted(*(np.asarray([code]) for code in codes))
    formula = f"{element.definition.golden_name}({', '.join(map(value_text, codes))})"
    return [*operand_lines(element), f"{formula} = {value_text(element.of(alone)[0])}"]


def _explain_sum(element: Element) -> list[str]:
    """Return the steps of ADD and SUB."""
    call, result = element.call, element.call.output_quantization()
    reals = binary.common_scales(call.quantization(0), call.quantization(1), result)
    lines = operand_lines(element)
    terms = []
    for position in (0, 1):
        x = lines.steps(difference(element, position))
        x = lines.steps((f"{x} << {binary.ADD_LEFT_SHIFT}", x << binary.ADD_LEFT_SHIFT))
        name = f"scale of input {position} / (2 * the larger scale)"
        terms.append(lines.scaled(x, reals[position], name))
    a, b = terms
    is_sum = call.operator.name == "ADD"
    value = lines.steps((f"{a} + {b}", a + b) if is_sum else (f"{a} - {b}", a - b))
    name = f"2 * the larger scale / (2^{binary.ADD_LEFT_SHIFT} * output scale)"
    scaled = lines.scaled(value, reals[2], name)
    return lines.ended(scaled, result, fused_bounds(call.activation(), result))


def _explain_mul(element: Element) -> list[str]:
    call, result = element.call, element.call.output_quantization()
    quantizations = call.quantization(0), call.quantization(1), result
    a, b, out = (q.per_tensor()[0] for q in quantizations)
    lines = operand_lines(element)
    x, y = (lines.steps(difference(element, position)) for position in (0, 1))
    product = lines.steps((f"{x} * {y}", x * y))
    real = binary.multiplication_scale(a, b, out, call.reference)
    scaled = lines.scaled(product, real, f"scale {a} * {b} / {out}")
    return lines.ended(scaled, result, fused_bounds(call.activation(), result))


def _explain_rescaled(element: Element) -> list[str]:
    """Return the steps of QUANTIZE, in double, and of a RELU named after its bounds, in float32."""
    call = element.call
    name = call.operator.name
    if call.is_float():
        return _explain_quantize_float(element)
    if name == "RELU6" and call.reference == "tflm":
        return _explain_golden(element)
    inputs, result = call.quantization(0), call.output_quantization()
    scale, out = (q.per_tensor()[0] for q in (inputs, result))
    if name == "QUANTIZE":
        real = float(scale) / float(out)
        limits = np.iinfo(call.output.dtype)
        bounds = (int(limits.min), int(limits.max))
    else:
        with np.errstate(over="ignore"):
            real = float(scale / out)
        bounds = quantized_bounds(name, result, UndefinedError)
    lines = operand_lines(element)
    x = lines.steps(difference(element, 0))
    return lines.ended(lines.scaled(x, real, f"scale {scale} / {out}"), result, bounds)


def _slice_quantization(quantization: Quantization, index: Index) -> tuple[Quantization, str]:
    """Return the scale and zero point of an element, of a tensor with one per slice too."""
    axis = quantization.axis
    at = slice(0, 1) if axis is None else slice(index[axis], index[axis] + 1)
    own = Quantization(quantization.scale[at], quantization.zero_point[at])
    return own, f"scale {own.scale[0]}, zero point {own.zero_point[0]}"


def _explain_quantize_float(element: Element) -> list[str]:
    call = element.call
    own, text = _slice_quantization(call.output_quantization(), element.index)
    x = np.asarray([operand(element, 0)])
    result = quantize_float(x, output_quantization=own, dtype=call.output.dtype)
    formula = f"clamp(round(x / s) + z) in float32, {text}"
    return [*operand_lines(element), f"{formula} = {value_text(result)}"]


def _explain_dequantize(element: Element) -> list[str]:
    call, index = element.call, element.index
    if call.reference == "tflm":  # which takes the first scale for all slices
        index = (0,) * len(index)
    own, text = _slice_quantization(call.quantization(0), index)
    result = dequantize(np.asarray([operand(element, 0)]), input_quantization=own)
    formula = f"s * (q - z) rounded to float32, {text}"
    return [*operand_lines(element), f"{formula} = {value_text(result)}"]


def _explain_leaky_relu(element: Element) -> list[str]:
    inputs, result = element.call.quantization(0), element.call.output_quantization()
    scale, out = (q.per_tensor()[0] for q in (inputs, result))
    alpha = np.float32(element.call.options["alpha"])
    lines = operand_lines(element)
    x = lines.steps(difference(element, 0))
    with np.errstate(over="ignore", under="ignore"):
        one, slope = float(scale / out), float(scale * alpha / out)
    if x >= 0:
        return lines.ended(lines.scaled(x, one, f"scale {scale} / {out}"), result)
    name = f"scale {scale} * alpha {alpha} / {out}"
    scaled = lines.scaled(x, slope, name, magnitude=True)
    if slope < 0:
        scaled = lines.steps((f"alpha is negative: -({scaled})", -scaled))
    return lines.ended(scaled, result)


def _explain_prelu(element: Element) -> list[str]:
    call, result = element.call, element.call.output_quantization()
    one, slope = prelu_scales(call.quantization(0), call.quantization(1), result, call.reference)
    lines = operand_lines(element)
    x = lines.steps(difference(element, 0))
    if x >= 0:
        return lines.ended(lines.scaled(x, one, "input scale / output scale"), result)
    alpha = lines.steps(difference(element, 1))
    product = lines.steps((f"{x} * {alpha}", x * alpha))
    name = "input scale * alpha's scale / output scale"
    return lines.ended(lines.scaled(product, slope, name), result)


_elementwise = partial(
    Definition, shapes=same_shape, explain=_explain_golden, stacks=ELEMENTS, prepare=_prepare_table
)
"""Returns the record of a function of one element, where nothing else is said."""


_pairwise = partial(
    _elementwise, shapes=of_two(binary.broadcast_shape), operands=(INT8, INT8), alike=True
)
"""Returns the record of a function of two elements, which broadcast."""


def _comparison(golden: Function, number: int) -> Definition:
    return _pairwise(golden, dtype="bool", spec=SpecEntry(number))


def _extreme(golden: Function, number: int) -> Definition:
    operands = INT8, Operand(listed=OTHER_INT8)
    return _pairwise(golden, operands=operands, spec=SpecEntry(number, same=True))


_logical = partial(_pairwise, operands=(BOOL, BOOL))

_CHOSEN = Operand(("int8", "bool", "int32", "int64"))
"""What SELECT copies: codes, truth values, or the integers of shapes."""

_selection = partial(
    _elementwise, shapes=_selected_shape, operands=(CONDITION, _CHOSEN, _CHOSEN), alike=True
)

_CLIPPING = _elementwise(
    unary.relu, explain=_explain_rescaled, named={"activation": lambda call: call.operator.name}
)
"""A RELU that is named after its bounds."""


ELEMENTWISE: dict[str, Definition] = {
    "ABS": _elementwise(unary.absolute),
    "ADD": _pairwise(binary.add, explain=_explain_sum, spec=SpecEntry(1)),
    "CAST": _elementwise(cast, operands=(Operand(NUMBERS),), dtypes=NUMBERS),
    "DEQUANTIZE": _elementwise(
        dequantize, explain=_explain_dequantize, operands=(Operand(BYTES),), dtype="float32"
    ),
    "DIV": _pairwise(binary.div),
    "ELU": _elementwise(unary.elu),
    "EQUAL": _comparison(comparison.equal, 35),
    "EXP": _elementwise(unary.exponential),
    "GELU": _elementwise(unary.gelu),
    "GREATER": _comparison(comparison.greater, 31),
    "GREATER_EQUAL": _comparison(comparison.greater_equal, 32),
    "HARD_SWISH": _elementwise(hard_swish),
    "LEAKY_RELU": _elementwise(leaky_relu, explain=_explain_leaky_relu),
    "LESS": _comparison(comparison.less, 29),
    "LESS_EQUAL": _comparison(comparison.less_equal, 33),
    "LOG": _elementwise(unary.logarithm),
    "LOGISTIC": _elementwise(
        unary.logistic, spec=SpecEntry(8, output=FixedQuantization(1.0, 256.0, -128))
    ),
    "LOGICAL_AND": _logical(comparison.logical_and),
    "LOGICAL_NOT": _elementwise(comparison.logical_not, operands=(BOOL,)),
    "LOGICAL_OR": _logical(comparison.logical_or),
    "MAXIMUM": _extreme(comparison.maximum, 26),
    "MINIMUM": _extreme(comparison.minimum, 28),
    "MUL": _pairwise(binary.mul, explain=_explain_mul, spec=SpecEntry(10)),
    "NEG": _elementwise(unary.negate),
    "NOT_EQUAL": _comparison(comparison.not_equal, 36),
    "PRELU": _pairwise(prelu, explain=_explain_prelu, shapes=of_two(prelu_shape)),
    "QUANTIZE": _elementwise(
        unary.quantize,
        explain=_explain_rescaled,
        operands=(Operand((*BYTES, "float32")),),
        dtypes=BYTES,
        spec=SpecEntry(38, remark="Requantization"),
    ),
    "RELU": _CLIPPING,
    "RELU6": _elementwise(unary.relu6, explain=_explain_rescaled),
    "RELU_0_TO_1": _CLIPPING,
    "RELU_N1_TO_1": _CLIPPING,
    "RSQRT": _elementwise(unary.reciprocal_square_root),
    "SELECT": _selection(comparison.select_slices),
    "SELECT_V2": _selection(comparison.select),
    "SQRT": _elementwise(unary.square_root),
    "SQUARED_DIFFERENCE": _pairwise(binary.squared_difference),
    "SUB": _pairwise(binary.sub, explain=_explain_sum, spec=SpecEntry(22)),
    "TANH": _elementwise(unary.tanh, spec=SpecEntry(15, output=FixedQuantization(1.0, 128.0, 0))),
}
"""Operators on values; booleans come out of the comparisons, floats out of DEQUANTIZE."""
