"""Mistakes of operators that compute values: element by element, along a row, or over axes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eightfold.conformance.judge.models.scaling import differences, product, reduced, sum_of_two
from eightfold.conformance.judge.models.subject import (
    INPUT_ZERO_POINT_IGNORED,
    OUTPUT,
    ROUNDED,
    ZERO_POINTS_SWAPPED,
    Compute,
    OperatorRun,
    Results,
    SameError,
    Table,
    bounded,
    maker,
    run,
    swapped,
    zero_points,
    zero_points_ignored,
)
from eightfold.golden.binary import broadcast
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from eightfold.golden.quantization import clamp
from eightfold.golden.reduction import one_axis, reduced_shape
from eightfold.golden.tpu_mlir.numbers import round_float
from eightfold.golden.unary import CODES
from eightfold.operators import OPERATORS, OperatorCall


def _reals(call: OperatorCall, dtype: type = np.float64) -> list[np.ndarray]:
    """Return what the operands stand for."""
    found = []
    for position in (0, 1):
        scale, zero_point = call.quantization(position).per_tensor()
        found.append(dtype(scale) * (call.codes(position).astype(dtype) - dtype(zero_point)))
    return list(broadcast(*found))


def to_codes(
    call: OperatorCall, real: np.ndarray, rounding: str = "half_away", dtype: type = np.float64
) -> Results:
    scale, zero_point = call.output_quantization().per_tensor()
    steps = np.clip(real / dtype(scale), -(2.0**30), 2.0**30)
    codes = round_float(steps, rounding).astype(np.int64) + zero_point
    return [bounded(call, codes)]


_FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ADD": np.add,
    "MUL": np.multiply,
    "SUB": np.subtract,
}


@maker
def _in_float(subject: OperatorRun, rounding: str, dtype: type) -> Results:
    real = _FUNCTIONS[subject.operator.name](*_reals(subject, dtype))
    return to_codes(subject, real, rounding, dtype)


def _summed(call: OperatorCall, first: np.ndarray, second: np.ndarray) -> Results:
    """Return the codes of operands that have the output's scale."""
    codes = _FUNCTIONS[call.operator.name](*broadcast(first, second))
    return [bounded(call, codes + call.output_quantization().per_tensor()[1])]


def _operands_rounded(subject: OperatorRun) -> Results:
    out = float(subject.output_quantization().per_tensor()[0])
    operands = []
    for position in (0, 1):
        pair = quantize_multiplier(float(subject.quantization(position).per_tensor()[0]) / out)
        operands.append(multiply_by_quantized_multiplier(differences(subject, position), *pair))
    return _summed(subject, *operands)


def _operands_swapped(subject: OperatorRun) -> Results:
    scaling = sum_of_two(subject)
    (a, plus), (b, minus) = scaling.terms
    return [replace(scaling, terms=((a, minus), (b, plus))).results(scaling.arithmetic)]


def _double_multiplier(subject: OperatorRun) -> Results:
    scaling = product(subject.of_other_kernels())
    return [scaling.results(scaling.arithmetic)]


_BINARY: Table = {
    ("first_zero_point_ignored", zero_points_ignored(0)): "The first operand's zero point is not "
    "subtracted.",
    ("second_zero_point_ignored", zero_points_ignored(1)): "The second operand's zero point is not "
    "subtracted.",
    ("operand_zero_points_swapped", swapped(0, 1)): "The operands' zero points are swapped.",
    ("zero_points_swapped", swapped(0, OUTPUT)): "The zero points of the first operand and the "
    "output are swapped.",
    **{
        (f"computed_in_{dtype.__name__}_{rounding}", _in_float(rounding, dtype)): "Computed with "
        f"real numbers in {dtype.__name__}; ties are rounded {text}."
        for dtype in (np.float32, np.float64)
        for rounding, text in (("half_away", "away from zero"), ("half_even", "to even"))
    },
}

_SUM: Table = {
    **_BINARY,
    ("operands_rounded", _operands_rounded): "Each operand is rounded to the output's scale before "
    "they are added: the 20 fraction bits are missing.",
    ("scales_ignored", lambda s: _summed(s, differences(s, 0), differences(s, 1))): "The codes are "
    "added as if all scales were the same.",
}


