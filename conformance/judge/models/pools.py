"""Mistakes of AVERAGE_POOL_2D and MAX_POOL_2D."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eightfold.conformance.judge.models.subject import (
    OperatorMistake,
    OperatorRun,
    Results,
    mistake,
    run,
)
from eightfold.conformance.judge.models.weighted import WindowTaps
from eightfold.golden.fixed_point import Integers
from eightfold.golden.quantization import clamp, fused_bounds
from eightfold.golden.tpu_mlir.numbers import round_float


def _taps(subject: OperatorRun) -> WindowTaps:
    window = subject.call.pool_window()
    shape = subject.call.codes(0).shape
    pads = tuple(window.pads(axis, shape[1 + axis])[0] for axis in (0, 1))
    return WindowTaps(window.kernel, window.stride, (1, 1), pads, window.output_sizes(shape))


def _bounded(subject: OperatorRun, codes: np.ndarray) -> Results:
    call = subject.call
    return [clamp(codes, fused_bounds(call.activation(), call.output_quantization()))]


Change = Callable[[OperatorRun, WindowTaps], WindowTaps]


def _unchanged(subject: OperatorRun, taps: WindowTaps) -> WindowTaps:
    return taps


def _sums(subject: OperatorRun, change: Change = _unchanged) -> tuple[Integers, Integers]:
    """Return sums of codes, and how many each has."""
    x = subject.call.codes(0).astype(np.int64)
    taps = change(subject, _taps(subject))
    total = taps.read(x, 0).sum(axis=(3, 4))
    count = taps.read(np.ones((1, *x.shape[1:3], 1), np.int64), 0).sum(axis=(3, 4))
    return total, count


def _mean(
    rounding: str = "half_away", change: Change = _unchanged
) -> Callable[[OperatorRun], Results]:
    def compute(subject: OperatorRun) -> Results:
        total, count = _sums(subject, change)
        mean = round_float(total / np.maximum(count, 1), rounding)
        return _bounded(subject, mean.astype(np.int64))

    return compute


def _counting_padding(fill: Callable[[OperatorRun], int]) -> Callable[[OperatorRun], Results]:
    def compute(subject: OperatorRun) -> Results:
        x = subject.call.codes(0).astype(np.int64)
        taps = _taps(subject)
        total = taps.read(x, fill(subject)).sum(axis=(3, 4))
        mean = total / (taps.kernel[0] * taps.kernel[1])
        return _bounded(subject, round_float(mean, "half_away").astype(np.int64))

    return compute


@mistake
def mean_of_differences(subject: OperatorRun) -> Results:
    """The zero point is subtracted before the division, so that ties go away from it and not away
    from the code 0.
    """
    total, count = _sums(subject)
    zero_point = subject.call.quantization(0).per_tensor()[1]
    mean = round_float((total - zero_point * count) / count, "half_away").astype(np.int64)
    return _bounded(subject, mean + zero_point)


@mistake
def mean_by_reciprocal(subject: OperatorRun) -> Results:
    """The division is a product with a reciprocal of 16 fraction bits, ties up."""
    total, count = _sums(subject)
    factor = np.rint(65536 / count).astype(np.int64)
    return _bounded(subject, (total * factor + 32768) >> 16)


def _largest(fill: int = -128, change: Change = _unchanged) -> Callable[[OperatorRun], Results]:
    def compute(subject: OperatorRun) -> Results:
        x = subject.call.codes(0).astype(np.int64)
        return _bounded(subject, change(subject, _taps(subject)).read(x, fill).max(axis=(3, 4)))

    return compute


def _odd_before(subject: OperatorRun, taps: WindowTaps) -> WindowTaps:
    window = subject.call.pool_window()
    shape = subject.call.codes(0).shape
    if window.padding != "SAME":
        return taps
    return replace(taps, before=tuple(window.pads(axis, shape[1 + axis])[1] for axis in (0, 1)))


_CHANGES: tuple[tuple[str, str, Change], ...] = (
    (
        "padding_odd_before",
        "Where SAME pads by an odd number, the odd one goes before and not after.",
        _odd_before,
    ),
    ("stride_ignored", "The stride is 1.", lambda _, taps: replace(taps, stride=(1, 1))),
    (
        "strides_swapped",
        "The vertical and the horizontal stride are swapped.",
        lambda _, taps: replace(taps, stride=taps.stride[::-1]),
    ),
    (
        "kernel_transposed",
        "Height and width of the window are swapped.",
        lambda _, taps: replace(taps, kernel=taps.kernel[::-1]),
    ),
)


def without_activation(subject: OperatorRun) -> Results:
    """Return the results of an operator that does not clamp."""
    return run(subject.changed(options={"fused_activation_function": "NONE"}))


def relu_at_0(subject: OperatorRun) -> Results:
    """Return the results of an operator whose activation cuts at the code 0."""
    (free,) = without_activation(subject)
    call = subject.call
    low, high = fused_bounds(call.activation(), call.output_quantization())
    return [clamp(free.astype(np.int64), (0 if low > -128 else low, high))]


@mistake
def rescaled(subject: OperatorRun) -> Results:
    """Codes are rescaled where input and output have another scale or zero point; the kernels copy
    them.
    """
    # Codes that stand for the same numbers in the output's scale.
    (codes,) = without_activation(subject)
    (scale, zero), (out, out_zero) = (
        subject.call.quantization(0).per_tensor(),
        subject.call.output_quantization().per_tensor(),
    )
    real = (codes.astype(np.int64) - zero) * (float(scale) / float(out))
    return _bounded(subject, round_float(real, "half_away").astype(np.int64) + out_zero)


_BOTH = (
    OperatorMistake(
        "activation_ignored", "The fused activation does not clamp.", without_activation
    ),
    OperatorMistake(
        "relu_at_0", "The activation cuts at the code 0 and not at the zero point.", relu_at_0
    ),
    rescaled,
)

_DIVISIONS = {
    "toward_zero": "truncates toward zero, as `/` does in C and Verilog",
    "down": "floors, as `>>>` does",
    "half_up": "rounds ties toward plus infinity",
    "half_even": "rounds ties to even, as floats and XNNPACK do",
    "half_down": "rounds ties toward minus infinity",
    "up": "rounds up",
}

POOLS = {
    "AVERAGE_POOL_2D": [
        *(
            OperatorMistake(f"mean_{mode}", f"The division of the mean {text}.", _mean(mode))
            for mode, text in _DIVISIONS.items()
        ),
        OperatorMistake(
            "padding_counted",
            "Padding counts as elements of the code 0.",
            _counting_padding(lambda subject: 0),
        ),
        OperatorMistake(
            "padding_zero_point_counted",
            "Padding counts as elements of the zero point.",
            _counting_padding(lambda subject: subject.call.quantization(0).per_tensor()[1]),
        ),
        mean_of_differences,
        mean_by_reciprocal,
        *_BOTH,
        *(OperatorMistake(name, text, _mean(change=change)) for name, text, change in _CHANGES),
    ],
    "MAX_POOL_2D": [
        OperatorMistake(
            "padding_0",
            "Padding takes part as the code 0, where it is never the largest.",
            _largest(0),
        ),
        *_BOTH,
        *(OperatorMistake(name, text, _largest(change=change)) for name, text, change in _CHANGES),
    ],
}
"""By operator."""
