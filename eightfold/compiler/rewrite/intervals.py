"""Which codes each channel of each tensor can have, whatever the inputs are.

An interval per channel of the last axis goes forward from operator to operator. Accumulators are
bounded tap by tap: a weight takes the end of its input's interval that suits it. Taps in the
padding count as the zero point, and which of them lie there together is known (`patterns`). The
bounds go through the very requantization that the elements go through: it does not decrease with
the accumulator, as long as nothing leaves int32 on the way, so that no code is outside of theirs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.rewrite import elements
from eightfold.golden.convolution import requantize_channels
from eightfold.golden.fixed_point import INT32_MAX
from eightfold.golden.fully_connected import requantize_outputs
from eightfold.golden.quantization import Reference, effective_scales, fused_bounds
from eightfold.golden.windows import Window
from eightfold.model import Graph, Operator, Tensor
from eightfold.operators import OperatorCall

MOST = 1 << 20
"""Taps of all outputs along an axis that are looked at; beyond, nothing is known."""


def patterns(window: Window, axis: int, size: int) -> NDArray[np.bool_] | None:
    """Return which taps of a window along an axis lie inside, for each way that there is.

    bool, shape (ways, kernel): output o has tap k inside if
    ``0 <= o * stride - before + k * dilation < size``. None if there are more than `MOST` taps.
    """
    outputs = window.output_size(axis, size)
    kernel = window.kernel[axis]
    if outputs * kernel > MOST:
        return None
    starts = np.arange(outputs) * window.stride[axis] - window.pads(axis, size)[0]
    taps = starts[:, None] + np.arange(kernel) * window.dilation[axis]
    return np.unique((taps >= 0) & (taps < size), axis=0)


Ints = NDArray[np.int64]

SAFE = 1 << 30
"""Twice a scaled accumulator below this: int32 has room for a left shift, which is less than that,
and for rounding and the zero point."""


@dataclass(frozen=True)
class Interval:
    """Least and greatest code of each channel, int64, of one shape."""

    low: Ints
    high: Ints

    @classmethod
    def of(cls, tensor: Tensor) -> "Interval":
        """Return what is known of a tensor without its operator: a constant's own codes."""
        channels = tensor.shape[-1] if tensor.shape else 1
        if tensor.data is None:
            return cls(np.full(channels, -128), np.full(channels, 127))
        rows = tensor.data.reshape(-1, channels).astype(np.int64)
        return cls(rows.min(axis=0), rows.max(axis=0))

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which channels have one code only."""
        return self.low == self.high

    def hull(self, *others: "Interval") -> "Interval":
        """Return the least interval that has this one and others."""
        every = (self, *others)
        low = np.minimum.reduce(np.broadcast_arrays(*(each.low for each in every)))
        return Interval(low, np.maximum.reduce(np.broadcast_arrays(*(i.high for i in every))))

    def clamped(self, low: int, high: int) -> "Interval":
        """Return the interval of the codes, clamped."""
        return Interval(np.clip(self.low, low, high), np.clip(self.high, low, high))


class Intervals:
    """The intervals of a graph's int8 tensors, by index."""

    def __init__(self, graph: Graph, reference: Reference) -> None:
        self._graph = graph
        self._reference: Reference = reference
        self._known: dict[int, Interval] = {}
        for operator in graph.operators:
            found = self._result(operator)
            if found is not None:
                self._known[operator.outputs[0]] = found

    def __getitem__(self, tensor: int) -> Interval:
        """Return a tensor's interval; every code, where nothing more is known."""
        if tensor not in self._known:
            return Interval.of(self._graph.tensors[tensor])
        return self._known[tensor]

    def _result(self, operator: Operator) -> Interval | None:
        """Return the interval of an operator's only result; None if nothing is known."""
        rule = RULES.get(operator.name)
        touched = [self._graph.tensors[t] for t in (*operator.inputs[:1], *operator.outputs)]
        if rule is None or any(t.dtype != np.int8 or not t.shape for t in touched):
            return None
        try:
            call = OperatorCall(self._graph, operator, reference=self._reference)
            found = rule(self, call)
        except elements.REFUSED:
            return None
        clamp = operator.options.get("clamp")
        return found.clamped(*clamp) if found and clamp else found

    def weighted(self, call: OperatorCall) -> Interval | None:
        """Return the interval of a convolution or FULLY_CONNECTED.

        Where int32 may not hold a scaled accumulator, every code that the activation leaves.
        """
        if not elements.accepted(self._graph, call.operator, self._reference):
            return None
        low, high = fused_bounds(call.activation(), call.output_quantization())
        channels = call.output.shape[-1]
        every = Interval(np.full(channels, low), np.full(channels, high))
        bounds = self._accumulators(call)
        if bounds is None:
            return every
        quantizations = call.quantization(0), call.quantization(1), call.output_quantization()
        most = np.maximum(np.abs(bounds[0]), np.abs(bounds[1]))
        safe = (most <= INT32_MAX) & (most * 2 * effective_scales(*quantizations) < SAFE)
        codes = [_requantized(call, np.where(safe, end, 0)) for end in bounds]
        return Interval(np.where(safe, codes[0], low), np.where(safe, codes[1], high))

    def _accumulators(self, call: OperatorCall) -> tuple[Ints, Ints] | None:
        """Return least and greatest accumulator per channel; None if they are not known."""
        if any(call.is_computed(position) for position in (1, 2)):
            return None
        source = self[call.input(0).index]
        zero_point = call.quantization(0).per_tensor()[1]
        sums = _tap_sums(call, source.low - zero_point, source.high - zero_point)
        if sums is None:
            return None
        bias = call.optional(2)
        offset = 0 if bias is None else bias.astype(np.int64).reshape(-1)
        return sums[0] + offset, sums[1] + offset

    def unary(self, call: OperatorCall) -> Interval | None:
        """Return the interval of a function of one byte: least and greatest entry in reach."""
        table = elements.computed(self._graph, call.operator, self._reference, elements.CODES)
        if table is None or not elements.bytewise(self._graph, call.operator):
            return None
        source = self[call.input(0).index]
        # Many channels have the same ends.
        ends, which = np.unique(np.stack([source.low, source.high]), axis=1, return_inverse=True)
        reach = [table[low + 128 : high + 129] for low, high in ends.T.tolist()]
        low, high = (np.array([int(end(each)) for each in reach]) for end in (np.min, np.max))
        return Interval(low[which.reshape(-1)], high[which.reshape(-1)])

    def binary(self, call: OperatorCall) -> Interval | None:
        """Return the interval of a monotone function of two bytes: it ends at the corners."""
        if not elements.bytewise(self._graph, call.operator) or not all(
            t and t.shape for t in call.inputs
        ):
            return None
        first, second = (self[call.input(position).index] for position in (0, 1))
        ends = ([end.astype(np.int8) for end in (each.low, each.high)] for each in (first, second))
        corners = [
            elements.computed(self._graph, call.operator, self._reference, *corner)
            for corner in product(*ends)
        ]
        found = [corner.astype(np.int64) for corner in corners if corner is not None]
        if len(found) < len(corners):
            return None
        return Interval(np.minimum.reduce(found), np.maximum.reduce(found))

    def pool(self, call: OperatorCall) -> Interval:
        """Return the interval of a pool: a mean or maximum of codes is among them, clamped."""
        bounds = fused_bounds(call.activation(), call.output_quantization())
        return self[call.input(0).index].clamped(*bounds)

    def renamed(self, call: OperatorCall) -> Interval | None:
        """Return the interval of the same elements under another shape."""
        same = call.input(0).shape[-1] == call.output.shape[-1]
        return self[call.input(0).index] if same else None

    def padded(self, call: OperatorCall) -> Interval | None:
        """Return the interval of an image and what surrounds it."""
        if not call.is_constant(1) or call.constant(1)[-1].any():
            return None
        if call.operator.name == "PADV2":
            around = Interval.of(call.input(2))
            if not call.is_constant(2):
                return None
        else:
            code = np.array([call.output_quantization().per_tensor()[1]])
            around = Interval(code, code)
        return self[call.input(0).index].hull(around)

    def joined(self, call: OperatorCall) -> Interval | None:
        """Return the interval of a concatenation."""
        parts = [self[tensor.index] for tensor in call.inputs if tensor is not None]
        rank = len(call.output.shape)
        if call.options["axis"] % rank < rank - 1:
            return parts[0].hull(*parts[1:])
        return Interval(
            np.concatenate([part.low for part in parts]),
            np.concatenate([part.high for part in parts]),
        )


