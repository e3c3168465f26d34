"""Operators that work element by element: their operands, and the steps of those that rescale."""

from collections.abc import Callable

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.explain.lines import (
    Index,
    difference,
    end_lines,
    operand,
    operand_line,
    scale_lines,
    value_text,
)
from eightfold.execute.runners import RUNNERS
from eightfold.execute.runners import stacks as rules
from eightfold.golden.binary import ADD_LEFT_SHIFT, common_scales, multiplication_scale
from eightfold.golden.errors import UndefinedError
from eightfold.golden.floats import dequantize, quantize_float
from eightfold.golden.quantization import Quantization, fused_bounds, quantized_bounds
from eightfold.golden.rectifiers import prelu_scales
from eightfold.golden.steps import step_lines

Explain = Callable[[OperatorCall, int, Index], list[str]]


def _operand_lines(call: OperatorCall, index: Index) -> list[str]:
    return [operand_line(call, position, index) for position in range(len(call.inputs))]


def _golden(call: OperatorCall, output: int, index: Index) -> list[str]:
    """Return the operands, and golden's function of these alone."""
    codes = [operand(call, position, index) for position in range(len(call.inputs))]
    runner = RUNNERS[call.operator.name]
    alone = call.substituted(*(np.asarray([code]) for code in codes))
    formula = f"{runner.golden_name}({', '.join(map(value_text, codes))})"
    result = value_text(runner.run(alone)[output][0])
    return [*_operand_lines(call, index), f"{formula} = {result}"]


def _sum(sign: int) -> Explain:
    def explain(call: OperatorCall, output: int, index: Index) -> list[str]:
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


def _mul(call: OperatorCall, output: int, index: Index) -> list[str]:
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


def _rescaled(double: bool, activation: str | None = None) -> Explain:
    """Return the steps of what scales a code by ``s_in / s_out``, in float32 or ``double``."""

    def explain(call: OperatorCall, output: int, index: Index) -> list[str]:
        if call.codes(0).dtype == np.float32:
            return _quantize_float(call, index)
        if call.operator.name == "RELU6" and call.reference == "tflm":
            return _golden(call, output, index)
        inputs, result = call.quantization(0), call.output_quantization()
        scale, out = (q.per_tensor()[0] for q in (inputs, result))
        step = difference(operand(call, 0, index), inputs)
        with np.errstate(over="ignore"):
            real = float(scale) / float(out) if double else float(scale / out)
        more, scaled = scale_lines(step[1], real, f"scale {scale} / {out}")
        bounds = quantized_bounds(activation or "NONE", result, UndefinedError)
        lines = _operand_lines(call, index) + step_lines([step])
        return [*lines, *more, *end_lines(scaled, result, bounds)]

    return explain


def _slice(quantization: Quantization, index: Index) -> tuple[Quantization, str]:
    """Return the scale and zero point of an element, of a tensor with one per slice too."""
    axis = quantization.axis
    at = slice(0, 1) if axis is None else slice(index[axis], index[axis] + 1)
    own = Quantization(quantization.scale[at], quantization.zero_point[at])
    return own, f"scale {own.scale[0]}, zero point {own.zero_point[0]}"


def _quantize_float(call: OperatorCall, index: Index) -> list[str]:
    own, text = _slice(call.output_quantization(), index)
    result = quantize_float(np.asarray([operand(call, 0, index)]), output_quantization=own)
    formula = f"clamp(round(x / s) + z) in float32, {text}"
    return [*_operand_lines(call, index), f"{formula} = {value_text(result)}"]


def _dequantize(call: OperatorCall, output: int, index: Index) -> list[str]:
    # TFLite Micro takes the first scale for all slices.
    own, text = _slice(
        call.quantization(0), index if call.reference == "litert" else (0,) * len(index)
    )
    result = dequantize(np.asarray([operand(call, 0, index)]), input_quantization=own)
    formula = f"s * (q - z) rounded to float32, {text}"
    return [*_operand_lines(call, index), f"{formula} = {value_text(result)}"]


def _leaky_relu(call: OperatorCall, output: int, index: Index) -> list[str]:
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


def _prelu(call: OperatorCall, output: int, index: Index) -> list[str]:
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


_OTHERS = {name: _golden for name, runner in RUNNERS.items() if runner.stacks is rules.ELEMENTS}

ELEMENTS: dict[str, Explain] = _OTHERS | {
    "ADD": _sum(1),
    "DEQUANTIZE": _dequantize,
    "LEAKY_RELU": _leaky_relu,
    "MUL": _mul,
    "PRELU": _prelu,
    "QUANTIZE": _rescaled(double=True),
    "RELU": _rescaled(double=False, activation="RELU"),
    "RELU6": _rescaled(double=False, activation="RELU6"),
    "RELU_0_TO_1": _rescaled(double=False, activation="RELU_0_TO_1"),
    "RELU_N1_TO_1": _rescaled(double=False, activation="RELU_N1_TO_1"),
    "SUB": _sum(-1),
}
"""Of the others, tables and comparisons, the operands and golden's result of these alone."""