def _unsigned(subject: OperatorRun) -> Results:
    compared = (0,) if subject.operator.name == "ARG_MAX" else (0, 1)
    codes = {p: subject.codes(p) for p in compared}
    if any(each.dtype != np.int8 for each in codes.values()):
        raise SameError
    flipped = {p: (each ^ np.int8(-128)).astype(np.int8) for p, each in codes.items()}
    results = run(subject.changed(arrays=flipped))
    return [r ^ np.int8(-128) if r.dtype == np.int8 else r for r in results]


def _extreme_of_reals(subject: OperatorRun) -> Results:
    function = getattr(np, subject.operator.name.lower())
    return to_codes(subject, function(*_reals(subject)))


_CONFUSED = {
    "EQUAL": "NOT_EQUAL",
    "GREATER": "GREATER_EQUAL",
    "GREATER_EQUAL": "GREATER",
    "LESS": "LESS_EQUAL",
    "LESS_EQUAL": "LESS",
    "NOT_EQUAL": "EQUAL",
}


@maker
def _compared(subject: OperatorRun, values: Callable[[OperatorCall], list[np.ndarray]]) -> Results:
    return [getattr(np, subject.operator.name.lower())(*values(subject))]


def _raw(call: OperatorCall) -> list[np.ndarray]:
    return list(broadcast(call.codes(0), call.codes(1)))


def _raw_unsigned(call: OperatorCall) -> list[np.ndarray]:
    return [np.asarray(codes, order="C").view(np.uint8) for codes in _raw(call)]


def _exchanged(subject: OperatorRun) -> Results:
    operator = replace(subject.operator, inputs=subject.operator.inputs[::-1])
    return run(OperatorCall(subject.graph, operator, subject.values, subject.reference))


_COMPARISONS: Table = {
    ("codes_compared", _compared(_raw)): "The codes are compared, whatever the scales and zero "
    "points.",
    ("codes_compared_unsigned", _compared(_raw_unsigned)): "The codes are compared as unsigned "
    "bytes.",
    ("real_values_compared", _compared(_reals)): "The real values are compared exactly; the "
    "kernels round them to steps of 1/256.",
    ("zero_points_ignored", zero_points_ignored(0, 1)): "The zero points are not subtracted.",
    ("other_comparison", lambda s: OPERATORS[_CONFUSED[s.operator.name]].run(s)): "Equal values "
    "count the other way: the operator is taken for its neighbour, such as LESS for LESS_EQUAL.",
}

_ORDERED = {**_COMPARISONS, ("operands_swapped", _exchanged): "The operands are swapped."}

_UNSIGNED: Table = {("unsigned", _unsigned): "The codes are compared as unsigned bytes."}

_EXTREMES: Table = {
    **_UNSIGNED,
    ("rescaled", _extreme_of_reals): "The real values are compared and the result is rescaled; the "
    "kernels compare the codes.",
}


Function = Callable[[np.ndarray], np.ndarray]

_SMOOTH: dict[str, Function] = {"LOGISTIC": lambda x: 1 / (1 + np.exp(-x)), "TANH": np.tanh}
_STEPPED: dict[str, Function] = {
    "LOGISTIC": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "TANH": lambda x: np.clip(x, -1, 1),
}


@maker
def _table_of(subject: OperatorRun, functions: dict[str, Function], rounding: str) -> Results:
    """Return a function of the input's real value as codes."""
    scale, zero_point = subject.quantization(0).per_tensor()
    real = float(scale) * (CODES - zero_point)
    (codes,) = to_codes(subject, functions[subject.operator.name](real), rounding)
    return [codes[subject.codes(0).astype(np.int64) + 128]]


def _fixed_zero_point(subject: OperatorRun) -> dict[int, int]:
    return {OUTPUT: -128 if subject.operator.name == "LOGISTIC" else 0}


def _index_offset(subject: OperatorRun) -> Results:
    codes = subject.codes(0) ^ np.int8(-128)
    return run(subject.changed(arrays={0: codes.astype(np.int8)}))


_SIGMOIDS: Table = {
    ("tflm_form", lambda s: run(s.of_other_kernels())): "Computed as TFLite Micro does, in fixed "
    "point.",
    **{
        (f"table_{mode}", _table_of(_SMOOTH, mode)): "The function is right, but its codes are "
        f"{text}."
        for mode, text in (
            ("down", "floored"),
            ("toward_zero", "truncated toward zero"),
            ("up", "rounded up"),
        )
    },
    ("piecewise", _table_of(_STEPPED, "half_away")): "A straight line with clamped ends stands "
    "for the function, such as clamp(x/6 + 1/2).",
    **INPUT_ZERO_POINT_IGNORED,
    ("output_zero_point_fixed", zero_points(_fixed_zero_point)): "The output's zero point is "
    "always that of the spec's table, -128 or 0.",
    ("table_index_offset", _index_offset): "The table is read at code + 128, where it is written "
    "at the code's byte.",
}


