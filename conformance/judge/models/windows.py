"""Mistakes of operators with weights or windows: padding, zero points, scales, order of taps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from eightfold.conformance.judge.arithmetic import saturate, wrap
from eightfold.conformance.judge.models.scaling import accumulators, weighted
from eightfold.conformance.judge.models.subject import (
    INPUT_ZERO_POINT_IGNORED,
    RESCALED,
    ZERO_POINTS_SWAPPED,
    OperatorRun,
    Results,
    SameError,
    Table,
    bounded,
    maker,
    with_zero_point,
    without_activation,
    zero_points,
    zero_points_ignored,
)
from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.quantization import clamp, fused_bounds
from eightfold.golden.tpu_mlir.numbers import round_float
from eightfold.golden.windows import Window
from eightfold.operators import OperatorCall


@dataclass(frozen=True)
class WindowTaps:
    """Where a window reads: as `eightfold.golden.windows.Window`, each number free to be wrong."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, ...]
    after: tuple[int, ...]
    """Positions that the first window reaches beyond the input's start, and the last its end."""
    same: bool
    sizes: tuple[int, ...]
    """Windows along each axis."""

    @property
    def window(self) -> Window:
        """The window, whose positions are all within what is `seen`."""
        return Window(self.kernel, self.stride, self.dilation)

    def seen(self, x: np.ndarray, fill: int) -> np.ndarray:
        """Return what lies between the first and the last tap of (n, h, w, c), outside ``fill``."""
        for axis in (0, 1):
            size = x.shape[1 + axis]
            reach = (self.sizes[axis] - 1) * self.stride[axis] + self.window.extent(axis)
            places = np.arange(reach) - self.before[axis]
            inside = ((places >= 0) & (places < size)).reshape(-1, *[1] * (2 - axis))
            x = np.where(inside, np.take(x, np.clip(places, 0, size - 1), 1 + axis), fill)
        return x

    def read(self, x: np.ndarray, fill: int) -> np.ndarray:
        """Return what each tap of each window reads: (n, oh, ow, c, kh, kw) of (n, h, w, c)."""
        return self.window.taps(self.seen(x, fill), fill)


def taps_of(window: Window, shape: tuple[int, ...]) -> WindowTaps:
    pads = [window.pads(axis, shape[1 + axis]) for axis in (0, 1)]
    return WindowTaps(
        window.kernel,
        window.stride,
        window.dilation,
        *zip(*pads, strict=True),
        same=window.padding == "SAME",
        sizes=window.output_sizes(shape),
    )


def _codes(call: OperatorCall, acc: Integers | None = None) -> Results:
    scaling = weighted(call, acc)
    return [scaling.results(scaling.arithmetic)]


Change = Callable[[WindowTaps], WindowTaps]
"""Returns where a window reads by mistake."""


def _unchanged(taps: WindowTaps) -> WindowTaps:
    return taps


@maker
def _window(subject: OperatorRun, change: Change, fill: int | None = None) -> Results:
    """Return the results of a window that reads elsewhere; ``fill``: the code that it reads
    outside, if not the zero point."""
    taps = change(taps_of(subject.filter_window(), subject.codes(0).shape))
    outside = subject.quantization(0).per_tensor()[1] if fill is None else fill
    x = taps.seen(subject.codes(0), outside)
    return _codes(subject, accumulators(subject, x, window=taps.window))


