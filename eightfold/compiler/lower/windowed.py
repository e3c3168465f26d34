"""Convolutions, products, pools, RESIZE_BILINEAR: parameters and geometry of their windows.

TRANSPOSE_CONV becomes a convolution with stride 1, FULLY_CONNECTED one of single pixels, and so
does BATCH_MATMUL if the second operand is one constant matrix; else vectors compute it.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import mul
from typing import Any

import numpy as np

from eightfold.compiler import exact
from eightfold.compiler.emit.regions import Nest, broadcast_loops, collapsed, packed_steps
from eightfold.compiler.exact import CompileError
from eightfold.compiler.lower.call import Call
from eightfold.compiler.lower.movement import transposed
from eightfold.compiler.steps.bilinear import Bilinear, Taps
from eightfold.compiler.steps.channelwise import (
    DepthwiseConvolution,
    MaximumPool,
    SumPool,
    window_counts,
)
from eightfold.compiler.steps.convolution import Convolution, widened
from eightfold.compiler.steps.dense import Channels
from eightfold.compiler.steps.elementwise import CODES, IDENTITY, RUN
from eightfold.compiler.steps.movement import Copy, Movement, strided
from eightfold.compiler.steps.reduction import Product, factors
from eightfold.compiler.steps.step import Step
from eightfold.compiler.steps.transposition import Swap
from eightfold.compiler.steps.windowed import Axis, Windowed
from eightfold.estimate.cost import LATENCY
from eightfold.golden.convolution import check_axis, check_bias_zero_point, checked_bias
from eightfold.golden.fully_connected import integer_multipliers, product_multipliers
from eightfold.golden.quantization import effective_scales
from eightfold.golden.resize import bilinear_taps
from eightfold.isa import Engine, Requantize
from eightfold.model import Tensor


def conv_2d(call: Call) -> Convolution:
    """Lower CONV_2D; few output channels share a pass with their neighbours' columns."""
    weights, bias = call.weights()
    call.check_accepted()
    geometry = call.geometry(call.filter_window(), fill=call.fill())
    parameters = call.pairs(weights.reshape(len(weights), -1), bias)
    return widened(Convolution(**geometry, weights=weights, parameters=parameters), call.config)


def depthwise_conv_2d(call: Call) -> Windowed:
    """Lower DEPTHWISE_CONV_2D; with a multiplier, a convolution with a group per channel."""
    weights, bias = call.weights()
    call.check_accepted()
    geometry = call.geometry(call.filter_window(), fill=call.fill())
    parameters = call.pairs(weights[0].reshape(-1, weights.shape[3]).T, bias)
    if weights.shape[3] == geometry["source_shape"][3] and weights.shape[3] > 1:
        return DepthwiseConvolution(**geometry, weights=weights[0], parameters=parameters)
    grouped = np.asarray(weights[0].transpose(2, 0, 1)[..., None], order="C")
    return Convolution(**geometry, weights=grouped, parameters=parameters)


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
    folded = exact.folded_bias(weights, bias, inputs.per_tensor()[1])
    if call.reference == "tflm":
        fields = exact.pair(*integer_multipliers(*quantizations), outputs)
    else:
        fields, call.searched = exact.double_precision(
            np.broadcast_to(effective_scales(*quantizations), (outputs,)),
            output.per_tensor()[1],
            call.bounds(),
            exact.reachable(weights, folded),
        )
    parameters = call.channels({"bias": folded, **fields})
    return of_rows(call.input(0).index, call.output.index, batch, weights, parameters)


