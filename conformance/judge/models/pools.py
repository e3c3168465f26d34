"""Mistakes of AVERAGE_POOL_2D and MAX_POOL_2D."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eightfold.conformance.judge.models.subject import (
    OperatorRun,
    Results,
    Table,
    bounded,
    maker,
    mistake,
    named,
    rescaled,
    without_activation,
)
from eightfold.conformance.judge.models.weighted import CHANGES, Change, WindowTaps, taps_of
from eightfold.golden.fixed_point import Integers
from eightfold.golden.quantization import clamp, fused_bounds
from eightfold.golden.tpu_mlir.numbers import round_float


def _taps(subject: OperatorRun) -> WindowTaps:
    return taps_of(subject.call.pool_window(), subject.call.codes(0).shape)


def _unchanged(taps: WindowTaps) -> WindowTaps:
    return taps


def _sums(subject: OperatorRun, change: Change = _unchanged) -> tuple[Integers, Integers]:
    """Return sums of codes, and how many each has."""
    x = subject.call.codes(0).astype(np.int64)
    taps = change(_taps(subject))
    total = taps.read(x, 0).sum(axis=(3, 4))
    count = taps.read(np.ones((1, *x.shape[1:3], 1), np.int64), 0).sum(axis=(3, 4))
    return total, count


@maker
def _mean(
    subject: OperatorRun, rounding: str = "half_away", change: Change = _unchanged
) -> Results:
    total, count = _sums(subject, change)
    mean = round_float(total / np.maximum(count, 1), rounding)
    return [bounded(subject.call, mean.astype(np.int64))]


def _zero_point(subject: OperatorRun) -> int:
    return subject.scales[0][1]


@maker
def _counting_padding(subject: OperatorRun, fill: Callable[[OperatorRun], int]) -> Results:
    x = subject.call.codes(0).astype(np.int64)
    taps = _taps(subject)
    total = taps.read(x, fill(subject)).sum(axis=(3, 4))
    mean = total / (taps.kernel[0] * taps.kernel[1])
    return [bounded(subject.call, round_float(mean, "half_away").astype(np.int64))]


@mistake
def mean_of_differences(subject: OperatorRun) -> Results:
    """The zero point is subtracted before the division, so that ties go away from it and not away
    from the code 0.
    """
    total, count = _sums(subject)
    zero_point = subject.call.quantization(0).per_tensor()[1]
    mean = round_float((total - zero_point * count) / count, "half_away").astype(np.int64)
    return [bounded(subject.call, mean + zero_point)]


@mistake
def mean_by_reciprocal(subject: OperatorRun) -> Results:
    """The division is a product with a reciprocal of 16 fraction bits, ties up."""
    total, count = _sums(subject)
    factor = np.rint(65536 / count).astype(np.int64)
    return [bounded(subject.call, (total * factor + 32768) >> 16)]


@maker
def _largest(subject: OperatorRun, fill: int = -128, change: Change = _unchanged) -> Results:
    x = subject.call.codes(0).astype(np.int64)
    return [bounded(subject.call, change(_taps(subject)).read(x, fill).max(axis=(3, 4)))]


_CHANGES = {
    (name, change): text
    for (name, change), text in CHANGES.items()
    if name in ("padding_odd_before", "stride_ignored", "strides_swapped")
} | {
    ("kernel_transposed", lambda taps: replace(taps, kernel=taps.kernel[::-1])): "Height and width "
    "of the window are swapped."
}


def relu_at_0(subject: OperatorRun) -> Results:
    """Return the results of an operator whose activation cuts at the code 0."""
    (free,) = without_activation(subject)
    call = subject.call
    low, high = fused_bounds(call.activation(), call.output_quantization())
    return [clamp(free.astype(np.int64), (0 if low > -128 else low, high))]


_OF_ACTIVATIONS: Table = {
    ("activation_ignored", without_activation): "The fused activation does not clamp.",
    ("relu_at_0", relu_at_0): "The activation cuts at the code 0 and not at the zero point.",
}

_BOTH = (*named(_OF_ACTIVATIONS), rescaled)

_DIVISIONS = {
    "toward_zero": "truncates toward zero, as `/` does in C and Verilog",
    "down": "floors, as `>>>` does",
    "half_up": "rounds ties toward plus infinity",
    "half_even": "rounds ties to even, as floats and XNNPACK do",
    "half_down": "rounds ties toward minus infinity",
    "up": "rounds up",
}

_AVERAGE: Table = {
    **{
        (f"mean_{mode}", _mean(mode)): f"The division of the mean {text}."
        for mode, text in _DIVISIONS.items()
    },
    ("padding_counted", _counting_padding(lambda _: 0)): "Padding counts as elements of the code "
    "0.",
    ("padding_zero_point_counted", _counting_padding(_zero_point)): "Padding counts as elements of "
    "the zero point.",
}

_LARGEST: Table = {
    ("padding_0", _largest(0)): "Padding takes part as the code 0, where it is never the largest."
}

POOLS = {
    "AVERAGE_POOL_2D": [
        *named(_AVERAGE),
        mean_of_differences,
        mean_by_reciprocal,
        *_BOTH,
        *named({(name, _mean(change=each)): text for (name, each), text in _CHANGES.items()}),
    ],
    "MAX_POOL_2D": [
        *named(_LARGEST),
        *_BOTH,
        *named({(name, _largest(change=each)): text for (name, each), text in _CHANGES.items()}),
    ],
}
"""By operator."""
