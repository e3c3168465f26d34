"""Operators with weights: a sum of products, bias, multiplier of the channel, zero point, clamp."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.execute.call import OperatorCall
from eightfold.execute.explain.lines import SHOWN, Index, end_lines, pair_lines, total, values_text
from eightfold.golden.convolution import channel_multipliers
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.fully_connected import integer_multipliers, scale_in_double
from eightfold.golden.quantization import effective_scales, fused_bounds
from eightfold.golden.steps import Step, step_lines

FEW = 8
"""Products that a line writes out."""


@dataclass(frozen=True)
class _Tap:
    """Some products of the sum.

    Attributes
    ----------
    where
        Which elements of input and filter they are of.
    x, w
        Those elements, int64 vectors.
    """

    where: str
    x: NDArray[np.int64]
    w: NDArray[np.int64]


@dataclass(frozen=True)
class _Sum:
    """What is special about one of the operators.

    Attributes
    ----------
    x, bias
        Positions of input and bias; the filter's is 1.
    taps
        Returns the products of an element.
    channel
        Returns the place of an element's channel in bias and scales.
    """

    taps: Callable[[OperatorCall, Index], Iterator[_Tap]]
    x: int = 0
    bias: int = 2
    weight_zero_point: bool = False

    def explain(self, call: OperatorCall, output: int, index: Index) -> list[str]:
        """Return the lines of one element."""
        channel = index[-1]
        zero_point = call.quantization(self.x).per_tensor()[1]
        offset = self._weight_offset(call)
        parts = [_products(tap, zero_point, offset) for tap in self.taps(call, index)]
        lines = [
            f"products of (w - {offset}) and (x - zero point {zero_point}), taps inside the input "
            f"= {len(parts)}",
            *step_lines(parts[:SHOWN]),
        ]
        if len(parts) > SHOWN:
            rest = total(parts[SHOWN:])
            lines += step_lines([(f"... {len(parts) - SHOWN} more taps, {rest[0]}", rest[1])])
        formula, products = total(parts)
        lines += step_lines([(formula, products)])
        bias = call.optional(self.bias)
        added = 0 if bias is None else int(bias[channel])
        acc = int(wrap32(products + added))
        lines += step_lines([(f"wrap32({products} + bias {added})", acc)])
        scaled, z = _scaled(call, acc, channel, self.x)
        quantization = call.output_quantization()
        return [
            *lines,
            *scaled,
            *end_lines(z, quantization, fused_bounds(call.activation(), quantization)),
        ]

    def _weight_offset(self, call: OperatorCall) -> int:
        weights = call.quantization(1)
        honoured = self.weight_zero_point and weights.scale.size == 1
        return int(weights.zero_point[0]) if honoured else 0


def _products(tap: _Tap, zero_point: int, offset: int) -> Step:
    x, w = tap.x - zero_point, tap.w - offset
    value = int((w * x).sum())
    if len(x) <= FEW:
        pairs = zip(w.tolist(), x.tolist(), strict=True)
        return f"{tap.where}: {' + '.join(f'{a}*{b}' for a, b in pairs)}", value
    return f"{tap.where}: w {values_text(w)} by x {values_text(x)}", value


def _scaled(call: OperatorCall, acc: int, channel: int, x: int) -> tuple[list[str], int]:
    """Return the lines that scale an accumulator, and the result."""
    quantizations = (call.quantization(x), call.quantization(1), call.output_quantization())
    scales = effective_scales(*quantizations)
    at = channel if scales.size > 1 else 0
    inputs, weights, output = (q.scale for q in quantizations)
    source = f"scale {inputs[0]} * {weights[at]} / {output[0]} = {float(scales[at])!r}"
    if call.operator.name != "FULLY_CONNECTED":
        multiplier, shift = channel_multipliers(*quantizations)
    elif call.reference == "tflm":
        multiplier, shift = integer_multipliers(*quantizations)
    else:
        scaled = int(scale_in_double(np.asarray([acc], np.int32), scales[at : at + 1])[0])
        formula = f"{acc} * {float(scales[at])!r} in float64, rounded, ties away from zero"
        return [source, *step_lines([(formula, scaled)])], scaled
    return pair_lines(acc, int(multiplier[at]), int(shift[at]), source)


def _inside(start: int, size: int, kernel: int, step: int) -> range:
    """Return the taps of one axis that lie inside an input of ``size``; the first is at start."""
    return range(max(0, -(start // step)), min(kernel, -((start - size) // step)))


def _positions(call: OperatorCall, index: Index) -> Iterator[tuple[int, int, int, int]]:
    """Return tap and place in the input, vertical and horizontal, of those inside the input."""
    window, shape = call.filter_window(), call.codes(0).shape
    starts = [
        index[1 + axis] * window.stride[axis] - window.pads(axis, shape[1 + axis])[0]
        for axis in (0, 1)
    ]
    rows, columns = (
        _inside(starts[axis], shape[1 + axis], window.kernel[axis], window.dilation[axis])
        for axis in (0, 1)
    )
    for ky in rows:
        for kx in columns:
            yield ky, starts[0] + ky * window.dilation[0], kx, starts[1] + kx * window.dilation[1]


def _conv_2d(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x, weights = call.codes(0).astype(np.int64), call.codes(1).astype(np.int64)
    batch, channel, depth = index[0], index[3], weights.shape[3]
    groups = x.shape[3] // depth
    first = channel // (weights.shape[0] // groups) * depth
    for ky, y, kx, column in _positions(call, index):
        where = f"w[{channel}, {ky}, {kx}] by x[{batch}, {y}, {column}, {first}:{first + depth}]"
        yield _Tap(where, x[batch, y, column, first : first + depth], weights[channel, ky, kx])


def _depthwise_conv_2d(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x, weights = call.codes(0).astype(np.int64), call.codes(1).astype(np.int64)
    batch, channel = index[0], index[3]
    read = channel // (weights.shape[3] // x.shape[3])
    for ky, y, kx, column in _positions(call, index):
        where = f"w[0, {ky}, {kx}, {channel}] by x[{batch}, {y}, {column}, {read}]"
        one = slice(read, read + 1), slice(channel, channel + 1)
        yield _Tap(where, x[batch, y, column, one[0]], weights[0, ky, kx, one[1]])


def _fully_connected(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    weights = call.codes(1).astype(np.int64)
    outputs, size = weights.shape
    rows = call.codes(0).reshape(-1, size).astype(np.int64)
    shape = (*_leading(call, index), outputs)
    row = int(np.ravel_multi_index(index, shape)) // outputs
    for first in range(0, size, FEW):
        part = slice(first, min(first + FEW, size))
        where = f"w[{index[-1]}, {first}:{part.stop}] by x[{row}, {first}:{part.stop}]"
        yield _Tap(where, rows[row, part], weights[index[-1], part])


def _leading(call: OperatorCall, index: Index) -> Index:
    """Return the output's sizes without its channels."""
    x, size = call.codes(0), call.codes(1).shape[1]
    return x.shape[:-1] if len(index) != 2 else (x.size // size,)


def _transpose_conv(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x, weights = call.codes(2).astype(np.int64), call.codes(1).astype(np.int64)
    window, size = call.filter_window(), call.vector(0)
    batch, channel = index[0], index[3]
    # Input y meets output y * stride + tap - pad.
    reach = [index[1 + axis] + window.pads(axis, size[1 + axis])[0] for axis in (0, 1)]
    for ky, kx in np.ndindex(*window.kernel):
        (y, y_rest), (column, x_rest) = (
            divmod(at - k, window.stride[axis])
            for axis, (at, k) in enumerate(zip(reach, (ky, kx), strict=True))
        )
        if not (y_rest or x_rest) and 0 <= y < x.shape[1] and 0 <= column < x.shape[2]:
            where = f"w[{channel}, {ky}, {kx}] by x[{batch}, {y}, {column}, :]"
            yield _Tap(where, x[batch, y, column], weights[channel, ky, kx])


WEIGHTED = {
    "CONV_2D": _Sum(_conv_2d).explain,
    "DEPTHWISE_CONV_2D": _Sum(_depthwise_conv_2d).explain,
    "FULLY_CONNECTED": _Sum(_fully_connected, weight_zero_point=True).explain,
    "TRANSPOSE_CONV": _Sum(_transpose_conv, x=2, bias=3).explain,
}
