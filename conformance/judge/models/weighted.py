"""Mistakes of operators with weights: padding, zero points, scales, and the order of the taps."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eightfold.conformance.judge.arithmetic import saturate, wrap
from eightfold.conformance.judge.models.scaling import accumulators, weighted
from eightfold.conformance.judge.models.subject import (
    OUTPUT,
    OperatorMistake,
    OperatorRun,
    Results,
    SameError,
    with_zero_point,
)
from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.operators import OperatorCall


@dataclass(frozen=True)
class WindowTaps:
    """Where a window reads: as `eightfold.golden.windows.Window`, each number free to be wrong."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    """Positions that the first window reaches beyond the input's start."""
    sizes: tuple[int, ...]
    """Windows along each axis."""

    def read(self, x: Integers, outside: int) -> Integers:
        """Return what each tap of each window reads: (n, oh, ow, kh, kw, c) of (n, h, w, c)."""
        result = x
        inside = np.ones(1, bool)
        places = []
        for axis in (0, 1):
            at = (
                np.arange(self.sizes[axis])[:, None] * self.stride[axis]
                - self.before[axis]
                + np.arange(self.kernel[axis]) * self.dilation[axis]
            )
            places.append(at)
        (rows, columns), (h, w) = places, x.shape[1:3]
        result = x[:, np.clip(rows, 0, h - 1)][:, :, :, np.clip(columns, 0, w - 1)]
        inside = ((rows >= 0) & (rows < h))[:, :, None, None] & ((columns >= 0) & (columns < w))[
            None, None
        ]
        found = np.where(inside[None, ..., None], result, outside)
        return found.transpose(0, 1, 3, 2, 4, 5)


def taps_of(call: OperatorCall) -> WindowTaps:
    """Return where the window of a convolution reads."""
    window = call.filter_window()
    shape = call.codes(0).shape
    return WindowTaps(
        window.kernel,
        window.stride,
        window.dilation,
        tuple(window.pads(axis, shape[1 + axis])[0] for axis in (0, 1)),
        window.output_sizes(shape),
    )


def sums(
    call: OperatorCall,
    taps: WindowTaps,
    *,
    outside: int = 0,
    weights: np.ndarray | None = None,
    x: np.ndarray | None = None,
    tiled: bool = False,
) -> Integers:
    """Return the accumulators of a convolution whose window reads at ``taps``.

    ``outside``: what is read there, after the zero point is subtracted. ``weights``, ``x``: in
    place of the operator's. ``tiled``: output channel c of a depthwise convolution reads input
    channel ``c mod channels``.
    """
    zero_point = call.quantization(0).per_tensor()[1]
    source = (call.codes(0) if x is None else x).astype(np.int64) - zero_point
    factors = (call.codes(1) if weights is None else weights).astype(np.int64)
    seen = taps.read(source, outside)
    if call.operator.name == "DEPTHWISE_CONV_2D":
        repeats = factors.shape[3] // source.shape[3]
        wide = np.tile(seen, repeats) if tiled else np.repeat(seen, repeats, axis=5)
        return wrap32(np.einsum("nhwklc,klc->nhwc", wide, factors[0]))
    depth = factors.shape[3]
    groups = source.shape[3] // depth
    each = factors.shape[0] // groups
    parts = [
        np.einsum(
            "nhwklc,oklc->nhwo",
            seen[..., group * depth : (group + 1) * depth].astype(np.float64),
            factors[group * each : (group + 1) * each].astype(np.float64),
            optimize=True,
        )
        for group in range(groups)
    ]
    return wrap32(np.concatenate(parts, axis=3).astype(np.int64))


def _codes(call: OperatorCall, acc: Integers | None = None) -> Results:
    scaling = weighted(call, acc)
    return [scaling.results(scaling.arithmetic)]


def _window(change: Callable[[OperatorCall, WindowTaps], WindowTaps], outside: bool = False):
    def compute(subject: OperatorRun) -> Results:
        call = subject.call
        taps = taps_of(subject.call)
        fill = -call.quantization(0).per_tensor()[1] if outside else 0
        return _codes(call, sums(call, change(call, taps), outside=fill))

    return compute