@maker
def _float_quantized(subject: OperatorRun, rounding: str, reciprocal: bool) -> Results:
    x = subject.array(0)
    if x.dtype != np.float32:
        raise SameError
    output = subject.output_quantization()
    shape = [-1 if axis == output.axis else 1 for axis in range(x.ndim)]
    scale = output.scale.reshape(shape if output.scale.size > 1 else -1)
    zero = output.zero_point.reshape(shape if output.scale.size > 1 else -1)
    steps = x * (np.float32(1) / scale) if reciprocal else x / scale
    codes = round_float(np.clip(steps, -(2.0**30), 2.0**30), rounding)
    return [clamp(codes.astype(np.int64) + zero).reshape(x.shape)]


_QUANTIZE: Table = {
    **INPUT_ZERO_POINT_IGNORED,
    **ZERO_POINTS_SWAPPED,
    **{
        (
            f"float_{'reciprocal_' * reciprocal}{rounding}",
            _float_quantized(rounding, reciprocal),
        ): f"float32 is {'multiplied by the reciprocal of' if reciprocal else 'divided by'} "
        f"the scale and {text}."
        for reciprocal in (False, True)
        for rounding, text in (
            ("half_away", "rounded with ties away from zero"),
            ("half_even", "rounded with ties to even"),
            ("half_up", "rounded with ties up"),
            ("toward_zero", "truncated"),
            ("down", "floored"),
        )
        if reciprocal or rounding != "half_away"
    },
}

ELEMENTWISE: dict[str, Table] = {
    "ADD": _SUM,
    "LOGISTIC": _SIGMOIDS,
    "MAXIMUM": _EXTREMES,
    "MINIMUM": _EXTREMES,
    "MUL": {
        **_BINARY,
        ("double_multiplier", _double_multiplier): "The multiplier is made of float64 scales, as "
        "TFLite Micro does; LiteRT's are float32.",
    },
    "QUANTIZE": _QUANTIZE,
    "SUB": {**_SUM, ("operands_swapped", _operands_swapped): "The operands are swapped: b - a."},
    "TANH": _SIGMOIDS,
    **dict.fromkeys(("EQUAL", "NOT_EQUAL"), _COMPARISONS),
    **dict.fromkeys(("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"), _ORDERED),
}


def _logits(subject: OperatorRun) -> np.ndarray:
    scale = float(subject.quantization(0).per_tensor()[0])
    return scale * subject.codes(0).astype(np.float64) * subject.options.get("beta", 1.0)


def _exponentials(x: np.ndarray, axis: int) -> np.ndarray:
    return np.exp(x - x.max(axis=axis, keepdims=True))


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    exponentials = _exponentials(x, axis)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    total = _exponentials(x, axis).sum(axis=axis, keepdims=True)
    return x - x.max(axis=axis, keepdims=True) - np.log(total)


_OF_ROWS = {"SOFTMAX": _softmax, "LOG_SOFTMAX": _log_softmax}


@maker
def _real(subject: OperatorRun, rounding: str, axis: int | None = -1) -> Results:
    x = _logits(subject)
    function = _OF_ROWS[subject.operator.name]
    if axis is None:
        return to_codes(subject, function(x.reshape(-1)).reshape(x.shape), rounding)
    return to_codes(subject, function(x, axis), rounding)


def _softmax_unshifted(subject: OperatorRun) -> Results:
    (codes,) = run(subject)
    return [(codes.astype(np.int64) + 128).clip(0, 127).astype(np.int8)]


@maker
def _l2(subject: OperatorRun, rounding: str, axis: int | None = -1) -> Results:
    x = subject.codes(0).astype(np.float64) - subject.scales[0][1]
    norm = np.sqrt((x * x).sum(axis=axis, keepdims=True))
    return to_codes(subject, x / np.maximum(norm, 1e-30), rounding)


def _rows_in_float(make: Callable[..., Compute]) -> Table:
    return {
        (f"computed_in_float_{mode}", make(mode)): f"Computed with real numbers, and {text}; the "
        "kernels compute in fixed point."
        for mode, text in ROUNDED.items()
        if mode != "half_up"
    }


