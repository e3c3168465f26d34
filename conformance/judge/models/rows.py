"""Mistakes of operators along a row or over axes."""

from collections.abc import Callable

import numpy as np

from eightfold.conformance.judge.models.elementwise import to_codes
from eightfold.conformance.judge.models.scaling import reduced
from eightfold.conformance.judge.models.subject import (
    INPUT_ZERO_POINT_IGNORED,
    ZERO_POINTS_SWAPPED,
    Compute,
    OperatorRun,
    Results,
    SameError,
    Table,
    maker,
    mistake,
    named,
    run,
)
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from eightfold.golden.quantization import clamp
from eightfold.golden.reduction import one_axis, reduced_axes, reduced_shape
from eightfold.golden.tpu_mlir.numbers import round_float


def _logits(subject: OperatorRun) -> np.ndarray:
    call = subject.call
    scale = float(call.quantization(0).per_tensor()[0])
    return scale * call.codes(0).astype(np.float64) * call.options.get("beta", 1.0)


def _exponentials(x: np.ndarray, axis: int) -> np.ndarray:
    return np.exp(x - x.max(axis=axis, keepdims=True))


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    exponentials = _exponentials(x, axis)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return (
        x
        - x.max(axis=axis, keepdims=True)
        - np.log(_exponentials(x, axis).sum(axis=axis, keepdims=True))
    )


_OF_ROWS = {"SOFTMAX": _softmax, "LOG_SOFTMAX": _log_softmax}


@maker
def _real(subject: OperatorRun, rounding: str, axis: int | None = -1) -> Results:
    x = _logits(subject)
    function = _OF_ROWS[subject.operator.name]
    if axis is None:
        return to_codes(subject.call, function(x.reshape(-1)).reshape(x.shape), rounding)
    return to_codes(subject.call, function(x, axis), rounding)


@mistake
def beta_ignored(subject: OperatorRun) -> Results:
    """beta counts as 1."""
    return run(subject.changed(options={"beta": 1.0}))


@mistake
def base_2(subject: OperatorRun) -> Results:
    """Powers of 2 stand for powers of e."""
    return to_codes(subject.call, _softmax(_logits(subject) * np.log(2.0)))


def _softmax_unshifted(subject: OperatorRun) -> Results:
    (codes,) = run(subject.call)
    return [(codes.astype(np.int64) + 128).clip(0, 127).astype(np.int8)]


@maker
def _l2(subject: OperatorRun, rounding: str, axis: int | None = -1) -> Results:
    x = subject.call.codes(0).astype(np.float64) - subject.scales[0][1]
    norm = np.sqrt((x * x).sum(axis=axis, keepdims=True))
    return to_codes(subject.call, x / np.maximum(norm, 1e-30), rounding)


_ROUNDINGS = (
    ("half_away", "rounded, ties away from zero"),
    ("half_even", "rounded, ties to even"),
    ("toward_zero", "truncated toward zero"),
    ("down", "floored"),
)


def _in_float(make: Callable[..., Compute]) -> Table:
    return {
        (f"computed_in_float_{mode}", make(mode)): f"Computed with real numbers, and {text}; the "
        "kernels compute in fixed point."
        for mode, text in _ROUNDINGS
    }


def _along_others(make: Callable[..., Compute]) -> Table:
    return {
        ("over_all_elements", make("half_away", axis=None)): "All elements are taken for one row; "
        "the operator works along the last axis.",
        ("over_first_axis", make("half_away", axis=0)): "Computed along the first axis; the "
        "operator works along the last one.",
    }


@mistake
def mean_rounded_first(subject: OperatorRun) -> Results:
    """The sum is divided to an integer before it is rescaled: two roundings."""
    call = subject.call
    scaling = reduced(call)
    axes = reduced_axes(call.array(1), call.codes(0).ndim)
    count = int(np.prod([call.codes(0).shape[axis] for axis in axes], dtype=np.int64))
    mean = round_float(scaling.acc / count, "half_away").astype(np.int64)
    inputs, output = call.quantization(0), call.output_quantization()
    pair = quantize_multiplier(float(inputs.per_tensor()[0]) / float(output.per_tensor()[0]))
    scaled = multiply_by_quantized_multiplier(mean, *pair)
    return [clamp(scaled + output.per_tensor()[1])]