def _odd_before(call: OperatorCall, taps: WindowTaps) -> WindowTaps:
    window = call.filter_window()
    shape = call.codes(0).shape
    after = tuple(window.pads(axis, shape[1 + axis])[1] for axis in (0, 1))
    return replace(taps, before=after if window.padding == "SAME" else taps.before)


def _all_before(call: OperatorCall, taps: WindowTaps) -> WindowTaps:
    """Return taps that start at the input's start: the padding is all behind it."""
    return replace(taps, before=(0, 0))


def _symmetric(call: OperatorCall, taps: WindowTaps) -> WindowTaps:
    """Return taps padded by half of the window on each side, as PyTorch's."""
    if call.options["padding"] != "SAME":
        raise SameError
    window = call.filter_window()
    return replace(taps, before=tuple((window.extent(axis) - 1) // 2 for axis in (0, 1)))


def _weights(change: Callable[[np.ndarray], np.ndarray]):
    def compute(subject: OperatorRun) -> Results:
        call = subject.call
        weights = change(call.codes(1))
        if weights.shape != call.codes(1).shape:
            raise SameError
        return _codes(call, sums(call, taps_of(call), weights=weights))

    return compute


def _read_as_oihw(weights: np.ndarray) -> np.ndarray:
    o, h, w, i = weights.shape
    return weights.reshape(o, i, h, w).transpose(0, 2, 3, 1)


def _input_as_nchw(subject: OperatorRun) -> Results:
    call = subject.call
    n, h, w, c = call.codes(0).shape
    x = call.codes(0).reshape(n, c, h, w).transpose(0, 2, 3, 1)
    return _codes(call, sums(call, taps_of(call), x=x))


def _tiled(subject: OperatorRun) -> Results:
    return _codes(subject.call, sums(subject.call, taps_of(subject.call), tiled=True))


def _zero_point(position: int, value: Callable[[OperatorRun], int]):
    def compute(subject: OperatorRun) -> Results:
        quantization = subject.quantization(position)
        other = with_zero_point(quantization, value(subject))
        return _codes(subject.changed({position: other}))

    return compute


def _swapped(subject: OperatorRun) -> Results:
    first, out = subject.quantization(0), subject.quantization(OUTPUT)
    return _codes(
        subject.changed(
            {
                0: with_zero_point(first, out.zero_point[0]),
                OUTPUT: with_zero_point(out, first.zero_point[0]),
            }
        )
    )


def _scales(choose: Callable[[np.ndarray], float]):
    def compute(subject: OperatorRun) -> Results:
        quantization = subject.quantization(1)
        if quantization.scale.size == 1:
            raise SameError
        alike = np.full_like(quantization.scale, choose(quantization.scale))
        return _codes(subject.changed({1: replace(quantization, scale=alike)}))

    return compute


def _shifted_scales(subject: OperatorRun) -> Results:
    quantization = subject.quantization(1)
    return _codes(subject.changed({1: replace(quantization, scale=np.roll(quantization.scale, 1))}))


def _accumulator(limit: Callable[[Integers], Integers]):
    def compute(subject: OperatorRun) -> Results:
        return _codes(subject.call, limit(accumulators(subject.call)))

    return compute


def _no_filter_zero_point(subject: OperatorRun) -> Results:
    return _codes(subject.changed({1: with_zero_point(subject.quantization(1), 0)}))


def _more(change: Callable[[np.ndarray], np.ndarray], factor: Callable[[int], int]):
    """Return a mistake: the sum of other weights is added, times a factor of the zero point's."""

    def compute(subject: OperatorRun) -> Results:
        call = subject.call
        plain = with_zero_point(subject.quantization(1), 0)
        other = subject.changed({1: plain}, arrays={1: change(call.codes(1)).astype(np.int8)})
        times = factor(call.quantization(0).per_tensor()[1])
        return _codes(call, wrap32(accumulators(call) + times * accumulators(other)))

    return compute


def _transposed_filter(subject: OperatorRun) -> Results:
    weights = subject.call.codes(1)
    other = np.asarray(weights.reshape(weights.shape[::-1]).T, order="C")
    return _codes(subject.changed(arrays={1: other}))


def _table(rows: tuple[tuple[str, str, Callable[[OperatorRun], Results]], ...]):
    return [OperatorMistake(*row) for row in rows]


_ALL = _table(
    (
        (
            "input_zero_point_ignored",
            "The input's zero point is not subtracted.",
            _zero_point(0, lambda subject: 0),
        ),
        (
            "input_zero_point_added",
            "The input's zero point is added where it has to be subtracted.",
            _zero_point(0, lambda subject: -int(subject.quantization(0).zero_point[0])),
        ),
        (
            "zero_points_swapped",
            "The zero points of input and output are swapped.",
            _swapped,
        ),
        (
            "first_scale_for_all",
            "The first channel's weight scale is used for all: per-tensor on per-axis weights.",
            _scales(lambda scales: scales[0]),
        ),
        (
            "largest_scale_for_all",
            "The largest weight scale is used for all channels: per-tensor on per-axis weights.",
            _scales(lambda scales: scales.max()),
        ),
        (
            "scales_one_channel_late",
            "Each channel has the weight scale of the channel before.",
            _shifted_scales,
        ),
        (
            "weights_unsigned",
            "The weights are read as unsigned bytes.",
            _more(lambda weights: weights < 0, lambda zero_point: 256),
        ),
        (
            "weight_zero_point_of_input",
            "The input's zero point is subtracted from the weights too.",
            _more(np.ones_like, lambda zero_point: -zero_point),
        ),
        (
            "accumulator_16",
            "The accumulator has 16 bits, and wraps.",
            _accumulator(lambda acc: wrap(acc, 16)),
        ),
        (
            "accumulator_16_saturates",
            "The accumulator saturates to 16 bits.",
            _accumulator(lambda acc: saturate(acc, 16)),
        ),
    )
)

_WINDOWS = _table(
    (
        (
            "padding_0",
            "Padding reads as the code 0 and not as the input's zero point.",
            _window(lambda call, taps: taps, outside=True),
        ),
        (
            "padding_odd_before",
            "Where SAME pads by an odd number, the odd one goes before and not after.",
            _window(_odd_before),
        ),
        (
            "padding_all_after",
            "The windows start at the input's first element: SAME pads behind only.",
            _window(_all_before),
        ),
        (
            "padding_symmetric",
            "SAME pads by half of the kernel on each side, whatever the stride, as in PyTorch.",
            _window(_symmetric),
        ),
        (
            "stride_ignored",
            "The stride is 1.",
            _window(lambda call, taps: replace(taps, stride=(1, 1))),
        ),
        (
            "strides_swapped",
            "The vertical and the horizontal stride are swapped.",
            _window(lambda call, taps: replace(taps, stride=taps.stride[::-1])),
        ),
        (
            "dilation_ignored",
            "The dilation is 1.",
            _window(lambda call, taps: replace(taps, dilation=(1, 1))),
        ),
        (
            "dilations_swapped",
            "The vertical and the horizontal dilation are swapped.",
            _window(lambda call, taps: replace(taps, dilation=taps.dilation[::-1])),
        ),
        (
            "kernel_flipped",
            "The kernel is rotated by half a turn: a convolution as in mathematics, where the "
            "operator is a correlation.",
            _weights(lambda weights: weights[:, ::-1, ::-1]),
        ),
        (
            "kernel_transposed",
            "Height and width of the kernel are swapped.",
            _weights(lambda weights: weights.transpose(0, 2, 1, 3)),
        ),
        (
            "input_nchw",
            "The input's bytes are read as NCHW.",
            _input_as_nchw,
        ),
    )
)

_CONV = _table(
    (
        (
            "weights_oihw",
            "The filter's bytes are read as (outputs, inputs, height, width).",
            _weights(_read_as_oihw),
        ),
    )
)

_DEPTHWISE = _table(
    (
        (
            "channels_tiled",
            "Output channel c reads input channel c mod channels, where it has to read c div "
            "multiplier.",
            _tiled,
        ),
    )
)

_FULLY_CONNECTED = _table(
    (
        (
            "weight_zero_point_ignored",
            "The zero point of the weights is not subtracted.",
            _no_filter_zero_point,
        ),
        (
            "weights_transposed",
            "The filter's bytes are read as (inputs, outputs).",
            _transposed_filter,
        ),
    )
)

WEIGHTED = {
    "CONV_2D": _ALL + _WINDOWS + _CONV,
    "DEPTHWISE_CONV_2D": _ALL + _WINDOWS + _DEPTHWISE,
    "FULLY_CONNECTED": _ALL + _FULLY_CONNECTED,
}
"""By operator."""