def of_rows(
    source: int, target: int, batch: int, weights: np.ndarray, parameters: Channels
) -> Convolution:
    """Return the product of ``batch`` rows with integer weights (outputs, size)."""
    outputs, size = weights.shape
    parts = int8_parts(weights)
    return Convolution(
        source=source,
        target=target,
        source_shape=(1, 1, batch, size),
        target_shape=(1, 1, batch, outputs),
        rows=Axis(size=1, kernel=len(parts), dilation=0, outputs=1),
        columns=Axis(size=batch, outputs=batch),
        weights=np.stack(parts, axis=1)[:, :, None],
        parameters=parameters,
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
    return SumPool(**geometry, parameters={count: quotient(count, low, high) for count in counts})


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
        beats = sum(pool.beats(call.config) for pool in pools) + LATENCY[Engine.VECTOR]
        if size <= room and longest <= RUN and beats < cost:
            best, between, cost = way, size, beats
    return best(call.temporary(between)) if best else (whole,)


@lru_cache(maxsize=1024)
def quotient(count: int, low: int, high: int) -> dict[str, int]:
    """Return proved parameters of ``acc / count``, ties away from zero, clamped."""

    def reference(acc: np.ndarray) -> np.ndarray:
        return np.sign(acc) * ((np.abs(acc) + count // 2) // count)

    found = exact.solve(exact.StepFunction.of(reference, low, high), 0, 1 / count)
    if found is None:
        raise CompileError(f"no multiplier, shift and rounding divide by {count}")
    return IDENTITY | found.fields | {"low": low, "high": high}


def transpose_conv(call: Call) -> tuple[Movement | Convolution, ...]:
    """Lower TRANSPOSE_CONV: the input spread out by the strides, then a convolution.

    Input i adds its product with tap k to output ``o = i * stride - pad + k``. With input i at
    position ``u = i * stride`` of the spread input, and its zero point, which counts 0, between,
    output o is the sum over k of what is at ``u = o + pad - k``, times tap k: a convolution with
    the kernel turned round and ``kernel - 1 - pad`` before the input. pad is below kernel.
    """
    weights, bias = call.weights(bias=3)
    call.constant(0)
    window = call.filter_window()  # from output to input
    check_axis(call.quantization(1), weights.shape, weights.shape[0])
    check_bias_zero_point(call.quantization_if_any(3))
    bias = None if bias is None else checked_bias(bias, len(weights))
    source, target = call.input(2), call.output
    fill = call.zero_point(2)
    n, *sizes, depth = source.shape
    spread = [(size - 1) * step + 1 for size, step in zip(sizes, window.stride, strict=True)]
    shape = (n, spread[0], spread[1], depth)
    steps: list[Movement | Convolution] = []
    if max(window.stride) > 1:
        tensor = call.temporary(prod(shape))
        steps.append(_spread(source, tensor, shape, window.stride, fill))
    else:
        tensor = source.index
    rows, columns = (
        Axis(
            size=spread[axis],
            kernel=window.kernel[axis],
            before=window.kernel[axis] - 1 - window.pads(axis, target.shape[1 + axis])[0],
            outputs=target.shape[1 + axis],
        )
        for axis in (0, 1)
    )
    turned = np.asarray(weights[:, ::-1, ::-1], order="C")
    convolution = Convolution(
        source=tensor,
        target=target.index,
        source_shape=shape,
        target_shape=(target.shape[0], target.shape[1], target.shape[2], target.shape[3]),
        rows=rows,
        columns=columns,
        weights=turned,
        parameters=call.pairs(turned.reshape(len(turned), -1), bias, source=2),
        fill=fill,
    )
    return (*steps, widened(convolution, call.config))


def _spread(
    source: Tensor, target: int, shape: Sequence[int], strides: tuple[int, int], fill: int
) -> Movement:
    """Return the input as a tensor of another shape, ``fill`` between its rows and its columns."""
    here, there = packed_steps(source.shape), packed_steps(shape)
    steps = [step * stride for step, stride in zip(there, (1, *strides, 1), strict=True)]
    inside = strided(source.index, 0, 0, 1, list(zip(source.shape, here, steps, strict=True)))
    return Movement(target=target, copies=(Copy(None, 0, 0, prod(shape), (), fill), inside))


def resize_bilinear(call: Call) -> Bilinear:
    """Lower RESIZE_BILINEAR; golden's taps, whatever the scales are."""
    corners, centers = call.options["align_corners"], call.options["half_pixel_centers"]
    size = call.constant(1).tolist()
    rows, columns = (
        Taps.of(*bilinear_taps(old, new, corners, centers))
        for old, new in zip(call.input(0).shape[1:3], size, strict=True)
    )
    return Bilinear(**call.images(rows=rows, columns=columns))


def batch_matmul(call: Call) -> tuple[Step, ...]:
    """Lower BATCH_MATMUL of (m, k) by (k, n): as rows by weights, or as a `Product`."""
    x, y, target = call.input(0), call.input(1), call.output
    rows, columns = target.shape[-2:]
    depth = prod(x.shape[-2:]) // rows
    zeros = call.zero_point(0), call.zero_point(1)
    multiplier = product_multipliers(*call.quantizations(), call.reference)
    adjoint = call.options["adj_x"]
    if y.data is not None and prod(y.shape[:-2]) == 1:
        weights = y.data.reshape(y.shape[-2:]).astype(np.int64) - zeros[1]
        weights = weights if call.options["adj_y"] else weights.T
        before, source = _operand(call, x, turned=adjoint)
        fields = exact.pair(*multiplier, columns)
        parameters = call.channels({"bias": exact.folded_bias(weights, None, zeros[0]), **fields})
        count = prod(x.shape) // depth
        return (*before, of_rows(source, target.index, count, weights, parameters))
    if not factors(depth):
        raise CompileError(f"{depth} products to sum are no window of two loops")
    before, second = _operand(call, y, turned=call.options["adj_y"])
    sizes = ((x.shape, rows * depth), (y.shape, depth * columns), (target.shape, rows * columns))
    loops = broadcast_loops([shape[:-2] for shape, _ in sizes], target.shape[:-2])
    matrices = [size for _, size in sizes]
    outer = collapsed((n, *map(mul, steps, matrices)) for n, *steps in loops)
    row_step, depth_step = (1, rows) if adjoint else (depth, 1)
    inner = (rows, row_step, 0, columns), (columns, 0, 1, 1), (depth, depth_step, columns, 0)
    product = Product(
        target=target.index,
        sources=(x.index, second),
        whole=Nest((0, 0, 0), (*outer, *inner)),
        tables=tuple(CODES - zero for zero in zeros),
        requantize=Requantize.of(exact.one_pair(*multiplier) | call.layer()),
    )
    return (*before, product)


def _operand(call: Call, tensor: Tensor, *, turned: bool) -> tuple[tuple[Step, ...], int]:
    """Return what transposes an operand's matrices if they are to be ``turned``, and its tensor."""
    *outer, rows, columns = tensor.shape
    if not turned or 1 in (rows, columns):
        return (), tensor.index
    if tensor.data is not None:
        content = np.asarray(tensor.data.swapaxes(-1, -2), order="C").tobytes()
        return (), call.temporary(prod(tensor.shape), content)
    target = call.temporary(prod(tensor.shape))
    swap = Swap(prod(outer), rows, columns, 1)
    return (transposed(tensor.index, target, swap, call.config),), target