def _symmetric(taps: WindowTaps) -> WindowTaps:
    """Return taps padded by half of the window on each side, as PyTorch's."""
    if not taps.same:
        raise SameError
    halves = ((k - 1) * d // 2 for k, d in zip(taps.kernel, taps.dilation, strict=True))
    return replace(taps, before=tuple(halves))


@maker
def _weights(subject: OperatorRun, change: Callable[[np.ndarray], np.ndarray]) -> Results:
    weights = change(subject.codes(1))
    if weights.shape != subject.codes(1).shape:
        raise SameError
    return _codes(subject, accumulators(subject, weights=weights))


def _read_as_oihw(weights: np.ndarray) -> np.ndarray:
    o, h, w, i = weights.shape
    return weights.reshape(o, i, h, w).transpose(0, 2, 3, 1)


def _input_nchw(subject: OperatorRun) -> Results:
    n, h, w, c = subject.codes(0).shape
    x = subject.codes(0).reshape(n, c, h, w).transpose(0, 2, 3, 1)
    return _codes(subject, accumulators(subject, x))


def _channels_tiled(subject: OperatorRun) -> Results:
    x = np.tile(subject.codes(0), subject.codes(1).shape[3] // subject.codes(0).shape[3])
    return _codes(subject, accumulators(subject, x))


@maker
def _scales(subject: OperatorRun, change: Callable[[np.ndarray], np.ndarray]) -> Results:
    quantization = subject.stated(1)
    if quantization.scale.size == 1:
        raise SameError
    other = replace(quantization, scale=change(quantization.scale))
    return _codes(subject.changed({1: other}))


@maker
def _accumulator(subject: OperatorRun, limit: Callable[[Integers], Integers]) -> Results:
    return _codes(subject, limit(accumulators(subject)))


@maker
def _more(
    subject: OperatorRun, change: Callable[[np.ndarray], np.ndarray], factor: Callable[[int], int]
) -> Results:
    """Return the results with the sum of other weights added, times a factor of a zero point."""
    plain = with_zero_point(subject.stated(1), 0)
    other = subject.changed({1: plain}, arrays={1: change(subject.codes(1)).astype(np.int8)})
    times = factor(subject.quantization(0).per_tensor()[1])
    return _codes(subject, wrap32(accumulators(subject) + times * accumulators(other)))


def _weights_transposed(subject: OperatorRun) -> Results:
    weights = subject.codes(1)
    other = np.asarray(weights.reshape(weights.shape[::-1]).T, order="C")
    return _codes(subject.changed(arrays={1: other}))


_ALL: Table = {
    **INPUT_ZERO_POINT_IGNORED,
    ("input_zero_point_added", zero_points(lambda s: {0: -int(s.stated(0).zero_point[0])})): "The "
    "input's zero point is added where it has to be subtracted.",
    **ZERO_POINTS_SWAPPED,
    ("first_scale_for_all", _scales(lambda s: np.full_like(s, s[0]))): "The first channel's weight "
    "scale is used for all: per-tensor on per-axis weights.",
    ("largest_scale_for_all", _scales(lambda s: np.full_like(s, s.max()))): "The largest weight "
    "scale is used for all channels: per-tensor on per-axis weights.",
    ("scales_one_channel_late", _scales(lambda s: np.roll(s, 1))): "Each channel has the weight "
    "scale of the channel before.",
    ("weights_unsigned", _more(lambda weights: weights < 0, lambda zero_point: 256)): "The weights "
    "are read as unsigned bytes.",
    ("weight_zero_point_of_input", _more(np.ones_like, lambda zero_point: -zero_point)): "The "
    "input's zero point is subtracted from the weights too.",
    ("accumulator_16", _accumulator(lambda acc: wrap(acc, 16))): "The accumulator has 16 bits, and "
    "wraps.",
    ("accumulator_16_saturates", _accumulator(lambda acc: saturate(acc, 16))): "The accumulator "
    "saturates to 16 bits.",
}

CHANGES: Mapping[tuple[str, Change], str] = {
    ("padding_odd_before", lambda taps: replace(taps, before=taps.after)): "Where SAME pads by an "
    "odd number, the odd one goes before and not after.",
    ("padding_all_after", lambda taps: replace(taps, before=(0, 0))): "The windows start at the "
    "input's first element: SAME pads behind only.",
    ("padding_symmetric", _symmetric): "SAME pads by half of the kernel on each side, whatever the "
    "stride, as in PyTorch.",
    ("stride_ignored", lambda taps: replace(taps, stride=(1, 1))): "The stride is 1.",
    ("strides_swapped", lambda taps: replace(taps, stride=taps.stride[::-1])): "The vertical and "
    "the horizontal stride are swapped.",
    ("dilation_ignored", lambda taps: replace(taps, dilation=(1, 1))): "The dilation is 1.",
    ("dilations_swapped", lambda taps: replace(taps, dilation=taps.dilation[::-1])): "The vertical "
    "and the horizontal dilation are swapped.",
}

_WINDOWED: Table = {
    **_ALL,
    ("padding_0", _window(_unchanged, fill=0)): "Padding reads as the code 0 and not "
    "as the input's zero point.",
    **{(name, _window(change)): text for (name, change), text in CHANGES.items()},
    ("kernel_flipped", _weights(lambda weights: weights[:, ::-1, ::-1])): "The kernel is rotated "
    "by half a turn: a convolution as in mathematics, where the operator is a correlation.",
    ("kernel_transposed", _weights(lambda weights: weights.transpose(0, 2, 1, 3))): "Height and "
    "width of the kernel are swapped.",
    ("input_nchw", _input_nchw): "The input's bytes are read as NCHW.",
}

WEIGHTED: dict[str, Table] = {
    "CONV_2D": {
        **_WINDOWED,
        ("weights_oihw", _weights(_read_as_oihw)): "The filter's bytes are read as (outputs, "
        "inputs, height, width).",
    },
    "DEPTHWISE_CONV_2D": {
        **_WINDOWED,
        ("channels_tiled", _channels_tiled): "Output channel c reads input channel c mod channels, "
        "where it has to read c div multiplier.",
    },
    "FULLY_CONNECTED": {
        **_ALL,
        ("weight_zero_point_ignored", zero_points_ignored(1)): "The zero point of the weights is "
        "not subtracted.",
        ("weights_transposed", _weights_transposed): "The filter's bytes are read as (inputs, "
        "outputs).",
    },
}


def _pooled(subject: OperatorRun) -> WindowTaps:
    return taps_of(subject.pool_window(), subject.codes(0).shape)


def _sums(subject: OperatorRun, change: Change = _unchanged) -> tuple[Integers, Integers]:
    """Return sums of codes, and how many each has."""
    x = subject.codes(0).astype(np.int64)
    taps = change(_pooled(subject))
    total = taps.read(x, 0).sum(axis=(4, 5))
    count = taps.read(np.ones((1, *x.shape[1:3], 1), np.int64), 0).sum(axis=(4, 5))
    return total, count


@maker
def _mean(
    subject: OperatorRun, rounding: str = "half_away", change: Change = _unchanged
) -> Results:
    total, count = _sums(subject, change)
    mean = round_float(total / np.maximum(count, 1), rounding)
    return [bounded(subject, mean.astype(np.int64))]


@maker
def _counting_padding(subject: OperatorRun, fill: Callable[[OperatorRun], int]) -> Results:
    x = subject.codes(0).astype(np.int64)
    taps = _pooled(subject)
    total = taps.read(x, fill(subject)).sum(axis=(4, 5))
    mean = total / (taps.kernel[0] * taps.kernel[1])
    return [bounded(subject, round_float(mean, "half_away").astype(np.int64))]


def _mean_of_differences(subject: OperatorRun) -> Results:
    total, count = _sums(subject)
    zero_point = subject.quantization(0).per_tensor()[1]
    mean = round_float((total - zero_point * count) / count, "half_away").astype(np.int64)
    return [bounded(subject, mean + zero_point)]


def _mean_by_reciprocal(subject: OperatorRun) -> Results:
    total, count = _sums(subject)
    factor = np.rint(65536 / count).astype(np.int64)
    return [bounded(subject, (total * factor + 32768) >> 16)]


@maker
def _largest(subject: OperatorRun, fill: int = -128, change: Change = _unchanged) -> Results:
    x = subject.codes(0).astype(np.int64)
    return [bounded(subject, change(_pooled(subject)).read(x, fill).max(axis=(4, 5)))]


_ALSO_OF_POOLS = ("padding_odd_before", "stride_ignored", "strides_swapped")
_CHANGES = {each: text for each, text in CHANGES.items() if each[0] in _ALSO_OF_POOLS} | {
    ("kernel_transposed", lambda taps: replace(taps, kernel=taps.kernel[::-1])): "Height and width "
    "of the window are swapped."
}


def _relu_at_0(subject: OperatorRun) -> Results:
    """Return the results of an operator whose activation cuts at the code 0."""
    (free,) = without_activation(subject)
    low, high = fused_bounds(subject.activation(), subject.output_quantization())
    return [clamp(free.astype(np.int64), (0 if low > -128 else low, high))]


_BOTH: Table = {
    ("activation_ignored", without_activation): "The fused activation does not clamp.",
    ("relu_at_0", _relu_at_0): "The activation cuts at the code 0 and not at the zero point.",
    **RESCALED,
}

_DIVISIONS = {
    "toward_zero": "truncates toward zero, as `/` does in C and Verilog",
    "down": "floors, as `>>>` does",
    "half_up": "rounds ties toward plus infinity",
    "half_even": "rounds ties to even, as floats and XNNPACK do",
    "half_down": "rounds ties toward minus infinity",
    "up": "rounds up",
}

POOLS: dict[str, Table] = {
    "AVERAGE_POOL_2D": {
        **{
            (f"mean_{mode}", _mean(mode)): f"The division of the mean {text}."
            for mode, text in _DIVISIONS.items()
        },
        ("padding_counted", _counting_padding(lambda _: 0)): "Padding counts as elements of the "
        "code 0.",
        ("padding_zero_point_counted", _counting_padding(lambda s: s.scales[0][1])): "Padding "
        "counts as elements of the zero point.",
        ("mean_of_differences", _mean_of_differences): "The zero point is subtracted before the "
        "division, so that ties go away from it and not away from the code 0.",
        ("mean_by_reciprocal", _mean_by_reciprocal): "The division is a product with a reciprocal "
        "of 16 fraction bits, ties up.",
        **_BOTH,
        **{(name, _mean(change=each)): text for (name, each), text in _CHANGES.items()},
    },
    "MAX_POOL_2D": {
        ("padding_0", _largest(0)): "Padding takes part as the code 0, where it is never the "
        "largest.",
        **_BOTH,
        **{(name, _largest(change=each)): text for (name, each), text in _CHANGES.items()},
    },
}