def _along_others(make: Callable[..., Compute]) -> Table:
    return {
        ("over_all_elements", make("half_away", axis=None)): "All elements are taken for one row; "
        "the operator works along the last axis.",
        ("over_first_axis", make("half_away", axis=0)): "Computed along the first axis; the "
        "operator works along the last one.",
    }


def _mean_rounded_first(subject: OperatorRun) -> Results:
    scaling = reduced(subject)
    count = subject.codes(0).size // max(scaling.acc.size, 1)
    mean = round_float(scaling.acc / count, "half_away").astype(np.int64)
    (scale, _), (out, zero_point) = subject.scales
    scaled = multiply_by_quantized_multiplier(mean, *quantize_multiplier(float(scale) / float(out)))
    return [clamp(scaled + zero_point)]


def _quotient_normalized(subject: OperatorRun) -> Results:
    scaling = reduced(subject)
    pair = quantize_multiplier(float(scaling.real))
    scaled = multiply_by_quantized_multiplier(scaling.acc, *pair)
    return [clamp(scaled + scaling.zero_point)]


def _first_axis_only(subject: OperatorRun) -> Results:
    axes = np.atleast_1d(subject.array(1))[:1]
    if axes.size == subject.array(1).size:
        raise SameError
    call = subject.changed(arrays={1: axes})
    shape = reduced_shape(call.codes(0).shape, axes, call.options["keep_dims"])
    return [each.reshape(shape) for each in run(call)]


def _read_as_uint8(subject: OperatorRun) -> Results:
    scaling = reduced(subject, subject.codes(0).view(np.uint8))
    scaled = multiply_by_quantized_multiplier(scaling.acc, scaling.multiplier, scaling.shift)
    return [np.clip(scaled + scaling.zero_point, 0, 255).astype(np.uint8).view(np.int8)]


_REDUCTIONS: Table = {
    **INPUT_ZERO_POINT_IGNORED,
    **ZERO_POINTS_SWAPPED,
    ("first_axis_only", _first_axis_only): "Only the first axis is reduced.",
}


@maker
def _place_of(subject: OperatorRun, place: Callable[[np.ndarray, int], np.ndarray]) -> Results:
    """Return ARG_MAX with another place of codes along its axis."""
    x = subject.codes(0)
    return [place(x, one_axis(subject.array(1), x.ndim)).astype(subject.output.dtype)]


def _last_of_equals(x: np.ndarray, axis: int) -> np.ndarray:
    return x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)


def _no_output_zero_point(subject: OperatorRun) -> Results:
    (codes,) = run(subject)
    return [clamp(codes.astype(np.int64) - subject.output_quantization().per_tensor()[1])]


ROWS: dict[str, Table] = {
    "ARG_MAX": {
        ("last_of_equals", _place_of(_last_of_equals)): "The last of equal codes counts.",
        **_UNSIGNED,
        ("least", _place_of(lambda x, axis: x.argmin(axis))): "The smallest code counts.",
        ("last_axis", _place_of(lambda x, axis: x.argmax(-1))): "The axis is always the last one.",
    },
    "L2_NORMALIZATION": {**_rows_in_float(_l2), **INPUT_ZERO_POINT_IGNORED, **_along_others(_l2)},
    "LOG_SOFTMAX": {
        **_rows_in_float(_real),
        **_along_others(_real),
        ("output_zero_point_ignored", _no_output_zero_point): "The output's zero point is missing.",
    },
    "MEAN": {
        **_REDUCTIONS,
        ("mean_rounded_first", _mean_rounded_first): "The sum is divided to an integer before it "
        "is rescaled: two roundings.",
        ("quotient_normalized", _quotient_normalized): "The quotient by the count is rounded into "
        "a multiplier of its own, where the kernel divides the multiplier of the scales and "
        "truncates.",
    },
    "SOFTMAX": {
        **_rows_in_float(_real),
        ("beta_ignored", lambda s: run(s.changed(options={"beta": 1.0}))): "beta counts as 1.",
        ("base_2", lambda s: to_codes(s, _softmax(_logits(s) * np.log(2.0)))): "Powers of 2 stand "
        "for powers of e.",
        **_along_others(_real),
        ("output_zero_point_ignored", _softmax_unshifted): "The output's zero point, -128, is "
        "missing, and the codes saturate at 127.",
    },
    "SUM": {
        **_REDUCTIONS,
        ("read_as_uint8", _read_as_uint8): "The codes are read and written as uint8: LiteRT's int8 "
        "reference kernel.",
    },
}