@mistake
def quotient_normalized(subject: OperatorRun) -> Results:
    """The quotient by the count is rounded into a multiplier of its own, where the kernel divides
    the multiplier of the scales and truncates.
    """
    scaling = reduced(subject.call)
    scaled = multiply_by_quantized_multiplier(
        scaling.acc, *quantize_multiplier(float(scaling.real))
    )
    return [clamp(scaled + scaling.zero_point)]


@mistake
def first_axis_only(subject: OperatorRun) -> Results:
    """Only the first axis is reduced."""
    axes = np.atleast_1d(subject.call.array(1))[:1]
    if axes.size == subject.call.array(1).size:
        raise SameError
    call = subject.changed(arrays={1: axes})
    return [
        r.reshape(reduced_shape(call.codes(0).shape, axes, call.options["keep_dims"]))
        for r in run(call)
    ]


@mistake
def read_as_uint8(subject: OperatorRun) -> Results:
    """The codes are read and written as uint8: LiteRT's int8 reference kernel."""
    call = subject.call
    x = call.codes(0).view(np.uint8).astype(np.int64)
    axes = reduced_axes(call.array(1), x.ndim)
    zero = call.quantization(0).per_tensor()[1]
    out = call.output_quantization().per_tensor()[1]
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    shape = reduced_shape(x.shape, call.array(1), call.options["keep_dims"])
    acc = (x.sum(axis=axes) - zero * count).reshape(shape)
    scaling = reduced(call)
    scaled = multiply_by_quantized_multiplier(acc, scaling.multiplier, scaling.shift)
    return [np.clip(scaled + out, 0, 255).astype(np.uint8).view(np.int8)]


_REDUCTIONS = [INPUT_ZERO_POINT_IGNORED, ZERO_POINTS_SWAPPED, first_axis_only]


@mistake
def last_of_equals(subject: OperatorRun) -> Results:
    """The last of equal codes counts."""
    call = subject.call
    x = call.codes(0)
    axis = one_axis(call.array(1), x.ndim)
    found = x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)
    return [found.astype(call.output.dtype)]


@mistake
def unsigned(subject: OperatorRun) -> Results:
    """The codes are compared as unsigned bytes."""
    codes = (subject.call.codes(0) ^ np.int8(-128)).astype(np.int8)
    return run(subject.changed(arrays={0: codes}))


@mistake
def least(subject: OperatorRun) -> Results:
    """The smallest code counts."""
    call = subject.call
    x = call.codes(0)
    return [x.argmin(one_axis(call.array(1), x.ndim)).astype(call.output.dtype)]


@mistake
def last_axis(subject: OperatorRun) -> Results:
    """The axis is always the last one."""
    call = subject.call
    return [call.codes(0).argmax(-1).astype(call.output.dtype)]


def _no_output_zero_point(subject: OperatorRun) -> Results:
    (codes,) = run(subject.call)
    return [clamp(codes.astype(np.int64) - subject.call.output_quantization().per_tensor()[1])]


_LOG: Table = {
    ("output_zero_point_ignored", _no_output_zero_point): "The output's zero point is missing."
}

_UNSHIFTED: Table = {
    ("output_zero_point_ignored", _softmax_unshifted): "The output's zero point, -128, is missing, "
    "and the codes saturate at 127."
}

ROWS = {
    "ARG_MAX": [last_of_equals, unsigned, least, last_axis],
    "L2_NORMALIZATION": [
        *named(_in_float(_l2)),
        INPUT_ZERO_POINT_IGNORED,
        *named(_along_others(_l2)),
    ],
    "LOG_SOFTMAX": named({**_in_float(_real), **_along_others(_real), **_LOG}),
    "MEAN": [*_REDUCTIONS, mean_rounded_first, quotient_normalized],
    "SOFTMAX": [
        *named(_in_float(_real)),
        beta_ignored,
        base_2,
        *named({**_along_others(_real), **_UNSHIFTED}),
    ],
    "SUM": [*_REDUCTIONS, read_as_uint8],
}
"""By operator."""
