"""TRANSPOSE_CONV as a convolution with stride 1."""

from math import prod

import numpy as np

from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.axis import Axis
from eightfold.compiler.steps.convolution import Convolution, widened
from eightfold.compiler.steps.movement import Copy, Movement
from eightfold.compiler.steps.strided import strided
from eightfold.golden.convolution import check_axis, check_bias_zero_point, checked_bias
from eightfold.golden.windows import Window


def transpose_conv(call: Call) -> tuple[Movement | Convolution, ...]:
    """Lower TRANSPOSE_CONV: the input spread out by the strides, then a convolution.

    Input i adds its product with tap k to output ``o = i * stride - pad + k``. With input i at
    position ``u = i * stride`` of the spread input, and its zero point, which counts 0, between,
    output o is the sum over k of what is at ``u = o + pad - k``, times tap k: a convolution with
    the kernel turned round and ``kernel - 1 - pad`` before the input. pad is below kernel.
    """
    weights, bias = call.weights(source=2, bias=3)
    window = _checked_window(call, weights)
    bias = None if bias is None else checked_bias(bias, len(weights))
    source, target = call.input(2), call.output
    fill = call.zero_point(2)
    n, *sizes, depth = source.shape
    spread = [(size - 1) * step + 1 for size, step in zip(sizes, window.stride, strict=True)]
    shape = (n, spread[0], spread[1], depth)
    steps: list[Movement | Convolution] = []
    if max(window.stride) > 1:
        tensor = call.temporary(prod(shape))
        steps.append(_spread(source.index, source.shape, tensor, shape, window.stride, fill))
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


def _checked_window(call: Call, weights: np.ndarray) -> Window:
    """Return the window from output to input, if golden would accept the operator."""
    call.constant(0)
    window = call.filter_window()
    check_axis(call.quantization(1), weights.shape, weights.shape[0])
    check_bias_zero_point(call.quantization_if_any(3))
    return window


def _spread(
    source: int,
    inputs: tuple[int, ...],
    target: int,
    outputs: tuple[int, ...],
    strides: tuple[int, int],
    fill: int,
) -> Movement:
    """Return the input with ``fill`` between its rows and its columns."""
    before, after = ([prod(shape[axis:]) for axis in range(1, 5)] for shape in (inputs, outputs))
    loops = [
        (count, here, there * stride)
        for count, here, there, stride in zip(inputs, before, after, (1, *strides, 1), strict=True)
    ]
    return Movement(
        target=target,
        copies=(Copy(None, 0, 0, prod(outputs), (), fill), strided(source, 0, 0, 1, loops)),
    )