def _requantized(call: OperatorCall, accumulators: Ints) -> Ints:
    """Return the codes of one accumulator per channel."""
    row = accumulators.astype(np.int32)[None]
    quantizations = call.quantization(0), call.quantization(1), call.output_quantization()
    activation = call.activation()
    if call.operator.name == "FULLY_CONNECTED":
        codes = requantize_outputs(
            row, *quantizations, activation=activation, reference=call.reference
        )
    else:
        codes = requantize_channels(row, *quantizations, activation)
    return codes[0].astype(np.int64)


def _tap_sums(call: OperatorCall, low: Ints, high: Ints) -> tuple[Ints, Ints] | None:
    """Return the least and greatest sum of products per output channel.

    ``low`` and ``high`` are the ends of the inputs less their zero point, per input channel. Sums
    are exact in float64: they stay below 2^53.
    """
    weights = call.constant(1).astype(np.float64)
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)
    if call.operator.name == "FULLY_CONNECTED" and call.quantization(1).zero_point.any():
        return None
    if call.operator.name == "DEPTHWISE_CONV_2D":
        repeats = weights.shape[3] // len(low)
        low, high = np.repeat(low, repeats), np.repeat(high, repeats)
        least = (positive * low + negative * high)[0].transpose(2, 0, 1)
        most = (positive * high + negative * low)[0].transpose(2, 0, 1)
    elif weights.shape[-1] == len(low):
        least, most = (positive @ a + negative @ b for a, b in ((low, high), (high, low)))
    else:
        return None
    if call.operator.name == "FULLY_CONNECTED":
        return least.astype(np.int64), most.astype(np.int64)
    shape = call.input(0).shape
    window = call.filter_window()
    inside = [patterns(window, axis, shape[1 + axis]) for axis in (0, 1)]
    if inside[0] is None or inside[1] is None:
        return None
    rows, columns = (each.astype(np.float64) for each in inside if each is not None)
    # (o, kh, kw) to every pair of a way along the rows with one along the columns.
    around = _outside(call)
    ends = [
        (rows @ (taps - around) @ columns.T).reshape(len(taps), -1)
        + around.reshape(len(taps), -1).sum(axis=1, keepdims=True)
        for taps in (least, most)
    ]
    return ends[0].min(axis=1).astype(np.int64), ends[1].max(axis=1).astype(np.int64)


def _outside(call: OperatorCall) -> NDArray[np.float64]:
    """Return what each tap adds where it lies outside of the image, (o, kh, kw)."""
    weights = call.constant(1).astype(np.float64)
    if call.operator.name == "DEPTHWISE_CONV_2D":
        taps = weights[0].transpose(2, 0, 1)
    else:
        taps = weights.sum(axis=3)
    zero_point = call.quantization(0).per_tensor()[1]
    return taps * (call.options.get("fill", zero_point) - zero_point)


RULES: dict[str, Callable[[Intervals, OperatorCall], Interval | None]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"), Intervals.weighted),
    **dict.fromkeys(elements.UNARY | {elements.TABLE}, Intervals.unary),
    **dict.fromkeys(elements.MONOTONE, Intervals.binary),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), Intervals.pool),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), Intervals.renamed),
    **dict.fromkeys(("PAD", "PADV2"), Intervals.padded),
    "CONCATENATION": Intervals.joined,
}
"""How the interval of an operator's result is found."""
