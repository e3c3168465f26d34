"""Convolutions, FULLY_CONNECTED, pools, MEAN, SUM: parameters and geometry of their windows."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from eightfold.compiler.exact.channels import (
    CompileError,
    double_precision,
    folded_bias,
    pair,
    reachable,
)
from eightfold.compiler.exact.step_function import StepFunction, solve
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.axis import Axis
from eightfold.compiler.steps.channelwise import (
    DepthwiseConvolution,
    MaximumPool,
    SumPool,
    window_counts,
)
from eightfold.compiler.steps.convolution import Convolution, widened
from eightfold.compiler.steps.elementwise import RUN
from eightfold.compiler.steps.windowed import Windowed
from eightfold.golden.fully_connected import integer_multipliers
from eightfold.golden.quantization import effective_scales
from eightfold.golden.rounding import ROUNDINGS

COMMAND = 46
"""Cycles of a VECTOR beside those of its beats, about."""


def conv_2d(call: Call) -> Convolution:
    """Lower CONV_2D; few output channels share a pass with their neighbours' columns."""
    weights, bias = call.weights()
    call.check_accepted()
    geometry = call.geometry(call.filter_window())
    parameters = call.pairs(weights.reshape(len(weights), -1), bias)
    fill = call.fill()
    convolution = Convolution(**geometry, weights=weights, parameters=parameters, fill=fill)
    return widened(convolution, call.config)


def depthwise_conv_2d(call: Call) -> Windowed:
    """Lower DEPTHWISE_CONV_2D; with a multiplier, a convolution with a group per channel."""
    weights, bias = call.weights()
    call.check_accepted()
    geometry = call.geometry(call.filter_window())
    flat = weights[0].reshape(-1, weights.shape[3]).T
    parameters = call.pairs(flat, bias)
    fill = call.fill()
    if weights.shape[3] == geometry["source_shape"][3] and weights.shape[3] > 1:
        return DepthwiseConvolution(
            **geometry, weights=weights[0], parameters=parameters, fill=fill
        )
    grouped = np.asarray(weights[0].transpose(2, 0, 1)[..., None], order="C")
    return Convolution(**geometry, weights=grouped, parameters=parameters, fill=fill)


def fully_connected(call: Call) -> Convolution:
    """Lower FULLY_CONNECTED to a window of one pixel; a column is a row of the batch.

    Weights less their zero point may need nine bits: then the window looks at the pixel more than
    once, each time with an int8 part of them.
    """
    weights, bias = call.weights()
    call.check_accepted(images=None)
    quantizations = call.quantizations()
    inputs, filters, output = quantizations
    if filters.scale.size == 1:  # per channel, the kernels take no notice of zero points
        weights = weights.astype(np.int64) - filters.zero_point[0]
    outputs, size = weights.shape
    batch = prod(call.input(0).shape) // size
    folded = folded_bias(weights, bias, inputs.per_tensor()[1])
    if call.reference == "tflm":
        fields = pair(*integer_multipliers(*quantizations), outputs)
    else:
        fields, call.searched = double_precision(
            np.broadcast_to(effective_scales(*quantizations), (outputs,)),
            output.per_tensor()[1],
            call.bounds(),
            reachable(weights, folded),
        )
    parts = int8_parts(weights)
    return Convolution(
        source=call.input(0).index,
        target=call.output.index,
        source_shape=(1, 1, batch, size),
        target_shape=(1, 1, batch, outputs),
        rows=Axis(size=1, kernel=len(parts), dilation=0, outputs=1),
        columns=Axis(size=batch, outputs=batch),
        weights=np.stack(parts, axis=1)[:, :, None],
        parameters=call.channels({"bias": folded, **fields}),
        fill=0,
    )


def int8_parts(values: np.ndarray) -> list[np.ndarray]:
    """Return as few int8 arrays as possible, at least one, whose sum is ``values``."""
    parts = [np.clip(values, -128, 127)]
    while np.any(rest := values - sum(parts)):
        parts.append(np.clip(rest, -128, 127))
    return [part.astype(np.int8) for part in parts]


def average_pool_2d(call: Call) -> SumPool:
    """Lower AVERAGE_POOL_2D: division by the number of taps, as a proved multiplier."""
    geometry = _pool(call)
    low, high = call.bounds()
    counts = window_counts(geometry["rows"], geometry["columns"])
    parameters = {count: quotient(count, low, high) for count in counts}
    return SumPool(**geometry, parameters=parameters)


def _pool(call: Call) -> dict[str, Any]:
    """Return the geometry of a pool, without the taps of a window longer than the input that no
    output has within it."""
    geometry = call.geometry(call.pool_window())
    for name in ("rows", "columns"):
        if geometry[name].kernel > geometry[name].size:
            geometry[name] = geometry[name].trimmed()
    return geometry


def max_pool_2d(call: Call) -> tuple[MaximumPool, ...]:
    """Lower MAX_POOL_2D: whole windows, or first along one axis, then along the other.

    Windows that overlap read a byte once for each of them: of one axis after the other these are
    fewer. What is between must fit beside input and output.
    """
    geometry = _pool(call)
    low, high = call.bounds()
    whole = MaximumPool(**geometry, low=low, high=high)
    room = call.config.scratchpad - prod(whole.source_shape) - prod(whole.target_shape)
    best = None
    between = 0
    cost = whole.beats(call.config)
    for way in (whole.rows_first, whole.columns_first):
        pools = way(whole.target)  # until there is something between
        size = prod(pools[0].target_shape)
        longest = max(pool.target_shape[-1] for pool in pools)
        beats = sum(pool.beats(call.config) for pool in pools) + COMMAND
        if size <= room and longest <= RUN and beats < cost:
            best, between, cost = way, size, beats
    return best(call.temporary(between)) if best else (whole,)


@lru_cache(maxsize=1024)
def quotient(count: int, low: int, high: int) -> dict[str, int]:
    """Return proved parameters of ``acc / count``, ties away from zero, clamped.

    Raises
    ------
    CompileError
        If there are none.
    """

    def reference(acc: np.ndarray) -> np.ndarray:
        return np.sign(acc) * ((np.abs(acc) + count // 2) // count)

    found = solve(StepFunction.of(reference, low, high), 0, 1 / count)
    if found is None:
        raise CompileError(f"no multiplier, shift and rounding divide by {count}")
    return {
        "bias": 0,
        "left": 0,
        "multiplier": found.multiplier,
        "single": 1,
        "right": found.right,
        "rounding": ROUNDINGS.index(found.rounding),
        "zero_point": 0,
        "low": low,
        "high": high,
    }
